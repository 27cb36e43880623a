"""The VCF solver against an exhaustive one, on small and sparse boards of every rule.

TENGEN_LONG=1 compares 20,000 positions a rule, the default a part of them.
"""

from __future__ import annotations

import collections
import os
import random

import pytest

from engine.rules.rule import ALL_RULES
from engine.threats._solver import Solver
from engine.threats.solution import Solution, Verdict
from tests.helpers.rules import state
from tests.reference.positions import kernel_board, random_position, show
from tests.reference.rules import COLOURS, NaiveBoard
from tests.reference.vcf import NEVER, ExhaustiveSolver, MirroredBoard, QuickVctSolver

LONG = os.environ.get("TENGEN_LONG") == "1"
POSITIONS = 20_000 if LONG else 75
DEFENCES = 3_000 if LONG else 40
SIDES = ((5, 7), (6, 9), (5, 22))


def draw_position(rng: random.Random, rule: int, attacker: int) -> NaiveBoard:
    """Return a position where the attacker has a four to play; now and then any position."""
    while True:
        sides = rng.choice(SIDES)
        stones = (8, 30) if sides[1] < 10 else (8, 22)
        board = random_position(rng, rule, sides, stones, 0.02)
        if rng.random() < 0.05:
            return board
        if board.points_with(attacker, "four") and not board.points_with(attacker, "five"):
            return board


def check_line(naive: NaiveBoard, attacker: int, solution: Solution) -> None:
    """Play a proof line, its defences being the longest, and try every other defence on the way."""
    exact = ExhaustiveSolver(naive, attacker)
    assert len(solution.pv) == solution.distance, show(naive)
    for left in range(solution.distance, 1, -2):
        four, defence = solution.pv[-left], solution.pv[1 - left]
        assert four in exact.fours(), show(naive)
        assert exact.vcf_after(four) == left, show(naive)  # tries every defence
        naive.place(four, COLOURS[attacker])
        answers = exact.answers_to_four()
        assert naive.cells[defence] == "." and (defence in answers or not answers), show(naive)
        naive.place(defence, COLOURS[1 - attacker])
    naive.place(solution.pv[-1], COLOURS[attacker])
    assert naive.winner == attacker, show(naive)
    for _ in solution.pv:
        naive.undo()


@pytest.mark.parametrize("rule", ALL_RULES)
def test_vcf_equals_exhaustive_search(rule: int) -> None:
    rng = random.Random(f"vcf {rule}")
    solver = Solver(8)  # a small table has to replace much
    seen = collections.Counter[int]()
    while seen.total() < POSITIONS:
        attacker = rng.randint(0, 1)
        naive = draw_position(rng, rule, attacker)
        try:
            plies = ExhaustiveSolver(naive, attacker, node_limit=250).vcf()
        except TimeoutError:
            continue
        seen[plies] += 1
        board = kernel_board(naive)
        before = state(board)
        solution = solver.solve(board, "vcf", attacker, nodes=10_000_000)
        assert state(board) == before
        if plies == NEVER:
            assert (solution.verdict, solution.distance) == (Verdict.NONE, 0), f"{attacker}\n{show(naive)}"
            assert not solution.pv and not solution.defences
            continue
        assert (solution.verdict, solution.distance) == (Verdict.WIN, plies), f"{attacker}\n{show(naive)}"
        check_line(naive, attacker, solution)
        hurried = Solver(4).solve(board, "vcf", attacker, nodes=rng.randint(1, 30))
        assert hurried.verdict != Verdict.NONE, f"{attacker}\n{show(naive)}"
    assert sum(n for plies, n in seen.items() if 3 < plies < NEVER) > POSITIONS // 60, seen
    assert seen[NEVER] > POSITIONS // 3, seen


@pytest.mark.parametrize("rule", ALL_RULES)
def test_a_small_budget_never_says_none_wrongly(rule: int) -> None:
    rng = random.Random(f"budget {rule}")
    for _ in range(DEFENCES):
        attacker = rng.randint(0, 1)
        board = kernel_board(draw_position(rng, rule, attacker))
        full = Solver(12).solve(board, "vcf", attacker, nodes=200_000)
        part = Solver(4).solve(board, "vcf", attacker, nodes=rng.randint(1, 100))
        if Verdict.UNKNOWN in (full.verdict, part.verdict):
            continue
        assert (part.verdict, part.distance) == (full.verdict, full.distance)


@pytest.mark.parametrize("rule", ALL_RULES)
def test_every_move_outside_the_defences_loses(rule: int) -> None:
    """With the defender to move: whatever is not in the defence set must lose to a VCF."""
    rng = random.Random(f"defences {rule}")
    solver = Solver(10)
    seen = spared = 0
    while seen < DEFENCES:
        attacker = rng.randint(0, 1)
        naive = draw_position(rng, rule, attacker)
        exact = QuickVctSolver(MirroredBoard(naive), attacker, 0)
        if exact.vcf() == NEVER:
            continue
        refutes = []
        for p in range(len(naive.cells)):
            if exact.legal(p, 1 - attacker):
                exact.board.place(p, COLOURS[1 - attacker])
                if exact.board.winner == 1 - attacker or exact.vcf() == NEVER:
                    refutes.append(p)
                exact.board.undo()
        seen += 1
        board = kernel_board(naive)
        board.set_to_move(1 - attacker)
        before = state(board)
        solution = solver.solve(board, "vcf", attacker, nodes=1_000_000)
        assert state(board) == before
        assert solution.verdict == Verdict.WIN, show(naive)
        assert set(refutes) <= set(solution.defences), f"{attacker} {refutes} {solution}\n{show(naive)}"
        assert list(solution.defences) == sorted(set(solution.defences))
        spared += board.n_empty - len(solution.defences)
    assert spared > 10 * seen  # the set says something

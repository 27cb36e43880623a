"""The VCT solver against an exhaustive search of the same definition, on small boards of every rule.

TENGEN_LONG=1 compares 20,000 positions a rule, the default a part of them.
"""

from __future__ import annotations

import collections
import os
import random

import pytest

from engine.rules.rule import ALL_RULES
from engine.threats._solver import THREAT_FOURS, Solver
from engine.threats.solution import Verdict
from tests.helpers.rules import state
from tests.reference.positions import kernel_board, random_position, show
from tests.reference.rules import COLOURS, NaiveBoard
from tests.reference.vcf import UNLIMITED, ExhaustiveSolver, MirroredBoard, QuickVctSolver

LONG = os.environ.get("TENGEN_LONG") == "1"
POSITIONS = 20_000 if LONG else 40
PLAIN = 300 if LONG else 2
DEFENCES = 800 if LONG else 2
SIZES = (((5, 6), (5, 18)), ((6, 7), (8, 24)), ((7, 8), (14, 34)))


def draw_position(rng: random.Random, rule: int, attacker: int) -> NaiveBoard:
    """Return a position where the attacker has an open three to play, but no five.

    A tenth are such that the kernel claims a VCT and no VCF, since chance brings few of them.
    """
    claimed = rng.random() < 0.1
    while True:
        naive = random_position(rng, rule, *rng.choice(SIZES), 0.03)
        if naive.points_with(attacker, "five"):
            continue
        if claimed:
            kernel = kernel_board(naive)
            kernel.set_to_move(attacker)
            verdicts = [Solver(8).solve(kernel, kind, nodes=3_000).verdict for kind in ("vcf", "vct")]
            if verdicts == [Verdict.NONE, Verdict.WIN]:
                return naive
        elif naive.points_with(attacker, "open_three") or rng.random() < 0.1:
            return naive


def check_first_move(exact: QuickVctSolver, line: tuple[int, ...], distance: int) -> None:
    """Every defence to the first move of a proof must lose, in time."""
    four = line[0] in exact.fours()
    assert four or line[0] in exact.threats(), show(exact.board)
    assert exact.vct_after(line[0], distance, four=four), show(exact.board)


def check_line(naive: NaiveBoard, attacker: int, line: tuple[int, ...]) -> None:
    """A line alternates legal moves and ends with the attacker's five."""
    for i, point in enumerate(line):
        colour = attacker if i % 2 == 0 else 1 - attacker
        assert naive.winner == 2 and naive.cells[point] == ".", show(naive)
        assert colour != attacker or not naive.is_forbidden(point, colour), show(naive)
        naive.place(point, COLOURS[colour])
    assert naive.winner == attacker, show(naive)
    for _ in line:
        naive.undo()


@pytest.mark.parametrize("rule", ALL_RULES)
def test_vct_equals_exhaustive_search(rule: int) -> None:
    rng = random.Random(f"vct {rule}")
    solver = Solver(8)
    seen = collections.Counter[str]()
    while seen.total() < POSITIONS:
        attacker = rng.randint(0, 1)
        naive = draw_position(rng, rule, attacker)
        exact = QuickVctSolver(MirroredBoard(naive), attacker, THREAT_FOURS, node_limit=500)
        try:
            wins = exact.vct()
            kind = "vcf" if exact.vcf() < UNLIMITED else "vct" if wins else "none"
        except TimeoutError:
            continue
        seen[kind] += 1
        board = kernel_board(naive)
        before = state(board)
        solution = solver.solve(board, "vct", attacker, nodes=10_000_000)
        assert state(board) == before
        verdict = Verdict.WIN if wins else Verdict.NONE
        assert solution.verdict == verdict, f"{attacker} {kind} {solution}\n{show(naive)}"
        if not wins:
            continue
        assert len(solution.pv) <= solution.distance, f"{solution}\n{show(naive)}"
        check_line(naive, attacker, solution.pv)
        exact.node_limit = 10**9
        if kind == "vct":
            check_first_move(exact, solution.pv, solution.distance)
        hurried = Solver(4).solve(board, "vct", attacker, nodes=rng.randint(1, 200))
        assert hurried.verdict != Verdict.NONE, f"{attacker}\n{show(naive)}"
    assert seen["vct"] > POSITIONS // 30 and seen["none"] > POSITIONS // 3, seen


@pytest.mark.parametrize("rule", ALL_RULES)
def test_vct_equals_the_plain_search(rule: int) -> None:
    """A few positions without any help of the kernel in the reference."""
    rng = random.Random(f"plain vct {rule}")
    seen = 0
    while seen < PLAIN:
        attacker = rng.randint(0, 1)
        naive = draw_position(rng, rule, attacker)
        try:
            wins = ExhaustiveSolver(naive, attacker, THREAT_FOURS, node_limit=700).vct()
        except TimeoutError:
            continue
        seen += 1
        # a search that was cut leaves stones behind, a finished one does not
        solution = Solver(12).solve(kernel_board(naive), "vct", attacker, nodes=10_000_000)
        assert solution.verdict == (Verdict.WIN if wins else Verdict.NONE), f"{attacker}\n{show(naive)}"


@pytest.mark.parametrize("rule", ALL_RULES)
def test_every_move_outside_the_defences_loses_to_a_vct(rule: int) -> None:
    rng = random.Random(f"vct defences {rule}")
    solver = Solver(12)
    seen = spared = 0
    while seen < DEFENCES:
        attacker = rng.randint(0, 1)
        naive = draw_position(rng, rule, attacker)
        exact = QuickVctSolver(MirroredBoard(naive), attacker, THREAT_FOURS, node_limit=1_500)
        try:
            if not exact.vct():
                continue
            refutes = []
            for p in range(len(naive.cells)):
                if exact.legal(p, 1 - attacker):
                    exact.board.place(p, COLOURS[1 - attacker])
                    if exact.board.winner == 1 - attacker or not exact.vct():
                        refutes.append(p)
                    exact.board.undo()
        except TimeoutError:
            continue
        seen += 1
        board = kernel_board(naive)
        board.set_to_move(1 - attacker)
        before = state(board)
        solution = solver.solve(board, "vct", attacker, nodes=10_000_000)
        assert state(board) == before
        assert solution.verdict == Verdict.WIN, show(naive)
        assert set(refutes) <= set(solution.defences), f"{attacker} {refutes} {solution}\n{show(naive)}"
        spared += board.n_empty - len(solution.defences)
    assert spared > seen

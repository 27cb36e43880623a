"""Make the tactics suite: mine games, judge positions, keep those that exhaustive search confirms.

    python -m tests.tactics.make --seed 1 --out tests/tactics/suite.jsonl

The games are random ones that follow shapes, and games of the engine against itself without a net.
"""

from __future__ import annotations

import argparse
import collections
import random
from collections.abc import Iterator
from pathlib import Path

from engine.commands.tactics import Tactic
from engine.evaluator.uniform import UniformEvaluator
from engine.rules import _board
from engine.rules._board import Board
from engine.rules.geometry import xy
from engine.rules.rule import NET_RULES
from engine.search.mcts import Search
from engine.search.stoppers import NodeLimit
from engine.threats._solver import THREAT_FOURS
from engine.threats.solution import Verdict
from tests.reference.rules import COLOURS, NaiveBoard
from tests.reference.vcf import NEVER, UNLIMITED, ExhaustiveSolver, MirroredBoard, QuickVctSolver
from tests.tactics.judge import FINAL_NODES, Judge, Unsettled

SIZES = ((15, 15), (15, 15), (15, 15), (20, 20), (10, 10), (12, 9))
# how many of a kind for each rule; vcf and vct by length, "rule" not in freestyle
WANTED = {"vcf 3": 5, "vcf 5": 8, "vcf 7": 8, "vcf 9": 6, "vcf 11": 5}
WANTED |= {"vct 7": 9, "vct 9": 6, "vct 11": 6}
WANTED |= {"defence 3": 8, "defence 5": 6, "trap": 9, "rule": 8}
EDGE_SHARE = 0.3
TWIN_NODES = 4_000


def shape_weight(own: int, other: int) -> float:
    """Return how much a random player likes a point, by the SHAPE_* bits there for him and the opponent."""
    weight = 1.0
    for bit, mine, his in (
        (_board.SHAPE_OPEN_FOUR, 30, 20), (_board.SHAPE_FORK, 10, 8), (_board.SHAPE_OPEN_THREE, 5, 4),
        (_board.SHAPE_FOUR, 1.5, 3),
    ):  # fmt: skip
        weight += mine * bool(own & bit) + his * bool(other & bit)
    return weight


def random_move(rng: random.Random, board: Board, near: list[int]) -> int:
    """Choose a legal move: a five, a block, else near the stones by the shapes it makes."""
    mover = board.to_move
    legal = set(board.legal_points())
    for colour in (mover, 1 - mover):
        forced = [p for p in board.five_points(colour) if p in legal]
        if forced:
            return rng.choice(forced)
    points = [p for p in near if p in legal] or sorted(legal)
    weights = [shape_weight(board.shape(p, mover), board.shape(p, 1 - mover)) for p in points]
    return rng.choices(points, weights)[0]


def neighbours(board: Board, reach: int = 2) -> list[int]:
    """Return the empty points at most `reach` from a stone."""
    out = set()
    for point, _ in board.stones():
        x0, y0 = xy(point, board.width)
        for y in range(max(0, y0 - reach), min(board.height, y0 + reach + 1)):
            for x in range(max(0, x0 - reach), min(board.width, x0 + reach + 1)):
                out.add(y * board.width + x)
    return sorted(p for p in out if board.cell(p) == _board.EMPTY)


def game_positions(rng: random.Random, rule: int) -> Iterator[Board]:
    """Play a game and yield the board at each ply from the eighth on."""
    width, height = rng.choice(SIZES)
    board = Board(width, height, rule)
    if rng.random() < EDGE_SHARE:
        x, y = rng.choice((0, 1, width - 2, width - 1)), rng.randrange(height)
        if rng.random() < 0.5:
            x, y = rng.randrange(width), rng.choice((0, 1, height - 2, height - 1))
    else:
        x, y = width // 2 + rng.randint(-2, 2), height // 2 + rng.randint(-2, 2)
    board.place(y * width + x)
    search = Search(memory_bytes=4 << 20, solver=False) if rng.random() < 0.2 else None
    while board.winner == _board.EMPTY and board.ply < 50 and board.legal_points():
        near = neighbours(board)
        if search is not None and board.ply >= 4:
            move = search.search(board, UniformEvaluator(), [NodeLimit(150)]).point
        else:
            move = random_move(rng, board, near)
        board.place(move)
        if board.ply >= 8 and board.winner == _board.EMPTY:
            yield board


def at_edge(points: list[int], width: int, height: int) -> bool:
    places = [xy(p, width) for p in points]
    return all(min(x, y, width - 1 - x, height - 1 - y) <= 1 for x, y in places)


def freestyle_blunders(board: Board, judge: Judge, goal: str, answers: list[int]) -> bool:
    """Return whether freestyle would choose another move than the answers, or knows no win where one is."""
    if board.rule == 0:
        return False
    free = Board.from_stones(board.width, board.height, 0, board.stones())
    free.set_to_move(board.to_move)
    if free.winner != _board.EMPTY or free.five_points(free.to_move) or free.five_points(1 - free.to_move):
        return False
    solution = judge.solve(free, free.to_move)
    if solution.verdict == Verdict.WIN:
        return solution.pv[0] not in answers
    return goal == "win" or not set(judge.holding(free)) <= set(answers)


def naive_copy(board: Board) -> NaiveBoard:
    naive = NaiveBoard(board.width, board.height, board.rule)
    for point, colour in board.stones():
        naive.place(point, COLOURS[colour])
    return naive


def confirm_win(board: Board, kind: str, distance: int, answers: list[int]) -> bool:
    """Return whether exhaustive search finds the same: the plies of a VCF, or a VCT by one of the answers."""
    naive = naive_copy(board)
    if kind == "vcf":
        return ExhaustiveSolver(naive, board.to_move, node_limit=TWIN_NODES).vcf() == distance
    exact = QuickVctSolver(MirroredBoard(naive), board.to_move, THREAT_FOURS, node_limit=TWIN_NODES)
    if exact.vcf() != NEVER:
        return False
    fours = exact.fours()
    return any(exact.vct_after(p, UNLIMITED, four=p in fours) for p in answers)


def confirm_hold(board: Board, answers: list[int]) -> bool:
    """Return whether exhaustive search finds no VCF of the opponent after any answer that is no four."""
    naive = naive_copy(board)
    for answer in answers:
        naive.place(answer, COLOURS[board.to_move])
        held = ExhaustiveSolver(naive, 1 - board.to_move, node_limit=TWIN_NODES).vcf() == NEVER
        naive.undo()
        if not held:
            return False
    return True


def find(board: Board, judge: Judge) -> tuple[str, str, list[int], int] | None:
    """Return (kind, goal, answers, distance) if the position suits the suite.

    Raises:
        Unsettled: the solver's budget does not reach.
    """
    mover = board.to_move
    if board.five_points(mover):
        return None
    own = judge.solve(board, mover, "vcf")
    kind = "vcf"
    if own.verdict == Verdict.NONE:
        own, kind = judge.solve(board, mover), "vct"
    if own.verdict == Verdict.WIN:
        threats = [p for p in board.legal_points() if board.shape(p, mover) or board.five_points(1 - mover)]
        answers = [p for p in threats if judge.wins(board, p)]
        if own.pv[0] not in answers or len(answers) > 6:
            return None
        if freestyle_blunders(board, judge, "win", answers):
            kind = f"{kind} rule"
        return kind, "win", answers, own.distance
    if board.five_points(1 - mover):
        return None
    threat = judge.solve(board, 1 - mover)
    if threat.verdict != Verdict.WIN or threat.distance < 3:
        return None
    answers = judge.holding(board)
    if not 1 <= len(answers) <= 4:
        return None
    kind = "defence"
    strong = _board.SHAPE_FORK | _board.SHAPE_FOUR | _board.SHAPE_OPEN_THREE
    tempting = [p for p in board.legal_points() if board.shape(p, mover) & strong]
    if freestyle_blunders(board, judge, "hold", answers):
        kind = "defence rule"
    elif len(tempting) >= 2 and not set(tempting) & set(answers):
        kind = "trap"
    return kind, "hold", answers, threat.distance


def slot_of(kind: str, distance: int) -> str:
    """Return the key of WANTED that a position counts for."""
    bounds = {"vcf": (3, 11), "vct": (7, 11), "defence": (3, 5)}
    if kind not in bounds:
        return kind
    low, high = bounds[kind]
    return f"{kind} {min(max(distance, low), high)}"


def make(seed: int, rules: tuple[int, ...], games: int) -> list[Tactic]:
    """Mine until every rule has what is wanted, or so many games are played."""
    suite = []
    for rule in rules:
        rng = random.Random(f"tactics {seed} {rule}")
        judge = Judge()
        found = collections.Counter[str]()
        wanted = {k: n for k, n in WANTED.items() if rule or k != "rule"}
        seen = set()
        for _ in range(games):
            taken = 0  # of this game
            for board in game_positions(rng, rule):
                if taken == 2 or board.hash in seen:
                    continue
                seen.add(board.hash)
                try:
                    if find(board, judge) is None:
                        continue
                    result = find(board, Judge(FINAL_NODES))
                    if result is None:
                        continue
                    kind, goal, answers, distance = result
                    special = kind.endswith(" rule")
                    base = kind.removesuffix(" rule")
                    slot = slot_of(base, distance)
                    if special and found["rule"] < wanted["rule"]:
                        slot = "rule"
                    if found[slot] >= wanted[slot]:
                        continue
                    if goal == "win":
                        confirmed = confirm_win(board, base, distance, answers)
                    else:
                        confirmed = confirm_hold(board, answers)
                except (Unsettled, TimeoutError):
                    continue
                assert confirmed, (board.stones(), kind, answers, distance)
                found[slot] += 1
                taken += 1
                suite.append(
                    Tactic(
                        id=f"{rule}-{found.total():02}",
                        theme="rule" if slot == "rule" else base,
                        rule=rule,
                        width=board.width,
                        height=board.height,
                        moves=tuple(p for p, _ in board.stones()),
                        to_move=board.to_move,
                        goal=goal,
                        good=tuple(answers),
                        distance=distance,
                        edge=at_edge(answers, board.width, board.height),
                    )
                )
            if all(found[k] >= n for k, n in wanted.items()):
                break
        print(f"rule {rule}: {dict(found)}", flush=True)
    return suite


def main() -> None:
    """Write the suite of a seed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rules", type=int, nargs="*", default=list(NET_RULES))
    parser.add_argument("--games", type=int, default=2_000, help="at most so many for each rule")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    suite = make(args.seed, tuple(args.rules), args.games)
    args.out.write_text("".join(f"{tactic.to_json()}\n" for tactic in suite), encoding="ascii")


if __name__ == "__main__":
    main()

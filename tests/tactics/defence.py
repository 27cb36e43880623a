"""Does the brain stop what can be stopped? Random positions where the opponent threatens a straight four.

    python -m tests.tactics.defence --positions 500 --turn-ms 100

The opponent has an open or a broken three, nobody has a five. The move that the engine plays passes if it
wins by force, if it leaves the opponent no forced win by fours and threes, or if no move would have done so.
A position that the solver cannot settle within its budget is replaced by another one and counted.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from engine.config import EngineConfig
from engine.engine import Engine
from engine.rules import _board
from engine.rules._board import Board
from engine.rules.geometry import format_move, format_moves
from engine.rules.rule import NET_RULES, Rule
from engine.timing.budget import SearchLimits
from tests.tactics.judge import Judge, Unsettled
from tests.tactics.make import neighbours, random_move

SIZES = (15, 15, 20)
JUDGE_NODES = (20_000, 200_000)  # the second where the first does not settle a position


@dataclass
class Score:
    """What came of the positions of one rule."""

    asked: int = 0
    stopped: int = 0
    """The move wins, or leaves no forced win."""
    lost_anyway: int = 0
    """No move stops the threat."""
    unsettled: int = 0
    """Left out."""
    failed: list[str] = field(default_factory=list)
    """Moves so far and the engine's move."""


def threatened(rng: random.Random, rule: int) -> Iterator[Board]:
    """Yield the positions of one random game where the side not to move could make a straight four next."""
    size = rng.choice(SIZES)
    board = Board(size, size, rule)
    board.place((size // 2 + rng.randint(-3, 3)) * size + size // 2 + rng.randint(-3, 3))
    while board.winner == _board.EMPTY and board.ply < 45:
        board.place(random_move(rng, board, neighbours(board)))
        if board.winner != _board.EMPTY or board.five_points(0) or board.five_points(1):
            continue
        other = 1 - board.to_move
        if any(
            board.shape(p, other) & _board.SHAPE_OPEN_FOUR and not board.is_forbidden(p, other)
            for p in range(board.points)
        ):
            yield board


def passes(board: Board, move: int) -> bool | None:
    """Return whether a move stops what can be stopped; None where nothing can.

    Raises:
        Unsettled: the judge's budget does not reach.
    """
    for nodes in JUDGE_NODES:
        judge = Judge(nodes)
        try:
            if judge.holds(board, move) or judge.wins(board, move):
                return True
            return False if judge.holding(board, first=True) else None
        except Unsettled:
            if nodes == JUDGE_NODES[-1]:
                raise
    raise AssertionError("JUDGE_NODES is empty")


def play(engine: Engine, rule: int, positions: int, seed: int, limits: SearchLimits) -> Score:
    """Ask the engine for its move in random positions of a rule, at most one a game."""
    rng = random.Random(f"defence {seed} {rule}")
    score = Score()
    while score.asked < positions:
        found = list(board.copy() for board in threatened(rng, rule))
        if not found:
            continue
        board = rng.choice(found)
        engine.new_game(board.width, board.height, Rule(rule))
        engine.set_position(board.stones(), board.to_move)
        move = engine.think(limits, engine.clock.now_s()).point
        try:
            verdict = passes(board, move)
        except Unsettled:
            score.unsettled += 1
            continue
        score.asked += 1
        if verdict is None:
            score.lost_anyway += 1
        elif verdict:
            score.stopped += 1
        else:
            moves = format_moves([p for p, _ in board.stones()], board.width)
            score.failed.append(f"{board.width} {moves} -> {format_move(move, board.width)}")
    return score


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line a rule, and every position that failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--positions", type=int, default=500, help="of each rule (default 500)")
    parser.add_argument("--rules", type=int, nargs="*", default=list(NET_RULES), choices=NET_RULES)
    parser.add_argument("--turn-ms", type=int, default=100, help="time a move (default 100)")
    parser.add_argument("--simulations", type=int, help="simulations a move instead of a time")
    parser.add_argument("--net", default="default")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    limits = SearchLimits(turn_ms=args.turn_ms)
    if args.simulations is not None:
        limits = SearchLimits(max_nodes=args.simulations)
    engine = Engine(EngineConfig(net=args.net, seed=args.seed))
    engine.warm_up()
    for rule in args.rules:
        score = play(engine, rule, args.positions, args.seed, limits)
        print(
            f"rule {rule}: {score.asked} positions, stopped {score.stopped}, nothing to be done in "
            f"{score.lost_anyway}, failed {len(score.failed)} (left out as unsettled: {score.unsettled})",
            flush=True,
        )
        for line in score.failed:
            print(f"  failed: {line}")
    engine.close()


if __name__ == "__main__":
    main()

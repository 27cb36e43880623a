"""Search fixed positions over all rules and board sizes with the hashed evaluator, and print one signature.

The signature is equal on every machine and build; a commit that changes it changes how the engine searches.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

from engine.evaluator.hashed import HashedEvaluator
from engine.rules._board import Board
from engine.rules.rule import Rule

SIMULATIONS = 300
"""A position (derived: the whole bench takes about a second)."""
SEED = 20261120
_MASK = (1 << 64) - 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "--simulations",
        type=int,
        default=SIMULATIONS,
        metavar="N",
        help=f"a position (default {SIMULATIONS})",
    )
    parser.add_argument("--verbose", action="store_true", help="a line for every position, on stderr")


def run(args: argparse.Namespace) -> int:
    """Print the signature."""
    if args.simulations < 1:
        print("error: --simulations must be at least 1", file=sys.stderr)
        return 2
    started_s = time.perf_counter()
    log = sys.stderr if args.verbose else None
    total, count, simulations = 0, 0, 0
    for board in positions():
        one, done = signature_of(board, args.simulations)
        total = _mix(total ^ one)
        count += 1
        simulations += done
        if log:
            print(f"{board.width}x{board.height} rule {board.rule} ply {board.ply}: {one:016x}", file=log)
    elapsed_s = time.perf_counter() - started_s
    print(f"{count} positions, {simulations} simulations, {elapsed_s:.2f} s", file=sys.stderr)
    print(f"Bench: {total:016x}")
    return 0


def positions() -> Iterator[Board]:
    """Yield boards of every side from 5 to 22 and some rectangles, under every rule, empty to crowded."""
    state = SEED
    sizes = [(side, side) for side in range(5, 23)] + [(22, 5), (5, 22), (13, 9), (20, 15)]
    for width, height in sizes:
        for rule in Rule:
            board = Board(width, height, rule)
            state = _mix(state + 1)
            for _ in range(state % (1 + min(24, width * height // 3))):
                state = _mix(state + 1)
                if not _place_near(board, state):
                    break
            yield board


def signature_of(board: Board, simulations: int) -> tuple[int, int]:
    """Search one position; return the digest of its tree and the simulations done."""
    from engine.search._tree import Tree
    from engine.search.params import SearchParams
    from engine.threats._solver import Solver

    tree = Tree(SearchParams(), 64 << 20, Solver(14))
    tree.set_root(board)
    done = tree.run(simulations, HashedEvaluator(SEED).judge, threes=False)
    return tree.signature() & _MASK, done


def _place_near(board: Board, bits: int) -> bool:
    """Put a stone of the side to move near the others, without ending the game; whether that was possible."""
    winning = set(board.five_points(board.to_move))
    points = [p for p in board.legal_points() if p not in winning]
    stones = {p for p, _ in board.stones()}
    near = [p for p in points if any(_distance(p, stone, board.width) <= 2 for stone in stones)]
    choice = near or points
    if not choice:
        return False
    board.place(choice[bits % len(choice)])
    return True


def _distance(one: int, other: int, width: int) -> int:
    return max(abs(one % width - other % width), abs(one // width - other // width))


def _mix(value: int) -> int:
    """Return the next of a chain of 64-bit numbers (SplitMix64)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)

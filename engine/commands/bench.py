"""Search fixed positions with the hashed evaluator, and print one signature of all results.

The signature is equal on every machine and build; a commit that changes it changes how the engine searches.
It has two parts. Trees that the kernel grows alone cover every rule and board size. Short games cover the
rest: `Search` with its proofs at the root, VCT inside the tree, and trees that are kept from move to move.
`python -m tests.mutation --set bench` shows that faults in these are seen.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.commands.options import parse_threads
from engine.evaluator.base import Decorator, Keys, Planes, Policy, Wdl
from engine.evaluator.hashed import HashedEvaluator
from engine.rules._board import EMPTY, MAX_SIDE, MIN_SIDE, Board
from engine.rules.rule import NET_RULES

if TYPE_CHECKING:
    from engine.search.params import SearchParams

SIMULATIONS = 300
"""A position (derived: the whole bench takes a few seconds)."""
GAME_EVERY = 3
"""One in so many positions is also played from (derived: as above)."""
PLIES_ON = (2, 1, 0)
"""What is played of the principal variation after each search of a game: a move and its answer, then a move
alone, so that trees are kept for either side."""
CANDIDATES = 8
"""Moves of a result in the signature, best first (derived: more add nothing to the tree)."""
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
    parser.add_argument(
        "--threads", type=parse_threads, default=1, metavar="N",
        help="of each search (default 1); with more, trees are not deterministic: no signature",
    )  # fmt: skip
    parser.add_argument("--verbose", action="store_true", help="a line for every position, on stderr")


def run(args: argparse.Namespace) -> int:
    """Print the signature; return 0, or 2 for a bad argument."""
    if args.simulations < 1:
        print("error: --simulations must be at least 1", file=sys.stderr)
        return 2
    if args.threads > 1:
        return _run_threads(args.simulations, args.threads)
    started_s = time.perf_counter()
    log = sys.stderr if args.verbose else None
    total, count, simulations = 0, 0, 0
    for i, board in enumerate(positions()):
        for signature in (signature_of, signature_of_game)[: 1 + (i % GAME_EVERY == 0)]:
            one, done = signature(board, args.simulations)
            total = _mix(total ^ one)
            simulations += done
            if log:
                name = f"{board.width}x{board.height} rule {board.rule} ply {board.ply}"
                print(f"{name}{' game' * (signature is signature_of_game)}: {one:016x}", file=log)
        count += 1
    elapsed_s = time.perf_counter() - started_s
    print(f"{count} positions, {simulations} simulations, {elapsed_s:.2f} s", file=sys.stderr)
    print(f"Bench: {total:016x}")
    return 0


def _run_threads(simulations: int, threads: int) -> int:
    """Search all positions with several threads; check the trees and print how fast that was."""
    from engine.search.mcts import Search
    from engine.search.stoppers import NodeLimit

    started_s = time.perf_counter()
    search = Search(memory_bytes=64 << 20, threads=threads)
    evaluator = HashedEvaluator(SEED)
    count, done = 0, 0
    for board in positions():
        done += search.search(board, evaluator, [NodeLimit(simulations)]).simulations
        search.tree.check()
        count += 1
    elapsed_s = time.perf_counter() - started_s
    print(f"{count} positions, {done} simulations, {elapsed_s:.2f} s, {threads} threads; all trees are sound")
    print("not deterministic with several threads: no signature")
    return 0


def positions() -> Iterator[Board]:
    """Yield boards of every side from 5 to 22 and some rectangles, under every rule, empty to crowded."""
    state = SEED
    sizes = [(side, side) for side in range(MIN_SIDE, MAX_SIDE + 1)]
    sizes += [(MAX_SIDE, MIN_SIDE), (MIN_SIDE, MAX_SIDE), (13, 9), (20, 15)]
    for width, height in sizes:
        for rule in NET_RULES:
            board = Board(width, height, rule)
            state = _mix(state + 1)
            for _ in range(state % (1 + min(24, width * height // 3))):
                state = _mix(state + 1)
                if not _place_near(board, state):
                    break
            yield board


def signature_of(board: Board, simulations: int) -> tuple[int, int]:
    """Search one position from an empty tree, without VCT, by the hashed evaluator.

    Returns:
        A 64-bit digest of the tree, and the simulations done: fewer than asked for if the root is proven.
    """
    from engine.search._tree import Tree
    from engine.search.params import SearchParams
    from engine.threats._solver import Solver

    tree = Tree(SearchParams(), 64 << 20, Solver(14))
    tree.set_root(board)
    done = tree.run(simulations, HashedEvaluator(SEED).backend, vct=False)
    return tree.signature() & _MASK, done


def signature_of_game(
    board: Board, simulations: int, params: SearchParams | None = None
) -> tuple[int, int]:
    """Search a position and some that follow, as in a game; return the digest and the simulations done.

    The digest is of the trees and their roots' priors, and of the moves with their numbers, proofs and lines
    that `Search` found.

    Args:
        simulations: of each search.
        params: defaults if None, with smaller tables of the solver.
    """
    from engine.search.mcts import Search
    from engine.search.params import SearchParams
    from engine.search.stoppers import NodeLimit

    search = Search(params or SearchParams(solver_table_log2=14), 64 << 20)
    board = board.copy()
    found: list[object] = []
    done = 0
    for plies_on in PLIES_ON:
        if not board.legal_points():
            break
        result = search.search(board, _PythonHashed(SEED), [NodeLimit(simulations)])
        done += result.simulations
        moves = [(m.point, m.visits, m.wdl, m.proven, m.distance) for m in result.candidates[:CANDIDATES]]
        numbers = (result.visits, result.evaluations, result.wdl, result.proven, result.distance)
        tree = (search.tree.signature() & _MASK, search.tree.priors().tolist())
        found.append((tree, result.pv, result.stop_reason, numbers, moves))
        for point in result.pv[:plies_on]:
            board.place(point)
        if board.winner != EMPTY:
            break
    digest = hashlib.blake2b(repr(found).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little"), done


class _PythonHashed(Decorator):
    """The hashed evaluator, called from Python as a net in onnxruntime is."""

    def __init__(self, seed: int) -> None:
        super().__init__(HashedEvaluator(seed))

    def evaluate(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        return self.inner.evaluate(planes, keys)


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

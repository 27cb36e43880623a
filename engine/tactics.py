"""Count the tactical positions of a suite that the engine gets right, at fixed simulations and at fixed time.

A suite is a file of JSON objects, one a line, with at least these keys:

    name     unique in the suite
    kind     what is tested, e.g. `vcf`, `vct`, `defence`, `trap`; results are shown by kind
    rule     number as in `INFO rule`
    width, height
    moves    stones in the order played, e.g. `h8h9i8`; black first, colours alternate
    to_move  0 black, 1 white
    answers  list of the moves that solve it, e.g. ["h8"]
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.engine import Engine
from engine.errors import PositionError
from engine.options import add_config_options, config_from
from engine.rules._board import Board
from engine.rules.geometry import format_move, parse_move, parse_moves
from engine.rules.rule import Rule
from engine.timing.budget import SearchLimits

SUITE = Path(__file__).resolve().parent.parent / "tests" / "tactics" / "suite.jsonl"


@dataclass(frozen=True, slots=True)
class Puzzle:
    """One position of a suite; points are indices `y * width + x`."""

    name: str
    kind: str
    rule: int
    width: int
    height: int
    moves: tuple[int, ...]
    to_move: int
    answers: frozenset[int]

    def board(self) -> Board:
        """Return the position."""
        board = Board(self.width, self.height, self.rule)
        for point in self.moves:
            board.place(point)
        board.set_to_move(self.to_move)
        return board


def read_suite(path: Path) -> list[Puzzle]:
    """Return the puzzles of a file.

    Raises:
        PositionError: no such file, or a line is no puzzle; names file and line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise PositionError(f"cannot read the suite {path}: {error.strerror}") from error
    puzzles = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            puzzles.append(_puzzle(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise PositionError(f"{path}, line {number}: {error!r}") from error
    return puzzles


def _puzzle(entry: dict[str, Any]) -> Puzzle:
    width, height = int(entry["width"]), int(entry["height"])
    puzzle = Puzzle(
        name=str(entry["name"]),
        kind=str(entry["kind"]),
        rule=int(entry["rule"]),
        width=width,
        height=height,
        moves=tuple(parse_moves(entry["moves"], width, height)),
        to_move=int(entry["to_move"]),
        answers=frozenset(parse_move(text, width, height) for text in entry["answers"]),
    )
    legal = puzzle.board().legal_points()
    if not puzzle.answers:
        raise ValueError("there is no answer")
    for point in puzzle.answers.difference(legal):
        raise ValueError(f"the answer {format_move(point, width)} cannot be played")
    return puzzle


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_config_options(parser)
    parser.add_argument(
        "--suite", type=Path, default=SUITE, metavar="FILE", help="puzzles (default: that of tests/tactics)"
    )
    parser.add_argument(
        "--simulations", type=int, default=400, metavar="N", help="of the first run (default 400; 0: none)"
    )
    parser.add_argument(
        "--time", type=float, default=1.0, metavar="SECONDS", help="of the second run (default 1; 0: none)"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N of each kind")
    parser.add_argument("--verbose", action="store_true", help="name what is not solved, on stderr")


def run(args: argparse.Namespace) -> int:
    """Print solved/total by kind and in all."""
    puzzles = first_of_each(read_suite(args.suite), args.limit)
    engine = Engine(config_from(args, overhead_ms=0), log=lambda line: print(line, file=sys.stderr))
    engine.warm_up()
    runs = []
    if args.simulations > 0:
        limits = SearchLimits(turn_ms=None, max_nodes=args.simulations)
        runs.append((f"{args.simulations} simulations", limits))
    if args.time > 0:
        runs.append((f"{args.time:g} s", SearchLimits(turn_ms=max(1, int(1000 * args.time)))))
    for title, limits in runs:
        failed = [p for p in puzzles if answer(engine, p, limits) not in p.answers]
        print(summary(title, puzzles, failed))
        if args.verbose:
            for puzzle in failed:
                print(f"not solved: {puzzle.name}", file=sys.stderr)
    engine.close()
    return 0


def first_of_each(puzzles: Iterable[Puzzle], limit: int | None) -> list[Puzzle]:
    """Return at most `limit` puzzles of each kind, in order."""
    seen = collections.Counter[str]()
    kept = []
    for puzzle in puzzles:
        seen[puzzle.kind] += 1
        if limit is None or seen[puzzle.kind] <= limit:
            kept.append(puzzle)
    return kept


def answer(engine: Engine, puzzle: Puzzle, limits: SearchLimits) -> int:
    """Return the engine's move, found from an empty tree."""
    board = puzzle.board()
    engine.new_game(puzzle.width, puzzle.height, Rule(puzzle.rule))
    engine.set_position(board.stones(), board.to_move)
    return engine.think(limits, engine.clock.now_s()).point


def summary(title: str, puzzles: Sequence[Puzzle], failed: Sequence[Puzzle]) -> str:
    """Return a table of solved/total."""
    totals = collections.Counter(p.kind for p in puzzles)
    missed = collections.Counter(p.kind for p in failed)
    rows = [f"{kind:<12} {total - missed[kind]}/{total}" for kind, total in sorted(totals.items())]
    solved = len(puzzles) - len(failed)
    share = f" ({100 * solved / len(puzzles):.1f} %)" if puzzles else ""
    return "\n".join([f"at {title}:", *rows, f"{'all':<12} {solved}/{len(puzzles)}{share}"])

"""Count the tactical positions of a suite that the engine gets right, at fixed simulations and at fixed time.

A suite is a file of JSON objects, one a line, with these keys:

    id       name, unique in the suite
    theme    what is tested, e.g. `vcf`, `vct`, `defence`, `trap`, `renju`; results are shown by theme
    rule     number as in `INFO rule`
    width, height
    moves    stones in the order played, e.g. `h8h9i8`; black first, colours alternate
    good     moves of the side to move that solve it; empty: all but `bad`
    bad      moves that fail (optional)
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.engine import Engine
from engine.errors import PositionError
from engine.options import add_config_options, config_from
from engine.rules._board import EMPTY, Board
from engine.rules.geometry import format_move, parse_moves
from engine.rules.rule import Rule
from engine.timing.budget import SearchLimits

SUITE = Path(__file__).resolve().parent.parent / "tests" / "tactics" / "suite.jsonl"


@dataclass(frozen=True, slots=True)
class Puzzle:
    """One position of a suite; points are indices `y * width + x`."""

    name: str
    theme: str
    rule: int
    width: int
    height: int
    moves: tuple[int, ...]
    good: frozenset[int]
    bad: frozenset[int]

    def board(self) -> Board:
        """Return the position."""
        board = Board(self.width, self.height, self.rule)
        for point in self.moves:
            board.place(point)
        return board

    def solved_by(self, point: int) -> bool:
        """Return whether a move is right."""
        return point not in self.bad and (not self.good or point in self.good)


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


def _puzzle(entry: dict[str, object]) -> Puzzle:
    width, height, rule = int(str(entry["width"])), int(str(entry["height"])), int(str(entry["rule"]))
    moves = parse_moves(str(entry["moves"]), width, height)
    good, bad = (parse_moves(str(entry.get(key, "")), width, height) for key in ("good", "bad"))
    name, theme = str(entry["id"]), str(entry["theme"])
    puzzle = Puzzle(name, theme, rule, width, height, tuple(moves), frozenset(good), frozenset(bad))
    board = puzzle.board()
    if board.winner != EMPTY:
        raise ValueError("the game is over")
    if not good and not bad:
        raise ValueError("neither good nor bad moves")
    for point in puzzle.good | puzzle.bad:
        if board.cell(point) != EMPTY:
            raise ValueError(f"{format_move(point, width)} is taken")
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
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N of each theme")
    parser.add_argument("--verbose", action="store_true", help="name what is not solved, on stderr")


def run(args: argparse.Namespace) -> int:
    """Print solved/total by theme and in all."""
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
        failed = [p for p in puzzles if not p.solved_by(answer(engine, p, limits))]
        print(summary(title, puzzles, failed))
        if args.verbose:
            for puzzle in failed:
                print(f"not solved: {puzzle.name}", file=sys.stderr)
    engine.close()
    return 0


def first_of_each(puzzles: Iterable[Puzzle], limit: int | None) -> list[Puzzle]:
    """Return at most `limit` puzzles of each theme, in order."""
    seen = collections.Counter[str]()
    kept = []
    for puzzle in puzzles:
        seen[puzzle.theme] += 1
        if limit is None or seen[puzzle.theme] <= limit:
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
    totals = collections.Counter(p.theme for p in puzzles)
    missed = collections.Counter(p.theme for p in failed)
    rows = [f"{theme:<12} {total - missed[theme]}/{total}" for theme, total in sorted(totals.items())]
    solved = len(puzzles) - len(failed)
    share = f" ({100 * solved / len(puzzles):.1f} %)" if puzzles else ""
    return "\n".join([f"at {title}:", *rows, f"{'all':<12} {solved}/{len(puzzles)}{share}"])

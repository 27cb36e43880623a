"""Count the tactical positions of a suite that the engine gets right, at fixed simulations and at fixed time.

A suite is a file of JSON objects, one a line, with the keys of `Tactic`; points are written as moves, such as
`h8h9i8`. `tests/tactics/SOURCE` says how the project's own suite was made.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from engine.commands.options import add_config_options, config_from
from engine.engine import Engine
from engine.errors import PositionError
from engine.rules._board import Board
from engine.rules.geometry import format_move, format_moves, parse_moves
from engine.rules.rule import Rule
from engine.timing.budget import SearchLimits

SUITE = Path(__file__).resolve().parents[2] / "tests" / "tactics" / "suite.jsonl"


@dataclass(frozen=True, slots=True)
class Tactic:
    """One position and the moves that solve it. Points are `y * width + x`."""

    id: str
    theme: str
    """vcf, vct: a forced win by fours, by fours and threes. defence: the opponent threatens a forced win and
    few moves stop it. trap: the same, and the moves that look strongest lose. rule: a win or a defence
    that freestyle would answer wrongly. Results are shown by theme."""
    rule: int
    """As in `INFO rule`."""
    width: int
    height: int
    moves: tuple[int, ...]
    """From the empty board, black first."""
    to_move: int
    """0 black, 1 white."""
    goal: str
    """win: play a move that keeps a proven win. hold: play a move that leaves the opponent no forced win."""
    good: tuple[int, ...]
    """The moves that reach the goal, ascending: all that hold; of winning moves those that are threats."""
    distance: int
    """Plies to the five of the shortest win that is known (exact for VCF), of the mover (goal win),
    or of the opponent after a pass (goal hold)."""
    edge: bool
    """All good moves are on the two outermost rows or columns."""

    def board(self) -> Board:
        """Return the position."""
        board = Board(self.width, self.height, self.rule)
        for point in self.moves:
            board.place(point)
        return board

    def to_json(self) -> str:
        """Return the line of the data file."""
        entry = {field.name: getattr(self, field.name) for field in fields(self)}
        for key in ("moves", "good"):
            entry[key] = format_moves(entry[key], self.width)
        return json.dumps(entry)


def from_json(line: str) -> Tactic:
    """Return the tactic of a line of the data file.

    Raises:
        ValueError, KeyError, TypeError: the line is none, or a good move cannot be played.
    """
    entry = json.loads(line)
    width, height = entry["width"], entry["height"]
    for key in ("moves", "good"):
        entry[key] = tuple(parse_moves(entry[key], width, height))
    tactic = Tactic(**entry)
    board = tactic.board()
    if board.to_move != tactic.to_move:
        raise ValueError("it is not the turn of to_move")
    if not tactic.good:
        raise ValueError("there is no good move")
    for point in set(tactic.good).difference(board.legal_points()):
        raise ValueError(f"the good move {format_move(point, width)} cannot be played")
    return tactic


def read_suite(path: Path = SUITE) -> list[Tactic]:
    """Return the tactics of a file, in order.

    Raises:
        PositionError: no such file, or a line is no tactic; names file and line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise PositionError(f"cannot read the suite {path}: {error.strerror}") from error
    tactics = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            tactics.append(from_json(line))
        except (ValueError, KeyError, TypeError) as error:
            raise PositionError(f"{path}, line {number}: {error!r}") from error
    return tactics


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_config_options(parser)
    parser.add_argument(
        "--suite", type=Path, default=SUITE, metavar="FILE", help="positions (default: that of tests/tactics)"
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
    tactics = first_of_each(read_suite(args.suite), args.limit)
    engine = Engine(config_from(args, overhead_ms=0), log=lambda line: print(line, file=sys.stderr))
    engine.warm_up()
    runs = []
    if args.simulations > 0:
        limits = SearchLimits(turn_ms=None, max_nodes=args.simulations)
        runs.append((f"{args.simulations} simulations", limits))
    if args.time > 0:
        runs.append((f"{args.time:g} s", SearchLimits(turn_ms=max(1, int(1000 * args.time)))))
    for title, limits in runs:
        failed = [p for p in tactics if answer(engine, p, limits) not in p.good]
        print(summary(title, tactics, failed))
        if args.verbose:
            for tactic in failed:
                print(f"not solved: {tactic.id}", file=sys.stderr)
    engine.close()
    return 0


def first_of_each(tactics: Iterable[Tactic], limit: int | None) -> list[Tactic]:
    """Return at most `limit` tactics of each theme, in order."""
    seen = collections.Counter[str]()
    kept = []
    for tactic in tactics:
        seen[tactic.theme] += 1
        if limit is None or seen[tactic.theme] <= limit:
            kept.append(tactic)
    return kept


def answer(engine: Engine, tactic: Tactic, limits: SearchLimits) -> int:
    """Return the engine's move, found from an empty tree."""
    board = tactic.board()
    engine.new_game(tactic.width, tactic.height, Rule(tactic.rule))
    engine.set_position(board.stones(), board.to_move)
    return engine.think(limits, engine.clock.now_s()).point


def summary(title: str, tactics: Sequence[Tactic], failed: Sequence[Tactic]) -> str:
    """Return a table of solved/total."""
    totals = collections.Counter(p.theme for p in tactics)
    missed = collections.Counter(p.theme for p in failed)
    rows = [f"{theme:<12} {total - missed[theme]}/{total}" for theme, total in sorted(totals.items())]
    solved = len(tactics) - len(failed)
    share = f" ({100 * solved / len(tactics):.1f} %)" if tactics else ""
    return "\n".join([f"at {title}:", *rows, f"{'all':<12} {solved}/{len(tactics)}{share}"])

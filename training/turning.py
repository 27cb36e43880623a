"""Make a suite of turning points from lost games, and count the simulations until a search sees them.

    python -m training.match --a engine:nodes=2000 --b engine:nodes=16000 --names small,large --save games
    python -m training.turning make --games games --player small --out suite.jsonl
    python -m training.turning measure docs/tuning/turning-points.jsonl --half fit --set search.c_puct=1.4

A turning point is the loser's last balanced move and the winner's answer. A search is begun before the
move and after the answer. It sees the turn when its score falls by 0.1, when it prefers another move
than the loser's, or when it proves the result. The suite in `docs/tuning` was made in this way from games
of 600 against 4800 simulations. `measure` prints the median number of simulations, by the
defaults and by the changed settings, and by what factor one needs more than the other. Choose settings
on one half, confirm them on the other, and then by games. `--tree-mib 1 --limit 30000` shows what a full
memory costs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from engine.config import EngineConfig, load_config
from engine.engine import Engine
from engine.errors import EngineError
from engine.timing.budget import SearchLimits
from training.files import console
from training.measure import turning
from training.measure.lost import LEVEL, lost_games, turn_of
from training.measure.turning import Sighting, SuiteError, TurningPoint

SLIDE = 0.1
"""Fall of the loser's expected score at its next turn from which on a game has turned (protocol)."""


@console.command(ValueError, OSError, EngineError, stopped="nothing was written")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 when it was stopped, 2 for an error."""
    args = _parser().parse_args(arguments)
    {"make": _make, "measure": _measure}[args.command](args)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = console.parser("training.turning", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="make a suite from lost games")
    make.add_argument("--games", type=Path, action="append", required=True, help="folder (repeatable)")
    make.add_argument("--player", required=True, help="whose losses, by its name in the files")
    make.add_argument("--out", type=Path, required=True, help="file to write")
    make.add_argument("--count", type=int, default=1000, help="games at most of each folder (1000)")
    make.add_argument("--simulations", type=int, default=20_000, help="of each search (20000)")
    measure = commands.add_parser("measure", help="count simulations until the turns are seen")
    measure.add_argument("suite", type=Path, help="file that make has written")
    measure.add_argument("--half", choices=("fit", "confirm", "both"), default="both", help="(both)")
    measure.add_argument("--limit", type=int, default=20_000, help="simulations at most (20000)")
    measure.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (one a core)")
    measure.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE",
        help="setting of the engine, as of the brain; with it the defaults are measured too (repeatable)",
    )  # fmt: skip
    measure.add_argument(
        "--tree-mib", type=int, metavar="N",
        help="memory of the tree; with it the defaults are measured too, which have enough (256)",
    )  # fmt: skip
    measure.add_argument("--json", type=Path, help="file for every count")
    return parser


def _make(args: argparse.Namespace) -> None:
    if args.simulations < turning.REFERENCE_SIMULATIONS or args.count < 1:
        raise ValueError(f"--simulations is at least {turning.REFERENCE_SIMULATIONS}, --count at least 1")
    config = EngineConfig()
    points = []
    engine = Engine(config, log=_note)
    try:
        limits = SearchLimits(max_nodes=args.simulations)
        for folder in args.games:
            if not folder.is_dir():
                raise ValueError(f"{folder} is no folder")
            for name, game in islice(lost_games(folder, args.player, _note), args.count):
                turn = turn_of(engine, name, game, limits)
                if turn is None or turn.before < LEVEL:
                    continue
                if turn.proven or turn.before - turn.after >= SLIDE:
                    points.append(
                        TurningPoint(
                            source=f"{folder.name}/{name}", rule=int(game.rule), width=game.width,
                            height=game.height, moves=tuple(game.points[: turn.ply + 1]), answer=turn.answer,
                            before=None, behind=None, half="fit",
                        )
                    )  # fmt: skip
    finally:
        engine.close()
    suite = turning.with_references(points, config)
    if not suite:
        raise SuiteError(f"no game that {args.player} lost has a turning point")
    turning.write_suite(args.out, suite)
    counts = ", ".join(f"{name} {n}" for name, n in turning.names_of(suite).items())
    print(f"{args.out}: {len(suite)} turning points of {len(points)} ({counts})")


def _measure(args: argparse.Namespace) -> None:
    if min(args.limit, args.workers, 1 if args.tree_mib is None else args.tree_mib) < 1:
        raise ValueError("--limit, --workers and --tree-mib are at least 1")
    suite = [p for p in turning.read_suite(args.suite) if args.half in (p.half, "both")]
    if not suite:
        raise SuiteError(f"{args.suite} has no turning points of the half {args.half}")
    defaults = _watch("defaults", suite, load_config(), args, turning.TREE_MIB)
    found = {"defaults": defaults}
    if args.set or args.tree_mib:
        tree_mib = args.tree_mib or turning.TREE_MIB
        name = " ".join([*args.set, *([f"{tree_mib} MiB"] if args.tree_mib else [])])
        changed = _watch(name, suite, load_config(None, args.set), args, tree_mib)
        found["changed"] = changed
        factor, low, high = turning.ratio(changed, defaults)
        print(f"changed needs {factor:.3f} [{low:.3f}, {high:.3f}] times the simulations of the defaults")
    if args.json:
        table = {name: [asdict(s) for s in sightings] for name, sightings in found.items()}
        args.json.write_text(json.dumps({"limit": args.limit, "set": args.set, **table}), encoding="utf-8")


def _watch(
    name: str, suite: list[TurningPoint], config: EngineConfig, args: argparse.Namespace, tree_mib: int
) -> list[Sighting]:
    started_s = time.monotonic()
    sightings = turning.watch(suite, config, args.limit, args.workers, tree_mib)
    for side, place in (("before", "in front of the move"), ("behind", "after the answer")):
        seen = [s for s in sightings if s.side == side]
        if not seen:
            continue
        said = turning.summary(seen)
        value, low, high = said.median
        print(
            f"{name}: {place}, {len(seen)} positions: median {value:.0f} [{low:.0f}, {high:.0f}] "
            f"simulations, {said.seen:.1%} seen within {args.limit}"
        )
    print(f"{name}: {time.monotonic() - started_s:.0f} s")
    return sightings


def _note(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(console.run(main))

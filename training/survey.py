"""Survey settings around the defaults: many at once, each pair of games with its own random values.

    python -m training.survey --space docs/tuning/search.toml --run-dir runs/survey \\
        --openings docs/openings/freestyle15-fit.txt --nodes 400 --games 20000 --concurrency 2

The space is a TOML file of ranges, one setting a line: "search.c_puct" = { low = 0.5, high = 2.5 }. Each
pair plays an opening of the list with settings drawn from their ranges against the defaults; a quadratic is
fitted to all scores. Printed is what
each setting brings alone, with 95 % intervals, and where the fit is highest. That point has to be confirmed
on other openings by training.match: a fit believes in its luck.

Every game is kept in RUN_DIR/games.jsonl as it ends; the same command continues where it was stopped, and
with no more --games than were played it prints the table again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from arena.match_config import MatchConfig
from arena.openings import OpeningError
from engine.commands.options import parse_rule
from engine.errors import EngineError
from training.files import console
from training.measure.players import PLAYERS
from training.measure.space import SpaceConfig, SpaceError, limits_of, read_space
from training.measure.survey import lines_of, read, survey

EVERY = 1000
"""Games between tables."""


def add_options(parser: argparse.ArgumentParser, games: int = 20_000) -> None:
    """Add the options: space, openings, limits, players."""
    parser.add_argument("--space", type=Path, required=True, help="TOML file of settings and ranges")
    parser.add_argument("--openings", type=Path, required=True, help="file of dx,dy lines, the fitting half")
    parser.add_argument("--run-dir", type=Path, required=True, help="folder of the games")
    parser.add_argument("--games", type=int, default=games, help=f"in all ({games})")
    parser.add_argument("--nodes", type=int, help="simulations a move")
    parser.add_argument("--turn-ms", type=int, help="ms of processor time a move")
    parser.add_argument("--with", dest="common", default="", metavar="KEY=VALUE,...", help="for both players")
    parser.add_argument("--rule", type=parse_rule, default=0, help="number or name (freestyle)")
    parser.add_argument("--size", type=int, default=15, help="side of the board (15)")
    parser.add_argument("--memory", type=int, default=367_001_600, help="bytes a player (367001600)")
    parser.add_argument("--concurrency", type=int, default=1, help="games at a time (1)")
    parser.add_argument("--seed", type=int, default=1, help="of the settings and the players (1)")


def config_of(args: argparse.Namespace) -> SpaceConfig:
    """Return what the options ask for.

    Raises:
        SpaceError: an option, or the space, makes no sense.
    """
    if (args.nodes is None) == (args.turn_ms is None):
        raise SpaceError("one of --nodes and --turn-ms is needed")
    if min(args.games, args.concurrency) < 1:
        raise SpaceError("--games and --concurrency are at least 1")
    player = f"engine:{args.common}"
    match = MatchConfig(
        a=player, b=player, limits=limits_of(args.turn_ms, args.nodes, args.memory), games=2,
        rule=int(args.rule), width=args.size, height=args.size, openings=args.openings,
        concurrency=args.concurrency, seed=args.seed, kinds=PLAYERS,
    )  # fmt: skip
    return SpaceConfig(read_space(args.space), match, 1, args.seed)


@console.command(SpaceError, OpeningError, ValueError, OSError, EngineError)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 when it was stopped (the same command continues), 2 for an error."""
    parser = console.parser("training.survey", __doc__)
    add_options(parser)
    args = parser.parse_args(arguments)
    config = config_of(args)
    for games in survey(config, args.run_dir, args.games):
        if games % EVERY == 0:
            print("\n".join(lines_of(read(config, args.run_dir))), flush=True)
    print("\n".join(lines_of(read(config, args.run_dir))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(console.run(main))

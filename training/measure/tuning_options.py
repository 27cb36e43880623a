"""Options of the commands that fit settings by games: `training.tune` and `training.survey`."""

from __future__ import annotations

import argparse
from pathlib import Path

from arena.match_config import MatchConfig
from training.measure.players import PLAYERS
from training.measure.tuning import TuningConfig, TuningError, limits_of, read_space


def add_options(parser: argparse.ArgumentParser, games: int) -> None:
    """Add what every fit of settings needs: space, openings, limits, players."""
    parser.add_argument("--space", type=Path, required=True, help="TOML file of settings and ranges")
    parser.add_argument("--openings", type=Path, required=True, help="file of dx,dy lines, the fitting half")
    parser.add_argument("--run-dir", type=Path, required=True, help="folder of the games")
    parser.add_argument("--games", type=int, default=games, help=f"in all ({games})")
    parser.add_argument("--nodes", type=int, help="simulations a move")
    parser.add_argument("--turn-ms", type=int, help="ms of processor time a move")
    parser.add_argument("--with", dest="common", default="", metavar="KEY=VALUE,...", help="for both players")
    parser.add_argument("--rule", type=int, default=0, help="0 1 4 8 9 (0)")
    parser.add_argument("--size", type=int, default=15, help="side of the board (15)")
    parser.add_argument("--memory", type=int, default=367_001_600, help="bytes a player (367001600)")
    parser.add_argument("--concurrency", type=int, default=1, help="games at a time (1)")
    parser.add_argument("--seed", type=int, default=1, help="of the settings and the players (1)")


def config_of(args: argparse.Namespace) -> TuningConfig:
    """Return what the options ask for.

    Raises:
        TuningError: an option, or the space, makes no sense.
    """
    if (args.nodes is None) == (args.turn_ms is None):
        raise TuningError("one of --nodes and --turn-ms is needed")
    if min(args.games, args.pairs, args.concurrency) < 1 or args.population < 0:
        raise TuningError("--games, --pairs and --concurrency are at least 1")
    player = f"engine:{args.common}"
    match = MatchConfig(
        a=player, b=player, limits=limits_of(args.turn_ms, args.nodes, args.memory), games=2 * args.pairs,
        rule=args.rule, width=args.size, height=args.size, openings=args.openings,
        concurrency=args.concurrency, seed=args.seed, kinds=PLAYERS,
    )  # fmt: skip
    return TuningConfig(read_space(args.space), match, args.pairs, args.population, args.seed)

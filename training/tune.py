"""Fit settings of the engine together, by games against its defaults.

    python -m training.tune --space docs/tuning/search.toml --run-dir runs/search \\
        --openings docs/openings/freestyle15-fit.txt --nodes 400 --games 50000 --concurrency 2

The space is a TOML file of ranges, one setting a line: "search.c_puct" = { low = 0.5, high = 2.5 }. CMA-ES
(pycma) asks for a few candidates at a time; each plays --pairs pairs of games against the defaults, all of a
generation on the same openings, and the next generation on the next ones of the list. The answer is the mean
of the distribution, not the candidate that was luckiest. It has to be confirmed on other openings:

    python -m training.match --a engine:nodes=400,search.c_puct=1.4 --b engine:nodes=400 --games 4000 \\
        --openings docs/openings/freestyle15-final.txt --concurrency 2

Every game is kept in RUN_DIR/games.jsonl as it ends; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.errors import EngineError
from training.measure.match import MatchConfig
from training.measure.tuning import TuningConfig, TuningError, limits_of, read_space, report, tune
from training.play.openings import OpeningError


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


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m training.tune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser, 50_000)
    parser.add_argument("--pairs", type=int, default=32, help="of games a candidate and generation (32)")
    parser.add_argument("--population", type=int, default=0, help="candidates a generation (pycma's)")
    return parser.parse_args(arguments)


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
        concurrency=args.concurrency, seed=args.seed,
    )  # fmt: skip
    return TuningConfig(read_space(args.space), match, args.pairs, args.population, args.seed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 when it was stopped (the same command goes on), 2 for an error."""
    args = _arguments(arguments)
    try:
        config = config_of(args)
        for generation in tune(config, args.run_dir, args.games):
            report(config, generation, lambda line: print(line, flush=True))
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 1
    except (TuningError, OpeningError, ValueError, OSError, EngineError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

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

from arena.openings import OpeningError
from engine.errors import EngineError
from training.files import console
from training.measure.tuning import TuningError, report, tune
from training.measure.tuning_options import add_options, config_of


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
    sys.exit(console.run(main))

"""Look around the defaults: many settings at once, each pair of games with a draw of its own.

    python -m training.survey --space docs/tuning/search.toml --run-dir runs/survey \\
        --openings docs/openings/freestyle15-fit.txt --nodes 400 --games 20000 --concurrency 2

The space is that of training.tune, which climbs where this looks. Each pair plays an opening of the list with
settings drawn from their ranges against the defaults; a quadratic is fitted to all scores. Printed is what
each setting brings alone, with 95 % intervals, and where the fit is highest. That point has to be confirmed
on other openings by training.match: a fit believes in its luck.

Every game is kept in RUN_DIR/games.jsonl as it ends; the same command goes on where it was stopped, and with
no more --games than were played it prints the table again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from arena.openings import OpeningError
from engine.errors import EngineError
from training.files import console
from training.measure.survey import lines_of, read, survey
from training.measure.tuning import TuningError
from training.measure.tuning_options import add_options, config_of

EVERY = 1000
"""Games between tables."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 when it was stopped (the same command goes on), 2 for an error."""
    parser = argparse.ArgumentParser(
        prog="python -m training.survey",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser, 20_000)
    args = parser.parse_args(arguments)
    args.pairs, args.population = 1, 0
    try:
        config = config_of(args)
        for games in survey(config, args.run_dir, args.games):
            if games % EVERY == 0:
                print("\n".join(lines_of(read(config, args.run_dir))), flush=True)
        print("\n".join(lines_of(read(config, args.run_dir))), flush=True)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 1
    except (TuningError, OpeningError, ValueError, OSError, EngineError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(console.run(main))

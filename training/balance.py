"""Make a list of balanced openings: random stones near the centre that a search calls level.

    python -m training.balance --out openings.txt --count 50 --size 15 --rule freestyle

One opening a line, `dx,dy` pairs from the centre (size // 2), black first, as Piskvork and `training.match`
read them. On openings that are won for a side the better player often only splits a pair, so that matches
make differences look smaller than they are. Short searches do not see who wins: of 15 openings that 400
simulations of an early net called level, nine were not so for longer searches.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import EngineError
from engine.options import parse_rule, parse_size
from training.files.atomic import write_atomically
from training.measure.balance import as_offsets, balanced_openings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 2 when nothing was written."""
    parser = argparse.ArgumentParser(
        prog="python -m training.balance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    parser.add_argument("--count", type=int, default=50, help="openings (50)")
    parser.add_argument("--stones", type=int, default=4, help="stones of an opening (4)")
    parser.add_argument("--size", type=parse_size, default=(15, 15), help="board, N or WxH (15)")
    parser.add_argument("--rule", type=parse_rule, default=0, help="number or name (freestyle)")
    parser.add_argument("--simulations", type=int, default=20_000, help="of each search (20000)")
    parser.add_argument("--most", type=float, default=0.1, help="largest |win - loss| (0.1)")
    parser.add_argument("--net", default="default", help="a file, or a name in engine/nets (default)")
    parser.add_argument("--seed", type=int, default=1, help="of the stones (1)")
    args = parser.parse_args(arguments)
    width, height = args.size
    try:
        if min(args.count, args.stones, args.simulations) < 1 or not 0 < args.most <= 1:
            raise ValueError("--count, --stones and --simulations are at least 1, --most from 0 to 1")
        engine = Engine(
            EngineConfig(net=args.net, seed=args.seed), log=lambda line: print(line, file=sys.stderr)
        )
        engine.new_game(width, height, args.rule)
        rng = random.Random(args.seed)
        found = balanced_openings(engine, rng, args.stones, args.count, args.simulations, args.most)
        engine.close()
        text = "".join(f"{as_offsets(points, width, height)}\n" for points in found)
        write_atomically(args.out, text.encode())
    except (ValueError, OSError, EngineError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{args.out}: {len(found)} openings")
    return 0


if __name__ == "__main__":
    sys.exit(main())

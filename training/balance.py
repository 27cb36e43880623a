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
from engine.timing.budget import SearchLimits
from training.openings import random_opening
from training.records import write_atomically

FIRST_SHARE = 25
"""Part of the simulations that a first look takes (derived: most are not level, which is soon seen)."""


def balanced_openings(
    engine: Engine, rng: random.Random, stones: int, count: int, simulations: int, most: float
) -> list[tuple[int, ...]]:
    """Return different openings for which a search sees |win - loss| of at most `most`.

    Args:
        engine: after `new_game` with board and rule; its position is changed.
        rng: draws the stones.
        stones: of each opening.
        count: of openings.
        simulations: of each search, behind a first one of a part of them, which may see twice as much.
        most: limit, 0 to 1.
    """
    board = engine.board

    def level(nodes: int, most: float) -> bool:
        result = engine.think(SearchLimits(max_nodes=nodes), engine.clock.now_s())
        return result.proven is None and abs(result.q) <= most

    found: list[tuple[int, ...]] = []
    while len(found) < count:
        points = random_opening(rng, board.width, board.height, board.rule, stones)
        engine.new_game(board.width, board.height, board.rule)
        engine.set_position([(p, i & 1) for i, p in enumerate(points)], stones & 1)
        first = simulations // FIRST_SHARE
        if points not in found and (first < 1 or level(first, 2 * most)) and level(simulations, most):
            found.append(points)
    return found


def as_offsets(points: Sequence[int], width: int, height: int) -> str:
    """Return an opening as `dx,dy` pairs from the centre."""
    return ", ".join(f"{p % width - width // 2},{p // width - height // 2}" for p in points)


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
        engine.new_game(width, height, int(args.rule))
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

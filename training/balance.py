"""Make lists of balanced openings: random stones near the centre, the last one balances the position.

    python -m training.balance --out openings.txt --count 50 --size 15 --rule freestyle
    python -m training.balance --out openings.txt --count 500 --halves --workers 2

One opening a line, `dx,dy` pairs from the centre (size // 2), black first, as Piskvork and `training.match`
read them. Short searches look for the place of the last stone, long ones say whether the board is level: of
15 openings that 400 simulations of an early net called level, nine were not so for longer searches. On
openings that are won for a side the better player often only splits a pair, so that matches make differences
look smaller than they are.

Candidate number k of a seed is always the same, and so is the verdict on it (searches are limited in
simulations), whatever the number of workers. What was found is written as it is found; the same command
continues where it was stopped (FILE.progress has the number of the next candidate and is removed at the end).
No two openings of a list are the same under a symmetry of the board.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from arena.openings import OpeningError
from engine.commands.options import parse_rule, parse_size
from engine.errors import EngineError
from training.files import console
from training.measure.balance import BalanceConfig, Balancer, OpeningList, level_openings

IN_VAIN = 1000
"""Candidates in a row without a new opening that end a list (derived: usually every third
is one)."""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what the arguments of the command say; wrong ones end it."""
    parser = console.parser("training.balance", __doc__)
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    parser.add_argument("--count", type=int, default=50, help="openings (50)")
    parser.add_argument("--halves", action="store_true", help="write NAME-fit.txt and NAME-final.txt instead")
    parser.add_argument("--stones", default="4", metavar="N[-M]", help="stones of an opening (4)")
    parser.add_argument("--spread", type=int, default=3, help="largest distance from the centre (3)")
    parser.add_argument("--size", type=parse_size, default=(15, 15), help="board, N or WxH (15)")
    parser.add_argument("--rule", type=parse_rule, default=0, help="number or name (freestyle)")
    parser.add_argument("--simulations", type=int, default=20_000, help="of each search (20000)")
    parser.add_argument("--most", type=float, default=0.1, help="largest |win - loss| (0.1)")
    parser.add_argument("--net", default="default", help="a file, or a name in engine/nets (default)")
    parser.add_argument("--seed", type=int, default=1, help="of the candidates (1)")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    return parser.parse_args(arguments)


def config_of(args: argparse.Namespace) -> BalanceConfig:
    """Return what openings are to be.

    Args:
        args: of `parse`.

    Raises:
        ValueError: a number out of its range.
    """
    fewest, _, most = args.stones.partition("-")
    config = BalanceConfig(
        args.size[0], args.size[1], int(args.rule), int(fewest), int(most or fewest), args.spread,
        args.simulations, args.most, args.net, args.seed,
    )  # fmt: skip
    if min(args.count, args.simulations, args.workers, config.fewest, config.spread) < 1:
        raise ValueError("--count, --stones, --spread, --simulations and --workers are at least 1")
    if config.most < config.fewest or config.most >= (2 * config.spread + 1) ** 2:
        raise ValueError(f"--stones {args.stones}: not so many within --spread {config.spread}")
    if not 0 < config.level <= 1:
        raise ValueError("--most is above 0 and at most 1")
    return config


@console.command(ValueError, OSError, EngineError, OpeningError)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 when it was stopped (the same command continues), 2 for an error."""
    args = parse(arguments)
    config = config_of(args)
    Balancer(config, lambda line: print(line, file=sys.stderr)).close()  # a bad net is an error here
    wanted = OpeningList(args.out, config)
    judged = level_openings(config, wanted.next_index, args.workers)
    in_vain = 0
    while len(wanted.found) < args.count:
        index, points = next(judged)
        in_vain += 1
        if wanted.take(index, points):
            in_vain = 0
            if sys.stderr.isatty():
                print(f"\r{len(wanted.found)}/{args.count} of {index + 1}", end="", file=sys.stderr)
        if in_vain == IN_VAIN:
            raise ValueError(
                f"{len(wanted.found)} openings; {IN_VAIN} more candidates brought none: try more stones"
            )
    judged.close()
    written = wanted.finish(args.halves)
    names = " and ".join(map(str, written))
    print(f"{names}: {len(wanted.found)} openings of {wanted.next_index} candidates")
    return 0


if __name__ == "__main__":
    sys.exit(console.run(main))

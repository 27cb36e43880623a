"""Measure the ten levels of play: games between them at fixed simulations, ratings, settings for even steps.

Neighbours play most games, since only they tell how large a step is; the others play a few, which ties the
scale together. Games come in pairs with colours swapped, best on balanced openings: random ones are often won
for one side and make steps look smaller. Level 10 has no limit of its own, so --top-simulations replaces it
for its time.

After a change of net: run it, take the suggested table, run it again with `--table`, and put what has even
steps into `engine/levels.py`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from arena.elo import Estimate
from arena.limits import BrainLimits
from arena.match_config import MatchConfig
from engine.commands.options import parse_rule, parse_size
from engine.errors import EngineError
from engine.levels import LEVELS, STRONGEST, WEAKEST, Level
from training.files import console
from training.files.atomic import write_atomically
from training.measure.levels import level_player, play_levels, read_table, report, schedule
from training.measure.players import PLAYERS


def _configs(
    args: argparse.Namespace, levels: Sequence[Level]
) -> Iterator[tuple[tuple[int, int], MatchConfig]]:
    limits = BrainLimits(turn_ms=None, max_nodes=args.top_simulations)
    first, last = args.levels
    for low, high, games in schedule(len(levels), args.games, args.far_games):
        if low + 1 < first or high + 1 > last:
            continue
        yield (low, high), MatchConfig(
            a=level_player(levels[high], args.net), b=level_player(levels[low], args.net),
            limits=(limits, limits), games=games, rule=int(args.rule),
            width=args.size[0], height=args.size[1],
            openings=args.openings, random_stones=args.random_stones,
            seed=args.seed + 1000 * (len(levels) * low + high),
            names=(f"level {high + 1}", f"level {low + 1}"), kinds=PLAYERS,
        )  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 0, or 2 for a usage error."""
    parser = console.parser("training.levels", __doc__)
    parser.add_argument("--games", type=int, default=40, help="games between neighbours (40)")
    parser.add_argument("--far-games", type=int, default=4, help="games between any other two levels (4)")
    parser.add_argument(
        "--levels", type=int, nargs=2, metavar="N", default=(WEAKEST, STRONGEST),
        help="only those from N to N; settings are suggested where all played (1 10)",
    )  # fmt: skip
    parser.add_argument("--top-simulations", type=int, default=1600, help="a move of level 10 (1600)")
    parser.add_argument("--net", default="default", help="a file, or a name in engine/nets (default)")
    parser.add_argument("--table", type=Path, help="file with other levels than those of engine/levels.py")
    parser.add_argument("--save-table", type=Path, help="file for the suggested levels, for --table")
    parser.add_argument("--rule", type=parse_rule, default=0, help="number or name (freestyle)")
    parser.add_argument("--size", type=parse_size, default=(15, 15), help="board, N or WxH (15)")
    parser.add_argument("--openings", type=Path, help="file of `training.balance` (random openings)")
    parser.add_argument("--random-stones", type=int, default=4, help="stones of an opening (4)")
    parser.add_argument("--jobs", type=int, default=1, help="processes that play (1)")
    parser.add_argument("--seed", type=int, default=1, help="of openings and draws (1)")
    args = parser.parse_args(argv)
    try:
        levels = read_table(args.table) if args.table else LEVELS
        jobs = dict(_configs(args, levels))
        if min(args.games, args.top_simulations, args.jobs) < 1 or not jobs:
            raise ValueError("--games, --top-simulations and --jobs must be at least 1")
        scores: dict[tuple[int, int], Estimate] = {}
        for (low, high), score in play_levels(jobs, args.jobs):
            scores[low, high] = score
            print(f"level {high + 1} against {low + 1}: {score}", flush=True)
        text, suggested = report(levels, scores, args.top_simulations)
    except (ValueError, OSError, EngineError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"\n{text}")
    if args.save_table:
        table = json.dumps([dataclasses.asdict(level) for level in suggested], indent=1)
        write_atomically(args.save_table, table.encode())
    return 0


if __name__ == "__main__":
    sys.exit(console.run(main))

"""Search positions of recorded games again with more simulations, for better policy and value targets.

    python -m training.recover runs/history
    python -m training.reanalyse --records runs/history --out runs/deep --positions 500000 --before runs/plain
    python -m training.offline encode --records runs/deep --positions runs/deep-set

Positions are drawn over all shards, those more often where the search that played a game disagreed with the
net, or the game's course with the search. Each becomes a record of its own in a shard of the same name in
--out; --before also writes the same positions with the targets that they had. The same command continues
where it was stopped; it pauses while something is timed on this machine.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from arena.pool import as_done, executor
from arena.timing_lock import pause_while_timed
from engine.errors import NetError
from engine.evaluator.make import net_path
from training.data.shards import RecordError, list_shards, read_counts, read_shard, write_shard
from training.files import console
from training.play.evaluators import load_evaluator
from training.play.reanalyse import SCALE, ReanalyseConfig, Reanalyser, alone, choose, position
from training.settings.values import ConfigError


@dataclass(frozen=True, slots=True)
class _Task:
    """One shard: where its positions go, and how many."""

    shard: Path
    out: Path
    before: Path | None
    count: int


@console.command(ConfigError, NetError, RecordError, OSError, ValueError)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 when it was stopped (it continues), 2 for an error."""
    args = _parser().parse_args(arguments)
    config = ReanalyseConfig(simulations=args.simulations, scale=args.scale)
    tasks = _tasks(args)
    try:
        _run(tasks, config, str(net_path(args.net)), args.processes)
    except BrokenProcessPool:
        print("error: a process ended (memory?); the same command continues", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = console.parser("training.reanalyse", __doc__)
    parser.add_argument(
        "--records", type=Path, action="append", required=True, help="folder of shards (repeatable)"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of new shards, made when missing")
    parser.add_argument("--before", type=Path, help="folder for the same positions with their old targets")
    parser.add_argument("--positions", type=int, required=True, metavar="N", help="to search, of all shards")
    parser.add_argument("--simulations", type=int, default=800, metavar="N", help="of each search (800)")
    parser.add_argument(
        "--scale", type=float, default=SCALE, help=f"of completed-Q targets ({SCALE}, for 800 simulations)",
    )  # fmt: skip
    parser.add_argument("--net", default="default", metavar="NAME", help="that searches (the one that ships)")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="side by side (1)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the shards (1)")
    return parser


def _tasks(args: argparse.Namespace) -> list[_Task]:
    """Return what is left to do, in an order drawn by the seed, so that any part of it is a fair sample.

    Raises:
        ConfigError: a number is out of its range, or there are no shards.
        RecordError: a shard has no good header.
    """
    for name, low in (("positions", 1), ("simulations", 2), ("processes", 1)):
        if getattr(args, name) < low:
            raise ConfigError(f"--{name} is at least {low}, not {getattr(args, name)}")
    if not args.scale > 0:
        raise ConfigError(f"--scale is above 0, not {args.scale}")
    shards = [shard for folder in args.records for shard in list_shards(folder)]
    if not shards:
        raise ConfigError(f"no shards in {', '.join(map(str, args.records))}")
    if len({shard.name for shard in shards}) < len(shards):
        raise ConfigError("two shards have the same name")
    sizes = np.array([read_counts(shard)[1] for shard in shards], float)
    ends = np.rint(np.cumsum(sizes) * (args.positions / sizes.sum())).astype(int)
    counts = np.diff(ends, prepend=0)
    for folder in (args.out, args.before):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    order = np.random.default_rng(args.seed).permutation(len(shards))
    return [
        _Task(
            shards[i], args.out / shards[i].name, args.before and args.before / shards[i].name, int(counts[i])
        )
        for i in order
        if counts[i] and not (args.out / shards[i].name).exists()
    ]


def _run(tasks: Sequence[_Task], config: ReanalyseConfig, net: str, processes: int) -> None:
    done, seconds, began_s = 0, 0.0, time.monotonic()
    work = ((config, net, task) for task in tasks)
    with executor(processes, processes=processes > 1) as pool:
        for number, (count, spent_s) in enumerate(as_done(pool, processes, _search, work), 1):
            done, seconds = done + count, seconds + spent_s
            passed_s, rate = time.monotonic() - began_s, done / max(seconds, 1e-9)
            print(
                f"{number} of {len(tasks)} shards, {done} positions, {passed_s:.0f} s, {rate:.1f} a core-s"
            )
            sys.stdout.flush()


def _search(config: ReanalyseConfig, net: str, task: _Task) -> tuple[int, float]:
    """Search positions of a shard, write them; return how many, and the processor time, s."""
    searcher = _reanalyser(config, net)
    began_s = time.process_time()
    rng = np.random.Generator(np.random.PCG64(zlib.crc32(task.shard.name.encode())))
    deep, before = [], []
    for game, i in choose(read_shard(task.shard), task.count, rng):
        pause_while_timed()
        deep.append(alone(game, i, searcher.search(position(game, i), rng), searcher.name))
        before.append(alone(game, i))
    if deep:
        if task.before is not None:
            write_shard(task.before, before)
        write_shard(task.out, deep)
    return len(deep), time.process_time() - began_s


@cache
def _reanalyser(config: ReanalyseConfig, net: str) -> Reanalyser:
    return Reanalyser(config, load_evaluator(net))


if __name__ == "__main__":
    sys.exit(console.run(main))

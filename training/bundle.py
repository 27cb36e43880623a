"""A run in one file: enough to continue it on another machine, small enough to keep.

    python -m training.bundle pack runs/mine tengen-run.zip --megabytes 11
    python -m training.bundle unpack tengen-run.zip runs/more
    python -m training.selfplay --run-dir runs/more --more-minutes 600

Unpacking takes only files that a run has and checks all of them first: a bundle is untrusted.

The file holds settings, counters, standings, log, the newest good checkpoint, the promoted net, the run's
own teacher (`teacher.ckpt`; see `training.offline keep`) and the newest records, as many as fit: a learner
that continues without its window forgets (in the prototype of this training the value loss rose from .37 to
.45).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from training.data.shards import list_shards, read_counts
from training.files import console
from training.run.bundle import pack, unpack
from training.run.state import State, read_state


def described(run: Path) -> str:
    """Return what a run directory holds, in words."""
    state = read_state(run) or State()
    shards = list_shards(run / "records")
    positions = sum(read_counts(path)[1] for path in shards)
    return (
        f"a run of {state.cycle:,} cycles, {state.games:,} games and {state.elapsed_s / 60:.1f} minutes of "
        f"training; with its newest {positions:,} positions in {len(shards)} shards"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 when nothing was done."""
    parser = console.parser("training.bundle", __doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    packing = commands.add_parser("pack", help="write a run into one file")
    packing.add_argument("run", type=Path)
    packing.add_argument("file", type=Path)
    packing.add_argument("--megabytes", type=float, default=11.5, help="largest size of the file (11.5)")
    unpacking = commands.add_parser("unpack", help="make a run directory from such a file")
    unpacking.add_argument("file", type=Path)
    unpacking.add_argument("run", type=Path)
    args = parser.parse_args(arguments)
    try:
        if args.command == "pack":
            limit = int(args.megabytes * 1_000_000)
            print(json.dumps(pack(args.run, args.file, limit, lambda line: print(line, file=sys.stderr))))
        else:
            batches = unpack(args.file, args.run)
            print(f"{args.run}: {described(args.run)}, checkpoint of its learner's batch {batches:,}")
    except (ValueError, OSError) as error:  # a bundle, checkpoint, shard or table that is no good; the disk
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(console.run(main))

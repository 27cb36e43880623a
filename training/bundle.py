"""A run in one file: enough of it to train on somewhere else, small enough to be kept.

    python -m training.bundle pack runs/mine tengen-run.zip --megabytes 11
    python -m training.bundle unpack tengen-run.zip runs/more
    python -m training.selfplay --run-dir runs/more --minutes 600

The file holds settings, counters, standings, log, the newest checkpoint, the promoted net and the newest
records, as many as fit: a learner that goes on without its window forgets (in the prototype of this training
the value loss rose from .37 to .45).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from training.data.shards import RecordError
from training.learn.checkpoint import CheckpointError
from training.run.bundle import BundleError, pack, unpack


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 when nothing was done."""
    parser = argparse.ArgumentParser(
        prog="python -m training.bundle",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
            print(json.dumps(pack(args.run, args.file, int(args.megabytes * 1_000_000))))
        else:
            print(f"{args.run}: batch {unpack(args.file, args.run)}")
    except (BundleError, CheckpointError, RecordError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

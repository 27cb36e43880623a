"""A run in one file: enough of it to train on somewhere else, small enough to be kept.

    python -m training.bundle pack runs/mine tengen-run.zip --megabytes 11
    python -m training.bundle unpack tengen-run.zip runs/more
    python -m training.selfplay --run-dir runs/more --minutes 600

Unpacking takes only files that a run has and checks all of them first: a bundle may come from anybody.

The file holds settings, counters, standings, log, the newest good checkpoint, the promoted net, the run's
own teacher (`teacher.ckpt`; see `training.offline keep`) and the newest records, as many as fit: a learner
that goes on without its window forgets (in the prototype of this training the value loss rose from .37 to
.45).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from training.run.bundle import pack, unpack


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
            limit = int(args.megabytes * 1_000_000)
            print(json.dumps(pack(args.run, args.file, limit, lambda line: print(line, file=sys.stderr))))
        else:
            print(f"{args.run}: batch {unpack(args.file, args.run)}")
    except (ValueError, OSError) as error:  # a bundle, checkpoint, shard or table that is no good; the disk
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

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
import os
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from training.checkpoint import CheckpointError, list_checkpoints, read_checkpoint
from training.records import RecordError, list_shards, read_header

_FILES = ("config.json", "state.json", "standings.json", "log.jsonl", "best.json", "best.int8.onnx",
          "best.fp32.onnx", "best.md")  # fmt: skip
_NEEDED = ("config.json", "state.json")


class BundleError(ValueError):
    """A run or a bundle cannot be used; the message says why."""


def pack(run_dir: Path, target: Path, limit_bytes: int) -> dict[str, int]:
    """Write a run that is not being trained just now into one file, atomically.

    Args:
        run_dir: of the run.
        target: file to write.
        limit_bytes: the file gets as many of the newest records as fit.

    Returns:
        What is in it: batches, shards, positions, bytes.

    Raises:
        BundleError: no run, no readable checkpoint, or the limit is too small for the rest.
        OSError: the file cannot be written; an older one stays.
    """
    missing = [name for name in _NEEDED if not (run_dir / name).exists()]
    checkpoints = list_checkpoints(run_dir / "checkpoints")
    if missing or not checkpoints:
        raise BundleError(f"{run_dir} is no run with a checkpoint (missing: {', '.join(missing) or 'that'})")
    try:
        batches = int(read_checkpoint(checkpoints[-1])["batches"])
    except CheckpointError as error:
        raise BundleError(str(error)) from error
    part = target.with_name(target.name + ".part")
    shards = positions = 0
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as bundle:
            for name in _FILES:
                if (run_dir / name).exists():
                    bundle.write(run_dir / name, name)
            bundle.write(checkpoints[-1], f"checkpoints/{checkpoints[-1].name}")
            assert bundle.fp is not None
            room = limit_bytes - bundle.fp.tell() - 64_000  # derived: the index of a few hundred files
            if room < 0:
                raise BundleError(f"{limit_bytes} bytes are too few for {run_dir} without records")
            for shard in reversed(list_shards(run_dir / "records")):
                room -= shard.stat().st_size + 200
                if room < 0:
                    break
                bundle.write(shard, f"records/{shard.name}", zipfile.ZIP_STORED)
                shards += 1
                positions += int(str(read_header(shard)["positions"]))
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return {"batches": batches, "shards": shards, "positions": positions, "bytes": target.stat().st_size}


def unpack(source: Path, run_dir: Path) -> int:
    """Make a run directory from a bundle; return its batches.

    Raises:
        BundleError: the file is damaged or no bundle, or the directory exists already.
    """
    if run_dir.exists() and any(run_dir.iterdir()):
        raise BundleError(f"{run_dir} exists; nothing was changed")
    try:
        with zipfile.ZipFile(source) as bundle:
            damaged = bundle.testzip()
            names = bundle.namelist()
            if damaged or any(name not in names for name in _NEEDED):
                raise BundleError(f"{source}: {f'{damaged} is damaged' if damaged else 'no bundle of a run'}")
            run_dir.mkdir(parents=True, exist_ok=True)
            bundle.extractall(run_dir)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise BundleError(f"{source}: {error}") from error
    return int(read_checkpoint(list_checkpoints(run_dir / "checkpoints")[-1])["batches"])


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

"""A run in one file, and a run directory from such a file. `training.bundle` is the command.

The file holds settings, counters, standings, log, the newest checkpoint, the promoted net and the newest
records, as many as fit.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path

from training.data.shards import list_shards, read_header
from training.learn.checkpoint import CheckpointError, list_checkpoints, read_checkpoint

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

"""Checkpoints: written atomically, checked when read; the newest good one is used.

A file is a torch archive of plain values and tensors with 16 bytes of BLAKE2b behind it, named by its step:
`step-000001200.ckpt`. A checkpoint whose numbers are not all finite is neither written nor read.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from training.files.atomic import write_atomically
from training.files.foreign import read_bounded
from training.net.archive import load_plain

FORMAT = 2  # 1: nets without BatchNorm
SUFFIX = ".ckpt"
NAME = re.compile(rf"step-[0-9]{{9,12}}{re.escape(SUFFIX)}")
MAX_BYTES = 2 << 30
"""Largest file (*derived*: 100 million weights with their averages and what the optimizer keeps)."""
_DIGEST = 16


class CheckpointError(ValueError):
    """A checkpoint is damaged or of another version; the message names the file and the reason."""


def list_checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints of a folder, oldest first."""
    return sorted(p for p in folder.glob(f"step-*{SUFFIX}") if NAME.fullmatch(p.name))


def not_finite(value: object, where: str = "") -> str:
    """Return the place of a number that is not finite in nested tables, lists and tensors; or ""."""
    return next(_not_finite(value, where), "")


def _not_finite(value: object, where: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _not_finite(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _not_finite(item, f"{where}[{i}]")
    elif isinstance(value, torch.Tensor):
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            yield where
    elif isinstance(value, float) and not -float("inf") < value < float("inf"):
        yield where


def write_checkpoint(folder: Path, step: int, state: dict[str, Any], keep: int) -> Path:
    """Write a checkpoint atomically, then delete all but the `keep` newest; return its path.

    Those of later steps were passed over when the run was loaded, or this one would not come behind them:
    they are renamed to `NAME.damaged`, count no more and are not lost.

    Raises:
        CheckpointError: a number in it is not finite; nothing was written.
        OSError: disk full or no permission; older checkpoints stay as they are.
    """
    if place := not_finite(state):
        raise CheckpointError(f"{place} is not finite at step {step}: nothing was saved")
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save({"format": FORMAT, **state}, buffer)
    data = buffer.getvalue()
    path = folder / f"step-{step:09d}{SUFFIX}"
    write_atomically(path, data + hashlib.blake2b(data, digest_size=_DIGEST).digest())
    there = list_checkpoints(folder)
    for later in there[there.index(path) + 1 :]:
        os.replace(later, later.with_name(f"{later.name}.damaged"))
    for old in there[: there.index(path) + 1][:-keep]:
        old.unlink()
    return path


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read and check a checkpoint; tensors land on the CPU.

    Raises:
        CheckpointError: damaged, cut short, of another version, or not finite.
    """
    try:
        data = read_bounded(path, MAX_BYTES)
    except ValueError as error:
        raise CheckpointError(str(error)) from error
    return parse_checkpoint(data, path)


def parse_checkpoint(data: bytes, source: Path | str) -> dict[str, Any]:
    """Return what the bytes of a checkpoint hold, checked; see `read_checkpoint`.

    Args:
        data: of the file.
        source: where they come from, for messages.
    """
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if hashlib.blake2b(body, digest_size=_DIGEST).digest() != digest:
        raise CheckpointError(f"{source}: checksum wrong, the file is damaged or cut short")
    try:
        state = load_plain(body)
    except ValueError as error:
        raise CheckpointError(f"{source}: contents damaged ({error})") from error
    if state.get("format") != FORMAT:
        raise CheckpointError(
            f"{source}: checkpoint format {state.get('format')!r}, this program reads {FORMAT}"
        )
    if place := not_finite(state):
        raise CheckpointError(f"{source}: {place} is not finite, learning had spoilt the weights")
    return state


def newest_good(folder: Path, report: Callable[[str], None]) -> tuple[Path, dict[str, Any]] | None:
    """Return the newest checkpoint that reads well, None without one; damaged ones are reported."""
    for path in reversed(list_checkpoints(folder)):
        try:
            return path, read_checkpoint(path)
        except (CheckpointError, OSError) as error:
            report(f"{error}; falling back to the one before")
    return None


def find_checkpoint(path: Path, report: Callable[[str], None] = print) -> Path:
    """Return the checkpoint that a path names, itself or as the newest good one of a run.

    Args:
        path: a checkpoint, or the folder of a run.
        report: gets a line for each newer checkpoint that is damaged.

    Raises:
        CheckpointError: there is none.
    """
    if path.is_file():
        return path
    newest = newest_good(path / "checkpoints", report)
    if newest is None:
        raise CheckpointError(f"{path} is neither a checkpoint nor a run that has one")
    return newest[0]

"""Checkpoints: written whole, checked when read, the last good one wins.

A file is a torch archive of plain values and tensors with 16 bytes of BLAKE2b behind it, named by its step:
`step-000001200.ckpt`.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from training.files.atomic import write_atomically

FORMAT = 2  # 1: nets without BatchNorm
SUFFIX = ".ckpt"
_DIGEST = 16


class CheckpointError(ValueError):
    """A checkpoint is damaged or of another version; the message names the file and the reason."""


def list_checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints of a folder, oldest first."""
    return sorted(p for p in folder.glob(f"step-*{SUFFIX}") if not p.name.startswith("."))


def write_checkpoint(folder: Path, step: int, state: dict[str, Any], keep: int) -> Path:
    """Write a checkpoint atomically, then delete all but the `keep` newest; return its path.

    Raises:
        OSError: disk full or no permission; older checkpoints stay as they are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save({"format": FORMAT, **state}, buffer)
    data = buffer.getvalue()
    path = folder / f"step-{step:09d}{SUFFIX}"
    write_atomically(path, data + hashlib.blake2b(data, digest_size=_DIGEST).digest())
    for old in list_checkpoints(folder)[:-keep]:
        old.unlink()
    return path


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read and check a checkpoint; tensors land on the CPU.

    Raises:
        CheckpointError: damaged, cut short or of another version.
    """
    data = path.read_bytes()
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if hashlib.blake2b(body, digest_size=_DIGEST).digest() != digest:
        raise CheckpointError(f"{path}: checksum wrong, the file is damaged or cut short")
    try:
        state = torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)
    except (RuntimeError, pickle.UnpicklingError, EOFError) as error:
        raise CheckpointError(f"{path}: contents damaged ({error})") from error
    if state.get("format") != FORMAT:
        raise CheckpointError(f"{path}: checkpoint format {state.get('format')}, this program reads {FORMAT}")
    return dict(state)


def newest_good(folder: Path, report: Callable[[str], None]) -> tuple[Path, dict[str, Any]] | None:
    """Return the newest checkpoint that reads well, None without one; damaged ones are reported."""
    for path in reversed(list_checkpoints(folder)):
        try:
            return path, read_checkpoint(path)
        except (CheckpointError, OSError) as error:
            report(f"{error}; falling back to the one before")
    return None

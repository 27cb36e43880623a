"""Archives of torch from anywhere: read as plain values and tensors, never as a program."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import torch


def load_plain(archive: bytes) -> dict[str, Any]:
    """Return the table of plain values and tensors in a torch archive; nothing in it is run.

    Raises:
        ValueError: damaged, no table, something else in it, or more than the archive's own size unpacked.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as parts:
            if any(part.compress_type != zipfile.ZIP_STORED for part in parts.infolist()):
                raise ValueError("compressed parts")  # torch stores them as they are
        state = torch.load(io.BytesIO(archive), map_location="cpu", weights_only=True)
    except Exception as error:  # what a damaged archive raises is nowhere listed
        raise ValueError(str(error).partition("\n")[0]) from error
    if not isinstance(state, dict):
        raise ValueError("no table")
    return state

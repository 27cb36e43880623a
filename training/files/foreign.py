"""Untrusted files: read up to a limit, as plain data of the expected type."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

JSON_LIMIT = 16 << 20  # derived: standings of 10,000 measured nets take a tenth of it


class ForeignFileError(ValueError):
    """A file is larger than it may be or holds something else than it should; the message names it."""


def read_bounded(path: Path, limit: int) -> bytes:
    """Return the bytes of a file.

    Raises:
        ForeignFileError: it has more than `limit` bytes.
        OSError: it cannot be read.
    """
    with open(path, "rb") as f:
        data = f.read(limit + 1)
    if len(data) > limit:
        raise ForeignFileError(f"{path}: larger than the {limit} bytes that such a file may have")
    return data


def parse_table(data: bytes, source: Path | str) -> dict[str, Any]:
    """Return a JSON object.

    Args:
        data: the text, UTF-8.
        source: of it, for messages.

    Raises:
        ForeignFileError: no JSON, or no object.
    """
    try:
        table = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ForeignFileError(f"{source} is damaged ({error})") from error
    if not isinstance(table, dict):
        raise ForeignFileError(f"{source} is damaged (no table)")
    return table


def read_table(path: Path, limit: int = JSON_LIMIT) -> dict[str, Any]:
    """Return the JSON object of a file.

    Raises:
        ForeignFileError: see `read_bounded` and `parse_table`.
        OSError: it cannot be read.
    """
    return parse_table(read_bounded(path, limit), path)


def is_number(value: object) -> bool:
    """Return whether a value of JSON is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_count(value: object) -> bool:
    """Return whether a value of JSON is a whole number from 0 to 2**53."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1 << 53


def is_list_of(value: object, item: Callable[[object], bool]) -> bool:
    """Return whether a value of JSON is a list of such items."""
    return isinstance(value, list) and all(item(v) for v in value)

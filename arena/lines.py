"""Lines of output: how managers find them in what a brain writes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

NO_LINE_END = b" <no line end>"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output: when it was read (time.monotonic, s) and its bytes without line end."""

    at_s: float
    raw: bytes

    @property
    def text(self) -> str:
        """The line as text; bytes that are no UTF-8 are replaced."""
        return self.raw.decode("utf-8", "replace")


Splitter = Callable[[bytes], tuple[list[bytes], bytes]]
"""How a manager finds lines: pending bytes -> (lines, rest)."""


def split_lines(pending: bytes) -> tuple[list[bytes], bytes]:
    """Split at LF and drop the CR before it, as Piskvork, the judge and c-gomoku-cli do."""
    *lines, rest = pending.split(b"\n")
    return [line.removesuffix(b"\r") for line in lines], rest


def split_chunk(pending: bytes) -> tuple[list[bytes], bytes]:
    """Split one read chunk as qpiskvork does: every chunk is taken to consist of whole lines."""
    if b"\r" in pending and b"\n" in pending:
        return [part for part in pending.split(b"\r\n") if part], b""
    return [part for part in re.split(rb"[\r\n]", pending) if part], b""

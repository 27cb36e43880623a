"""Lines from a person: with editing and history on a terminal, plainly from a pipe; redraws on a resize."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import TextIO

MAX_LINE = 1000
"""Longer lines are cut (derived: no command is longer, and a message must fit)."""


class Lines:
    """Reads lines; end of input raises EOFError, Ctrl-C KeyboardInterrupt."""

    def __init__(self, source: TextIO, redraw: Callable[[], None]) -> None:
        """Read from `source`; `redraw` puts the screen above the prompt after a resize."""
        self.interactive = source.isatty() and source is sys.stdin
        self._source, self._redraw = source, redraw
        if hasattr(source, "reconfigure"):
            source.reconfigure(errors="replace")  # a wrong byte is nonsense, not a crash
        self._readline: ModuleType | None = None
        if self.interactive:
            try:
                import readline
            except ImportError:  # Windows: the console edits lines itself
                return
            self._readline = readline

    def read(self, prompt: str) -> str:
        """Return the next line without its end; the prompt is shown on a terminal only.

        Raises:
            EOFError: there are no more lines.
        """
        if not self.interactive:
            line = self._source.readline()
            if not line:
                raise EOFError
            return line[:MAX_LINE].rstrip("\r\n")
        with self._watching_size(prompt):
            return input(prompt)[:MAX_LINE]

    @contextmanager
    def _watching_size(self, prompt: str) -> Iterator[None]:
        """Redraw screen, prompt and what was typed so far when the terminal changes its size."""
        number = getattr(signal, "SIGWINCH", None)
        if number is None:
            yield
            return

        def resized(number: int, frame: FrameType | None) -> None:
            self._redraw()
            typed = self._readline.get_line_buffer() if self._readline is not None else ""
            sys.stdout.write(prompt + typed)
            sys.stdout.flush()

        before = signal.signal(number, resized)
        try:
            yield
        finally:
            signal.signal(number, before)

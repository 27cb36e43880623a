"""Begin and end a command: its output may be cut off, its locale may lack letters."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable

from engine.pipes import CLOSED_PIPE_STATUS


class OutputClosedError(SystemExit):
    """Nobody reads the output any more, as behind `| head`. No error: it passes `except OSError`."""


class _Output(io.TextIOWrapper):
    """A standard stream that tells a closed pipe from errors of files."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            raise OutputClosedError(CLOSED_PIPE_STATUS) from None

    def writelines(self, lines: Iterable[str]) -> None:  # type: ignore[override]
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            raise OutputClosedError(CLOSED_PIPE_STATUS) from None


def run(main: Callable[[], int]) -> int:
    """Run the main function of a command and return its exit status.

    Letters that the locale lacks are written as escapes. When the reader of the output goes, the command
    saves what it has to save and ends in silence with `CLOSED_PIPE_STATUS`.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and stream is getattr(sys, f"__{name}__"):
            live = stream.line_buffering or name == "stderr"
            encoding = stream.encoding
            output = _Output(stream.detach(), encoding, "backslashreplace", line_buffering=live)
            setattr(sys, name, output)
    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except OutputClosedError:
        _drop_output()
        return CLOSED_PIPE_STATUS


def _drop_output() -> None:
    """Send both streams nowhere, so that nothing is said of a closed pipe while the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)

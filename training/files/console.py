"""Begin and end a command: its output may be cut off, its locale may lack letters."""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence

from engine.pipes import CLOSED_PIPE_STATUS


class OutputClosedError(SystemExit):
    """The output takes no more: its reader is gone, as behind `| head`, or its disk is full.

    It passes `except OSError`, which is for errors of other files.

    Attributes:
        reason: to be told; empty if the reader is gone.
    """

    def __init__(self, error: OSError) -> None:
        closed = isinstance(error, BrokenPipeError)
        super().__init__(CLOSED_PIPE_STATUS if closed else 1)
        self.reason = "" if closed else str(error.strerror)


class _Output(io.TextIOWrapper):
    """A standard stream that tells its own errors from those of files."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise OutputClosedError(error) from None

    def writelines(self, lines: Iterable[str]) -> None:  # type: ignore[override]
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise OutputClosedError(error) from None


def parser(module: str, about: str | None, epilog: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of a command.

    Args:
        module: of the command, as in `training.report`.
        about: what it does, as its docstring has it; line ends stay.
        epilog: comes after the options.
    """
    return argparse.ArgumentParser(
        prog=f"python -m {module}", description=about, epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip


def command(
    *errors: type[Exception], stopped: str = "the same command continues"
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator of the main function of a command that can be stopped.

    Args:
        errors: of which one line is said; the status is 2 then.
        stopped: what becomes of it after an interrupt; the status is 1 then.
    """

    def decorate(main: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(main)
        def guarded(arguments: Sequence[str] | None = None) -> int:
            try:
                return main(arguments)
            except KeyboardInterrupt:
                print(f"stopped; {stopped}", file=sys.stderr)
                return 1
            except errors as error:
                print(f"error: {error}", file=sys.stderr)
                return 2

        return guarded

    return decorate


def run(main: Callable[[], int]) -> int:
    """Run the main function of a command and return its exit status.

    Letters that the locale lacks are written as escapes. When the reader of the output goes, the command
    saves what it has to save and ends in silence with `CLOSED_PIPE_STATUS`. Output that cannot be written
    otherwise, as to a full disk, is said in one line; the status is then 1.
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
    except OutputClosedError as gone:
        if gone.reason:
            with contextlib.suppress(OutputClosedError):
                print(f"error: the output cannot be written: {gone.reason}", file=sys.stderr, flush=True)
        _drop_output()
        return CLOSED_PIPE_STATUS if gone.code == CLOSED_PIPE_STATUS else 1


def _drop_output() -> None:
    """Send both streams nowhere, so that the interpreter writes nothing about a closed pipe when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)

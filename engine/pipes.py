"""Pipes: reading one in a thread, and output whose reader is gone. Imports nothing heavy."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable
from typing import Any

CHUNK = 1 << 16
CLOSED_PIPE_STATUS = 141
"""Exit status when the reader of standard output has gone, 128 + SIGPIPE as a shell reports it."""


class _Output(io.FileIO):
    """Standard output that remembers why it could not be written; `argparse` ignores that."""

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Write; see `io.FileIO`."""
        try:
            return super().write(data)
        except OSError as error:
            self.failure = error
            raise


def run_piped(program: Callable[[], int]) -> int:
    """Run a command-line program and return its exit status, CLOSED_PIPE_STATUS if its output has no reader.

    A reader that stops early, as in `program | head`, is no failure: nothing is written about it. Output that
    cannot be written otherwise, as to a full disk, is said in one line; the status is then 1.

    Raises:
        Whatever `program` raises, `SystemExit` included.
    """
    output = _watched_output()
    try:
        try:
            status = program()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        if not _is_of_output(error, output):
            raise
        return _unwritten(error, output)
    except SystemExit:
        if output is None or output.failure is None:
            raise
        return _unwritten(output.failure, output)
    if output is not None and output.failure is not None:
        return _unwritten(output.failure, output)
    return status


def _watched_output() -> _Output | None:
    """Make standard output one that remembers its failures; None where it is no plain file or pipe."""
    stream = sys.stdout
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # python -u has no buffer between
    if isinstance(raw, _Output):
        return raw
    if type(raw) is not io.FileIO or not isinstance(stream, io.TextIOWrapper):
        return None
    output = _Output(raw.fileno(), "wb", closefd=False)
    sys.stdout = io.TextIOWrapper(
        output if raw is buffer else io.BufferedWriter(output), stream.encoding, stream.errors,
        line_buffering=stream.line_buffering, write_through=stream.write_through,
    )  # fmt: skip
    return output


def _is_closed(error: OSError) -> bool:
    return error.errno in ((errno.EPIPE, errno.EINVAL) if sys.platform == "win32" else (errno.EPIPE,))


def _is_of_output(error: OSError, output: _Output | None) -> bool:
    return _is_closed(error) or (output is not None and error is output.failure)


def _unwritten(error: OSError, output: _Output | None) -> int:
    """Say why standard output could not be written, give up what waits for it, and return the exit status."""
    if output is not None:
        output.failure = None
    streams = [sys.stdout]
    if _is_closed(error):
        streams.append(sys.stderr)
    else:
        with contextlib.suppress(OSError):
            print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr, flush=True)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:  # the interpreter flushes them when it ends
        if stream is not None:
            os.dup2(nowhere, stream.fileno())
    return CLOSED_PIPE_STATUS if _is_closed(error) else 1


if sys.platform == "win32":
    import _winapi
    import msvcrt

    def read_some(fd: int) -> bytes:
        """Wait for input and return what there is, nothing at its end.

        Past the C library: `os.read` would hold its lock of the descriptor for as long as it waits, and some
        C libraries (that of Wine) need all of these locks to open a file.

        Raises:
            OSError: the pipe is broken, which is how it ends.
        """
        return bytes(_winapi.ReadFile(msvcrt.get_osfhandle(fd), CHUNK)[0])

else:

    def read_some(fd: int) -> bytes:
        """Wait for input and return what there is, nothing at its end.

        Raises:
            OSError: it cannot be read.
        """
        return os.read(fd, CHUNK)

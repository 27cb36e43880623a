"""Pipes: reading one in a thread, and output whose reader is gone. Imports nothing heavy."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

CHUNK = 1 << 16
CLOSED_PIPE_STATUS = 141
"""Exit status when the reader of standard output has gone, 128 + SIGPIPE as a shell reports it."""


def run_piped(program: Callable[[], int]) -> int:
    """Run a command-line program and return its exit status, CLOSED_PIPE_STATUS if its output has no reader.

    A reader that stops early, as in `program | head`, is no failure: nothing is written about it.

    Raises:
        Whatever `program` raises, `SystemExit` included.
    """
    try:
        try:
            return program()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        closed = (errno.EPIPE, errno.EINVAL) if sys.platform == "win32" else (errno.EPIPE,)
        if error.errno not in closed:
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):  # the interpreter flushes them when it ends
            if stream is not None:
                os.dup2(nowhere, stream.fileno())
        return CLOSED_PIPE_STATUS


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

"""Reading pipes in a thread without holding what other threads need. Imports nothing heavy."""

from __future__ import annotations

import os
import sys

CHUNK = 1 << 16

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

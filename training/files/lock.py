"""One process for one directory."""

from __future__ import annotations

import os
from pathlib import Path


class LockError(RuntimeError):
    """Another process works in the directory; the message names it."""


class DirectoryLock:
    """Keeps a second process out of a directory, where the system can lock files, as long as it lives."""

    def __init__(self, path: Path) -> None:
        """Take the lock.

        Args:
            path: of the file to lock; made when missing.

        Raises:
            LockError: another process has it.
        """
        self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115
        if os.name == "posix":
            import fcntl

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise LockError(f"another process trains in {path.parent}") from error

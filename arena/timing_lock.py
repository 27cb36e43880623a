"""A lock of the machine: timed programs hold it, and jobs that only need processor time pause meanwhile.

    with holding("match at 8 s"):       # waits until nothing else is timed
        play()

    pause_while_timed()                 # in the loop of a job: returns at once unless the lock is held

The lock is one of the operating system on a file, so that it is free again however its holder ends. The file
is `tengen-timing.lock` in the folder for temporary files; TENGEN_TIMING_LOCK names another one, and an empty
value switches the lock off.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

VARIABLE = "TENGEN_TIMING_LOCK"
_LOOK_S = 0.5
"""Seconds between two tries of a process that waits."""
_held_here: set[str] = set()
"""Files that this process holds the lock of."""

Say = Callable[[str], None]


def lock_path() -> Path | None:
    """Return the file of the lock; None where it is switched off."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    return Path(tempfile.gettempdir()) / "tengen-timing.lock"


@contextmanager
def holding(purpose: str, say: Say = lambda line: None) -> Iterator[None]:
    """Hold the lock; wait for it as long as another process does.

    Args:
        purpose: what is timed, for those who wait.
        say: gets one line if there is something to wait for.
    """
    path = lock_path()
    if path is None or str(path) in _held_here:
        yield
        return
    with _open(path) as file:
        told = False
        while not try_lock(file):
            if not told:
                say(f"waiting for the timing lock {path}, held by {holder(path)}")
                told = True
            time.sleep(_LOOK_S)
        _held_here.add(str(path))
        try:
            _sign(file, f"{purpose} (process {os.getpid()})\n")
            yield
        finally:
            _held_here.discard(str(path))
            _sign(file, "")
            _unlock(file)


def is_timed() -> bool:
    """Return whether another process holds the lock."""
    path = lock_path()
    if path is None or str(path) in _held_here or not path.exists():
        return False
    try:
        with _open(path) as file:
            if not try_lock(file, shared=True):
                return True
            _unlock(file)
    except OSError:
        return False  # a file of another user: it cannot be read
    return False


def pause_while_timed(say: Say = lambda line: None, stop: Callable[[], bool] = lambda: False) -> float:
    """Return as soon as nothing is timed by another process, with the seconds that were waited.

    Args:
        say: gets one line at the begin and one at the end of a pause.
        stop: ends the pause early.
    """
    if not is_timed():
        return 0.0
    path = lock_path()
    assert path is not None
    began_s = time.monotonic()
    say(f"pausing: the machine is timed by {holder(path)}")
    while is_timed() and not stop():
        time.sleep(_LOOK_S)
    waited_s = time.monotonic() - began_s
    say(f"going on after a pause of {waited_s:.0f} s")
    return waited_s


def _sign(file: IO[bytes], text: str) -> None:
    """Write who holds the lock into its file, where that is ours."""
    if file.writable():
        file.seek(0)
        file.truncate()
        file.write(text.encode())
        file.flush()


def holder(path: Path) -> str:
    """Return what the holder of a lock wrote about itself."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()[:200] or "another process"
    except OSError:
        return "another process"


def _open(path: Path) -> IO[bytes]:
    """Open the file of the lock, made if it is missing; one of another user is opened for reading."""
    try:
        return open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
    except PermissionError:
        return open(path, "rb")


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30
    """Where the locked byte is: a locked one cannot be read on this system."""

    def try_lock(file: IO[bytes], *, shared: bool = False) -> bool:
        """Lock a file until it is closed; return False if another process has locked it."""
        file.seek(_FAR)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def try_lock(file: IO[bytes], *, shared: bool = False) -> bool:
        """Lock a file until it is closed; return False if another process has locked it."""
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)

"""Resources of a process: cores, how long its threads waited for one, memory."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Collection, Iterator
from pathlib import Path


@contextlib.contextmanager
def on_cores(cores: Collection[int] | None) -> Iterator[None]:
    """Make processes that are started in this context inherit these cores from the thread."""
    if cores is None or sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def scheduled_ms(pid: int, thread: int | None = None) -> tuple[float, float]:
    """Return how long a thread, or all of a process, has run and has waited for a core, ms."""
    ran_ns = waited_ns = 0
    for path in Path(f"/proc/{pid}/task").glob(f"{thread or '*'}/schedstat"):
        with contextlib.suppress(OSError):
            ran, waited, _ = path.read_bytes().split()
            ran_ns, waited_ns = ran_ns + int(ran), waited_ns + int(waited)
    return ran_ns / 1e6, waited_ns / 1e6


def waited_here_ms() -> float:
    """Return how long the calling thread has waited for a core, ms."""
    return scheduled_ms(os.getpid(), threading.get_native_id())[1]


def limit_data(pid: int, most_bytes: int) -> None:
    """Let the system give a process no more private memory than this, on Linux."""
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_DATA, (most_bytes, most_bytes))

"""The cores of this machine: how many processes play on them, and how busy these keep them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from training.settings.schema import RunConfig


def cpu_count() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worker_count(config: RunConfig, device: str) -> int:
    """Return the number of self-play processes on a kind of device, `cpu` or `cuda`."""
    # A core does tree and solver for some 30,000 positions a second: large nets on a GPU need few cores.
    return config.workers or (max(4, cpu_count() // 2) if device == "cuda" else cpu_count())


def learner_threads(config: RunConfig, device: str, workers: int) -> int:
    """Return the number of torch's threads while the run learns on a kind of device, `cpu` or `cuda`.

    One for each worker that waits meanwhile. A line net learns in passes of one thread: more threads would
    only spin where workers play on.
    """
    from training.net import trunk

    wait = config.ahead_cycles < 1 or not trunk.able(config.learner.net)
    return max(config.learner.threads, workers) if device == "cpu" and wait else config.learner.threads


def _cpu_s(pid: int) -> float | None:
    """Return the processor seconds of a process; None if nobody knows, as elsewhere than on Linux."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None


class BusyShare:
    """How much of the cores that this process may use it and its workers have used."""

    def __init__(self, workers: Callable[[], Sequence[int | None]]) -> None:
        """Begin to measure.

        Args:
            workers: returns the ids of the workers' processes as they are now.
        """
        self._workers = workers
        self._seen: dict[int, float] = {}
        self._looked_s, self._own_s = time.monotonic(), time.process_time()

    def metrics(self) -> dict[str, float]:
        """Return `cores_busy`, a share since the last call, and the cores that this process had of it.

        Nothing where the system does not say. What a worker used that died in between is not counted.
        """
        now_s, own_s = time.monotonic(), time.process_time()
        found = {pid: _cpu_s(pid) for pid in self._workers() if pid is not None}
        times = {pid: value for pid, value in found.items() if value is not None}
        used_s = sum(value - self._seen.get(pid, 0.0) for pid, value in times.items())
        own_used_s, passed_s = own_s - self._own_s, max(1e-9, now_s - self._looked_s)
        self._seen, self._looked_s, self._own_s = times, now_s, own_s
        if not times:
            return {}
        return {
            "cores_busy": (used_s + own_used_s) / (passed_s * cpu_count()),
            "learner_cores": own_used_s / passed_s,
        }

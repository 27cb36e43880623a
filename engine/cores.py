"""How many processor cores this process may use, and how many threads its libraries start."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
_V1 = ("cpu", "cpu,cpuacct")
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)
"""Environment of a process whose numerical libraries start one thread each; they read it when they load."""


def usable_cores(cgroups: Path = CGROUPS, own: Path = Path("/proc/self/cgroup")) -> int:
    """Return how many cores this process may use: by its affinity and its cgroups; at least 1.

    Args:
        cgroups: where cgroups are mounted.
        own: the file that names those of this process.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = min(_quotas(cgroups, own), default=float(cores))
    return max(1, min(cores, round(quota)))


def _quotas(cgroups: Path, own: Path) -> list[float]:
    """Return the quotas that are set for this process, in cores, those of the groups above included."""
    found = []
    paths = {Path()}
    with contextlib.suppress(OSError):
        for line in own.read_text(encoding="utf-8").splitlines():
            inner = Path(line.split(":", 2)[-1].strip().lstrip("/"))
            paths |= {inner, *inner.parents}
    for path in paths:
        with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
            quota, period = (cgroups / path / "cpu.max").read_text(encoding="utf-8").split()
            found.append(int(quota) / int(period))  # "max" is no number: no quota
        for controller in _V1:
            with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
                folder = cgroups / controller / path
                quota_us = int((folder / "cpu.cfs_quota_us").read_text(encoding="utf-8"))
                period_us = int((folder / "cpu.cfs_period_us").read_text(encoding="utf-8"))
                if quota_us > 0:
                    found.append(quota_us / period_us)
    return found

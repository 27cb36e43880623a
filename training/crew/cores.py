"""How many processes play."""

from __future__ import annotations

import os

from training.settings.schema import RunConfig


def cpu_count() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worker_count(config: RunConfig, device: str) -> int:
    """Return the number of self-play processes on a kind of device, `cpu` or `cuda`."""
    # A core does tree and solver for some 30,000 positions a second: large nets on a GPU need few cores.
    return config.workers or (max(4, cpu_count() // 2) if device == "cuda" else cpu_count())

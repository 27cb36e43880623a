"""How much private memory this process holds, and what a limit leaves for the tree."""

from __future__ import annotations

import sys

LEAVE_SHARE = 0.18
"""Share of the limit that is left free: for memory of the runtime that grows on larger boards, fragmentation,
and memory that managers count and `private_bytes` does not (derived: 300 MiB used at a limit of 350 MiB)."""
MIN_TREE_BYTES = 4 << 20
"""Smallest tree, even beyond the limit: a weak move is better than none."""
UNLIMITED_BYTES = 2 << 30
"""Limit where none is set."""
MAX_TREE_BYTES = 60 << 30
"""Largest tree (derived: what references of 32 bits reach)."""


def tree_bytes(limit_bytes: int | None, held_bytes: int, reserved_bytes: int) -> int:
    """Return how large the tree may grow.

    Args:
        limit_bytes: of the whole process; None or 0: no limit.
        held_bytes: private memory without the tree.
        reserved_bytes: of the cache of evaluations, which grows to it.
    """
    limit_bytes = limit_bytes or UNLIMITED_BYTES
    left = int(limit_bytes * (1 - LEAVE_SHARE)) - held_bytes - reserved_bytes
    return min(max(MIN_TREE_BYTES, left), MAX_TREE_BYTES)


def private_bytes() -> int | None:
    """Return the private memory of this process (unique set size or private bytes), None if unknown."""
    try:
        return _private_windows() if sys.platform == "win32" else _private_linux()
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def _private_linux() -> int:
    """Sum the private memory in /proc/self/smaps_rollup."""
    total = 0
    with open("/proc/self/smaps_rollup", "rb") as rollup:
        for line in rollup:
            if line.startswith((b"Private_Clean:", b"Private_Dirty:", b"Private_Hugetlb:", b"Swap:")):
                total += int(line.split()[1])
    if not total:
        raise ValueError("no private memory found")
    return total * 1024


def _private_windows() -> int:
    import ctypes
    from ctypes import wintypes

    class Counters(ctypes.Structure):
        """PROCESS_MEMORY_COUNTERS_EX."""

        _fields_ = (
            ("cb", wintypes.DWORD),
            ("PageFaultCount", wintypes.DWORD),
            ("PeakWorkingSetSize", ctypes.c_size_t),
            ("WorkingSetSize", ctypes.c_size_t),
            ("QuotaPeakPagedPoolUsage", ctypes.c_size_t),
            ("QuotaPagedPoolUsage", ctypes.c_size_t),
            ("QuotaPeakNonPagedPoolUsage", ctypes.c_size_t),
            ("QuotaNonPagedPoolUsage", ctypes.c_size_t),
            ("PagefileUsage", ctypes.c_size_t),
            ("PeakPagefileUsage", ctypes.c_size_t),
            ("PrivateUsage", ctypes.c_size_t),
        )

    counters = Counters(cb=ctypes.sizeof(Counters))
    kernel32 = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    kernel32.GetCurrentProcess.restype = wintypes.HANDLE
    process = wintypes.HANDLE(kernel32.GetCurrentProcess())
    if not kernel32.K32GetProcessMemoryInfo(process, ctypes.byref(counters), counters.cb):
        raise OSError("GetProcessMemoryInfo failed")
    return max(int(counters.PrivateUsage), int(counters.WorkingSetSize))

"""The clock of the engine: monotonic seconds, and when this process was created on that clock."""

from __future__ import annotations

import os
import sys
import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock. Tests use one that they set."""

    def now_s(self) -> float:
        """Return seconds on a clock that never goes back."""

    def process_started_s(self) -> float:
        """Return when this process was created, on the clock of `now_s`."""


class SystemClock:
    """The machine's monotonic clock."""

    __slots__ = ("_started_s",)

    def __init__(self) -> None:
        self._started_s: float | None = None

    def now_s(self) -> float:
        """Return seconds on a clock that never goes back."""
        return time.monotonic()

    def process_started_s(self) -> float:
        """Return when this process was created, on the clock of `now_s`; never later than the first call."""
        if self._started_s is None:
            now_s = time.monotonic()
            self._started_s = now_s - max(0.0, process_age_s())
        return self._started_s


def process_age_s() -> float:
    """Return the seconds since this process was created; 0 where the system does not say."""
    try:
        return _age_windows_s() if sys.platform == "win32" else _age_linux_s()
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def _age_linux_s() -> float:
    """Read the creation time (clock ticks since boot) from /proc."""
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    ticks_a_second = os.sysconf("SC_CLK_TCK")
    since_boot_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    return since_boot_s - int(fields[19]) / ticks_a_second  # field 22 of proc(5), two are before the ")"


def _age_windows_s() -> float:
    """Ask GetProcessTimes for the creation time, in units of 100 ns of the system's wall clock."""
    import ctypes
    from ctypes import wintypes

    kernel32 = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    kernel32.GetCurrentProcess.restype = wintypes.HANDLE
    created, exited, in_kernel, in_user, now = (wintypes.FILETIME() for _ in range(5))
    arguments = (ctypes.byref(t) for t in (created, exited, in_kernel, in_user))
    if not kernel32.GetProcessTimes(wintypes.HANDLE(kernel32.GetCurrentProcess()), *arguments):
        return 0.0
    kernel32.GetSystemTimeAsFileTime(ctypes.byref(now))

    def hundred_ns(stamp: wintypes.FILETIME) -> int:
        return (int(stamp.dwHighDateTime) << 32) | int(stamp.dwLowDateTime)

    return (hundred_ns(now) - hundred_ns(created)) / 1e7

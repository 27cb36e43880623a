"""The first question to a machine that joins. It travels as code, since the program may be missing there."""

from __future__ import annotations


def look() -> tuple[str, object]:
    """Return ("version", `Version`) of this machine, or ("error", why it cannot play)."""
    try:
        from training.cluster.version import own_version

        return "version", own_version()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        return "error", f"Tengen with its compiled kernel is not installed there ({why})"


def kill_process(pid: int) -> None:
    """Kill a process of this machine that does not answer any more."""
    import os
    import signal

    os.kill(pid, signal.SIGKILL)

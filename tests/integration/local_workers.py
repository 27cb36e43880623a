"""Training runs in this process, their workers threads of it, so that a loop costs no starts of processes.

As a command, `training.selfplay` in processes. Both calibrate the 8 bits of an export on few positions, which
takes more than half of the time of a short run otherwise; `tests.training.export` looks at the numbers.
"""

from __future__ import annotations

import contextlib
import io
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from training import selfplay
from training.learn import learner
from training.workers import local
from training.workers.local import LocalPool, ProcessTransport
from training.workers.process import work

FEW_BATCHES = mock.patch.object(learner, "_CALIBRATION_BATCHES", 8)


class WorkerThread(threading.Thread):
    """A worker that nobody can kill and whose processor time nobody knows."""

    pid = -1
    exitcode = None


class ThreadTransport(ProcessTransport):
    """Threads in place of processes."""

    def _process(self, name: str, arguments: tuple[Any, ...]) -> WorkerThread:
        thread = WorkerThread(target=work, args=arguments, name=name, daemon=True)
        thread.start()
        return thread


class ThreadPool(LocalPool):
    """A pool whose workers are threads: the same tasks, games, journals, shards."""

    transport = ThreadTransport


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a run, as of a process."""

    returncode: int
    stderr: str


def train(run_dir: Path, *arguments: str) -> Done:
    """Run `training.selfplay` to its end."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    out, err = io.StringIO(), io.StringIO()
    try:
        with (
            FEW_BATCHES,
            mock.patch.object(local, "LocalPool", ThreadPool),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            status = selfplay.main(["--run-dir", str(run_dir), *arguments])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Done(status, err.getvalue())


if __name__ == "__main__":
    with FEW_BATCHES:
        sys.exit(selfplay.main(sys.argv[1:]))

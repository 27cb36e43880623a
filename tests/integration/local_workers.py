"""Training runs in this process, their workers threads of it, so that a loop costs no starts of processes."""

from __future__ import annotations

import contextlib
import io
import signal
import threading
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from unittest import mock

from training import selfplay
from training.workers import local
from training.workers.local import LocalPool
from training.workers.process import work


class ThreadPool(LocalPool):
    """A pool whose workers are threads: the same orders, games, journals, shards; none can be killed."""

    def _start(self, index: int, life: int) -> Connection:
        ours, theirs = Pipe()
        options = self._worker_options(index, life)
        thread = threading.Thread(target=work, args=(theirs, self._run_dir, options), daemon=True)
        thread.start()
        self._processes[index] = thread
        return ours


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
            mock.patch.object(local, "LocalPool", ThreadPool),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            status = selfplay.main(["--run-dir", str(run_dir), *arguments])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Done(status, err.getvalue())

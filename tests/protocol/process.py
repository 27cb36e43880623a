"""A brain as a child process, seen as a manager sees it: bytes in, time-stamped lines out."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

REPOSITORY = Path(__file__).resolve().parents[2]


class BrainGone(Exception):
    """The process ended or closed its output while something was expected from it."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output: when it was read (time.monotonic, s) and its bytes without line end."""

    at_s: float
    raw: bytes

    @property
    def text(self) -> str:
        return self.raw.decode("utf-8", "replace")


def split_lines(pending: bytes) -> tuple[list[bytes], bytes]:
    """Split at LF and drop the CR before it, as Piskvork, the judge and c-gomoku-cli do."""
    *lines, rest = pending.split(b"\n")
    return [line.removesuffix(b"\r") for line in lines], rest


def split_chunk(pending: bytes) -> tuple[list[bytes], bytes]:
    """Split one read chunk as qpiskvork does: every chunk is taken to consist of whole lines."""
    if b"\r" in pending and b"\n" in pending:
        return [part for part in pending.split(b"\r\n") if part], b""
    return [part for part in re.split(rb"[\r\n]", pending) if part], b""


def _scheduled_ms(pid: int, thread: int | None = None) -> tuple[float, float]:
    """Return how long a thread, or all of a process, has run and has waited for a core, ms."""
    ran_ns = waited_ns = 0
    for path in Path(f"/proc/{pid}/task").glob(f"{thread or '*'}/schedstat"):
        with contextlib.suppress(OSError):
            ran, waited, _ = path.read_bytes().split()
            ran_ns, waited_ns = ran_ns + int(ran), waited_ns + int(waited)
    return ran_ns / 1e6, waited_ns / 1e6


class Brain:
    """A running brain.

    Args:
        command: program and arguments.
        cwd: working directory; the repository by default. The repository is on PYTHONPATH in any case.
        merge_stderr: connect file descriptor 2 to the same pipe as 1, as Piskvork does.
        splitter: how the manager finds lines: pending bytes -> (lines, rest).
        env: variables to add to the environment.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        merge_stderr: bool = False,
        splitter: Callable[[bytes], tuple[list[bytes], bytes]] = split_lines,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in kill()
        self._splitter = splitter
        self._lines: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        self.chunks: list[tuple[float, bytes]] = []
        self.started_s = time.monotonic()
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge_stderr else self._errors,
            cwd=cwd or REPOSITORY,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), **(env or {})},
        )
        self._pidfd = None if sys.platform == "win32" else os.pidfd_open(self.process.pid)
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Brain:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _read(self) -> None:
        assert self.process.stdout is not None
        fd = self.process.stdout.fileno()
        pending = b""
        while True:
            try:
                chunk = os.read(fd, 1 << 16)
            except (OSError, ValueError):
                chunk = b""
            now_s = time.monotonic()
            if not chunk:
                break
            self.chunks.append((now_s, chunk))
            lines, pending = self._splitter(pending + chunk)
            for line in lines:
                self._lines.put(Line(now_s, line))
        if pending:
            self._lines.put(Line(time.monotonic(), pending + b" <no line end>"))
        self._lines.put(None)

    def send(self, data: bytes | str) -> None:
        """Write all of `data`; text gets an LF.

        Raises:
            BrainGone: the pipe is broken.
        """
        assert self.process.stdin is not None
        payload = data.encode() + b"\n" if isinstance(data, str) else data
        view = memoryview(payload)
        try:
            while view:
                view = view[os.write(self.process.stdin.fileno(), view) :]
        except (OSError, ValueError) as error:
            raise BrainGone(f"write failed: {error}") from error

    def read_line(self, timeout_s: float) -> Line | None:
        """Return the next line, or None when there is none in time.

        Raises:
            BrainGone: output has ended and every line has been read.
        """
        if self._ended:
            raise BrainGone(self.why_gone())
        try:
            line = self._lines.get(timeout=max(timeout_s, 0.0))
        except queue.Empty:
            return None
        if line is None:
            self._ended = True
            raise BrainGone(self.why_gone())
        return line

    def drain(self) -> list[Line]:
        """Return the lines that have been read and not yet been taken."""
        lines: list[Line] = []
        with contextlib.suppress(queue.Empty):
            while not self._ended:
                line = self._lines.get_nowait()
                if line is None:
                    self._ended = True
                else:
                    lines.append(line)
        return lines

    def remaining_lines(self, timeout_s: float = 5.0) -> list[Line]:
        """Wait for the end of output and return what was still unread."""
        self._reader.join(timeout_s)
        return self.drain()

    def suspend(self) -> None:
        if sys.platform == "win32":
            with contextlib.suppress(psutil.Error):
                psutil.Process(self.process.pid).suspend()
        else:
            self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        if sys.platform == "win32":
            with contextlib.suppress(psutil.Error):
                psutil.Process(self.process.pid).resume()
        else:
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def close_input(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def wait_exit_s(self, timeout_s: float) -> float | None:
        """Return after how many seconds the process ended, None if it did not within the timeout."""
        start_s = time.monotonic()
        if self._pidfd is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout_s)
                return time.monotonic() - start_s
            return None
        ended, _, _ = select.select([self._pidfd], [], [], timeout_s)
        elapsed_s = time.monotonic() - start_s
        if not ended:
            return None
        self.process.wait()
        return elapsed_s

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def why_gone(self) -> str:
        """Describe the end of the process: status and the end of what it wrote to stderr."""
        status = self.process.poll()
        self._errors.seek(0)
        tail = self._errors.read().decode("utf-8", "replace")[-2000:]
        return f"exit status {status}" + (f", stderr: {tail}" if tail else "")

    def family(self) -> list[psutil.Process]:
        """Return the process and all its descendants."""
        try:
            root = psutil.Process(self.process.pid)
            return [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def private_bytes(self) -> int:
        """Return the unique set size of the process tree, which the judge compares with max_memory."""
        total = 0
        for process in self.family():
            with contextlib.suppress(psutil.Error):
                total += process.memory_full_info().uss
        return total

    def queued_ms(self) -> float:
        """Return how long the threads of the process have waited for a core since it was created."""
        return _scheduled_ms(self.process.pid)[1]

    def ran_ms(self) -> float:
        """Return how long the threads of the process have run since it was created."""
        return _scheduled_ms(self.process.pid)[0]

    def heard_late_ms(self) -> float:
        """Return how long the thread here that reads and stamps the output has waited for a core."""
        return _scheduled_ms(os.getpid(), self._reader.native_id)[1]

    def wait_exit_unhindered_s(self, limit_s: float) -> float | None:
        """As `wait_exit_s`, but what the process waits for a core does not count towards the limit."""
        start_s, queued_ms = time.monotonic(), self.queued_ms()
        left_s = limit_s
        while left_s > 0:
            if self.wait_exit_s(left_s) is not None:
                return time.monotonic() - start_s
            waited_s = (self.queued_ms() - queued_ms) / 1000
            left_s = limit_s - (time.monotonic() - start_s - waited_s)
        return None

    def kill(self) -> None:
        """End the whole process tree and free what belongs to it."""
        for process in reversed(self.family()):
            with contextlib.suppress(psutil.Error):
                process.kill()
        self.resume()
        self.process.wait()
        self._reader.join(2.0)
        self.close_input()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._errors.close()
        if self._pidfd is not None:
            with contextlib.suppress(OSError):
                os.close(self._pidfd)

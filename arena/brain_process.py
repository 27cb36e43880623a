"""A brain as a child process, as a manager sees it: bytes in, time-stamped lines out.

This module knows pipes and processes only. `arena.managers` has what managers send and what
answers mean.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Collection, Mapping, Sequence
from typing import IO, TYPE_CHECKING

from arena.commands import CommandError, split_command
from arena.cores import limit_data, on_cores, scheduled_ms
from arena.errors import BrainFailureError, BrainGoneError
from arena.lines import NO_LINE_END, Line, Splitter, split_lines

if TYPE_CHECKING:
    import psutil

MAX_LINE_BYTES = 1 << 16
"""A longer line is cut there (derived: no manager has a larger buffer)."""
MAX_UNREAD_LINES = 100_000
"""A brain with more unread lines is blocked on its pipe (derived: minutes of a verbose brain)."""
MAX_KEPT = 50_000
"""Lines and chunks that are kept; the oldest are dropped first (derived: more than one game)."""
MAX_ERRORS_BYTES = 1 << 18
"""Kept of what a brain writes to stderr (derived: more than any log shows)."""


_RUNNING: weakref.WeakSet[BrainProcess] = weakref.WeakSet()


def kill_all() -> None:
    """Kill every brain of this process: one that is stopped would not see that its input has ended."""
    for brain in list(_RUNNING):
        brain.kill()


class BrainProcess:
    """A running brain. One thread may use it; `kill` may be called from any.

    Attributes:
        process: the child process.
        started_s: when it was created (time.monotonic, s).
        chunks: (when, bytes) of every read, the newest `MAX_KEPT`.
        conversation: (when, "->" or "<-", bytes) of every line sent and read, the newest `MAX_KEPT`.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        merge_stderr: bool = False,
        splitter: Splitter = split_lines,
        env: Mapping[str, str] | None = None,
        log_path: str | os.PathLike[str] | None = None,
        cores: Collection[int] | None = None,
        max_data_bytes: int = 0,
    ) -> None:
        """Start the process, in a session of its own where the system has sessions.

        Args:
            command: program and arguments, or both in one text (see `split_command`).
            cwd: working directory; None for that of this process.
            merge_stderr: connect file descriptor 2 to the same pipe as 1, as Piskvork does.
            splitter: how the manager finds lines.
            env: variables to add to the environment.
            log_path: file that gets the conversation as it goes, and in the end what was said on stderr.
            cores: the only cores that it may run on, where the system can do that; None: all.
            max_data_bytes: private memory beyond which the system gives it none, on Linux; 0: no limit.

        Raises:
            BrainFailureError: "start" if it cannot be run.
        """
        try:
            self.command = split_command(command) if isinstance(command, str) else list(command)
        except CommandError as error:
            raise BrainFailureError("start", f"cannot start {command!r}: {error}") from error
        self._splitter = splitter
        self._lines: queue.Queue[Line | None] = queue.Queue(MAX_UNREAD_LINES)
        self._log_lock = threading.Lock()
        self._stopping = threading.Event()
        self.chunks: list[tuple[float, bytes]] = []
        self.conversation: list[tuple[float, str, bytes]] = []
        self._errors = bytearray()  # the end of what it wrote to stderr
        self._errors_reader: threading.Thread | None = None
        self._log: IO[bytes] | None = open(log_path, "ab") if log_path else None  # noqa: SIM115 - likewise
        self.started_s = time.monotonic()
        try:
            with on_cores(cores):
                self.process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT if merge_stderr else subprocess.PIPE,
                    cwd=cwd,
                    bufsize=0,
                    env=None if env is None else {**os.environ, **env},
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            self._close_files()
            reason = error.strerror if isinstance(error, OSError) else error
            raise BrainFailureError("start", f"cannot start {self.command[0]!r}: {reason}") from error
        _RUNNING.add(self)
        if max_data_bytes:
            limit_data(self.process.pid, max_data_bytes)
        self._pidfd: int | None = None
        if sys.platform == "linux":
            self._pidfd = os.pidfd_open(self.process.pid)
        self._ended = self._killed = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not merge_stderr:
            self._errors_reader = threading.Thread(target=self._read_errors, daemon=True)
            self._errors_reader.start()

    def __enter__(self) -> BrainProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    # -- talk ------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Read output until it ends; runs in a thread of its own."""
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
                self._put(Line(now_s, line[:MAX_LINE_BYTES]))
            pending = pending[: MAX_LINE_BYTES + 1]
        if pending:
            self._put(Line(time.monotonic(), pending + NO_LINE_END))
        self._put(None)

    def _read_errors(self) -> None:
        """Read stderr until it ends, and keep its end; runs in a thread of its own.

        A pipe, not a file: under Wine 8 a Python whose stderr is a file does not start.
        """
        assert self.process.stderr is not None
        with contextlib.suppress(OSError, ValueError):  # closed by kill()
            while chunk := os.read(self.process.stderr.fileno(), 1 << 16):
                self._errors += chunk
                del self._errors[:-MAX_ERRORS_BYTES]

    def _put(self, line: Line | None) -> None:
        if line is not None:
            self._note(line.at_s, "<-", line.raw)
        while not self._stopping.is_set():
            with contextlib.suppress(queue.Full):
                self._lines.put(line, timeout=1.0)
                return

    def _note(self, at_s: float, way: str, data: bytes) -> None:
        with self._log_lock:
            self.conversation.append((at_s, way, data))
            for kept in (self.conversation, self.chunks):
                if len(kept) > MAX_KEPT:
                    del kept[: MAX_KEPT // 2]
            if self._log is not None:
                self._log.write(f"{at_s - self.started_s:9.3f} {way} ".encode() + data + b"\n")
                self._log.flush()

    def send(self, data: bytes | str) -> None:
        """Write all of `data`; text gets an LF.

        Raises:
            BrainGoneError: the pipe is broken.
        """
        assert self.process.stdin is not None
        payload = data.encode() + b"\n" if isinstance(data, str) else data
        now_s = time.monotonic()
        for line in payload.splitlines():
            self._note(now_s, "->", line)
        view = memoryview(payload)
        try:
            while view:
                view = view[os.write(self.process.stdin.fileno(), view) :]
        except (OSError, ValueError) as error:
            raise BrainGoneError(f"the process is gone: {self.why_gone()}") from error

    def read_line(self, timeout_s: float | None) -> Line | None:
        """Return the next line, or None when there is none in time; a timeout of None waits for ever.

        Raises:
            BrainGoneError: output has ended and every line has been read.
        """
        if self._ended:
            raise BrainGoneError(f"the process ended: {self.why_gone()}")
        try:
            line = self._lines.get(timeout=None if timeout_s is None else max(timeout_s, 0.0))
        except queue.Empty:
            return None
        if line is None:
            self._ended = True
            raise BrainGoneError(f"the process ended: {self.why_gone()}")
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

    def transcript(self) -> str:
        """Return the conversation as text: seconds since the start, direction, line; stderr at the end."""
        with self._log_lock:
            kept = list(self.conversation)
        rows = [f"{at - self.started_s:9.3f} {way} {raw.decode('utf-8', 'replace')}" for at, way, raw in kept]
        return "\n".join([*rows, *(f"stderr    {line}" for line in self.stderr_tail().splitlines())]) + "\n"

    # -- the process -----------------------------------------------------------------------------------------

    def suspend(self) -> None:
        """Stop the process (SIGSTOP), as the judge does while the opponent thinks."""
        if sys.platform == "win32":
            for process in self.family():
                process.suspend()
        else:
            self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a stopped process continue."""
        if sys.platform == "win32":
            for process in self.family():
                process.resume()
        else:
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def close_input(self) -> None:
        """Close the brain's stdin."""
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

    def hindered_ms(self) -> float:
        """Return how long the brain's threads and the one that reads its output waited for a core, ms."""
        return self.queued_ms() + self.heard_late_ms()

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

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def why_gone(self) -> str:
        """Describe the end of the process: status and the end of what it wrote to stderr."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.2)  # output ends a moment before the process does
        status = self.process.poll()
        if status is None:
            end = "it has closed its output"
        elif status < 0 and sys.platform != "win32":
            end = f"signal {signal.Signals(-status).name}"
        else:
            end = f"exit status {status}"
        tail = self.stderr_tail()
        return f"{end}, stderr: {tail}" if tail else end

    def stderr_tail(self, most: int = 2000) -> str:
        """Return the last characters that the brain wrote to stderr, where that is not merged into stdout."""
        if self._errors_reader is not None and not self.alive:
            self._errors_reader.join(0.2)  # a child of the brain may hold the pipe open
        return bytes(self._errors[-4 * most :]).decode("utf-8", "replace")[-most:]

    def family(self) -> list[psutil.Process]:
        """Return the process and all its descendants (needs psutil)."""
        import psutil

        try:
            root = psutil.Process(self.process.pid)
            return [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def private_bytes(self) -> int:
        """Return the unique set size of the process tree, which the judge compares with max_memory.

        Needs psutil.
        """
        import psutil

        total = 0
        for process in self.family():
            with contextlib.suppress(psutil.Error):
                total += process.memory_full_info().uss
        return total

    def queued_ms(self) -> float:
        """Return how long the threads of the process have waited for a core; 0 where that is unknown."""
        return scheduled_ms(self.process.pid)[1]

    def ran_ms(self) -> float:
        """Return how long the threads of the process have run; 0 where that is unknown."""
        return scheduled_ms(self.process.pid)[0]

    def heard_late_ms(self) -> float:
        """Return how long the thread that reads and stamps the output has waited for a core, ms."""
        return scheduled_ms(os.getpid(), self._reader.native_id)[1]

    def kill(self) -> None:
        """End the whole process tree and free what belongs to it; a second call does nothing."""
        if self._killed:
            return
        self._killed = True
        self._stopping.set()
        with contextlib.suppress(ImportError):
            for process in reversed(self.family()):
                with contextlib.suppress(Exception):  # psutil's errors: it is gone, or not ours
                    process.kill()
        if sys.platform != "win32":
            self._signal(signal.SIGKILL)
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        self._reader.join(2.0)
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)  # wakes the thread that waits for a line
        self.close_input()
        if self._errors_reader is not None:
            self._errors_reader.join(0.5)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        if self._pidfd is not None:
            with contextlib.suppress(OSError):
                os.close(self._pidfd)
            self._pidfd = None
        self._close_files()

    def _close_files(self) -> None:
        with self._log_lock:
            if self._log is not None:
                for line in self.stderr_tail(1 << 16).splitlines():
                    self._log.write(b"stderr    " + line.encode() + b"\n")
                self._log.close()
                self._log = None

"""Input and output: a reader that stamps arrivals, and the only writer.

Imports nothing heavy, since input is read and stamped while the libraries load.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.pipes import read_some

LINE_CAP = 4096
"""Bytes of a line that are kept (derived: far longer than any path that a manager sends)."""
HELP_WORDS = frozenset({b"help", b"?"})
QUIT_WORDS = frozenset({b"quit", b"exit", b"q"})
"""What a person may type besides commands."""
EXIT_GRACE_S = 0.12
"""After END the reader ends the process if the loop has not done so by then (protocol: 500 ms)."""
LOADING_S = 1.0
"""How long an end of the input waits for the libraries at most (derived: five times what loading takes)."""
SCRIPT_GAP_S = 0.05
"""Input that ends this soon after its last question comes from a script or a file, since no manager asks and
gives up within this time; its questions are answered at once, then the process ends (tuned: pipe writes of a
shell are ~1 ms apart)."""
SCRIPT_GRACE_S = 10.0
"""As EXIT_GRACE_S, for such input, as long as it gets fewer, and for input that ends without a word, where
nobody waits (derived: a slow start-up, with a cold disk)."""


class LineSplitter:
    """Cuts a stream of bytes into lines at LF, CR LF or CR, and drops what exceeds LINE_CAP."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk completes, without line ends; blank lines are left out."""
        *lines, rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        self._rest = rest[:LINE_CAP]
        return [line[:LINE_CAP] for line in lines if line.strip()]

    def close(self) -> list[bytes]:
        """Return the line that the end of input cut short, if any."""
        rest, self._rest = self._rest, b""
        return [rest] if rest.strip() else []


def is_end(line: bytes) -> bool:
    """Return whether a line is the command END."""
    return line.strip().upper() == b"END"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of input and when it was read, on time.monotonic."""

    text: bytes
    arrival_s: float
    first: bool
    """Whether it came with the first bytes, so that it may have waited since the process was created."""


@dataclass(frozen=True, slots=True)
class Ended:
    """END, or the end of input."""

    arrival_s: float


class Writer:
    """The only way to standard output: one system call a line."""

    def __init__(self, fd: int, log: Callable[[str], None] | None = None) -> None:
        self._fd = fd
        self._log = log
        self._lock = threading.Lock()

    def __call__(self, line: str) -> None:
        """Write a line. A manager that is gone ends the process."""
        data = (line.replace("\r", " ").replace("\n", " ") + "\n").encode("ascii", "replace")
        with self._lock:
            try:
                while data:
                    data = data[os.write(self._fd, data) :]
            except OSError:
                os._exit(0)
        if self._log is not None:
            self._log(f"> {line}")


class Reader:
    """Reads standard input in a thread of its own and puts `Line` and `Ended` into a queue."""

    def __init__(
        self, fd: int, events: queue.SimpleQueue[object], on_help: Callable[[], None] | None = None
    ) -> None:
        """Take a source and a place for what comes.

        Args:
            fd: to read from.
            events: takes it.
            on_help: called when a person types `help`, who may also leave with `quit`; None: no person.
        """
        self._fd = fd
        self._events = events
        self._on_help = on_help
        self.loaded = threading.Event()
        """To be set when the libraries are loaded, or cannot be: an end of the input waits for that error."""

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._run, name="reader", daemon=True).start()

    def _run(self) -> None:
        splitter, first, last_s, now_s = LineSplitter(), True, float("-inf"), 0.0
        ended = heard = False
        while not ended:
            try:
                chunk = read_some(self._fd)
            except OSError:
                chunk = b""
            now_s = time.monotonic()
            ended = not chunk
            heard = heard or not ended
            for line in splitter.feed(chunk) if chunk else splitter.close():
                if is_end(line) or (self._on_help and line.strip().lower() in QUIT_WORDS):
                    ended = True
                    break
                if self._on_help and line.strip().lower() in HELP_WORDS:
                    self._on_help()
                    continue
                self._events.put(Line(line, now_s, first))
                last_s = now_s
            first = False
        self._events.put(Ended(now_s))
        # The loop ends the process; this is for when it cannot.
        self.loaded.wait(LOADING_S)
        if heard and now_s - last_s >= SCRIPT_GAP_S:
            time.sleep(EXIT_GRACE_S)
            os._exit(0)
        before = self._events.qsize() + 1
        while (left := self._events.qsize()) < before:
            time.sleep(SCRIPT_GRACE_S)
            before = left
        os._exit(0)

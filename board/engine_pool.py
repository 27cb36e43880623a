"""The engine processes of all pages: a bounded number, each ended with its page.

An engine is a process of its own, so that it uses a core of its own, gives its memory back when it ends, and
takes neither server nor game with it should it ever fail.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from engine.cores import ONE_THREAD, usable_cores
from engine.errors import EngineError

MAX_QUEUE = 64
"""Requests that wait for an engine; one that takes none any more is ended."""
START_S = 60.0
"""Longest start of an engine, s (derived: 1 s on an idle machine)."""
END_S = 1.0
"""Longest end of an engine, s; then it is killed (derived: an idle one needs 0.01 s)."""
ENGINE_ARGUMENT = "--board-engine"
"""First argument that makes the packed program an engine process."""


THREADS = b"threads "
"""Begins the line that tells an engine process how many threads its searches may have."""
MAX_BOARD_THREADS = 8
"""Most threads of all engines together, unless --set threads=... says otherwise (derived: more leave little
to other programs)."""


def board_threads() -> int:
    """Return the threads that all engines together may have: one core is left to page and server."""
    return max(1, min(MAX_BOARD_THREADS, usable_cores() - 1))


class Owner(Protocol):
    """A page as the pool sees it."""

    @property
    def idle_since_s(self) -> float | None:
        """Since when neither a person sees the page nor its engine thinks, on the loop's clock."""

    def evicted(self) -> None:
        """The engine of the page was given to another one."""


def _options() -> dict[str, object]:
    """Return how an engine process is started: in a group of its own, since Ctrl-C is for the server."""
    options: dict[str, object] = {
        "cwd": Path(__file__).resolve().parents[1],
        "env": {**os.environ, **ONE_THREAD},
    }
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        return {**options, "creationflags": flags}
    return {**options, "start_new_session": True}


class EngineProcess:
    """One engine process, as the server's event loop sees it."""

    def __init__(
        self, command: list[str], on_line: Callable[[str], None], on_end: Callable[[], None]
    ) -> None:
        """Start it.

        Args:
            command: what to run.
            on_line, on_end: called in the event loop: for each answer; once, if it ends by itself.

        Raises:
            OSError: it cannot be started.
        """
        self._loop = asyncio.get_running_loop()
        self._on_line, self._on_end = on_line, on_end
        self._ended = False
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(  # type: ignore[call-overload]
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, **_options()
        )
        self.pid: int = self._process.pid
        self._last_resort = threading.Timer(END_S, self._kill)
        self.heard_s = self._loop.time()
        """When it last said something, on the loop's clock."""
        threading.Thread(target=self._read, name="engine-answers", daemon=True).start()
        threading.Thread(target=self._write, name="engine-requests", daemon=True).start()

    @property
    def is_stopped(self) -> bool:
        """Whether the system has stopped it (SIGSTOP); False where the system cannot say so."""
        if not hasattr(os, "waitid"):
            return False
        try:
            return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        except OSError:  # it has ended
            return False

    def send(self, line: bytes) -> None:
        """Give it a request."""
        if self._queue.qsize() >= MAX_QUEUE:
            self._process.kill()  # it does not listen any more
        else:
            self._queue.put(line)

    def end(self) -> None:
        """End it; nothing is reported any more.

        Its input ends, at which it ends the other brains that it has started, and then itself.
        """
        self._ended = True
        self._queue.put(None)
        if self.is_stopped:
            self._kill()  # it would not see that
        else:
            self._last_resort.start()

    def _kill(self) -> None:
        with contextlib.suppress(OSError):
            self._process.kill()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError), stream:
            rest = b""
            while chunk := stream.read(1 << 16):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._call(self._heard, line.decode("utf-8", "replace"))
        self._process.wait()
        self._last_resort.cancel()
        self._queue.put(None)
        self._call(self._gone)

    def _write(self) -> None:
        stream = self._process.stdin
        assert stream is not None
        with contextlib.suppress(OSError, ValueError), stream:
            while (line := self._queue.get()) is not None:
                stream.write(line)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(function, *arguments)

    def _heard(self, line: str) -> None:
        self.heard_s = self._loop.time()
        if not self._ended:
            self._on_line(line)

    def _gone(self) -> None:
        if not self._ended:
            self._ended = True
            self._on_end()


class EnginePool:
    """Gives engine processes to pages, a bounded number."""

    def __init__(
        self, max_engines: int, settings: list[str], brains: Sequence[str] = (), threads: int = 1
    ) -> None:
        """Set the largest number of engines.

        Args:
            max_engines: processes that may run in parallel.
            settings: arguments of an engine process: KEY=VALUE, and brains (see `board.brains`).
            brains: names of other brains that they know.
            threads: of all searches together; engines share them evenly.
        """
        self._threads = threads
        self.max_engines, self.brains = max_engines, list(brains)
        self._settings = settings
        self._engines: dict[Owner, EngineProcess] = {}

    @property
    def command(self) -> list[str]:
        """What starts an engine process."""
        if getattr(sys, "frozen", False):
            return [sys.executable, ENGINE_ARGUMENT, *self._settings]
        return [sys.executable, "-P", "-m", "board.worker", *self._settings]  # a foreign folder stays out

    def check(self) -> None:
        """Start an engine once and end it.

        Raises:
            EngineError: it cannot be loaded; the text says why.
        """
        try:
            process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                **_options(),
            )  # type: ignore[call-overload]  # fmt: skip
        except OSError as error:
            raise EngineError(f"the engine cannot be started: {error.strerror}") from error
        with process:
            timer = threading.Timer(START_S, process.kill)
            timer.start()
            line = process.stdout.readline()
            timer.cancel()
            process.kill()
        try:
            said = json.loads(line)
        except ValueError:
            raise EngineError("the engine cannot be loaded") from None
        if said.get("type") != "ready":
            raise EngineError(said.get("text") or "the engine cannot be loaded")

    def acquire(
        self, owner: Owner, on_line: Callable[[str], None], on_end: Callable[[], None]
    ) -> EngineProcess | None:
        """Return a new engine for a page; None while all are in use.

        Where all are in use, the page that has been idle for the longest time loses its engine.

        Raises:
            OSError: no process can be started.
        """
        if len(self._engines) >= self.max_engines:
            idle = [(since, o) for o in self._engines if (since := o.idle_since_s) is not None]
            if not idle:
                return None
            longest = min(idle, key=lambda pair: pair[0])[1]
            self.release(longest)
            longest.evicted()
        engine = EngineProcess(self.command, on_line, on_end)
        self._engines[owner] = engine
        self._share_threads()
        return engine

    def _share_threads(self) -> None:
        """Tell all engines their share; with more engines than threads each has one."""
        if self._engines and self._threads > 1:
            line = THREADS + b"%d\n" % max(1, self._threads // len(self._engines))
            for engine in self._engines.values():
                engine.send(line)

    def release(self, owner: Owner) -> None:
        """End the engine of a page, if it has one."""
        engine = self._engines.pop(owner, None)
        if engine is not None:
            engine.end()
            self._share_threads()

    def close(self) -> None:
        """End all engines."""
        for owner in list(self._engines):
            self.release(owner)

    def __len__(self) -> int:
        return len(self._engines)

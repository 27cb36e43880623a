"""The engine process of one page: requests on standard input, a line each; answers on standard output.

It ends with its input, so that it never outlives the server, and at once, also in the middle of a search.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable

from board.answers import answer, refusal
from board.engine_pool import THREADS
from board.messages import (
    AnswerSwap2,
    EngineRequest,
    MessageError,
    Stop,
    Think,
    parse_request,
)
from engine.config import load_config
from engine.errors import EngineError
from engine.levels import STRONGEST
from engine.pipes import read_some

BROKEN = 3
"""Exit status when the engine cannot be loaded."""
ALIVE_S = 1.0
"""Seconds between heartbeats, also during a search."""
KEPT_LEVELS = 2
"""Engines of other levels that keep their memory: black's and white's."""


class Worker:
    """Reads requests in one thread, answers them in another; a new request ends the one that runs."""

    def __init__(self, input_fd: int, output_fd: int) -> None:
        self._input_fd, self._output_fd = input_fd, output_fd
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._waiting: EngineRequest | None = None
        self._stop = threading.Event()
        self._levels: list[int] = []
        self._end: Callable[[], None] = lambda: None
        self._limit_threads: Callable[[int], None] = lambda most: None

    def say(self, text: str) -> None:
        """Write an answer; a server that is gone ends the process."""
        data = text.encode() + b"\n"
        with self._writing:
            try:
                while data:
                    data = data[os.write(self._output_fd, data) :]
            except OSError:
                self._end()
                os._exit(0)

    def run(self, settings: list[str]) -> int:
        """Serve until the input ends."""
        try:
            from board.brains import Brains, split_arguments
            from board.thinking import Thinking

            settings, commands = split_arguments(settings)
            config, brains = load_config(None, settings), Brains(commands)
            thinking = Thinking(
                config, self.say, lambda text: self.say(answer("trouble", 0, text=text)), brains
            )
        except (EngineError, ImportError, OSError) as error:
            self.say(answer("broken", 0, text=f"the engine cannot be loaded: {error}"))
            return BROKEN
        self._end = brains.end
        self._limit_threads = thinking.limit_threads
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        threading.Thread(target=self._live, name="sign-of-life", daemon=True).start()
        self.say(answer("ready", 0, net=thinking.net_name))
        while True:
            with self._changed:
                while self._waiting is None:
                    self._changed.wait()
                request, self._waiting = self._waiting, None
                self._stop = stop = threading.Event()
            if isinstance(request, Think | AnswerSwap2):
                self._levels = [n for n in self._levels if n != request.level] + [request.level]
                self._levels = self._levels[-KEPT_LEVELS:]
                thinking.keep({STRONGEST, *self._levels})
            try:
                thinking.answer(request, stop)
            except EngineError as error:
                self.say(refusal(error, request.id))
            except Exception:
                print(traceback.format_exc(), file=sys.stderr, flush=True)
                text = "the engine failed on this; the game is kept, try again"
                self.say(answer("refused", request.id, text=text, code="engine_failed"))
            self.say(answer("idle", request.id))

    def _live(self) -> None:
        while True:
            time.sleep(ALIVE_S)
            self.say(answer("alive", 0))

    def _read(self) -> None:
        rest = b""
        while True:
            try:
                chunk = read_some(self._input_fd)
            except OSError:
                chunk = b""
            if not chunk:
                self._end()
                os._exit(0)
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take(line)

    def _take(self, line: bytes) -> None:
        if line.startswith(THREADS):
            self._limit_threads(int(line[len(THREADS) :]))
            return
        try:
            request = parse_request(line)
        except MessageError as error:
            self.say(answer("refused", error.id, text=str(error)))
            return
        with self._changed:
            self._stop.set()
            self._waiting = None if isinstance(request, Stop) else request  # type: ignore[assignment]
            self._changed.notify()


def main(settings: list[str]) -> int:
    """Run the engine process with these settings of the engine (KEY=VALUE); return the exit status."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    input_fd, output_fd = os.dup(0), os.dup(1)
    os.dup2(nowhere, 0)  # nothing else may read requests or write answers
    os.dup2(nowhere, 1)
    os.close(nowhere)
    if sys.platform == "win32":
        import msvcrt

        for fd in (input_fd, output_fd):
            msvcrt.setmode(fd, os.O_BINARY)
    else:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, whose end ends this
    return Worker(input_fd, output_fd).run(settings)


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))

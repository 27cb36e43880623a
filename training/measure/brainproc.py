"""A Gomocup brain as a process: start it, tell it the game, ask for moves, end it.

Only what a manager says and hears stands here, with the habits of `training.measure.managers`; the referee is
`training.measure.referee`. Times are monotonic.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from engine.timing.budget import UNLIMITED_MS
from training.measure.managers import PLAIN, Manager

_MOVE = re.compile(r"\s*(-?\d+)\s*,\s*(-?\d+)\s*")
END_GRACE_S = 0.7  # protocol: Piskvork's patience after END


class BrainFailureError(Exception):
    """A brain that broke the rules of the talk; `kind` is "start", "time", "illegal" or "crash"."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class BrainLimits:
    """What a brain is told, and what is forgiven.

    Attributes:
        turn_ms: ms a turn; None: not told.
        match_ms: ms a game; 0: unlimited.
        increment_ms: added to the match clock after each move.
        max_memory: bytes.
        max_nodes: simulations a move; None: not told.
        tolerance_ms: overrun of turn or match that does not yet lose.
        start_ms: longest time from the start of the process to OK.
        manager: whose habits to follow.
    """

    turn_ms: int | None = 1000
    match_ms: int = 0
    increment_ms: int = 0
    max_memory: int = 367_001_600
    max_nodes: int | None = None
    tolerance_ms: int = 1000
    start_ms: int = 10_000
    manager: Manager = PLAIN


class MatchClock:
    """The match clock of one player in one game, in ms."""

    def __init__(self, limits: BrainLimits) -> None:
        self._limits = limits
        self.used_ms = 0.0
        self.moves = 0

    def left_ms(self) -> float | None:
        """Return what is left, negative when overdrawn; None without a match clock."""
        if not self._limits.match_ms:
            return None
        return self._limits.match_ms + self.moves * self._limits.increment_ms - self.used_ms

    def allowed_ms(self) -> float | None:
        """Return what the next move may take, tolerance included; None where nothing limits it."""
        caps = [ms for ms in (self._limits.turn_ms, self.left_ms()) if ms is not None]
        return max(0.0, min(caps) + self._limits.tolerance_ms) if caps else None

    def count(self, used_ms: float) -> None:
        """Take in a move.

        Raises:
            BrainFailureError: "time" if it took more than was allowed.
        """
        allowed_ms = self.allowed_ms()
        self.used_ms += used_ms
        self.moves += 1
        if allowed_ms is not None and used_ms > allowed_ms:
            raise BrainFailureError("time", f"{used_ms:.0f} ms for a move, {allowed_ms:.0f} allowed")


class BrainProcess:
    """One brain for one game. Not thread-safe; a reader thread feeds its lines into a queue."""

    def __init__(self, command: str, limits: BrainLimits, log_path: str | None = None) -> None:
        """Prepare; the process starts with the game.

        Args:
            command: shell-like words, e.g. `python -m protocol`.
            limits: time, memory and node limits of the game, and the manager.
            log_path: file that gets the brain's stderr and the talk; None drops both.
        """
        self.command, self.limits = command, limits
        self.clock = MatchClock(limits)
        self.last_ms: float | None = None
        self._log = open(log_path, "a", encoding="utf-8") if log_path else None  # noqa: SIM115
        self._folder = tempfile.TemporaryDirectory(prefix="brain-")
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._game = (15, 15, 0)

    @property
    def process_id(self) -> int | None:
        """The brain's process; None before it was started."""
        return None if self._process is None else self._process.pid

    def new_game(self, width: int, height: int, rule: int) -> None:
        """Start the process and tell it the game; a manager that does not wait starts it with the first move.

        Raises:
            BrainFailureError: "start" if it cannot be run or gives no OK in time, "crash" if it ends.
        """
        self._game = (width, height, rule)
        if self.limits.manager.waits:
            self._open()

    def _open(self) -> None:
        """Start the process, send START and the INFO block; wait for OK if the manager does."""
        manager = self.limits.manager
        width, height, _ = self._game
        try:
            self._process = subprocess.Popen(
                shlex.split(self.command, posix=os.name == "posix"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log or subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise BrainFailureError("start", f"cannot start {self.command!r}: {error}") from error
        threading.Thread(target=self._read, args=(self._process,), daemon=True).start()
        deadline_s = time.monotonic() + self.limits.start_ms / 1000
        if manager.about == "first":
            self._send("ABOUT")
            self._answer(deadline_s)
        self._send(f"START {width}" if width == height else f"RECTSTART {width},{height}")
        if manager.about == "after":
            self._send("ABOUT")
        if manager.waits:
            answer = self._answer(deadline_s)
            if answer is None or answer.strip().upper() != "OK":
                raise BrainFailureError("start", f"START was answered by {answer!r}")
        for key, value in self._info():
            self._send(f"INFO {key} {value}")

    def _info(self) -> list[tuple[str, object]]:
        """Return the INFO block in the manager's order."""
        limits, manager = self.limits, self.limits.manager
        known: dict[str, object] = {
            "rule": self._game[2], "timeout_match": limits.match_ms, "max_memory": limits.max_memory,
            "game_type": manager.game_type, "folder": self._folder.name, "thread_num": 1,
        }  # fmt: skip
        if limits.turn_ms is not None:
            known["timeout_turn"] = limits.turn_ms
        if limits.max_nodes is not None:
            known["max_node"] = limits.max_nodes
        block = [(key, known[key]) for key in manager.keys if key in known]
        if manager.tells_left:
            block.append(("time_left", self._told_left_ms()))
        return block

    def _told_left_ms(self) -> int:
        left_ms = self.clock.left_ms()
        return UNLIMITED_MS if left_ms is None else int(left_ms)

    def move(self, stones: Sequence[tuple[int, int]], width: int, own: int, *, first: bool) -> int:
        """Ask for a move in a position and return its point.

        Args:
            stones: (point, colour) in playing order; the last one is the opponent's, if any.
            width: of the board.
            own: colour of this brain.
            first: whether this is its first move of the game, which needs BOARD.

        Raises:
            BrainFailureError: "start", "time", "crash", or "illegal" for an answer that is no move. Whether
                the point is free is for the referee to say.
        """
        manager = self.limits.manager
        started_s = time.monotonic()
        opened = self._process is None
        if opened:
            self._open()
        elif manager.stops:
            self._signal(resume=True)
        self._send(f"INFO time_left {self._told_left_ms()}")
        if not manager.stops and not opened:
            started_s = time.monotonic()
        if not stones:
            self._send("BEGIN")
        elif first and not (manager.turn_for_one and len(stones) == 1):
            rows = [f"{p % width},{p // width},{1 if colour == own else 2}" for p, colour in stones]
            self._send("\n".join(["BOARD", *rows, "DONE"]))
        else:
            point = stones[-1][0]
            self._send(f"TURN {point % width},{point // width}")
        match = self._await_move(started_s, opened)
        if manager.stops:
            self._signal(resume=False)
        x, y = int(match[1]), int(match[2])
        if not 0 <= x < width or y < 0:
            raise BrainFailureError("illegal", f"{x},{y} is off the board")
        return y * width + x

    def _await_move(self, started_s: float, opened: bool) -> re.Match[str]:
        """Return the answer to a question asked at `started_s`; START and ABOUT may be answered before."""
        allowed_ms = self.clock.allowed_ms()
        skip = 1 + (self.limits.manager.about == "after") if opened else 0
        while True:
            answer = self._answer(None if allowed_ms is None else started_s + allowed_ms / 1000)
            used_ms = self.last_ms = (time.monotonic() - started_s) * 1000
            if answer is None:
                self.clock.used_ms += used_ms
                raise BrainFailureError("time", f"no move after {used_ms:.0f} ms")
            match = _MOVE.fullmatch(answer)
            if match:
                self.clock.count(used_ms)
                return match
            if not skip:
                raise BrainFailureError("illegal", f"expected a move, got {answer[:60]!r}")
            skip -= 1

    def _signal(self, *, resume: bool) -> None:
        """Let the brain run, or stop it while its opponent thinks, where the system can."""
        if os.name == "posix" and self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGCONT if resume else signal.SIGSTOP)

    def close(self) -> None:
        """Send END, wait as a manager does, then kill the process and what it started."""
        process = self._process
        if process:
            self._signal(resume=True)
            with contextlib.suppress(BrainFailureError):
                self._send("END")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_GRACE_S)
            if os.name == "posix":
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, 9)
            elif process.poll() is None:
                process.kill()
            process.wait()
        for stream in (process and process.stdin, process and process.stdout, self._log):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()
        with contextlib.suppress(OSError):
            self._folder.cleanup()

    def _send(self, text: str) -> None:
        assert self._process and self._process.stdin
        try:
            end = self.limits.manager.line_end
            self._process.stdin.write((text.replace("\n", end) + end).encode())
            self._process.stdin.flush()
        except OSError as error:
            raise BrainFailureError("crash", "the process is gone") from error
        if self._log:
            self._log.write(f"-> {text}\n")
            self._log.flush()

    def _answer(self, deadline_s: float | None) -> str | None:
        """Return the next line that is no MESSAGE or DEBUG, or None when the deadline passes."""
        while True:
            try:
                wait_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
                line = self._lines.get(timeout=wait_s)
            except queue.Empty:
                return None
            if line is None:
                raise BrainFailureError("crash", "the process ended")
            if self._log:
                self._log.write(f"<- {line}\n")
            if line.strip() and not line.upper().startswith(("MESSAGE ", "DEBUG ")):
                return line

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        with contextlib.suppress(OSError, ValueError):
            for line in process.stdout:
                self._lines.put(line.decode("utf-8", "replace").rstrip("\r\n"))
        self._lines.put(None)

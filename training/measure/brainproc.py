"""A Gomocup brain as a process: start it, tell it the game, ask for moves, end it.

Only what a manager says and hears stands here; the referee is `training.match`. Times are monotonic.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

_MOVE = re.compile(r"\s*(-?\d+)\s*,\s*(-?\d+)\s*")
UNLIMITED_MS = 2_147_483_647  # protocol: time_left without a match limit
END_GRACE_S = 0.7  # protocol: Piskvork's patience after END


class BrainFailureError(Exception):
    """A brain that broke the rules of the talk; `kind` is "start", "time", "illegal" or "crash"."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class BrainLimits:
    """What a brain is told: ms a turn (None: not told), ms a game (0: unlimited), bytes, simulations."""

    turn_ms: int | None = 1000
    match_ms: int = 0
    max_memory: int = 367_001_600
    max_nodes: int | None = None
    tolerance_ms: int = 1000
    start_ms: int = 10_000


class BrainProcess:
    """One brain for one game. Not thread-safe; a reader thread feeds its lines into a queue."""

    def __init__(self, command: str, limits: BrainLimits, log_path: str | None = None) -> None:
        """Prepare; the process starts with the game.

        Args:
            command: shell-like words, e.g. `python -m protocol`.
            limits: time, memory and node limits of the game.
            log_path: file that gets the brain's stderr and the talk; None drops both.
        """
        self.command, self.limits = command, limits
        self.used_ms = 0.0
        self._log = open(log_path, "a", encoding="utf-8") if log_path else None  # noqa: SIM115
        self._folder = tempfile.TemporaryDirectory(prefix="brain-")
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def new_game(self, width: int, height: int, rule: int) -> None:
        """Start the process, send START and the INFO block and wait for OK.

        Raises:
            BrainFailureError: "start" if it cannot be run or gives no OK in time, "crash" if it ends.
        """
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
        self._send(f"START {width}" if width == height else f"RECTSTART {width},{height}")
        deadline_s = time.monotonic() + self.limits.start_ms / 1000
        answer = self._answer(deadline_s)
        if answer is None or answer.strip().upper() != "OK":
            raise BrainFailureError("start", f"START was answered by {answer!r}")
        info: dict[str, int | str] = {"rule": rule, "timeout_match": self.limits.match_ms}
        info["max_memory"] = self.limits.max_memory
        info |= {"game_type": 1, "folder": self._folder.name}
        if self.limits.turn_ms is not None:
            info["timeout_turn"] = self.limits.turn_ms
        if self.limits.max_nodes is not None:
            info["max_node"] = self.limits.max_nodes
        for key, value in info.items():
            self._send(f"INFO {key} {value}")

    def move(self, stones: Sequence[tuple[int, int]], width: int, own: int, *, first: bool) -> int:
        """Ask for a move in a position and return its point.

        Args:
            stones: (point, colour) in playing order; the last one is the opponent's, if any.
            width: of the board.
            own: colour of this brain.
            first: whether this is its first move of the game, which needs BOARD.

        Raises:
            BrainFailureError: "time", "crash", or "illegal" for an answer that is no move. Whether
                the point is free is for the referee to say.
        """
        left_ms = self._left_ms()
        self._send(f"INFO time_left {UNLIMITED_MS if left_ms is None else int(left_ms)}")
        started_s = time.monotonic()
        if not stones:
            self._send("BEGIN")
        elif first:
            rows = [f"{p % width},{p // width},{1 if colour == own else 2}" for p, colour in stones]
            self._send("\n".join(["BOARD", *rows, "DONE"]))
        else:
            point = stones[-1][0]
            self._send(f"TURN {point % width},{point // width}")
        caps = [ms for ms in (self.limits.turn_ms, left_ms) if ms is not None]
        allowed_ms = min(caps) + self.limits.tolerance_ms if caps else None
        answer = self._answer(None if allowed_ms is None else started_s + max(0, allowed_ms) / 1000)
        used_ms = (time.monotonic() - started_s) * 1000
        self.used_ms += used_ms
        if answer is None or (allowed_ms is not None and used_ms > allowed_ms):
            raise BrainFailureError("time", f"no move after {used_ms:.0f} ms")
        match = _MOVE.fullmatch(answer)
        if not match:
            raise BrainFailureError("illegal", f"expected a move, got {answer[:60]!r}")
        x, y = int(match[1]), int(match[2])
        if not 0 <= x < width or y < 0:
            raise BrainFailureError("illegal", f"{x},{y} is off the board")
        return y * width + x

    def close(self) -> None:
        """Send END, wait as a manager does, then kill the process and what it started."""
        process = self._process
        if process:
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

    def _left_ms(self) -> float | None:
        return self.limits.match_ms - self.used_ms if self.limits.match_ms else None

    def _send(self, text: str) -> None:
        assert self._process and self._process.stdin
        try:
            self._process.stdin.write((text.replace("\n", "\r\n") + "\r\n").encode())
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

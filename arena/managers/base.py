"""Base of all managers: reading and checking lines, measuring time and memory."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from arena.brain_process import BrainProcess
from arena.cores import waited_here_ms
from arena.errors import BrainFailureError, BrainGoneError
from arena.limits import BrainLimits, MatchClock
from arena.lines import Line, Splitter, split_lines
from arena.position import Position
from arena.records import MoveTime, PlayedGame

END_LIMIT_S = 0.5
"""Time between END and the exit (protocol: the judge kills what still runs half a second after END)."""
MAX_REMARK = 250
"""Longest remark, bytes (protocol: Piskvork's buffers)."""
MOVE = re.compile(rb"(\d{1,9}),(\d{1,9})")
REMARK = re.compile(rb"(MESSAGE|DEBUG) [\x21-\x7e][\x20-\x7e]*")
OK = re.compile(rb"OK")
ABOUT = re.compile(rb'(\w+="[^"]*")(, ?\w+="[^"]*")*')
_NEARLY = {
    MOVE: re.compile(rb"\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*"), OK: re.compile(rb"\s*ok\b.*", re.I | re.S)
}  # fmt: skip
"""What brains write in place of an answer and what is taken for it; it is noted as a stray line."""

MANAGERS: dict[str, type[Manager]] = {}
"""Managers by name."""


class Manager:
    """One brain under one manager, for one or more games.

    A subclass sets the attributes below and defines `open` and what differs from here. The attributes are
    those of its manager.

    Attributes:
        name: what `--manager` and `--profile` call it; empty for a class that is no manager itself.
        line_end: of every line that it writes.
        merge_stderr: whether what the brain says on stderr is read as output.
        splitter: how it finds lines in what it reads.
        strict: whether a line that is neither the answer nor a remark loses the game at once.
        keys: INFO keys after START, in its order; a limit that is not set is left out.
        game_type: what it says of the opponent (protocol: 0 person, 1 brain).
        folder_prefix: how the name of the folder for files begins; with blanks, as on many machines.
        turn_for_one: whether one stone on the board is told as TURN, not as BOARD.
        start_ms: how long it waits for an answer before the first move.
        tolerance_ms: overrun that does not yet lose, unless a match says otherwise.
        last_ms: what the last move took.
        on_remark: gets every MESSAGE and DEBUG line that is read; None: no remarks.
    """

    name: ClassVar[str] = ""
    line_end: ClassVar[bytes] = b"\r\n"
    merge_stderr: ClassVar[bool] = False
    splitter: ClassVar[Splitter] = split_lines
    strict: ClassVar[bool] = True
    keys: ClassVar[tuple[str, ...]] = ()
    game_type: ClassVar[int] = 1
    folder_prefix: ClassVar[str] = "brain folder "
    turn_for_one: ClassVar[bool] = False
    start_ms: ClassVar[int] = 10_000
    tolerance_ms: ClassVar[int] = 1000

    def __init_subclass__(cls) -> None:
        if cls.name:
            MANAGERS[cls.name] = cls

    @classmethod
    def draw_after(cls, points: int, rule: int) -> int:
        """Return after how many stones it calls a game drawn on a board of so many points."""
        return points

    @classmethod
    def takes_back(cls) -> bool:
        """Whether it takes moves back in its games."""
        return False

    def __init__(
        self,
        command: str | Sequence[str],
        limits: BrainLimits,
        *,
        cwd: str | os.PathLike[str] | None = None,
        log_path: str | os.PathLike[str] | None = None,
        cores: frozenset[int] | None = None,
    ) -> None:
        """Prepare; the process starts when the manager would start it.

        Args:
            command: program and arguments, or both in one text.
            limits: time, memory and node limits of every game.
            cwd: working directory of the brain.
            log_path: file that gets the conversation and stderr.
            cores: the only ones that the brain may run on; None: all.
        """
        self.command, self.limits = command, limits
        self.brain: BrainProcess | None = None
        self.clock = MatchClock(limits)
        self.last_ms: float | None = None
        self.on_remark: Callable[[str], None] | None = None
        self._cwd, self._log_path, self._cores = cwd, log_path, cores
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._cold = self._in_step = False
        self._queued_ms = self._asking_ms = 0.0
        self._ended_talk = ""
        self._owed: list[re.Pattern[bytes]] = []

    # -- what the manager does -------------------------------------------------------------------------------

    def new_game(self, game: PlayedGame, player: int) -> None:
        """Begin a game; a manager that waits for OK starts the process here."""
        self.game, self.player, self.setup = game, player, game.setup
        self.clock = MatchClock(self.limits)
        self._in_step = False  # whether the brain's board is the position without the opponent's last move
        self._ended_talk = ""

    def set_limits(self, limits: BrainLimits) -> None:
        """Tell a running brain other limits, with a fresh clock."""
        self.limits, self.clock = limits, MatchClock(limits)
        self._send(*self._info())

    def move(self, position: Position) -> int:
        """Ask for a move."""
        self._report_idle_lines()
        start_s = self._start_clock()
        self._send(self._time_left(), *self._think_command(position))
        return self._timed_answer(start_s)

    def take_back(self, position: Position, count: int) -> None:
        """Forget what the brain's board is: the next question is a BOARD."""
        self._in_step = False

    def end_game(self) -> None:
        """End a game: by default a manager ends the process."""
        self._end_process()

    def close(self) -> None:
        """End the process."""
        self._end_process()
        if self._folder is not None:
            with contextlib.suppress(OSError):
                self._folder.cleanup()

    def kill(self) -> None:
        """End the process at once; may be called from another thread, where it ends a wait for a move."""
        brain = self.brain
        if brain is not None:
            brain.kill()

    def conversation(self) -> str:
        """Return what was said in this game, or since the process started."""
        return self._ended_talk + (self.brain.transcript() if self.brain is not None else "")

    # -- tools -----------------------------------------------------------------------------------------------

    def _spawn(self) -> BrainProcess:
        self.brain = BrainProcess(
            self.command, cwd=self._cwd, merge_stderr=self.merge_stderr, splitter=type(self).splitter,
            log_path=self._log_path, cores=self._cores, max_data_bytes=self.limits.max_data_bytes,
        )  # fmt: skip
        self._cold = True
        self._queued_ms = 0.0
        return self.brain

    def _begin(self) -> None:
        """Send START, wait for OK, then send the limits."""
        start = self._start_line()
        self._send(start)
        self._await_start(OK, start.split()[0])
        self._cold = False
        self._send(*self._info())

    def _start_line(self) -> str:
        width, height = self.setup.width, self.setup.height
        return f"START {width}" if width == height else f"RECTSTART {width},{height}"

    def _info(self) -> list[str]:
        """Return the INFO block in the manager's order."""
        limits = self.limits
        known: dict[str, object] = {
            "rule": self.setup.rule, "timeout_match": limits.match_ms, "max_memory": limits.max_memory,
            "game_type": self.game_type, "thread_num": 1, "time_left": self.clock.told_left_ms(),
        }  # fmt: skip
        if "folder" in self.keys:
            known["folder"] = self._folder_for_files()
        if limits.turn_ms is not None:
            known["timeout_turn"] = limits.turn_ms
        if limits.max_nodes is not None:
            known["max_node"] = limits.max_nodes
        return [f"INFO {key} {known[key]}" for key in self.keys if key in known]

    def _folder_for_files(self) -> str:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix=self.folder_prefix, ignore_cleanup_errors=True)
        return self._folder.name

    def _time_left(self) -> str:
        return f"INFO time_left {self.clock.told_left_ms()}"

    def _board(self, position: Position) -> list[str]:
        width, mine = position.width, position.to_move
        stones = [
            f"{p % width},{p // width},{1 if colour == mine else 2}" for p, colour in position.stones()
        ]
        return ["BOARD", *stones, "DONE"]

    def _think_command(self, position: Position) -> list[str]:
        """Return TURN when the brain knows all but the last stone, else BOARD (BEGIN without stones)."""
        points = position.points
        if not points:
            return ["BEGIN"]
        if self._in_step or (self.turn_for_one and len(points) == 1):
            return [f"TURN {points[-1] % position.width},{points[-1] // position.width}"]
        return self._board(position)

    def _send(self, *lines: str) -> None:
        if self.brain is None:
            raise BrainGoneError("the process has ended")
        self.brain.send(b"".join(line.encode() + self.line_end for line in lines))

    def _await_start(self, pattern: re.Pattern[bytes], question: str) -> None:
        """Wait for the answer to a question before the first move.

        Raises:
            BrainFailureError: "start" if there is none, or a wrong one.
        """
        patience_ms = self.limits.start_ms or self.start_ms
        queued_ms = self.brain.hindered_ms() if self.brain is not None and not self._cold else 0.0
        try:
            self._await(pattern, time.monotonic() + patience_ms / 1000, queued_ms)
        except BrainFailureError as failure:
            text = f"{question} was answered by {failure}" if failure.kind == "stray line" else str(failure)
            if failure.kind == "time":
                text = f"no answer to {question} in {patience_ms / 1000:g} s"
            raise BrainFailureError("crash" if failure.kind == "crash" else "start", text) from failure

    def _await(
        self, pattern: re.Pattern[bytes], deadline_s: float | None, queued_ms: float
    ) -> tuple[Line, re.Match[bytes]]:
        """Return the next line that matches; report and, if strict, lose by any other that is no remark.

        Args:
            pattern: of the whole line.
            deadline_s: when to give up (time.monotonic); None: never.
            queued_ms: what it had been hindered when the wait began, see `BrainProcess.hindered_ms`.

        Raises:
            BrainFailureError: "time" if there is no such line until the deadline, "stray line" for a wrong
                one, "crash" if the process ended.
        """
        if self.brain is None:
            raise BrainGoneError("the process has ended")
        while True:
            line = self.brain.read_line(None if deadline_s is None else deadline_s - time.monotonic())
            if line is None and deadline_s is not None and self.limits.unhindered:
                waited_ms = self.brain.hindered_ms()
                deadline_s, queued_ms = deadline_s + (waited_ms - queued_ms) / 1000, waited_ms
                if deadline_s > time.monotonic():
                    continue
            if line is None:
                raise BrainFailureError("time", f"no answer until {pattern.pattern!r} was given up")
            match = pattern.fullmatch(line.raw)
            if match:
                if self._owed and self._owed[0] is pattern:
                    del self._owed[0]
                return line, match
            if self._is_remark(line):
                continue
            self.game.report("stray line", self.player, repr(line.raw))
            nearly = pattern in _NEARLY and _NEARLY[pattern].fullmatch(line.raw)
            if nearly:
                return line, nearly
            if self.strict:
                raise BrainFailureError("stray line", repr(line.text[:200]))

    def _is_remark(self, line: Line) -> bool:
        if not line.raw.upper().startswith((b"MESSAGE", b"DEBUG")):
            return False
        if not REMARK.fullmatch(line.raw) or len(line.raw) >= MAX_REMARK:
            self.game.report("bad message", self.player, repr(line.raw))
        if self.on_remark is not None:
            self.on_remark(line.text)
        return True

    def _report_idle_lines(self) -> None:
        """Report lines that came without a command."""
        for line in self.brain.drain() if self.brain is not None else ():
            self._report_unasked(line, "unasked")

    def _report_unasked(self, line: Line, when: str) -> None:
        """Report an unexpected line, unless it is a remark or an answer to a command that needs none."""
        if self._owed and self._owed[0].fullmatch(line.raw):
            del self._owed[0]
        elif not self._is_remark(line):
            self.game.report("stray line", self.player, f"{when}: {line.raw!r}")

    def _start_clock(self) -> float:
        """Return the moment at which the clock of a move starts (time.monotonic); the question follows."""
        self._asking_ms = waited_here_ms()
        return time.monotonic()

    def _timed_answer(self, start_s: float) -> int:
        """Wait for the move whose clock started at `start_s`, note its time and apply the limits."""
        cold, limit_ms = self._cold, self.clock.limit_ms()
        queued_ms = 0.0 if cold else self._queued_ms
        queued_ms -= waited_here_ms() - self._asking_ms  # the question came later by so much
        least_ms = self.limits.cold_start_ms if cold else 0.0
        allowed_ms = self.clock.allowed_ms(least_ms)
        try:
            deadline_s = None if allowed_ms is None else start_s + allowed_ms / 1000
            line, match = self._await(MOVE, deadline_s, queued_ms)
        except BrainFailureError as failure:
            self.last_ms = (time.monotonic() - start_s) * 1000
            if failure.kind == "time":
                raise BrainFailureError("time", f"no move after {self.last_ms:.0f} ms") from failure
            raise
        elapsed_ms = self.last_ms = (line.at_s - start_s) * 1000
        self._cold, self._in_step = False, True
        assert self.brain is not None
        self._queued_ms = self.brain.hindered_ms()
        waited_ms = self._queued_ms - queued_ms
        self.game.times.append(
            MoveTime(
                self.setup.number, len(self.game.points), self.player, limit_ms, elapsed_ms, cold, waited_ms
            )
        )
        if limit_ms is not None:
            self._judge_time(elapsed_ms, waited_ms, max(limit_ms, least_ms), cold)
        self.clock.count(elapsed_ms, least_ms, waited_ms if self.limits.unhindered else 0.0)
        x, y = int(match[1]), int(match[2])
        if not (0 <= x < self.setup.width and 0 <= y < self.setup.height):
            raise BrainFailureError("illegal", f"{x},{y} is off the board")
        return y * self.setup.width + x

    def _judge_time(self, elapsed_ms: float, waited_ms: float, limit_ms: float, cold: bool) -> None:
        """Report a move beyond the limit; the wait for a core is the machine's, not the brain's."""
        if elapsed_ms - waited_ms > limit_ms:
            over = f"{elapsed_ms:.1f} ms with {limit_ms:.0f} ms allowed, {waited_ms:.1f} ms without a core"
            self.game.report("time", self.player, over + (", process start included" if cold else ""))
        self.game.starved += elapsed_ms - waited_ms <= limit_ms < elapsed_ms

    def _measure_memory(self) -> None:
        if self.brain is None or not self.limits.watch_memory:
            return
        used = self.brain.private_bytes()
        self.game.private_bytes = max(self.game.private_bytes, used)
        if self.limits.max_memory and used > self.limits.max_memory:
            self.game.report("memory", self.player, f"{used / 2**20:.0f} MiB")

    def _end_process(self) -> None:
        """Send END; report a process that does not exit in time, leaves children, or writes more lines."""
        brain = self.brain
        if brain is None:
            return
        self.brain = None
        report = self.game.report
        brain.resume()
        for line in brain.drain():
            self._report_unasked(line, "unasked")
        family = brain.family() if self.limits.watch_memory else []
        try:
            brain.send(b"END" + self.line_end)
        except BrainGoneError as error:
            if self.game.end != "crash":
                report("crash", self.player, f"before END: {error}")
        exit_s = brain.wait_exit_unhindered_s(END_LIMIT_S)
        if exit_s is None:
            report("no exit", self.player, f"alive {END_LIMIT_S} s after END")
        else:
            if self.game.end != "crash":
                self.game.exit_ms.append(exit_s * 1000)
            for line in brain.remaining_lines():
                self._report_unasked(line, "after END")
            if brain.process.returncode != 0 and self.game.end != "crash":
                report("crash", self.player, f"at END: {brain.why_gone()}")
            if any(p.is_running() for p in family[1:]):
                report("no exit", self.player, "a child process is left")
        self._owed = []
        self._ended_talk += brain.transcript()
        brain.kill()

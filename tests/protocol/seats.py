"""Players as the referee asks them: a brain, or a player inside the referee.

`BrainSeat` is what all managers have in common: reading lines, judging them, measuring time. How each of them
behaves stands in `tests.protocol.managers`.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from arena.errors import BrainGoneError
from arena.lines import Line, split_lines
from tests.protocol.position import Position
from tests.protocol.process import Brain
from tests.protocol.records import COLD_START_MS, Cell, Forfeit, JudgedGame, MoveTime

END_LIMIT_S = 0.5  # protocol: the judge kills what still runs half a second after END
MOVE = re.compile(rb"(\d+),(\d+)")
REMARK = re.compile(rb"(MESSAGE|DEBUG) [\x21-\x7e][\x20-\x7e]*")
MAX_REMARK = 250  # protocol: Piskvork's buffers
UNLIMITED_MS = 2_147_483_647  # protocol


class Seat(Protocol):
    """A player of a series of games."""

    def new_game(self, record: JudgedGame, player: int) -> None: ...

    def move(self, position: Position) -> Cell:
        """Answer with a cell; raise Forfeit when the game is lost without one."""

    def take_back(self, position: Position, count: int) -> None:
        """The last `count` stones of `position` are about to be taken back."""

    def end_game(self) -> None: ...

    def close(self) -> None: ...


class LocalSeat:
    """A seeded player inside the referee: wins, blocks, and else plays near other stones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def new_game(self, record: JudgedGame, player: int) -> None:
        pass

    def move(self, position: Position) -> Cell:
        for colour in (position.to_move, 1 - position.to_move):
            for cell in position.near_cells(1):
                if position.wins(cell, colour) and position.is_legal(cell):
                    return cell
        cells = position.near_cells(2) or [(position.size // 2, position.size // 2)]
        self._random.shuffle(cells)
        legal = (c for c in [*cells, *position.empty_cells()] if position.is_legal(c))
        return next(legal, position.empty_cells()[0])

    def take_back(self, position: Position, count: int) -> None:
        pass

    def end_game(self) -> None:
        pass

    def close(self) -> None:
        pass


class BrainSeat:
    """Common ground of the four managers.

    Args:
        command: the brain.
        cwd: its working directory.
    """

    line_end: ClassVar[bytes] = b"\r\n"
    merge_stderr: ClassVar[bool] = False
    splitter: ClassVar[Callable[[bytes], tuple[list[bytes], bytes]]] = split_lines
    strict: ClassVar[bool] = True
    """Whether a line that is neither the answer nor a remark loses the game at once."""

    def __init__(self, command: Sequence[str], cwd: str | None = None) -> None:
        self._command = command
        self._cwd = cwd
        self.brain: Brain | None = None

    # -- what the manager does -------------------------------------------------------------------------------

    def new_game(self, record: JudgedGame, player: int) -> None:
        self.record = record
        self.player = player
        self.terms = record.terms
        self.used_ms = 0.0
        self._in_step = False  # whether the brain's board is the position without the opponent's last move

    def move(self, position: Position) -> Cell:
        raise NotImplementedError

    def take_back(self, position: Position, count: int) -> None:
        self._in_step = False

    def end_game(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._end_process()

    # -- tools -----------------------------------------------------------------------------------------------

    def _spawn(self) -> Brain:
        self.brain = Brain(
            self._command,
            cwd=self._cwd,
            merge_stderr=self.merge_stderr,
            splitter=type(self).splitter,
        )
        self._cold = True
        self._queued_ms = 0.0
        return self.brain

    def _send(self, *lines: str) -> None:
        assert self.brain is not None
        data = b"".join(line.encode() + self.line_end for line in lines)
        try:
            self.brain.send(data)
        except BrainGoneError as error:
            self._crash(error)

    def _crash(self, error: BrainGoneError) -> None:
        self.record.report("crash", self.player, str(error))
        if self.brain is not None:
            self.brain.kill()
            self.brain = None
        raise Forfeit("crash") from error

    def _board(self, position: Position) -> list[str]:
        mine = position.to_move
        stones = [f"{x},{y},{1 if i % 2 == mine else 2}" for i, (x, y) in enumerate(position.moves)]
        return ["BOARD", *stones, "DONE"]

    def _think_command(self, position: Position) -> list[str]:
        """Return TURN when the brain knows all but the last stone, else BOARD (BEGIN without stones)."""
        if self._in_step and position.moves:
            x, y = position.moves[-1]
            return [f"TURN {x},{y}"]
        if not position.moves:
            return ["BEGIN"]
        return self._board(position)

    def _time_left_ms(self) -> int:
        if self.terms.match_ms == 0:
            return UNLIMITED_MS
        return int(self.terms.match_ms - self.used_ms)

    def _limit_ms(self) -> float:
        return min(float(self.terms.turn_ms), float(self._time_left_ms()))

    def _report_idle_lines(self) -> None:
        """Report lines that came when nothing was asked."""
        if self.brain is None:
            return
        for line in self.brain.drain():
            if not self._is_remark(line):
                self.record.report("stray line", self.player, f"unasked: {line.raw!r}")

    def _is_remark(self, line: Line) -> bool:
        if not line.raw.upper().startswith((b"MESSAGE", b"DEBUG")):
            return False
        if not REMARK.fullmatch(line.raw) or len(line.raw) >= MAX_REMARK:
            self.record.report("bad message", self.player, repr(line.raw))
        return True

    def _await(self, pattern: re.Pattern[bytes], deadline_s: float) -> Line:
        """Return the next line that matches; report and, if strict, lose by any other that is no remark.

        Raises:
            Forfeit: no such line until the deadline, or a wrong one.
        """
        assert self.brain is not None
        while True:
            try:
                line = self.brain.read_line(deadline_s - time.monotonic())
            except BrainGoneError as error:
                self._crash(error)
            if line is None:
                self.record.report("time", self.player, f"no answer until {pattern.pattern!r} was given up")
                raise Forfeit("time")
            if pattern.fullmatch(line.raw):
                return line
            if not self._is_remark(line):
                self.record.report("stray line", self.player, repr(line.raw))
                if self.strict:
                    raise Forfeit("stray line")

    def _timed_answer(self, start_s: float) -> Cell:
        """Wait for the move whose clock started at `start_s`, note its time and apply the limits."""
        terms, cold = self.terms, self._cold
        limit_ms = self._limit_ms()
        queued_ms = 0.0 if cold else self._queued_ms
        allowed_ms = max(limit_ms, COLD_START_MS) if cold else limit_ms
        line = self._await(MOVE, start_s + (allowed_ms + terms.tolerance_ms) / 1000)
        elapsed_ms = (line.at_s - start_s) * 1000
        self.used_ms += elapsed_ms
        self._cold = False
        self._in_step = True
        ply = len(self.record.moves)
        assert self.brain is not None
        self._queued_ms = self.brain.queued_ms()
        waited_ms = self._queued_ms - queued_ms
        self.record.times.append(
            MoveTime(terms.number, ply, self.player, limit_ms, elapsed_ms, cold, waited_ms)
        )
        if elapsed_ms - waited_ms > allowed_ms:
            over = f"{elapsed_ms:.1f} ms with {allowed_ms:.0f} ms allowed, {waited_ms:.1f} ms without a core"
            self.record.report("time", self.player, over + (", process start included" if cold else ""))
        self.record.starved += elapsed_ms - waited_ms <= allowed_ms < elapsed_ms
        x, y = line.raw.split(b",")
        return int(x), int(y)

    def _measure_memory(self) -> None:
        assert self.brain is not None
        used = self.brain.private_bytes()
        self.record.private_bytes = max(self.record.private_bytes, used)
        if self.terms.max_memory and used > self.terms.max_memory:
            self.record.report("memory", self.player, f"{used / 2**20:.0f} MiB")

    def _end_process(self) -> None:
        """Send END and see the process leave in time, with nothing left behind and nothing more said."""
        brain = self.brain
        if brain is None:
            return
        brain.resume()
        self._report_idle_lines()
        family = brain.family()
        try:
            brain.send(b"END" + self.line_end)
        except BrainGoneError as error:
            self.record.report("crash", self.player, f"before END: {error}")
        exit_s = brain.wait_exit_unhindered_s(END_LIMIT_S)
        if exit_s is None:
            self.record.report("no exit", self.player, "alive 0.5 s after END")
        else:
            self.record.exit_ms.append(exit_s * 1000)
            for line in brain.remaining_lines():
                if not self._is_remark(line):
                    self.record.report("stray line", self.player, f"after END: {line.raw!r}")
            if brain.process.returncode != 0:
                self.record.report("crash", self.player, f"at END: {brain.why_gone()}")
            if any(p.is_running() for p in family[1:]):
                self.record.report("no exit", self.player, "a child process is left")
        brain.kill()
        self.brain = None

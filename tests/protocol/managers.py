"""Brains under one of four managers: the official judge, Piskvork, c-gomoku-cli and qpiskvork."""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Sequence

from arena.errors import BrainGoneError
from arena.lines import split_chunk
from tests.protocol.position import Position
from tests.protocol.records import COLD_START_MS, Cell, JudgedGame
from tests.protocol.seats import BrainSeat


class JudgeSeat(BrainSeat):
    """GomocupJudge: a process a game, START and INFO without reading, stopped between its moves.

    The brain is created when its first turn starts; `frozen_s` keeps it stopped for a while after START.
    """

    strict = False

    def __init__(self, command: Sequence[str], cwd: str | None = None, frozen_s: float = 0.0) -> None:
        super().__init__(command, cwd)
        self._frozen_s = frozen_s

    def _open(self) -> None:
        terms = self.terms
        brain = self._spawn()
        self._send(
            f"START {terms.size}",
            f"INFO timeout_turn {terms.turn_ms}",
            f"INFO timeout_match {terms.match_ms}",
            f"INFO max_memory {terms.max_memory}",
            "INFO game_type 1",
            f"INFO rule {terms.rule}",
            "INFO folder .",
        )
        brain.suspend()
        if self._frozen_s:
            signal.sigtimedwait([], self._frozen_s)
        self._first = True

    def move(self, position: Position) -> Cell:
        if self.brain is None:
            self._open()
        assert self.brain is not None
        if not self._first:
            self._report_idle_lines()
        start_s = time.monotonic()
        self.brain.resume()
        if self._first:
            # the OK of START is never waited for; it is skipped like any other line
            self._send(f"INFO time_left {self._time_left_ms()}", *self._board(position))
            answer = self._first_answer(start_s)
            self._first = False
        else:
            x, y = position.moves[-1]
            self._send(f"INFO time_left {self._time_left_ms()}", f"TURN {x},{y}")
            answer = self._timed_answer(start_s)
        self.brain.suspend()
        self._measure_memory()
        return answer

    def _first_answer(self, start_s: float) -> Cell:
        allowed_ms = max(self._limit_ms(), COLD_START_MS) + self.terms.tolerance_ms
        self._await(re.compile(rb"OK"), start_s + allowed_ms / 1000)
        return self._timed_answer(start_s)

    def end_game(self) -> None:
        self._end_process()

    def take_back(self, position: Position, count: int) -> None:
        raise AssertionError("the judge takes nothing back")


class PiskvorkSeat(BrainSeat):
    """Piskvork: stderr merged, CRLF, OK awaited; RESTART between games, TAKEBACK in them, strict lines."""

    merge_stderr = True

    def new_game(self, record: JudgedGame, player: int) -> None:
        old_size = self.terms.size if self.brain is not None else None
        super().new_game(record, player)
        if old_size is not None and old_size != self.terms.size:
            self._end_process()
        if self.brain is None:
            self._spawn()
            self._ask_ok(f"START {self.terms.size}")
        else:
            self._report_idle_lines()
            self._ask_ok("RESTART")
        terms = self.terms
        self._cold = False  # start-up ended with the OK
        self._send(
            f"INFO max_memory {terms.max_memory}",
            f"INFO timeout_match {terms.match_ms}",
            f"INFO timeout_turn {terms.turn_ms}",
            "INFO game_type 0",
            f"INFO rule {terms.rule}",
            f"INFO time_left {self._time_left_ms()}",
            "INFO folder C:\\Users\\A B\\AppData",
        )

    def _ask_ok(self, line: str) -> None:
        self._send(line)
        self._await(re.compile(rb"OK"), time.monotonic() + 10.0)  # protocol: only the match limit counts

    def move(self, position: Position) -> Cell:
        self._report_idle_lines()
        if len(position.moves) == 1:
            command = ["TURN {},{}".format(*position.moves[0])]
        else:
            command = self._think_command(position)
        start_s = time.monotonic()
        self._send(f"INFO time_left {self._time_left_ms()}", *command)
        answer = self._timed_answer(start_s)
        self._measure_memory()
        return answer

    def take_back(self, position: Position, count: int) -> None:
        """Undo what the brain has on its board: its own stones and those it was told of.

        If the brain is to move then, the opponent's stone before goes too: TURN will bring it again.
        """
        left = len(position.moves) - count
        lowest = left - 1 if left > 0 and (left - 1) % 2 != self._colour() else left
        for ply in range(len(position.moves) - 1, lowest - 1, -1):
            if ply == len(position.moves) - 1 and ply % 2 != self._colour():
                continue  # the opponent's last stone was never sent
            x, y = position.moves[ply]
            self._ask_ok(f"TAKEBACK {x},{y}")

    def _colour(self) -> int:
        return 0 if self.record.black == self.player else 1

    def end_game(self) -> None:
        self._report_idle_lines()


class CliSeat(BrainSeat):
    """c-gomoku-cli: LF, ABOUT first, one process for all games, START for each."""

    line_end = b"\n"

    def new_game(self, record: JudgedGame, player: int) -> None:
        super().new_game(record, player)
        if self.brain is None:
            self._spawn()
            self._send("ABOUT")
            self._await(re.compile(rb'(\w+="[^"]*")(, ?\w+="[^"]*")*'), time.monotonic() + 3.0)
        else:
            self._report_idle_lines()
        terms = self.terms
        self._send(f"START {terms.size}")
        self._await(re.compile(rb"OK"), time.monotonic() + 3.0)
        self._cold = False
        self._send(
            f"INFO rule {terms.rule}",
            f"INFO timeout_turn {terms.turn_ms}",
            f"INFO timeout_match {terms.match_ms}",
            f"INFO max_memory {terms.max_memory}",
            "INFO thread_num 1",
        )

    def move(self, position: Position) -> Cell:
        self._report_idle_lines()
        start_s = time.monotonic()
        self._send(f"INFO time_left {self._time_left_ms()}", *self._think_command(position))
        answer = self._timed_answer(start_s)
        self._measure_memory()
        return answer

    def end_game(self) -> None:
        self._report_idle_lines()


class QpiskvorkSeat(BrainSeat):
    """qpiskvork: mixed line ends, nothing awaited before BEGIN, lines told apart by their first letter.

    The game is paused once: END, a new process, START and BOARD.
    """

    splitter = split_chunk

    def new_game(self, record: JudgedGame, player: int) -> None:
        super().new_game(record, player)
        self._pause_at = random.Random(self.terms.seed).randrange(4, 12)
        self._open()

    def _open(self) -> None:
        terms = self.terms
        self._spawn()
        self._send(
            f"START {terms.size}",
            "ABOUT",
            f"INFO timeout_match {terms.match_ms}",
            f"INFO timeout_turn {terms.turn_ms}",
            f"INFO max_memory {terms.max_memory}",
            "INFO game_type 0",
            f"INFO rule {terms.rule}",
            f"INFO time_left {self._time_left_ms()}",
        )

    def move(self, position: Position) -> Cell:
        if len(position.moves) >= self._pause_at and self.brain is not None and not self._cold:
            self._pause_at = 1 << 30
            self._end_process()
            self._in_step = False
            self._open()
        assert self.brain is not None
        start_s = time.monotonic()
        command = self._think_command(position)
        if len(command) == 1:
            self._send(f"INFO time_left {self._time_left_ms()}", *command)
        else:
            self._send(f"INFO time_left {self._time_left_ms()}")
            self._raw("\n".join(command).encode())
            self._raw(b"\r\n")
        if self._cold:
            deadline_s = start_s + 3.0
            self._await(re.compile(rb"OK"), deadline_s)
            self._await(re.compile(rb'name=".*'), deadline_s)
        answer = self._timed_answer(start_s)
        self._measure_memory()
        return answer

    def _raw(self, data: bytes) -> None:
        assert self.brain is not None
        try:
            self.brain.send(data)
        except BrainGoneError as error:
            self._crash(error)

    def end_game(self) -> None:
        self._end_process()


SEATS: dict[str, type[BrainSeat]] = {
    "judge": JudgeSeat,
    "piskvork": PiskvorkSeat,
    "cli": CliSeat,
    "qpiskvork": QpiskvorkSeat,
}

"""qpiskvork, a manager with windows for Linux."""

from __future__ import annotations

import re

from arena.lines import split_chunk
from arena.managers.base import OK, Manager
from arena.position import Position
from arena.records import PlayedGame

_NAME = re.compile(rb'name=".*')


class QpiskvorkManager(Manager):
    """Mixed line ends, nothing awaited before BEGIN, lines told apart by their first letter.

    A game may be paused: END, a new process, START and BOARD.
    """

    name = "qpiskvork"
    splitter = split_chunk
    start_ms = 3000
    game_type = 0
    keys = ("timeout_match", "timeout_turn", "max_memory", "game_type", "rule", "time_left", "max_node")

    def new_game(self, game: PlayedGame, player: int) -> None:
        super().new_game(game, player)
        self._pause_at = game.setup.pause_at
        self._open()

    def _open(self) -> None:
        self._spawn()
        self._owed = [OK, _NAME]
        self._send(self._start_line(), "ABOUT", *self._info())

    def move(self, position: Position) -> int:
        if self._pause_at is not None and len(position.points) >= self._pause_at and not self._cold:
            self._pause_at = None
            self._end_process()
            self._in_step = False
            self._open()
        start_s = self._start_clock()
        command = self._think_command(position)
        if len(command) == 1:
            self._send(self._time_left(), *command)
        else:
            self._send(self._time_left())
            self._raw("\n".join(command).encode())
            self._raw(b"\r\n")
        if self._cold:
            self._await_start(OK, "START")
            self._await_start(_NAME, "ABOUT")
        point = self._timed_answer(start_s)
        self._measure_memory()
        return point

    def _raw(self, data: bytes) -> None:
        assert self.brain is not None
        self.brain.send(data)

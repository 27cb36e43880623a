"""c-gomoku-cli, the manager of developers."""

from __future__ import annotations

from arena.managers.base import ABOUT, Manager
from arena.position import Position
from arena.records import PlayedGame


class CliManager(Manager):
    """LF, ABOUT first, one process for all games, START for each."""

    name = "cli"
    line_end = b"\n"
    start_ms = 3000
    tolerance_ms = 3000
    keys = ("rule", "timeout_turn", "timeout_match", "max_node", "max_memory", "thread_num")

    def new_game(self, game: PlayedGame, player: int) -> None:
        super().new_game(game, player)
        if self.brain is None:
            self._spawn()
            self._send("ABOUT")
            self._await_start(ABOUT, "ABOUT")
        else:
            self._report_idle_lines()
        self._begin()

    def move(self, position: Position) -> int:
        point = super().move(position)
        self._measure_memory()
        return point

    def end_game(self) -> None:
        self._report_idle_lines()

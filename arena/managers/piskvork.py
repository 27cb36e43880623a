"""Piskvork, the manager of Gomocup before the judge."""

from __future__ import annotations

from arena.managers.base import OK, Manager
from arena.position import Position
from arena.records import PlayedGame


class PiskvorkManager(Manager):
    """stderr merged, CRLF, OK awaited; RESTART between games, TAKEBACK in them, strict lines."""

    name = "piskvork"
    merge_stderr = True
    turn_for_one = True
    game_type = 0
    keys = (
        "max_memory", "timeout_match", "timeout_turn", "game_type", "rule", "time_left", "folder", "max_node",
    )  # fmt: skip

    @classmethod
    def draw_after(cls, points: int, rule: int) -> int:
        return points - 25  # protocol section 5

    @classmethod
    def takes_back(cls) -> bool:
        return True

    def new_game(self, game: PlayedGame, player: int) -> None:
        before = self.setup if self.brain is not None else None
        super().new_game(game, player)
        if before is not None and (before.width, before.height) != (game.setup.width, game.setup.height):
            self._end_process()
        if self.brain is None:
            self._spawn()
            self._ask_ok(self._start_line())
        else:
            self._report_idle_lines()
            self._ask_ok("RESTART")
        self._cold = False  # start-up ended with the OK
        self._send(*self._info())

    def _ask_ok(self, line: str) -> None:
        self._send(line)
        self._await_start(OK, line.split(maxsplit=1)[0])

    def move(self, position: Position) -> int:
        point = super().move(position)
        self._measure_memory()
        return point

    def take_back(self, position: Position, count: int) -> None:
        """Undo what the brain has on its board: its own stones and those it was told of.

        If the brain is to move then, the opponent's stone before goes too: TURN will bring it again.
        """
        points, mine = position.points, self.game.colour_of(self.player)
        left = len(points) - count
        lowest = left - 1 if left > 0 and (left - 1) % 2 != mine else left
        for ply in range(len(points) - 1, lowest - 1, -1):
            if ply == len(points) - 1 and ply % 2 != mine:
                continue  # the opponent's last stone was never sent
            x, y = points[ply] % position.width, points[ply] // position.width
            self._ask_ok(f"TAKEBACK {x},{y}")

    def end_game(self) -> None:
        self._report_idle_lines()

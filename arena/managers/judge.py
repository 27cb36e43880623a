"""GomocupJudge, the official manager of Gomocup."""

from __future__ import annotations

from arena.errors import BrainGoneError
from arena.managers.base import OK, Manager
from arena.position import Position
from arena.records import PlayedGame


class JudgeManager(Manager):
    """A process a game, START and INFO without reading, stopped (SIGSTOP) between its moves.

    The brain is created when its first turn starts, and loading is charged to that turn.
    """

    name = "judge"
    strict = False
    keys = ("timeout_turn", "timeout_match", "max_memory", "game_type", "rule", "folder", "max_node")

    @classmethod
    def draw_after(cls, points: int, rule: int) -> int:
        return points - 25 if rule == 4 else points  # protocol section 5

    def new_game(self, game: PlayedGame, player: int) -> None:
        super().new_game(game, player)
        self._first = True

    def move(self, position: Position) -> int:
        first, self._first = self._first, False
        if first:
            brain = self._spawn()
            self._owed = [OK]
            self._send(self._start_line(), *self._info())
            brain.suspend()
        elif self.brain is None:
            raise BrainGoneError("the process has ended")
        else:
            brain = self.brain
            self._report_idle_lines()
        start_s = self._start_clock()
        brain.resume()
        self._send(self._time_left(), *self._think_command(position))
        if first:  # the OK of START is never waited for; it is skipped like any other line
            allowed_ms = self.clock.allowed_ms(self.limits.cold_start_ms)
            self._await(OK, None if allowed_ms is None else start_s + allowed_ms / 1000, 0.0)
        point = self._timed_answer(start_s)
        brain.suspend()
        self._measure_memory()
        return point

    def take_back(self, position: Position, count: int) -> None:
        raise AssertionError("the judge takes nothing back")

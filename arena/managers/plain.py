"""A plain manager: every limit is sent, loading is not charged."""

from __future__ import annotations

from arena.managers.base import Manager
from arena.records import PlayedGame


class PlainManager(Manager):
    """START, OK, every limit by INFO, BOARD for the first move and TURN after it."""

    name = "plain"
    keys = ("rule", "timeout_match", "max_memory", "game_type", "folder", "timeout_turn", "max_node")
    folder_prefix = "brain-folder-"  # some brains read a path up to its first blank, the rest as a command

    def new_game(self, game: PlayedGame, player: int) -> None:
        super().new_game(game, player)
        if self.brain is None:
            self._spawn()
        else:
            self._report_idle_lines()
        self._begin()

    def end_game(self) -> None:
        self._report_idle_lines()

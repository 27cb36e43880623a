"""Who plays at the table, and how."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

from engine.play.game import Game

HUMANS = {
    "black": frozenset({0}), "white": frozenset({1}), "both": frozenset({0, 1}), "none": frozenset[int](),
}  # fmt: skip
"""Which colours the person plays, by the word for it."""


class Opponent(Protocol):
    """A player that is neither a person nor the engine, such as another program."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def remark(self) -> str:
        """What it said of its last move, empty if nothing."""

    def move(self, game: Game, time_s: float, stop: threading.Event) -> int:
        """Return its move; `stop` ends the wait.

        Raises:
            EngineError: it gave none; the text says why in one line.
        """

    def close(self) -> None:
        """Release what it holds."""


@dataclass(slots=True)
class Table:
    """Who sits where and how long they think. `levels` are the engine's as black and as white.

    `opponent` plays for the engine, as white only where nobody else plays.
    """

    humans: frozenset[int] = HUMANS["black"]
    levels: tuple[int, int] = (5, 5)
    time_s: float = 3.0
    delay_s: float = 0.5
    opponent: Opponent | None = None

    def exchange(self) -> None:
        """Let the players change colours."""
        self.humans = frozenset(1 - colour for colour in self.humans)
        self.levels = (self.levels[1], self.levels[0])

    def opponent_of(self, colour: int) -> Opponent | None:
        """Return who plays for the engine with a colour; None: the engine itself."""
        return None if colour in self.humans or (not self.humans and colour == 0) else self.opponent

    def player(self, colour: int) -> str:
        """Return what a person calls a player that is none."""
        opponent = self.opponent_of(colour)
        return f"level {self.levels[colour]}" if opponent is None else opponent.name

    def name(self, colour: int) -> str:
        """Return a player's name for records."""
        if colour in self.humans:
            return "human"
        opponent = self.opponent_of(colour)
        return f"Tengen level {self.levels[colour]}" if opponent is None else opponent.name

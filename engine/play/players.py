"""Players of a game at the terminal."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

from engine.play.game import Game

HUMANS = {
    "black": frozenset({0}), "white": frozenset({1}), "both": frozenset({0, 1}), "none": frozenset[int](),
}  # fmt: skip
"""Colours that the person plays, by the word that users type."""


class Opponent(Protocol):
    """A player that is neither a person nor the engine, such as another program."""

    @property
    def name(self) -> str:
        """Name for users."""

    @property
    def remark(self) -> str:
        """Its remark on its last move, may be empty."""

    def move(self, game: Game, time_s: float, stop: threading.Event) -> int:
        """Return the point of its move; `stop` ends the wait.

        Raises:
            EngineError: there is none; the message says why in one line.
        """

    def close(self) -> None:
        """Release what it holds."""


@dataclass(slots=True)
class Players:
    """Players of both colours and their time. `levels` are the engine's as black and as white.

    `opponent` plays for the engine; in a game without a person only as white.
    """

    humans: frozenset[int] = HUMANS["black"]
    levels: tuple[int, int] = (5, 5)
    time_s: float = 3.0
    delay_s: float = 0.5
    opponent: Opponent | None = None

    def exchange(self) -> None:
        """Exchange the colours of the players."""
        self.humans = frozenset(1 - colour for colour in self.humans)
        self.levels = (self.levels[1], self.levels[0])

    def opponent_of(self, colour: int) -> Opponent | None:
        """Return the program that plays a colour; None: the engine or a person plays it."""
        return None if colour in self.humans or (not self.humans and colour == 0) else self.opponent

    def player(self, colour: int) -> str:
        """Return a short name of a player that is no person."""
        opponent = self.opponent_of(colour)
        return f"level {self.levels[colour]}" if opponent is None else opponent.name

    def name(self, colour: int) -> str:
        """Return a player's name for records."""
        if colour in self.humans:
            return "human"
        opponent = self.opponent_of(colour)
        return f"Tengen level {self.levels[colour]}" if opponent is None else opponent.name

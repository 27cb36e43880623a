"""Who plays at the table, and how."""

from __future__ import annotations

from dataclasses import dataclass

HUMANS = {
    "black": frozenset({0}), "white": frozenset({1}), "both": frozenset({0, 1}), "none": frozenset[int](),
}  # fmt: skip
"""Which colours the person plays, by the word for it."""


@dataclass(slots=True)
class Table:
    """Who sits where and how long they think. `levels` are the engine's as black and as white."""

    humans: frozenset[int] = HUMANS["black"]
    levels: tuple[int, int] = (5, 5)
    time_s: float = 3.0
    delay_s: float = 0.5

    def exchange(self) -> None:
        """Let the players change colours."""
        self.humans = frozenset(1 - colour for colour in self.humans)
        self.levels = (self.levels[1], self.levels[0])

    def name(self, colour: int) -> str:
        """Return a player's name for records."""
        return "human" if colour in self.humans else f"Tengen level {self.levels[colour]}"

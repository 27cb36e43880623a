"""Settings of time management: how a match clock is divided among the moves of a game."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from engine.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ClockParams:
    """How much of a match clock a move gets, and when more or less.

    A move's share is the time left divided by the moves to go, which are `moves_to_go` less one for each own
    move, at least `min_moves_to_go`. The search ends at that share times a factor, `min_factor` to
    `max_factor`:

        base + closeness * (second move nearly as visited as the best) + instability * (best move changes)
             + value_drop * (fall of the value) - easy_move * (the game is decided)

    Raises:
        ConfigError: a value that is not finite or makes no sense.
    """

    moves_to_go: float = 16.0
    """Own moves that a game is planned to last from the empty board (tuned: with the next one and no early
    end +95 Elo [+53, +137] over 26, 9 and an early end, 240 games at 30/180 scaled down; docs/time.md)."""
    min_moves_to_go: float = 7.0
    """A move never plans with fewer than these (tuned: as above)."""
    max_factor: float = 2.5
    """Largest factor."""
    max_share: float = 0.2
    """No move takes more than this part of the time left, unless its plain share is larger (derived: five
    such moves in a row leave a third)."""
    base: float = 0.6
    """Factor of a stable search."""
    closeness: float = 0.5
    """Added if the second move has as many visits as the best."""
    instability: float = 0.6
    """Added if the best move keeps changing."""
    value_drop: float = 2.0
    """Added for each unit by which the value fell since the last move; at most 0.8 in all."""
    easy_move: float = 0.3
    """Subtracted if the game is as good as won or lost."""
    min_factor: float = 0.5
    """Smallest factor."""
    early_end: bool = False
    """Stop if the second move cannot overtake the best in the time left (tuned: as above)."""
    reserve_ms: float = 40.0
    """Milliseconds reserved for each move until the board is full (derived: cost of an immediate move)."""

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if not isinstance(value, bool) and not (math.isfinite(value) and 0 <= value <= 1000):
                raise ConfigError(f"clock.{f.name} must be from 0 to 1000, not {value}")
        if self.min_moves_to_go < 1 or self.moves_to_go < 1:
            raise ConfigError("clock.moves_to_go and clock.min_moves_to_go must be at least 1")
        if not 0 < self.max_share <= 1:
            raise ConfigError(f"clock.max_share must be above 0 and at most 1, not {self.max_share}")
        if not 0 < self.min_factor <= self.max_factor:
            raise ConfigError("clock.min_factor must be above 0 and at most clock.max_factor")

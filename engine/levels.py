"""Ten levels of play, from a beginner's (1) to full strength (10).

A level changes how a move is chosen, never the net: fewer simulations, draws among good moves (temperature),
no solver, and moves played at first sight. A move at first sight is drawn from the net's priors without
looking for a five or a block, so that a low level overlooks what a beginner overlooks.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """What a level sets; the fields are those of `EngineConfig`."""

    simulations: int | None
    temperature: float
    mistakes: float
    solver: bool


LEVELS: tuple[Level, ...] = (
    Level(1, 1.5, 0.6, False),
    Level(1, 1.0, 0.4, False),
    Level(2, 1.0, 0.25, False),
    Level(4, 1.0, 0.15, False),
    Level(8, 0.7, 0.1, False),
    Level(16, 0.5, 0.05, False),
    Level(32, 0.3, 0.0, False),
    Level(64, 0.2, 0.0, True),
    Level(256, 0.0, 0.0, True),
    Level(None, 0.0, 0.0, True),
)
"""Level 1 first (tuned: see the end of this module)."""

WEAKEST, STRONGEST = 1, len(LEVELS)
GOVERNED = ("simulations", "temperature", "mistakes", "solver")
"""Fields of `EngineConfig` that a level decides."""


def level(number: int) -> Level:
    """Return a level, 1 to 10.

    Raises:
        ValueError: there is no such level.
    """
    if not WEAKEST <= number <= STRONGEST:
        raise ValueError(f"level must be from {WEAKEST} to {STRONGEST}, not {number}")
    return LEVELS[number - 1]

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
    Level(1, 2.5, 0.9, False),
    Level(1, 2.13, 0.761, False),
    Level(1, 1.38, 0.435, False),
    Level(1, 0.97, 0.229, False),
    Level(3, 0.71, 0.137, False),
    Level(10, 0.49, 0.058, False),
    Level(29, 0.34, 0.014, False),
    Level(65, 0.22, 0.002, True),
    Level(321, 0.0, 0.0, True),
    Level(None, 0.0, 0.0, True),
)
"""Level 1 first (tuned: even steps of Elo; docs/play.md has them for the net that ships)."""

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

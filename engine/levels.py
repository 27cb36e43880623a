"""Ten levels of play, from a beginner's (1) to full strength (10).

A level changes how a move is chosen, never the net: fewer simulations, draws among good moves (temperature),
no solver, and stones that are overlooked (`engine.choice.what_is_seen`). So a low level misses what a
beginner misses, a four or a three away from where the game goes on, takes the second-best plan and looks few
plies ahead; what it does play makes sense for the stones that it saw.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """What a level sets; the fields are those of `EngineConfig`."""

    simulations: int | None
    temperature: float
    oversight: float
    solver: bool


LEVELS: tuple[Level, ...] = (
    Level(1, 1.5, 0.6, False),
    Level(1, 1.2, 0.45, False),
    Level(1, 1.0, 0.32, False),
    Level(1, 0.8, 0.22, False),
    Level(4, 0.7, 0.15, False),
    Level(12, 0.5, 0.09, False),
    Level(32, 0.35, 0.05, False),
    Level(80, 0.2, 0.02, True),
    Level(321, 0.0, 0.0, True),
    Level(None, 0.0, 0.0, True),
)
"""Level 1 first (tuned: even steps of Elo; docs/play.md has them for the net that ships)."""

WEAKEST, STRONGEST = 1, len(LEVELS)
GOVERNED = ("simulations", "temperature", "oversight", "solver")
"""Fields of `EngineConfig` that a level decides."""


def level(number: int) -> Level:
    """Return a level, 1 to 10.

    Raises:
        ValueError: there is no such level.
    """
    if not WEAKEST <= number <= STRONGEST:
        raise ValueError(f"level must be from {WEAKEST} to {STRONGEST}, not {number}")
    return LEVELS[number - 1]

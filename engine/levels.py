"""Ten levels of play, from a beginner's (1) to full strength (10).

A level changes how a move is chosen, never the net: fewer simulations, draws among good moves (temperature),
no solver, and stones that are overlooked (`engine.choice.perceived_board`). So a low level misses what a
beginner misses, a four or a three far from the last moves, often plays the second-best move and searches few
plies deep.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """What a level sets; the fields are those of `EngineConfig`."""

    simulations: int | None
    temperature: float
    blindness: float
    solver: bool


LEVELS: tuple[Level, ...] = (
    Level(1, 1.7, 0.8, False),
    Level(1, 1.1, 0.4, False),
    Level(1, 0.73, 0.118, False),
    Level(2, 0.6, 0.07, False),
    Level(13, 0.46, 0.04, False),
    Level(42, 0.32, 0.017, False),
    Level(64, 0.29, 0.008, True),
    Level(125, 0.15, 0.0, True),
    Level(380, 0.0, 0.0, True),
    Level(None, 0.0, 0.0, True),
)
"""Level 1 first (tuned: even steps of Elo; docs/play.md has them for the net that ships)."""

WEAKEST, STRONGEST = 1, len(LEVELS)
LEVEL_FIELDS = ("simulations", "temperature", "blindness", "solver")
"""Fields of `EngineConfig` that a level decides."""


def level(number: int) -> Level:
    """Return a level, 1 to 10.

    Raises:
        ValueError: there is no such level.
    """
    if not WEAKEST <= number <= STRONGEST:
        raise ValueError(f"level must be from {WEAKEST} to {STRONGEST}, not {number}")
    return LEVELS[number - 1]

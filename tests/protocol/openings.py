"""Openings for refereed games: read from Piskvork's offset format, or drawn at random."""

from __future__ import annotations

import random
from pathlib import Path

from tests.protocol.position import Position
from tests.protocol.records import Cell


def read_openings(path: Path) -> list[list[Cell]]:
    """Return the offsets `dx, dy, dx, dy, ...` of every line of a file.

    Raises:
        ValueError: a line with an odd count or other characters than numbers, blanks and commas.
    """
    openings = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip():
            continue
        values = [int(part) for part in line.split(",")]
        if len(values) % 2:
            raise ValueError(f"{path}:{number}: odd count of numbers")
        openings.append(list(zip(values[::2], values[1::2], strict=True)))
    return openings


def place_opening(offsets: list[Cell], size: int, rule: int) -> tuple[Cell, ...] | None:
    """Return the cells of an opening on a board, None where it does not fit or is already decided."""
    centre = size // 2  # protocol: the origin of offsets
    position = Position(size, rule)
    for dx, dy in offsets:
        cell = (centre + dx, centre + dy)
        if not position.is_legal(cell):
            return None
        position.play(cell)
        if position.over:
            return None
    return tuple(position.moves)


def random_opening(size: int, rule: int, rng: random.Random) -> tuple[Cell, ...]:
    """Return 0 to 5 stones near the centre, all legal."""
    reach = min(3, size // 2)
    while True:
        count = rng.randrange(6)
        offsets = [(rng.randint(-reach, reach), rng.randint(-reach, reach)) for _ in range(count)]
        placed = place_opening(offsets, size, rule)
        if placed is not None:
            return placed

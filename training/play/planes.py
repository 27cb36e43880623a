"""Planes of random openings: input of the right distribution for measuring and calibrating nets."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt

from arena.openings import random_opening
from engine.encoding import encode
from engine.rules._board import Board


def opening_planes(rng: random.Random, rows: int, width: int, height: int) -> npt.NDArray[np.float32]:
    """Return planes [rows, C, H, W] of random freestyle openings of 2 to 19 stones."""
    found = []
    for _ in range(rows):
        board = Board(width, height)
        for point in random_opening(rng, width, height, 0, rng.randrange(2, 20)):
            board.place(point)
        found.append(encode(board))
    return np.stack(found)

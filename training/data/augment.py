"""Random symmetries of training positions, with the engine's own permutations.

A position is turned before it is encoded: its moves and the points of its targets go to their new places, and
the planes of the turned board follow from the rules, which no symmetry changes.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from engine.rules.geometry import symmetry_permutation


@functools.cache
def destinations(width: int, height: int, symmetry: int) -> npt.NDArray[np.intp]:
    """Return where each point goes under a symmetry of `engine.rules.geometry`, intp [A], A = width * height.

    Raises:
        ValueError: if the board has no such symmetry.
    """
    out = np.argsort(symmetry_permutation(width, height, symmetry))
    out.setflags(write=False)
    return out

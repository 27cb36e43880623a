"""Random symmetries of training positions, with the engine's own permutations.

Shapes: `B` batch, `C` planes, `A` = width * height.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.rules.geometry import symmetry_permutation


def transform(
    flat: npt.NDArray[np.float32], symmetries: npt.NDArray[np.integer], width: int, height: int
) -> npt.NDArray[np.float32]:
    """Return each position under its own symmetry.

    Args:
        flat: [B, ..., A] planes or policies; the last axis is the board.
        symmetries: int [B], see `engine.rules.geometry`.

    Returns:
        A new array of the same shape. Planes and policies of one position have to get the same symmetry.
    """
    out = np.empty_like(flat)
    for s in np.unique(symmetries):
        chosen = np.flatnonzero(symmetries == s)
        out[chosen] = flat[chosen][..., np.asarray(symmetry_permutation(width, height, int(s)))]
    return out

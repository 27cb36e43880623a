"""Input planes of nets: what each plane means; `engine.planes` lists them.

Planes have no history (the command BOARD gives a position alone) and no size, so that one net plays every
board and rule. "Own" is the side to move. Shapes of lines come from the kernel's tables: what a stone on an
empty point would make (`engine.rules._board`, SHAPE_*).

=====  ==========================================================================
plane  1 where ... (0 elsewhere)
=====  ==========================================================================
0      the cell can be used or holds a stone (0: obstacle, or padding beyond the edge)
1, 2   there is a stone of own, of the opponent
3, 4   own, the opponent would make a five
5, 6   ... a straight four, or fours with two completions on one line
7, 8   ... a four
9, 10  ... an open three
11, 12 ... fours or open threes in two or more directions
13     black may not play (renju; the forbidden moves of Omok have no plane, nets see it as standard)
14     the opponent would begin a win by fours, if own passed
15     own may stop that win; every other move loses to it
16     everywhere: own is black
17, 18 everywhere: own, the opponent needs exactly five
19, 20 everywhere: own, the opponent has forbidden points
21     everywhere: a five blocked by stones at both ends does not count (caro)
22     everywhere: the opponent threatens to win by fours (planes 14 and 15 say how)
=====  ==========================================================================

The threat is searched with a small number of placements (THREAT_NODES), so a long win is missed. To show a
net wins by fours is an idea of KataGomo (https://github.com/hzyhhzy/KataGomo); training/record/shapes.md has
what it gains.

Version 1 had neither planes 14 and 15 nor 22, the others in the same order. Games hold moves, not planes,
and the weights of planes that a net lacks are 0, so games and nets of version 1 still work.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engine._encoding import planes as _planes
from engine._encoding import planes_of_moves
from engine.planes import ADDED, Plane
from engine.rules._board import Board

FEATURE_VERSION = 2
"""Version of the table above, in the metadata of every net, shard, checkpoint and run."""

N_PLANES = len(Plane)
"""Number of planes, `C` in shapes."""

PLANES_OF = {
    1: tuple(int(plane) for plane in Plane if plane not in ADDED[FEATURE_VERSION]),
    FEATURE_VERSION: tuple(range(N_PLANES)),
}
"""For each version that is still read, the indices that its planes have today, in its order."""


def encode(board: Board) -> npt.NDArray[np.float32]:
    """Return the planes of a position, float32 [C, H, W], from the view of the side to move."""
    return _planes(board)


def encode_games(
    width: int,
    height: int,
    rules: Sequence[int],
    plies: npt.NDArray[np.int32],
    moves: npt.NDArray[np.uint16],
) -> npt.NDArray[np.float32]:
    """Return the planes of many positions of games, float32 [B, C, H, W]; see `encode`.

    Args:
        width: of all boards.
        height: of all boards.
        rules: of each position.
        plies: int32 [B] stones of each position, black first, colours alternate.
        moves: uint16 points of all these stones, one position after another.

    Raises:
        ValueError: a size or rule out of range, a point that is taken or off the board.
    """
    out = np.empty((len(plies), N_PLANES, height, width), np.float32)
    planes_of_moves(width, height, rules, plies, moves, out)
    return out


def widen_weights(weights: npt.NDArray[np.float32], version: int, axis: int = 0) -> npt.NDArray[np.float32]:
    """Return weights of planes, for planes of an older version, with 0 for those that it did not have.

    Args:
        weights: as many along `axis` as that version had planes.
        version: one of `PLANES_OF`.
        axis: of the planes.
    """
    shape = list(weights.shape)
    shape[axis] = N_PLANES
    out = np.zeros(shape, weights.dtype)
    index: list[slice | list[int]] = [slice(None)] * weights.ndim
    index[axis] = list(PLANES_OF[version])
    out[tuple(index)] = weights
    return out

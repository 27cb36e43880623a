"""Interface of the kernel module that writes planes; `engine.encoding` says what each plane means."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engine.rules._board import Board

def planes(board: Board) -> npt.NDArray[np.float32]:
    """Return the planes of a position, float32 [C, H, W], from the view of the side to move."""

def planes_of_moves(
    width: int,
    height: int,
    rules: Sequence[int],
    plies: npt.NDArray[np.int32],
    moves: npt.NDArray[np.uint16],
    out: npt.NDArray[np.float32],
) -> None:
    """Write the planes of many positions of games; the GIL is released.

    Args:
        width, height: of all boards.
        rules: of each position, B values.
        plies: int32 [B], stones of each position, black first, colours alternate.
        moves: uint16, points of all these stones, one position after another.
        out: float32 [B, C, H, W], overwritten.

    Raises:
        ValueError: sizes that do not fit together, no such rule, a point that is taken or off the board.
        MemoryError: no memory for the batch.
    """

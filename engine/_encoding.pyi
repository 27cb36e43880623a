from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engine.rules._board import Board

def planes(board: Board) -> npt.NDArray[np.float32]: ...
def planes_of_moves(
    width: int,
    height: int,
    rules: Sequence[int],
    plies: npt.NDArray[np.int32],
    moves: npt.NDArray[np.uint16],
    out: npt.NDArray[np.float32],
) -> None: ...

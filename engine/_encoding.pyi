import numpy as np
import numpy.typing as npt

from engine.rules._board import Board

def planes(board: Board) -> npt.NDArray[np.float32]: ...

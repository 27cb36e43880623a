"""Positions as values: stones in the order in which they were put, and boards made of them.

The board of a position never changes: a move makes another board, so that every thread may read it. Only the
tree and the solver place and undo stones, on boards of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.errors import PositionError
from engine.rules._board import OBSTACLE, Board

Stones = tuple[tuple[int, int], ...]
"""(point, colour), oldest first: colour 0 black, 1 white, OBSTACLE a cell that neither side can use."""


def board_of(
    width: int, height: int, rule: int, stones: Iterable[tuple[int, int]] = (), to_move: int | None = None
) -> Board:
    """Return the board of a position.

    Args:
        to_move: colour to move; None: the other colour than that of the last stone.

    Raises:
        PositionError: size or rule out of range, a point off the board or taken, a colour unknown.
    """
    try:
        board = Board.from_stones(width, height, int(rule), list(stones))
        if to_move is not None:
            board.set_to_move(to_move)
    except ValueError as error:
        raise PositionError(str(error)) from error
    return board


def board_after(board: Board, point: int) -> Board:
    """Return the board after a stone of the side to move. Forbidden points are accepted.

    Raises:
        PositionError: the point is off the board or taken.
    """
    after = board.copy()
    try:
        after.place(point)
    except ValueError as error:
        raise PositionError(str(error)) from error
    return after


def without(stones: Sequence[tuple[int, int]], to_move: int, point: int) -> tuple[Stones, int]:
    """Return what remains when a stone is taken back, also one that is not the last, and who moves then.

    That is the colour of the stone; taking an obstacle away leaves the turn as it was.

    Raises:
        PositionError: there is no stone.
    """
    removed = [colour for at, colour in stones if at == point]
    if not removed:
        raise PositionError(f"no stone at point {point}")
    rest = tuple((at, colour) for at, colour in stones if at != point)
    return rest, to_move if removed[0] == OBSTACLE else removed[0]

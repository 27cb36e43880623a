"""Positions as values: stones in the order in which they were put, and boards made of them.

The board of a position never changes: a move makes another board, so that every thread may read it. Only the
tree and the solver place and undo stones, on boards of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.errors import PositionError
from engine.rules._board import BLACK, EMPTY, OBSTACLE, WHITE, Board

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
    stones = list(stones)
    try:
        board = Board.from_stones(width, height, int(rule), stones)
        if board.winner != EMPTY:
            to_move = board.to_move if to_move is None else to_move
            board = Board.from_stones(width, height, int(rule), _without_early_five(board, stones))
        if to_move is not None:
            board.set_to_move(to_move)
    except ValueError as error:
        raise PositionError(str(error)) from error
    return board


def _without_early_five(finished: Board, stones: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return stones in an order in which no row is a five on the way to an overline, or before it is closed.

    Where there is no such order, as where the game has been won, the order stays.
    """
    board = Board(finished.width, finished.height, finished.rule)
    todo = sorted(stones, key=lambda stone: stone[1] != OBSTACLE)
    ordered = []
    while todo:
        fives = {(point, colour) for colour in (BLACK, WHITE) for point in board.five_points(colour)}
        chosen = next((stone for stone in todo if stone not in fives), None)
        if chosen is None:
            return stones
        todo.remove(chosen)
        ordered.append(chosen)
        point, colour = chosen
        if colour == OBSTACLE:
            board.block(point)
        else:
            board.place(point, colour)
    return ordered


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

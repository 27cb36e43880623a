"""A legal move without search: for the first millisecond and for when everything else failed."""

from __future__ import annotations

from engine.rules._board import SHAPE_FORK, SHAPE_FOUR, SHAPE_OPEN_FOUR, SHAPE_OPEN_THREE, Board

_EMPTY = 2
_VALUES = ((SHAPE_OPEN_FOUR, 64), (SHAPE_FORK, 32), (SHAPE_FOUR, 4), (SHAPE_OPEN_THREE, 8))


def fallback_point(board: Board) -> int | None:
    """Return a sensible point for the side to move, or None on a full board.

    Own five, else a block of the opponent's five, else the legal point with the best shapes near the
    stones; where nothing is legal any empty point. Works on finished positions too.
    """
    own = board.to_move
    empty = [p for p in range(board.points) if board.cell(p) == _EMPTY]
    if not empty:
        return None
    fives = board.five_points(own)
    if fives:
        return fives[0]
    free = [p for p in empty if not (own == 0 and board.is_forbidden(p))]
    if not free:
        return empty[0]
    blocks = [p for p in board.five_points(1 - own) if p in set(free)]
    if blocks:
        return blocks[0]
    width, height = board.width, board.height
    stones = [(p % width, p // width) for p, colour in board.stones() if colour in (0, 1)]
    centre = (width // 2, height // 2)

    def value(point: int) -> tuple[int, int, int]:
        x, y = point % width, point // width
        shape = 0
        for colour, weight in ((own, 3), (1 - own, 2)):
            bits = board.shape(point, colour)
            shape += weight * sum(worth for bit, worth in _VALUES if bits & bit)
        near = min((max(abs(x - sx), abs(y - sy)) for sx, sy in stones), default=0)
        return shape, -near, -max(abs(x - centre[0]), abs(y - centre[1]))

    return max(free, key=value)

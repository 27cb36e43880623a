"""Coordinates and symmetries of a board of `width` x `height` cells.

A point is the index `y * width + x`; x is the column from the left, y the row from the top, both from 0.
Written as text a point is either `x,y` as in the protocol or a letter and a number: `h8` has x = 7
(a is 0) and y = 7 (rows are numbered from 1, from the top; from the bottom where that is asked for).

The symmetries of a square (the group D4) are numbered 0 to 7 by three bits:

    bit 0 (1)   mirror the columns: x becomes width - 1 - x
    bit 1 (2)   mirror the rows: y becomes height - 1 - y
    bit 2 (4)   then swap x and y

so 0 is the identity, 3 the half turn, and the first four keep the shape of a rectangle, which has no others.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_LETTERED = re.compile(r"([a-z])([0-9]{1,2})", re.ASCII)
_NUMBERED = re.compile(r"([0-9]{1,3}) *, *([0-9]{1,3})", re.ASCII)
_SEPARATORS = re.compile(r"[\s;]*", re.ASCII)


def xy(point: int, width: int) -> tuple[int, int]:
    """Return (x, y) of a point."""
    return point % width, point // width


def point_of(x: int, y: int, width: int, height: int) -> int:
    """Return the point at column x and row y.

    Raises:
        ValueError: if it is off the board.
    """
    if not (0 <= x < width and 0 <= y < height):
        raise ValueError(f"{x},{y} is off the {width}x{height} board")
    return y * width + x


def parse_move(text: str, width: int, height: int) -> int:
    """Return the point that `h8` or `7,7` names (letters of either case); rows count from the top.

    Args:
        text: the move, blanks around it are ignored.
        width, height: of the board, cells.

    Raises:
        ValueError: the text is neither, or names a cell off the board.
    """
    return _point_of_match(_match_move(text.strip().lower(), 0, whole=True), width, height)


def parse_moves(text: str, width: int, height: int, *, from_bottom: bool = False) -> list[int]:
    """Return the points of a row of moves such as `h8h9i8`, `h8 h9 i8` or `7,7 7,8`.

    Args:
        text: the moves.
        width, height: of the board.
        from_bottom: whether the row 1 of `h1` is the lowest; `7,0` is in the highest row in any case.

    Raises:
        ValueError: naming the first piece that is no move or is off the board.
    """
    text = text.strip().lower()
    points = []
    at = 0
    while at < len(text):
        match = _match_move(text, at)
        points.append(_point_of_match(match, width, height, from_bottom))
        separators = _SEPARATORS.match(text, match.end())
        at = separators.end() if separators else match.end()
    return points


def format_move(point: int, width: int, height: int | None = None) -> str:
    """Return a point as letter and number, e.g. `h8`.

    Args:
        point: of the board.
        width: of the board.
        height: of the board, to number its rows from the bottom; None: from the top.
    """
    x, y = xy(point, width)
    return f"{chr(ord('a') + x)}{y + 1 if height is None else height - y}"


def format_moves(points: Sequence[int], width: int) -> str:
    """Return points as one word that `parse_moves` reads, e.g. `h8h9i8`."""
    return "".join(format_move(point, width) for point in points)


def symmetries(width: int, height: int) -> range:
    """Return the symmetries that keep the board's shape: 8 of a square, 4 of a rectangle."""
    return range(8) if width == height else range(4)


def inverse_symmetry(symmetry: int) -> int:
    """Return the symmetry that undoes another."""
    return {5: 6, 6: 5}.get(symmetry, symmetry)


def transform_point(point: int, width: int, height: int, symmetry: int) -> int:
    """Return where a symmetry moves a point.

    Raises:
        ValueError: if the board has no such symmetry.
    """
    if symmetry not in symmetries(width, height):
        raise ValueError(f"a {width}x{height} board has no symmetry {symmetry}")
    x, y = xy(point, width)
    if symmetry & 1:
        x = width - 1 - x
    if symmetry & 2:
        y = height - 1 - y
    if symmetry & 4:
        x, y = y, x
    return y * width + x


@functools.cache
def symmetry_permutation(width: int, height: int, symmetry: int) -> npt.NDArray[np.intp]:
    """Return the permutation that applies a symmetry to an array over points.

    Returns:
        intp[A], A = width * height, read-only: `moved = values[..., permutation]` holds the value of
        point p at `transform_point(p, ...)`.

    Raises:
        ValueError: if the board has no such symmetry.
    """
    permutation = np.empty(width * height, dtype=np.intp)
    for point in range(width * height):
        permutation[transform_point(point, width, height, symmetry)] = point
    permutation.setflags(write=False)
    return permutation


def _match_move(text: str, at: int, *, whole: bool = False) -> re.Match[str]:
    for pattern in (_LETTERED, _NUMBERED):
        match = pattern.fullmatch(text, at) if whole else pattern.match(text, at)
        if match:
            return match
    raise ValueError(f"{text[at : at + 20]!r} is not a move; write it as h8 or 7,7")


def _point_of_match(match: re.Match[str], width: int, height: int, from_bottom: bool = False) -> int:
    column, row = match.groups()
    if column.isdigit():
        return point_of(int(column), int(row), width, height)
    try:
        y = height - int(row) if from_bottom else int(row) - 1
        return point_of(ord(column) - ord("a"), y, width, height)
    except ValueError:
        raise ValueError(f"{match.group()} is off the {width}x{height} board") from None

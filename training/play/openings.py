"""Starts of games: opening files for matches, random openings for self-play and pairs without a file.

A point is `y * width + x`; an opening is the points of its stones in playing order, black first.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.encoding import encode
from engine.rules._board import EMPTY, Board
from engine.rules.geometry import symmetries, transform_point

MAX_FILE_BYTES = 4 << 20
"""Larger files are no list of openings (derived: 100,000 of them)."""
_NUMBER = re.compile(r"-?[0-9]+")


class OpeningError(ValueError):
    """An opening file that cannot be used; the message names file and line."""


def read_openings(path: Path, width: int, height: int, rule: int) -> list[tuple[int, ...]]:
    """Read openings in Piskvork's offset format: `dx,dy, dx,dy, ...` from the centre (size // 2).

    Lines that do not fit on the board or end the game are refused, since a silently shorter list
    would change what a match measures.

    Raises:
        OpeningError: unreadable file, no opening in it, or a line that is no opening on this board.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise OpeningError(f"cannot read openings from {path}: {error.strerror}") from error
    if len(data) > MAX_FILE_BYTES:
        raise OpeningError(f"{path} is too large for a list of openings")
    lines = data.decode("ascii", errors="replace").splitlines()
    openings = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not re.fullmatch(r"[-0-9,\s]+", line):
            raise OpeningError(f"{path}:{number}: expected dx,dy pairs, found {line[:40]!r}")
        if re.search(r"[0-9]{4}", line):
            raise OpeningError(f"{path}:{number}: a number of more than three digits")
        offsets = [int(text) for text in _NUMBER.findall(line)]
        if len(offsets) % 2:
            raise OpeningError(f"{path}:{number}: odd count of numbers")
        points = []
        for dx, dy in zip(offsets[::2], offsets[1::2], strict=True):
            x, y = width // 2 + dx, height // 2 + dy
            if not (0 <= x < width and 0 <= y < height):
                raise OpeningError(f"{path}:{number}: {dx},{dy} is off a {width}x{height} board")
            points.append(y * width + x)
        if not is_playable(points, width, height, rule):
            raise OpeningError(f"{path}:{number}: taken point, forbidden move or finished game")
        openings.append(tuple(points))
    if not openings:
        raise OpeningError(f"{path} holds no opening")
    return openings


def opening_planes(rng: random.Random, rows: int, width: int, height: int) -> npt.NDArray[np.float32]:
    """Return planes [rows, C, H, W] of random freestyle openings of 2 to 19 stones."""
    found = []
    for _ in range(rows):
        board = Board(width, height)
        for point in random_opening(rng, width, height, 0, rng.randrange(2, 20)):
            board.place(point)
        found.append(encode(board))
    return np.stack(found)


def is_playable(points: Sequence[int], width: int, height: int, rule: int) -> bool:
    """Return whether the points can be played alternately and leave a game that goes on."""
    board = Board(width, height, rule)
    for point in points:
        if board.cell(point) != EMPTY or board.winner != EMPTY:
            return False
        if board.to_move == 0 and board.is_forbidden(point):
            return False
        board.place(point)
    return board.winner == EMPTY and board.n_empty > 0


def random_opening(
    rng: random.Random, width: int, height: int, rule: int, stones: int, spread: int = 3
) -> tuple[int, ...]:
    """Return `stones` random points at most `spread` cells from the centre, playable under the rule.

    No side has a five or a four to complete at the end of it.
    """
    area = central_area(width, height, spread)
    while True:
        points = tuple(rng.sample(area, min(stones, len(area) - 1)))
        if is_quiet(points, width, height, rule):
            return points


def central_area(width: int, height: int, spread: int) -> list[int]:
    """Return the points at most `spread` columns and rows from the centre."""
    left, right = max(0, width // 2 - spread), min(width, width // 2 + spread + 1)
    top, bottom = max(0, height // 2 - spread), min(height, height // 2 + spread + 1)
    return [y * width + x for y in range(top, bottom) for x in range(left, right)]


def is_quiet(points: Sequence[int], width: int, height: int, rule: int) -> bool:
    """Return whether the points are playable and leave no side a five to complete."""
    if not is_playable(points, width, height, rule):
        return False
    board = Board(width, height, rule)
    for point in points:
        board.place(point)
    return not board.five_points(0) and not board.five_points(1)


def turned(points: Sequence[int], width: int, height: int, index: int) -> tuple[int, ...]:
    """Return an opening under the `index`-th symmetry of the board (modulo their number)."""
    group = symmetries(width, height)
    return tuple(transform_point(p, width, height, group[index % len(group)]) for p in points)

"""Starts of games: opening files for matches, random openings for self-play and pairs without a file.

A point is `y * width + x`; an opening is the points of its stones in playing order, black first.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

from engine.rules._board import EMPTY, Board
from engine.rules.geometry import symmetries, transform_point

MAX_FILE_BYTES = 4 << 20
"""Larger files are no list of openings (derived: 100,000 of them)."""
_NUMBER = re.compile(r"-?[0-9]+")


class OpeningError(ValueError):
    """An opening file that cannot be used; the message names file and line."""


def read_offsets(path: Path) -> list[list[tuple[int, int]]]:
    """Read openings in Piskvork's offset format: `dx,dy, dx,dy, ...` from the centre, a line each.

    Raises:
        OpeningError: unreadable file, no opening in it, or a line that is no opening on any board.
    """
    return [offsets for _, offsets in _numbered_offsets(path)]


def _numbered_offsets(path: Path) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return (number of the line, offsets) of every opening of a file."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise OpeningError(f"cannot read openings from {path}: {error.strerror}") from error
    if len(data) > MAX_FILE_BYTES:
        raise OpeningError(f"{path} is too large for a list of openings")
    found = []
    for number, line in enumerate(data.decode("ascii", errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        if not re.fullmatch(r"[-0-9,\s]+", line):
            raise OpeningError(f"{path}:{number}: expected dx,dy pairs, found {line[:40]!r}")
        if re.search(r"[0-9]{4}", line):
            raise OpeningError(f"{path}:{number}: a number of more than three digits")
        values = [int(text) for text in _NUMBER.findall(line)]
        if len(values) % 2:
            raise OpeningError(f"{path}:{number}: odd count of numbers")
        found.append((number, list(zip(values[::2], values[1::2], strict=True))))
    if not found:
        raise OpeningError(f"{path} holds no opening")
    return found


def read_openings(path: Path, width: int, height: int, rule: int) -> list[tuple[int, ...]]:
    """Read the openings of a file for one board; the origin is `size // 2`.

    Lines that do not fit on the board or end the game are refused, since a silently shorter list
    would change what a match measures.

    Raises:
        OpeningError: unreadable file, no opening in it, or a line that is no opening on this board.
    """
    openings = []
    for number, offsets in _numbered_offsets(path):
        for dx, dy in offsets:
            if not (0 <= width // 2 + dx < width and 0 <= height // 2 + dy < height):
                raise OpeningError(f"{path}:{number}: {dx},{dy} is off a {width}x{height} board")
        points = place_offsets(offsets, width, height, rule)
        if points is None:
            raise OpeningError(f"{path}:{number}: taken point, forbidden move or finished game")
        openings.append(points)
    return openings


def place_offsets(
    offsets: Sequence[tuple[int, int]], width: int, height: int, rule: int
) -> tuple[int, ...] | None:
    """Return the points of an opening on a board; None where it does not fit or ends the game."""
    points = []
    for dx, dy in offsets:
        x, y = width // 2 + dx, height // 2 + dy  # protocol: the origin of offsets
        if not (0 <= x < width and 0 <= y < height):
            return None
        points.append(y * width + x)
    return tuple(points) if is_playable(points, width, height, rule) else None


def is_playable(points: Sequence[int], width: int, height: int, rule: int) -> bool:
    """Return whether the points can be played alternately and leave a game that continues."""
    board = Board(width, height, rule)
    for point in points:
        if board.cell(point) != EMPTY or board.winner != EMPTY:
            return False
        if board.is_forbidden(point, board.to_move):
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

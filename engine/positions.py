"""Positions as text: a row of moves, a drawn board, a saved game. Used by the developer commands."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from engine.errors import PositionError
from engine.gamefile import is_psq, is_sgf, read_game
from engine.rules._board import Board
from engine.rules.geometry import parse_moves, point_of

_SYMBOLS = {"x": 0, "b": 0, "o": 1, "w": 1, "#": 3, ".": None, "-": None, "_": None, "+": None}
_CELLS = "XO.#"


def position_text(argument: str) -> str:
    """Return the position that a command was given: the argument, the content of that file, or for `-` stdin.

    Raises:
        PositionError: the file cannot be read.
    """
    if argument == "-":
        return sys.stdin.read()
    try:
        if argument.strip() and len(argument) < 1000 and Path(argument).is_file():
            return Path(argument).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        raise PositionError(f"cannot read {argument}: {error}") from error
    return argument


def read_position(text: str, *, width: int = 15, height: int = 15, rule: int = 0) -> Board:
    """Return the position that a text describes, whichever of these kinds it is.

    Args:
        text: moves such as `h8h9i8` or `7,7 7,8`; a drawn board; the content of a .psq or SGF file.
        width, height: of the board, where the text does not say.
        rule: value of `engine.rules.rule.Rule`.

    Raises:
        PositionError: the text is none of these, or names a point off the board or twice.
    """
    try:
        if is_psq(text) or is_sgf(text):
            game = read_game(text, rule)
            return Board.from_stones(
                game.width, game.height, game.rule, [(p, i % 2) for i, p in enumerate(game.points)]
            )
        if "\n" in text.strip():
            return read_drawing(text, rule)
        board = Board(width, height, rule)
        for point in parse_moves(text, width, height):
            board.place(point)
        return board
    except PositionError:
        raise
    except ValueError as error:
        raise PositionError(str(error)) from error


def read_drawing(text: str, rule: int = 0) -> Board:
    """Read rows of cells: `X` or `b` black, `O` or `w` white, `#` an obstacle, `.` `-` `_` `+` empty.

    Blanks and brackets do not count, nor do row numbers and lines of column letters, so what `draw` writes
    can be read. Black is to move where both colours have as many stones, else white.

    Raises:
        PositionError: unknown cells, rows of different length, a size out of range.
    """
    rows = []
    for line in text.splitlines():
        cells = re.sub(r"^\s*\d+\s*|\s*\d+\s*$", "", line)
        cells = re.sub(r"[\s\[\]]", "", cells).lower()
        if not cells or (len(cells) > 1 and cells == "abcdefghijklmnopqrstuvwxyz"[: len(cells)]):
            continue
        unknown = sorted(set(cells) - set(_SYMBOLS))
        if unknown:
            raise PositionError(f"unknown cell {unknown[0]!r} in the row {line.strip()[:60]!r}")
        rows.append([_SYMBOLS[c] for c in cells])
    if not rows or len({len(row) for row in rows}) != 1:
        raise PositionError("the rows of a drawn board need one length")
    width, height = len(rows[0]), len(rows)
    try:
        board = Board(width, height, rule)
    except ValueError as error:
        raise PositionError(str(error)) from error
    stones: dict[int, list[int]] = {0: [], 1: []}
    for y, row in enumerate(rows):
        for x, colour in enumerate(row):
            if colour == 3:
                board.block(point_of(x, y, width, height))
            elif colour is not None:
                stones[colour].append(point_of(x, y, width, height))
    for colour, points in stones.items():
        for point in points:
            board.place(point, colour)
    board.set_to_move(0 if len(stones[0]) <= len(stones[1]) else 1)
    return board


def draw(board: Board, mark: int | None = None, *, from_bottom: bool = False) -> str:
    """Return the board as text with coordinates, `X` black, `O` white; the point `mark` in brackets.

    Args:
        board: the position.
        mark: None for no brackets.
        from_bottom: whether row 1 is the lowest.
    """
    letters = " ".join(chr(ord("a") + x) for x in range(board.width))
    lines = [f"    {letters}"]
    for y in range(board.height):
        number = board.height - y if from_bottom else y + 1
        row = f"{number:3d}{'[' if mark == y * board.width else ' '}"
        for x in range(board.width):
            point = y * board.width + x
            cell = _CELLS[board.cell(point)]
            row += f"{cell}]" if point == mark else f"{cell} "
            if mark is not None and point == mark - 1 and x + 1 < board.width:
                row = f"{row[:-1]}["
        lines.append(row.rstrip())
    return "\n".join(lines)

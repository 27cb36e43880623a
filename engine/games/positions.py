"""Positions as text: a row of moves, a drawn board, a saved game. Used by the developer commands."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from engine.errors import PositionError
from engine.games.decode import Detector, decode
from engine.games.files import is_game, read_bytes, read_tree, text_damage
from engine.games.paste import read_moves
from engine.games.record import stones_of
from engine.games.renlib import is_renlib
from engine.rules._board import Board
from engine.rules.geometry import point_of

_DRAWN = re.compile(r"^(?:[^\S\n]|\d)*[.\-_+xobw#](?:[\s\[\]]*[.\-_+xobw#]){4}", re.IGNORECASE | re.MULTILINE)
"""A row of a drawn board: five cells or more."""
_SYMBOLS = {"x": 0, "b": 0, "o": 1, "w": 1, "#": 3, ".": None, "-": None, "_": None, "+": None}
_CELLS = "XO.#"


def position_text(argument: str, detect: Detector | None = None) -> str | bytes:
    """Return the position that a command was given: the argument, the content of that file, or for `-` stdin.

    Args:
        argument: as typed.
        detect: guesses the encoding of a file that is not UTF-8; see `engine.games.decode`.

    Returns:
        The text, or the bytes of a library of RenLib.

    Raises:
        PositionError: the file cannot be read.
    """
    if argument == "-":
        return sys.stdin.read()
    try:
        is_file = bool(argument.strip()) and len(argument) < 1000 and Path(argument).is_file()
    except (OSError, ValueError):
        return argument
    if not is_file:
        return argument
    data = read_bytes(Path(argument))
    try:
        return data if is_renlib(data) else decode(data, detect, text_damage).text
    except PositionError as error:
        raise PositionError(f"{argument}: {error}") from error


def read_position(
    text: str | bytes, *, width: int = 15, height: int = 15, rule: int = 0, from_bottom: bool = False
) -> Board:
    """Return the position that a text describes, whichever of these kinds it is.

    Args:
        text: moves such as `h8h9i8` or `7,7 7,8`; a drawn board; the content of a file of a game.
        width, height: of the board, where the text does not say.
        rule: value of `engine.rules.rule.Rule`.
        from_bottom: whether row 1 of moves is the lowest.

    Raises:
        PositionError: the text is none of these, or names a point off the board or twice.
    """
    try:
        if isinstance(text, bytes) or is_game(text):
            return read_tree(text, rule, width, height).record.board()
        if "\n" in text.strip() and _DRAWN.search(text):
            return read_drawing(text, rule)
        if not text.strip():
            return Board(width, height, rule)
        points = read_moves(text, width, height, from_bottom=from_bottom)
        board = Board.from_stones(width, height, rule, stones_of(points))
        board.set_to_move(len(points) % 2)
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
        cells = re.sub(r"^\d+|(?<!\d)\d+$", "", line.strip())  # without the number of the row
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

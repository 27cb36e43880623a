"""Moves as people paste them: `h8 h9`, `h8_i9`, `1. h8 2. i9`, `B h8 W i9`, `7,7`, an address of Gomocalc."""

from __future__ import annotations

import re
import unicodedata

from engine.errors import PositionError
from engine.games.record import PASS
from engine.games.tree import GameTree, TreeBuilder
from engine.rules.geometry import point_of, xy

MAX_TEXT = 20_000
"""Characters of moves (derived: a full 22x22 board with numbers takes 6,000)."""

_ADDRESS = re.compile(r"\s*(?:https?://)?(?:www\.)?gomocalc\.com/?(?:#/?|\?)?([^\s?]*)\s*", re.ASCII)
"""Gomocalc counts rows from the bottom (https://github.com/dhbloo/gomoku-calculator)."""
_NUMBER = re.compile(r"#?\d{1,3}(?:\s*[.):、]\s*(?=[a-z(\[]|\d+\s*,)|\s*(?=[a-z]\d|pass))", re.ASCII)
_COLOUR = re.compile(r"(black|white|b|w)(?:\s*[.:]\s*|\s+)(?=[(\[]?[a-z] ?\d|pass|\d+\s*,)", re.ASCII)
_LETTERED = re.compile(r"[(\[]?([a-z]) ?([0-9]{1,2})(?!\d)[)\]]?", re.ASCII)
_NUMBERED = re.compile(r"[(\[]?([0-9]{1,3}) *, *([0-9]{1,3})[)\]]?", re.ASCII)
_PASS = re.compile(r"pass(?![a-z])|--", re.ASCII)
_BETWEEN = re.compile(r"(?:[\s;,._|/>、。→]|-(?!-))*", re.ASCII)


def read_moves(text: str, width: int, height: int, *, from_bottom: bool = False) -> list[int]:
    """Return the points of a row of moves, `PASS` for a pass. Full-width letters and digits are understood.

    Where a colour is said and it is not that side's turn, a pass is between.

    Args:
        text: the moves.
        width, height: of the board.
        from_bottom: whether the row 1 of `h1` is the lowest; `7,0` is in the highest row in any case.

    Raises:
        PositionError: naming the first piece that is no move or is off the board.
    """
    text = unicodedata.normalize("NFKC", text[:MAX_TEXT]).lower().strip() if len(text) <= MAX_TEXT else ""
    if not text:
        raise PositionError("no moves, or too long a text for moves")
    address = _ADDRESS.fullmatch(text)
    if address is not None:
        text, from_bottom = address[1].strip("/"), True
    points: list[int] = []
    at = 0
    while at < len(text):
        number = _NUMBER.match(text, at)
        at = at if number is None else number.end()
        colour = _COLOUR.match(text, at)
        if colour is not None:
            at = colour.end()
            if "bw".index(colour[1][0]) != len(points) % 2:
                points.append(PASS)
        lettered = _LETTERED.match(text, at)
        numbered = None if lettered else _NUMBERED.match(text, at)
        passed = None if lettered or numbered else _PASS.match(text, at)
        found = lettered or numbered or passed
        if found is None:
            said = f"{_piece(text, at)} is not a move; write it as h8 or 7,7"
            raise PositionError(said, code="not_a_move", text=_piece(text, at))
        try:
            if lettered is not None:
                row = int(lettered[2])
                y = height - row if from_bottom else row - 1
                points.append(point_of(ord(lettered[1]) - ord("a"), y, width, height))
            elif numbered is not None:
                points.append(point_of(int(numbered[1]), int(numbered[2]), width, height))
            else:
                points.append(PASS)
        except ValueError:
            said = f"{found[0]} is off the {width}x{height} board"
            raise PositionError(said, code="move_off", n=len(points) + 1) from None
        between = _BETWEEN.match(text, found.end())
        at = found.end() if between is None else between.end()
    return points


def begins_with_move(text: str) -> bool:
    """Return whether a text begins as moves do, whatever follows."""
    start = unicodedata.normalize("NFKC", text.lstrip()[:80]).lower()
    patterns = (_ADDRESS, _NUMBER, _COLOUR, _LETTERED, _NUMBERED, _PASS)
    return any(pattern.match(start) for pattern in patterns)


def read_pasted(text: str, rule: int, width: int, height: int, *, from_bottom: bool = False) -> GameTree:
    """Read a row of moves as a game and check every move; see `read_moves`.

    Raises:
        PositionError: a piece is no move, or a move cannot be played.
    """
    points = read_moves(text, width, height, from_bottom=from_bottom)
    builder = TreeBuilder(width, height, rule)
    for point in points:
        if point == PASS:
            builder.skip()
        else:
            builder.play(*xy(point, width))
    return builder.finish()


def _piece(text: str, at: int) -> str:
    piece = re.match(r"\S{1,20}|.{1,20}", text[at:])
    return repr(piece[0] if piece is not None else text[at : at + 20])

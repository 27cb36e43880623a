"""Piskvork's .psq records, read and written.

A record does not say which rule was played: a header with the size, then `x,y,ms` a move from 1, black first,
then the names of both players and a code of the result, as Piskvork writes it
(https://github.com/plastovicka/Piskvork). Other programs write the header in lower case, put blank lines
before it, or write the moves alone. No code means a resignation or an agreed draw; Tengen writes these
between names and code, where Piskvork reads nothing, in the words of SGF: `W+R`, `Draw`.
"""

from __future__ import annotations

import re

from engine.errors import PositionError
from engine.games.record import NO_LEGAL_MOVE, UNFINISHED, GameRecord, Note
from engine.games.tree import GameTree, TreeBuilder
from engine.rules._board import EMPTY

_HEADER = re.compile(r"\s*Piskvorky\s+(\d{1,4})\s*x\s*(\d{1,4})(?!\d)", re.ASCII | re.IGNORECASE)
_MOVE = re.compile(r"(-?\d{1,4})\s*,\s*(-?\d{1,4})\s*(?:,\s*(-?\d{1,12}(?:\.\d{1,9})?))?", re.ASCII)
_MOVES_ALONE = re.compile(
    r"\s*\d{1,2}[^\S\n]*,[^\S\n]*\d{1,2}[^\S\n]*,[^\S\n]*\d{1,12}\s*(?:\n|\Z)", re.ASCII
)
_RESULT = re.compile(r"([BW])\+([RTF])|Draw", re.ASCII)
_REASONS = {"R": "resigned", "T": "time", "F": "crash"}
_CODES = {
    "time": 15, "illegal": -2, "forbidden": -2, NO_LEGAL_MOVE: -2, "crash": -2, "start": -2,
}  # protocol: Piskvork  # fmt: skip
SIZES = (15, 19, 20, 22)
"""Sides of the boards that are taken where a file does not say its size."""


def is_psq(text: str) -> bool:
    """Return whether a text begins as a .psq record does, or with a move `x,y,ms` of one."""
    return _HEADER.match(text) is not None or _MOVES_ALONE.match(text) is not None


def read_psq(text: str, rule: int, width: int = 15, height: int = 15) -> GameTree:
    """Read a record and check every move.

    Args:
        text: for which `is_psq` holds, its lines ended by \\n.
        rule: that was played.
        width, height: of the board where the record does not say; a larger one where moves are beyond it.

    Raises:
        PositionError: an impossible size, or a move that cannot be played; the message names the line.
    """
    lines = text.split("\n")
    header = _HEADER.match(text)
    notes: list[Note] = []
    if header is not None:
        width, height = int(header[1]), int(header[2])
        first = text.count("\n", 0, header.end()) + 1
    else:
        width, height = _size_for(lines, width, height)
        said = f"the file says no size; {width}x{height} is taken"
        notes.append(Note(said, code="size_unsaid", width=width, height=height))
        first = 0
    builder = TreeBuilder(width, height, rule, f"line {max(1, first)}: ")
    builder.notes = notes
    rest: list[str] = []
    for number, line in enumerate(lines[first:], first + 1):
        move = _MOVE.fullmatch(line.strip())
        if move is not None and not rest:
            builder.play(int(move[1]) - 1, int(move[2]) - 1, f"line {number}: ", float(move[3] or 0))
        elif line.strip():
            rest.append(line.strip())
            if len(rest) == 1 and re.match(r"-?\d+\s*,", line.strip()):
                said = f"line {number}: {line.strip()[:30]!r} is no move `x,y,ms`"
                raise PositionError(said, code="line_unread", line=number)
    names = (rest[0], rest[1]) if len(rest) >= 2 else ("black", "white")
    tree = builder.finish(names)
    if tree.record.reason == UNFINISHED:
        _end(tree.record, rest)
    return tree


def _end(record: GameRecord, rest: list[str]) -> None:
    """Take over how a game ended off the board from the lines behind its moves."""
    said = next((found for line in rest[2:-1] if (found := _RESULT.fullmatch(line))), None)
    code = rest[-1] if rest else "0"
    if said is not None and said[1] is None:
        record.reason = "draw"
    elif said is not None:
        record.winner, record.reason = "BW".index(said[1]), _REASONS[said[2]]
    elif code in ("15", "-2"):  # the side to move lost by an incident
        record.winner, record.reason = 1 - len(record.points) % 2, "time" if code == "15" else "crash"


def to_psq(game: GameRecord) -> str:
    """Return the game in Piskvork's format: 1-based `x,y,ms` a move, then names, then a result code.

    Raises:
        PositionError: there is a pass, which the format lacks.
    """
    if not game.alternates:
        said = "a .psq record cannot hold passes or stones set up; save as .sgf"
        raise PositionError(said, code="psq_no_passes")
    rows = [f"Piskvorky {game.width}x{game.height}, 11:11, 0"]
    for point, ms in zip(game.points, game.times_ms, strict=True):
        rows.append(f"{point % game.width + 1},{point // game.width + 1},{ms:.0f}")
    rows += [" ".join(name.split()) or "?" for name in game.names]
    rows += [*_result(game), str(_CODES.get(game.reason, 0))]
    return "\n".join(rows) + "\n"


def _result(game: GameRecord) -> list[str]:
    """Return the line that says how a game ended, where neither the board nor the code does."""
    if game.reason == "draw" and len(game.points) < game.width * game.height:
        return ["Draw"]
    to_move_lost = game.winner == 1 - len(game.points) % 2
    if not game.incident or game.winner == EMPTY or (to_move_lost and game.reason != "resigned"):
        return []
    letter = {"resigned": "R", "time": "T"}.get(game.reason, "F")
    return [f"{'BW'[game.winner]}+{letter}"]


def _size_for(lines: list[str], width: int, height: int) -> tuple[int, int]:
    """Return this size, or the smallest usual one that holds all moves."""
    moves = [move for line in lines if (move := _MOVE.fullmatch(line.strip())) is not None]
    return fitting_size(max(int(m[1]) for m in moves), max(int(m[2]) for m in moves), width, height)


def fitting_size(columns: int, rows: int, width: int, height: int) -> tuple[int, int]:
    """Return this width and height if they hold so many columns and rows, else the smallest usual square."""
    if columns <= width and rows <= height:
        return width, height
    side = next((side for side in SIZES if columns <= side and rows <= side), SIZES[-1])
    return side, side

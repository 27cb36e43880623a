"""A game as a list of moves, and the checks that every reader of games shares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.errors import PositionError
from engine.rules._board import EMPTY, Board
from engine.rules.geometry import format_move, point_of
from engine.rules.rule import rule_name

UNFINISHED = "unfinished"
"""Reason of a game that has not ended."""
NO_LEGAL_MOVE = "no legal move"
"""Reason of a game whose loser had none left: under renju and Omok every free point can be forbidden."""
PASS = -1
"""Point of a pass."""
COLOURS = ("black", "white")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Note(str):
    """A line about what a reader guessed or left out; `code` and `values` as of `PositionError`."""

    __slots__ = ("code", "values")
    code: str
    values: dict[str, object]

    def __new__(cls, text: str, /, *, code: str = "", **values: object) -> Note:
        """Return the line."""
        note = super().__new__(cls, text)
        note.code, note.values = code, values
        return note


@dataclass(slots=True)
class GameRecord:
    """A game, finished or not.

    Attributes:
        opening_stones: how many of the first moves were given, not chosen by the players.
        names: of black and white.
        points: moves in playing order, opening included, black first; `PASS` for none.
        times_ms: one a move; 0 for the opening.
        winner: 0 black, 1 white, 2 neither.
        reason: "five", "draw", "unfinished", `NO_LEGAL_MOVE`, or the loser's incident: "time", "illegal",
            "forbidden", "crash", "start", "resigned".
        text: what exactly went wrong, else empty.
        notes: what a reader had to guess or left out, a line each; no part of the game.
    """

    width: int
    height: int
    rule: int
    opening_stones: int
    names: tuple[str, str]
    points: list[int] = field(default_factory=list)
    times_ms: list[float] = field(default_factory=list)
    winner: int = EMPTY
    reason: str = "draw"
    text: str = ""
    notes: list[Note] = field(default_factory=list, compare=False)

    @property
    def incident(self) -> bool:
        """Whether the game was lost by a failure instead of on the board."""
        return self.reason not in ("five", "draw", UNFINISHED, NO_LEGAL_MOVE)

    @property
    def stones(self) -> list[tuple[int, int]]:
        """(point, colour) of every stone, oldest first."""
        return stones_of(self.points)

    @property
    def alternates(self) -> bool:
        """Whether black and white put a stone in turn, without a pass."""
        return PASS not in self.points

    def board(self) -> Board:
        """Return the last position.

        Raises:
            ValueError: a size, rule or point that does not exist.
        """
        board = Board.from_stones(self.width, self.height, int(self.rule), self.stones)
        board.set_to_move(len(self.points) % 2)
        return board


def plain_text(text: str) -> str:
    """Return a text without control characters, which a terminal could obey; lines and tabs stay."""
    return _CONTROLS.sub(" ", text)


def stones_of(points: Sequence[int]) -> list[tuple[int, int]]:
    """Return (point, colour) of the stones among moves, black first."""
    return [(point, ply % 2) for ply, point in enumerate(points) if point != PASS]


def move_name(point: int, width: int, height: int | None = None) -> str:
    """Return a move as `format_move` writes it, such as `h8`, or `pass`.

    Args:
        point: of the move, or PASS.
        width: of the board, cells.
        height: of the board, to number its rows from the bottom; None: from the top.
    """
    return "pass" if point == PASS else format_move(point, width, height)


def playable_point(board: Board, x: int, y: int, who: str) -> int:
    """Return the point of a recorded move of the side to move.

    Raises:
        PositionError: it cannot be played; the message begins with `who`.
    """
    try:
        point = point_of(x, y, board.width, board.height)
    except ValueError as error:
        raise PositionError(f"{who}: {error}", code="move_off") from error
    where = format_move(point, board.width)
    if board.winner != EMPTY:
        said = f"{who} at {where}: {COLOURS[board.winner]} has already won"
        raise PositionError(said, code="move_after_end")
    if board.cell(point) != EMPTY:
        raise PositionError(f"{who}: {where} is taken", code="move_taken", point=where)
    if board.is_forbidden(point, board.to_move):
        raise PositionError(
            f"{who}: {where} is forbidden to {COLOURS[board.to_move]} under {rule_name(board.rule)}",
            code="move_forbidden", point=where, rule=board.rule,
        )  # fmt: skip
    return point

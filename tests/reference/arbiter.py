"""The naive rules as the arbiter of a refereed game."""

from __future__ import annotations

from tests.reference.rules import COLOURS, NaiveBoard


class NaiveArbiter:
    """A board of `tests.reference.rules` with the interface of `arena.position.Arbiter`."""

    def __init__(self, width: int, height: int, rule: int) -> None:
        self._board = NaiveBoard(width, height, rule)

    @property
    def winner(self) -> int:
        return self._board.winner

    def place(self, point: int) -> None:
        self._board.place(point, COLOURS[len(self._board.history) % 2])

    def undo(self) -> None:
        self._board.undo()

    def is_forbidden(self, point: int, colour: int) -> bool:
        return self._board.is_forbidden(point, colour)

    def wins(self, point: int, colour: int) -> bool:
        self._board.place(point, COLOURS[colour])
        won = self._board.winner == colour
        self._board.undo()
        return won

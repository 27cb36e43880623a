"""The position of a game as the referee and players inside of this program see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from engine.rules._board import EMPTY, Board


class Arbiter(Protocol):
    """A board that knows one rule; black (0) and white (1) alternate, black first.

    The rules kernel is one; tests bring an independent one.
    """

    @property
    def winner(self) -> int:
        """0 if black has won, 1 if white has, else 2."""

    def place(self, point: int, /) -> None:
        """Put a stone of the side to move on an empty point."""

    def undo(self) -> None:
        """Remove the last stone; its colour is to move. There must be one."""

    def is_forbidden(self, point: int, colour: int, /) -> bool:
        """Return whether a colour may not play on an empty point."""

    def wins(self, point: int, colour: int, /) -> bool:
        """Return whether a stone of a colour on an empty point wins."""


class KernelArbiter:
    """The rules kernel as arbiter."""

    def __init__(self, width: int, height: int, rule: int) -> None:
        self._board = Board(width, height, rule)

    @property
    def winner(self) -> int:
        """0 if black has won, 1 if white has, else 2."""
        return self._board.winner

    def place(self, point: int) -> None:
        """Put a stone of the side to move on an empty point."""
        self._board.place(point)

    def undo(self) -> None:
        """Remove the last stone; its colour is to move. There must be one."""
        self._board.undo()

    def is_forbidden(self, point: int, colour: int) -> bool:
        """Return whether a colour may not play on an empty point."""
        return self._board.is_forbidden(point, colour)

    def wins(self, point: int, colour: int) -> bool:
        """Return whether a stone of a colour on an empty point wins."""
        return point in self._board.five_points(colour)


ArbiterFactory = Callable[[int, int, int], Arbiter]
"""(width, height, rule) -> an empty board."""


class Position:
    """Stones in playing order on a board; a point is `y * width + x`."""

    def __init__(
        self, width: int, height: int, rule: int, points: Sequence[int] = (),
        arbiter: ArbiterFactory = KernelArbiter,
    ) -> None:  # fmt: skip
        """Put `points` on an empty board, alternately, black first."""
        self.width, self.height, self.rule = width, height, rule
        self.points: list[int] = []
        self._cells = bytearray([EMPTY]) * (width * height)
        self._arbiter = arbiter(width, height, rule)
        for point in points:
            self.play(point)

    @property
    def to_move(self) -> int:
        """Colour of the side to move."""
        return len(self.points) % 2

    @property
    def winner(self) -> int:
        """0 if black has won, 1 if white has, else 2."""
        return self._arbiter.winner

    @property
    def over(self) -> bool:
        """Whether a side has won."""
        return self.winner != EMPTY

    def stones(self) -> list[tuple[int, int]]:
        """Return (point, colour) in playing order."""
        return [(point, ply % 2) for ply, point in enumerate(self.points)]

    def is_empty(self, point: int) -> bool:
        """Return whether a point is on the board and free."""
        return 0 <= point < len(self._cells) and self._cells[point] == EMPTY

    def is_forbidden(self, point: int) -> bool:
        """Return whether the side to move may not use this empty point."""
        return self._arbiter.is_forbidden(point, self.to_move)

    def is_legal(self, point: int) -> bool:
        """Return whether the side to move may play on a point."""
        return self.is_empty(point) and not self.is_forbidden(point)

    def wins(self, point: int, colour: int) -> bool:
        """Return whether a stone of a colour on an empty point wins."""
        return self._arbiter.wins(point, colour)

    def play(self, point: int) -> None:
        """Put a stone of the side to move on an empty point."""
        self._arbiter.place(point)
        self._cells[point] = self.to_move
        self.points.append(point)

    def undo(self) -> None:
        """Remove the last stone; its colour is to move. There must be one."""
        self._arbiter.undo()
        self._cells[self.points.pop()] = EMPTY

    def empty_points(self) -> list[int]:
        """Return the free points, ascending."""
        return [point for point, cell in enumerate(self._cells) if cell == EMPTY]

    def legal_points(self) -> list[int]:
        """Return the points that the side to move may use, ascending."""
        return [point for point in self.empty_points() if not self.is_forbidden(point)]

    def has_legal_point(self) -> bool:
        """Return whether the side to move may use any point."""
        return any(not self.is_forbidden(point) for point in self.empty_points())

    def near_points(self, distance: int) -> list[int]:
        """Return the free points within `distance` columns and rows of a stone, ascending."""
        near: set[int] = set()
        for stone in self.points:
            x, y = stone % self.width, stone // self.width
            columns = range(max(0, x - distance), min(self.width, x + distance + 1))
            rows = range(max(0, y - distance), min(self.height, y + distance + 1))
            near.update(row * self.width + column for row in rows for column in columns)
        return sorted(point for point in near if self.is_empty(point))

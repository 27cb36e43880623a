"""A position by the naive rules of `tests.reference`, spoken in cells as in the protocol."""

from __future__ import annotations

import random
from collections.abc import Sequence

import arena.position
from arena import openings
from arena.players import TacticalPlayer
from tests.reference import rules

Cell = tuple[int, int]
"""Column and row, 0-based from the top left."""


class Position:
    """A game position on a square board; black moves first, colours are 0 and 1."""

    def __init__(self, size: int, rule: int) -> None:
        self.size, self.rule = size, rule
        self.moves: list[Cell] = []
        self._board = rules.NaiveBoard(size, size, rule)

    @property
    def to_move(self) -> int:
        return len(self.moves) % 2

    @property
    def points(self) -> int:
        return self.size * self.size

    def _point(self, cell: Cell) -> int:
        return cell[1] * self.size + cell[0]

    def inside(self, cell: Cell) -> bool:
        return 0 <= cell[0] < self.size and 0 <= cell[1] < self.size

    def is_empty(self, cell: Cell) -> bool:
        return self.inside(cell) and self._board.cells[self._point(cell)] == "."

    def is_foul(self, cell: Cell) -> bool:
        """Return whether the side to move may not use this empty cell."""
        return self._board.is_forbidden(self._point(cell), self.to_move)

    def is_legal(self, cell: Cell) -> bool:
        return self.is_empty(cell) and not self.is_foul(cell)

    def wins(self, cell: Cell, colour: int) -> bool:
        """Return whether a stone of this colour on the empty cell wins."""
        self._board.place(self._point(cell), rules.COLOURS[colour])
        won = self._board.winner == colour
        self._board.undo()
        return won

    @property
    def over(self) -> bool:
        return self._board.winner != rules.NOBODY

    def play(self, cell: Cell) -> None:
        """Put a stone of the side to move on an empty cell."""
        self._board.place(self._point(cell), rules.COLOURS[self.to_move])
        self.moves.append(cell)

    def undo(self) -> None:
        self._board.undo()
        self.moves.pop()

    def empty_cells(self) -> list[Cell]:
        return [(p % self.size, p // self.size) for p, c in enumerate(self._board.cells) if c == "."]

    def near_cells(self, distance: int) -> list[Cell]:
        """Return the empty cells within `distance` of a stone, row by row."""
        near: set[Cell] = set()
        for x, y in self.moves:
            reach = range(-distance, distance + 1)
            near.update((x + dx, y + dy) for dx in reach for dy in reach)
        return sorted((c for c in near if self.is_empty(c)), key=lambda c: (c[1], c[0]))


def position_after(size: int, rule: int, moves: Sequence[Cell]) -> Position:
    """Return the position after these moves."""
    position = Position(size, rule)
    for cell in moves:
        position.play(cell)
    return position


def random_opening(size: int, rule: int, seed: int) -> Position:
    """Return the position after a few random stones near the centre."""
    rng = random.Random(seed)
    points = openings.random_opening(rng, size, size, rule, rng.randrange(6))
    return position_after(size, rule, [(p % size, p // size) for p in points])


def tactical_move(player: TacticalPlayer, position: Position) -> Cell:
    """Return the move of a player of the arena."""
    size = position.size
    points = [y * size + x for x, y in position.moves]
    point = player.move(arena.position.Position(size, size, position.rule, points))
    return point % size, point // size

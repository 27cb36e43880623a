"""Moves that a person does not want to see, as Yixin-Board's `block` and `blockpath` say."""

from __future__ import annotations

from collections.abc import Iterable

from protocol.commands import Block, BlockReset
from protocol.notation import Notation


class Blocked:
    """Points that may not be played, everywhere or in one position. They outlive a game."""

    def __init__(self) -> None:
        self._names: Notation | None = None
        self._points: set[int] = set()
        self._paths: set[tuple[frozenset[int], int]] = set()

    def change(self, command: Block, names: Notation) -> None:
        """Block points or give them back; those off the board are left out."""
        if names != self._names:  # another board
            self._points.clear()
            self._paths.clear()
            self._names = names
        points = [point for point in (names.point(a, b) for a, b in command.stones) if point is not None]
        if command.path:
            if points and len(points) == len(command.stones):
                path = (frozenset(points[:-1]), points[-1])
                (self._paths.discard if command.undo else self._paths.add)(path)
        elif command.undo:
            self._points.difference_update(points)
        else:
            self._points.update(points)

    def reset(self, command: BlockReset) -> None:
        """Give all points back."""
        (self._paths if command.path else self._points).clear()

    def at(self, names: Notation, stones: Iterable[int]) -> frozenset[int]:
        """Return the points that may not be played where stones stand on these points."""
        if names != self._names:
            return frozenset()
        here = frozenset(stones)
        return frozenset(self._points | {last for before, last in self._paths if before == here})

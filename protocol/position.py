"""The position of the conversation: a list of stones, without a search.

It changes at once when a command is read, also while the engine still thinks about an older position; the
search thread takes a copy along and brings the engine up to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine import Board, Rule
from engine.fallback import fallback_point
from engine.position import Stones, board_of, without
from engine.rules._board import BLACK, EMPTY, OBSTACLE, WHITE

if TYPE_CHECKING:
    from protocol.format import Notation

OWN, OPPONENT, DEAD = 1, 2, 3
"""Third field of a BOARD line (protocol)."""
Pairs = tuple[tuple[int, int], ...]
"""Coordinates of stones as sent, in playing order, black first."""


@dataclass(frozen=True, slots=True)
class Stone:
    """A line of a BOARD block; `owner` is OWN, OPPONENT or DEAD, or None where it could not be read."""

    a: int
    b: int
    owner: int | None


@dataclass(slots=True)
class Position:
    """A board and its stones.

    Attributes:
        width, height: cells.
        stones: see `engine.position.Stones`; a new tuple after each change, so that a query keeps its own.
        to_move: 0 or 1.
    """

    width: int
    height: int
    stones: Stones = ()
    to_move: int = BLACK

    def is_empty(self, point: int) -> bool:
        """Return whether a point of the board is free."""
        return all(taken != point for taken, _ in self.stones)

    def is_full(self) -> bool:
        """Return whether no cell is free."""
        return len(self.stones) >= self.width * self.height

    def place(self, point: int) -> None:
        """Put a stone of the side to move on a free point."""
        self.stones = (*self.stones, (point, self.to_move))
        self.to_move = 1 - self.to_move

    def take_back(self, point: int) -> None:
        """Remove a stone; its colour is to move next."""
        self.stones, self.to_move = without(self.stones, self.to_move, point)

    def clear(self) -> None:
        """Empty the board, black to move."""
        self.stones, self.to_move = (), BLACK

    def board(self, rule: Rule) -> Board:
        """Return a board of the rules kernel in this position."""
        return board_of(self.width, self.height, rule, self.stones, self.to_move)

    def fallback(self, rule: Rule) -> int | None:
        """Return a legal point without any search, None on a full board."""
        return fallback_point(self.board(rule))

    def mark_five_dead(self, rule: Rule) -> None:
        """In a continuous game: if the last stone has won, make the stones of its line dead (code 3)."""
        if not self.stones or self.board(rule).winner == EMPTY:
            return
        point, colour = self.stones[-1]
        cells = dict(self.stones)
        dead: set[int] = set()
        for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
            line = [point]
            for sign in (1, -1):
                x, y = point % self.width + sign * dx, point // self.width + sign * dy
                while 0 <= x < self.width and cells.get(y * self.width + x) == colour:
                    line.append(y * self.width + x)
                    x, y = x + sign * dx, y + sign * dy
            if len(line) >= 5:
                dead.update(line)
        self.stones = tuple((at, OBSTACLE if at in dead else of) for at, of in self.stones)


class BlockedPoints:
    """Points that may not be played, everywhere or in one position, as Yixin-Board's `block` and `blockpath`
    say. They outlive a game."""

    def __init__(self) -> None:
        self._names: Notation | None = None
        self._points: set[int] = set()
        self._paths: set[tuple[frozenset[int], int]] = set()

    def change(self, names: Notation, stones: Pairs, *, path: bool, undo: bool) -> None:
        """Block points or free them; those off the board are left out.

        Args:
            names: what the manager calls a point; of another board than before, it frees all points.
            stones: each of them, or a line.
            path: only the last of the line, where the stones before it are on the board.
            undo: free them.
        """
        if names != self._names:
            self._points.clear()
            self._paths.clear()
            self._names = names
        points = [point for point in (names.point(a, b) for a, b in stones) if point is not None]
        if path:
            if points and len(points) == len(stones):
                line = (frozenset(points[:-1]), points[-1])
                (self._paths.discard if undo else self._paths.add)(line)
        elif undo:
            self._points.difference_update(points)
        else:
            self._points.update(points)

    def clear(self, *, path: bool) -> None:
        """Free all points."""
        (self._paths if path else self._points).clear()

    def at(self, names: Notation, stones: Iterable[int]) -> frozenset[int]:
        """Return the points that may not be played after stones on these points."""
        if names != self._names:
            return frozenset()
        here = frozenset(stones)
        return frozenset(self._points | {last for before, last in self._paths if before == here})


class BoardError(ValueError):
    """The lines of a BOARD block describe no position."""


def position_from(names: Notation, lines: Iterable[Stone], fault: str | None = None) -> Position:
    """Return the position that the lines of a BOARD block describe, the receiver to move.

    Colours are relative. With as many stones as the opponent, or one less, it is clear who is black; other
    counts occur (passes, dead stones, hand-made positions) and then the first listed stone counts as black's.
    Faulty lines are survivable while what remains is still a possible game: an owner that cannot be read
    makes a cell that neither side can use; a cell off the board or listed twice is left out.

    Args:
        names: what the manager calls a point.
        lines: of the block that could be read.
        fault: what is wrong with the first line that could not.

    Raises:
        BoardError: a line was faulty and what remains is no possible game.
    """
    seen: dict[int, int | None] = {}
    for line in lines:
        point = names.point(line.a, line.b)
        if point is None:
            fault = fault or f"{line.a},{line.b} is off the board"
        elif point not in seen:
            seen[point] = line.owner
        elif seen[point] != line.owner:
            fault = fault or f"{line.a},{line.b} is listed twice"
    owners = [owner for owner in seen.values() if owner is not None and owner != DEAD]
    surplus = len(owners) - 2 * owners.count(OWN)
    if surplus in (0, 1):
        me = BLACK if surplus == 0 else WHITE
    elif fault is not None:
        raise BoardError(fault)
    else:
        me = BLACK if owners[0] == OWN else WHITE
    colours = {OWN: me, OPPONENT: 1 - me, DEAD: OBSTACLE, None: OBSTACLE}
    stones = tuple((point, colours[owner]) for point, owner in seen.items())
    return Position(names.width, names.height, stones, me)

"""The position as the manager and the brain agree on it: a list of stones, nothing that thinks.

It changes at once when a command is read, also while the engine still thinks about an older position; the
search thread takes a copy along and brings the engine up to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine import Board, Rule
from engine.fallback import fallback_point
from engine.position import Stones, board_of, without
from engine.rules._board import BLACK, EMPTY, OBSTACLE, WHITE
from protocol.commands import DEAD, OWN, Stone
from protocol.notation import Notation


@dataclass(slots=True)
class Position:
    """A board and its stones.

    Attributes:
        width, height: cells.
        stones: see `engine.position.Stones`; a new tuple after each change, so that a question keeps its own.
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

    def bury_five(self, rule: Rule) -> None:
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


class BoardFault(ValueError):
    """The lines of a BOARD block describe no position."""


def from_board(names: Notation, lines: Iterable[Stone], fault: str | None = None) -> Position:
    """Return the position that the lines of a BOARD block describe, the receiver to move.

    Colours are relative. With as many stones as the opponent, or one less, it is clear who is black; other
    counts occur (passes, dead stones, hand-made positions) and then the first listed stone counts as black's.
    Faulty lines are survivable while what remains is still a possible game: an owner that cannot be read
    makes a cell that nobody uses; a cell off the board or listed twice is left out.

    Raises:
        BoardFault: a line was faulty and what remains is no possible game.
    """
    stones: list[tuple[int, int]] = []
    seen: dict[int, int | None] = {}
    for line in lines:
        point = names.point(line.a, line.b)
        if point is None:
            fault = fault or f"{line.a},{line.b} is off the board"
        elif point in seen:
            if seen[point] != line.owner:
                fault = fault or f"{line.a},{line.b} is listed twice"
        else:
            seen[point] = line.owner
    owners = [owner for owner in seen.values() if owner is not None and owner != DEAD]
    own = owners.count(OWN)
    surplus = len(owners) - 2 * own
    if surplus in (0, 1):
        me = BLACK if surplus == 0 else WHITE
    elif fault is not None:
        raise BoardFault(fault)
    else:
        me = BLACK if owners[0] == OWN else WHITE
    for point, owner in seen.items():
        colour = OBSTACLE if owner is None or owner == DEAD else me if owner == OWN else 1 - me
        stones.append((point, colour))
    return Position(names.width, names.height, tuple(stones), me)

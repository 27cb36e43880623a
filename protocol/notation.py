"""What a manager calls a cell: the pair of numbers in its commands, and the name that it shows to a person.

The one place that knows either. A cell is a point inside of the brain, index y * width + x from the top left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

RowsFrom = Literal["top", "bottom"]
"""Side of the board that has row 1 in the name of a cell: `top` as Rapfi writes lines of moves and as clients
read them, `bottom` as the labels of Yixin-Board's board and as players of renju count (protocol)."""


@dataclass(frozen=True, slots=True)
class Notation:
    """The names of the cells of a board of `width` x `height`.

    Attributes:
        width, height: cells.
        rows_first: whether the manager writes a pair as row,column (Yixin) instead of column,row.
        rows_from: side of row 1 in the name of a cell.
    """

    width: int
    height: int
    rows_first: bool = False
    rows_from: RowsFrom = "top"

    def point(self, a: int, b: int) -> int | None:
        """Return the point that the manager calls a,b, or None off the board."""
        x, y = (b, a) if self.rows_first else (a, b)
        return y * self.width + x if 0 <= x < self.width and 0 <= y < self.height else None

    def pair(self, point: int) -> tuple[int, int]:
        """Return what the manager calls a point in a command or an answer."""
        x, y = point % self.width, point // self.width
        return (y, x) if self.rows_first else (x, y)

    def name(self, point: int) -> str:
        """Return what a person sees a point called, as `h8`."""
        x, y = point % self.width, point // self.width
        row = self.height - y if self.rows_from == "bottom" else y + 1
        return f"{chr(ord('a') + x)}{row}"

    def names(self, points: Iterable[int]) -> str:
        """Return the names of points with blanks between them."""
        return " ".join(self.name(point) for point in points)


def notation(dialect: str, width: int, height: int, rows_from: RowsFrom | None = None) -> Notation:
    """Return the names of cells as the managers of a dialect have them.

    Args:
        dialect: `gomocup` or `yixin`.
        width, height: of the board.
        rows_from: side of row 1 in names; None: bottom for `yixin`, else top.
    """
    yixin = dialect == "yixin"
    return Notation(width, height, rows_first=yixin, rows_from=rows_from or ("bottom" if yixin else "top"))

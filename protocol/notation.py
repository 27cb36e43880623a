"""What a manager calls a cell: the pair of numbers in its commands, and the name that it shows to a person.

The one place that knows either. A cell is a point inside of the brain, index y * width + x from the top left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Style = Literal["pairs", "letters", "letters-from-below"]
"""How a cell is shown: `pairs` is column and row from 0, as in commands and as Piskvork and qpiskvork count;
`letters` is letter and number with row 1 at the top; `letters-from-below` has row 1 at the bottom, as the
labels beside Yixin-Board's board, and as players of renju count (protocol)."""
RowsFrom = Literal["top", "bottom"]


@dataclass(frozen=True, slots=True)
class Notation:
    """The names of the cells of a board of `width` x `height`.

    Attributes:
        width, height: cells.
        rows_first: whether the manager writes a pair as row,column (Yixin) instead of column,row.
        style: how a person sees a cell named.
    """

    width: int
    height: int
    rows_first: bool = False
    style: Style = "letters"

    def point(self, a: int, b: int) -> int | None:
        """Return the point that the manager calls a,b, or None off the board."""
        x, y = (b, a) if self.rows_first else (a, b)
        return y * self.width + x if 0 <= x < self.width and 0 <= y < self.height else None

    def pair(self, point: int) -> tuple[int, int]:
        """Return what the manager calls a point in a command or an answer."""
        x, y = point % self.width, point // self.width
        return (y, x) if self.rows_first else (x, y)

    def name(self, point: int) -> str:
        """Return what a person sees a point called, as `h8` or `7,7`."""
        x, y = point % self.width, point // self.width
        if self.style == "pairs":
            return f"{x},{y}"
        row = self.height - y if self.style == "letters-from-below" else y + 1
        return f"{chr(ord('a') + x)}{row}"

    def names(self, points: Iterable[int]) -> str:
        """Return the names of points with blanks between them."""
        return " ".join(self.name(point) for point in points)


def notation(dialect: str, width: int, height: int, rows_from: RowsFrom | None = None) -> Notation:
    """Return the names of cells as the managers of a dialect have them.

    Args:
        dialect: `gomocup` or `yixin`.
        width, height: of the board.
        rows_from: letters, and this side has row 1; None: as the manager shows them.
    """
    yixin = dialect == "yixin"
    style: Style = "letters-from-below" if yixin or rows_from == "bottom" else "pairs"
    return Notation(width, height, rows_first=yixin, style="letters" if rows_from == "top" else style)

"""Interface of the rules kernel."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

BLACK: int
WHITE: int
EMPTY: int
OBSTACLE: int
MIN_SIDE: int
MAX_SIDE: int
SHAPE_FIVE: int
SHAPE_OPEN_FOUR: int
SHAPE_DOUBLE_FOUR: int
SHAPE_FOUR: int
SHAPE_OPEN_THREE: int
SHAPE_FORK: int

def use_vectors(on: bool) -> bool:
    """Set whether placements use AVX2 or NEON, if the processor has it; return the old value. For tests."""

class Board:
    """A position: stones, side to move, incremental line tables, undo stack.

    A point is `y * width + x`; a colour is 0 (black) or 1 (white).
    """

    def __init__(self, width: int = 15, height: int | None = None, rule: int = 0) -> None:
        """Create an empty board, black to move.

        Args:
            width, height: 5 to 22 cells; height defaults to width.
            rule: a value of `engine.rules.rule.Rule`.

        Raises:
            ValueError: size or rule out of range.
            MemoryError: no memory for a board.
        """

    @property
    def width(self) -> int:
        """Columns."""
    @property
    def height(self) -> int:
        """Rows."""
    @property
    def points(self) -> int:
        """Number of cells, width * height."""
    @property
    def rule(self) -> int:
        """A value of `engine.rules.rule.Rule`."""
    @property
    def ply(self) -> int:
        """Placements so far, obstacles included."""
    @property
    def n_empty(self) -> int:
        """Empty cells."""
    @property
    def to_move(self) -> int:
        """Side to move, 0 or 1."""
    @property
    def winner(self) -> int:
        """0 or 1 once a colour has made a winning line, else 2 (EMPTY)."""
    @property
    def hash(self) -> int:
        """64-bit Zobrist hash of stones, side to move, size and rule."""
    def place(self, point: int, colour: int | None = None) -> None:
        """Put a stone; `colour` defaults to the side to move.

        A forbidden point is accepted (the referee decides what it costs).

        Raises:
            ValueError: point off the board or taken, colour unknown.
        """
    def block(self, point: int) -> None:
        """Make an empty cell an obstacle that neither side can use. The side to move stays.

        Raises:
            ValueError: point off the board or taken.
        """
    def undo(self) -> None:
        """Undo the last placement.

        Raises:
            ValueError: the board is empty.
        """
    def set_to_move(self, colour: int) -> None:
        """Set the side to move, as after a pass.

        Raises:
            ValueError: colour unknown.
        """
    def cell(self, point: int) -> int:
        """Return 0, 1, 2 (empty) or 3 (obstacle)."""
    def cells(self) -> npt.NDArray[np.uint8]:
        """Return a copy of all cells, shape (height, width)."""
    def stones(self) -> list[tuple[int, int]]:
        """Return (point, colour) of every placement, oldest first; obstacles have colour 3."""
    def shape(self, point: int, colour: int) -> int:
        """Return the SHAPE_* bits of what a stone there would make; 0 on a taken point."""
    def shapes(self, colour: int) -> npt.NDArray[np.uint8]:
        """Return the SHAPE_* bits of every point, shape (height, width)."""
    def line_masks(self, point: int, direction: int, colour: int) -> dict[str, bool]:
        """Return what a stone there would make in one direction.

        Directions: 0 row, 1 column, 2 diagonal, 3 anti-diagonal. Keys: five, four, double_four, open_four,
        open_three.
        """
    def five_points(self, colour: int) -> list[int]:
        """Return the points where a colour wins at once, ascending."""
    def is_forbidden(self, point: int, colour: int | None = None) -> bool:
        """Return whether a colour may not play on a point; False on taken points and where it makes five.

        Args:
            colour: None: the side to move, or the other one if only that has forbidden moves.
        """
    def forbidden_points(self, colour: int | None = None) -> list[int]:
        """Return all points that are forbidden to a colour, ascending; see `is_forbidden`."""
    def legal_points(self) -> list[int]:
        """Return empty points that the side to move may use, ascending; none once a side has won."""
    def copy(self) -> Board:
        """Return an independent copy, undo stack included."""
    @staticmethod
    def from_stones(
        width: int, height: int, rule: int, stones: Sequence[tuple[int, int]]
    ) -> Board:
        """Create a board and place (point, colour) pairs in order.

        Raises:
            ValueError: as in the constructor and `place`.
        """

def place_undo_loop(board: Board, pairs: int, seed: int) -> int:
    """Place and undo random stones `pairs` times in the kernel, to measure speed; return a checksum."""

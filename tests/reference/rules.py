"""Naive twin of the rules kernel: put the stone down and look.

A line (row, column or diagonal) is a string: `X` black, `O` white, `.` empty, `#` an obstacle. Cells
beyond its ends read as `#` too, since the edge and an obstacle act alike: neither is a stone of anybody.
All shapes are those of one empty cell p, one colour and one direction, and speak of the line after a
stone of that colour has been put on p. The *run* of a cell is the longest unbroken row of its colour
through it, L its length, e1 and e2 the cells at its two ends.

five            The stone wins: freestyle L >= 5; standard L = 5; renju L = 5 for black and L >= 5 for
                white; caro L >= 6, or L = 5 unless e1 and e2 are both stones of the opponent; standard
                caro L = 5 unless e1 and e2 are both stones of the opponent; Omok L = 5.
completion      An empty cell q of the line where a second stone would win with a run that holds both q and p.
four            p is no five and has at least one completion.
double four     p is no five and has at least two completions (on this line).
straight four   p is no five, its run is exactly four long, e1 and e2 are empty, and an opponent's stone
                on either of them leaves the other a winning cell. That rules out: under exactly-five rules
                a stone of the same colour behind e1 or e2 (an overline); under caro a stone of the
                opponent behind one of them (a reply on the far end would block that five at both ends).
                Also called open four.
open three      p is no five and no four, but there is an empty cell q where a second stone would make a
                straight four whose run holds both q and p.

A point is a *fork* for a colour if it is a four or an open three in two or more of the four directions.

Forbidden moves: under renju all of these for black (protocol section 5.3), under Omok the double three alone
for both colours:

five            wins whatever else it makes: no foul.
overline        a run of six or more in some direction.
double four     the fours of all directions number two or more. Those of one direction number as many as
                it has completions, except that a straight four counts once.
double three    two or more directions hold a *real* three. An open three through p (now on the board) is
                real if its colour may play at least one of the cells q that turn it into a straight four: a
                stone there must not be forbidden by these same rules, and no five either.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

DIRECTIONS = ((1, 0), (0, 1), (1, 1), (-1, 1))  # row, column, diagonal, anti-diagonal
COLOURS = "XO"
BLACK, WHITE, NOBODY = 0, 1, 2
FORBIDDEN = {
    (4, BLACK): {"overline", "double four", "double three"},
    (16, BLACK): {"double three"},
    (16, WHITE): {"double three"},
}
"""What a rule forbids to a colour."""


class Shape(NamedTuple):
    """What a stone on one cell makes in one direction."""

    five: bool
    four: bool
    double_four: bool
    open_four: bool
    open_three: bool


NOTHING = Shape(False, False, False, False, False)
_NO_FACTS: tuple[bool, int, bool, tuple[int, ...]] = (False, 0, False, ())
# stones of the colour that must stand on the line before
STONES_NEEDED = {"five": 4, "four": 3, "double_four": 3, "open_four": 3, "open_three": 2}


def cell(line: str, i: int) -> str:
    """Return the character at i, `#` beyond the ends."""
    return line[i] if 0 <= i < len(line) else "#"


def put(line: str, i: int, stone: str) -> str:
    """Return the line with another character at i."""
    return line[:i] + stone + line[i + 1 :]


def run(line: str, i: int) -> tuple[int, int]:
    """Return the first and last cell of the run of the stone at i."""
    first, last, stone = i, i + 1, line[i]
    while first > 0 and line[first - 1] == stone:
        first -= 1
    while last < len(line) and line[last] == stone:
        last += 1
    return first, last - 1


def wins(line: str, i: int, rule: int) -> bool:
    """Return whether the stone at i stands in a winning run."""
    first, last = run(line, i)
    length = last - first + 1
    opponent = "O" if line[i] == "X" else "X"
    blocked = cell(line, first - 1) == opponent and cell(line, last + 1) == opponent
    if rule == 0:
        return length >= 5
    if rule in (1, 16):
        return length == 5
    if rule == 4:
        return length == 5 if line[i] == "X" else length >= 5
    if rule == 8:
        return length >= 6 or (length == 5 and not blocked)
    assert rule == 9
    return length == 5 and not blocked


def completions(line: str, p: int, rule: int) -> list[int]:
    """Return the completions of the stone at p, which is no five: none is more than four cells away."""
    found = []
    for q in range(max(0, p - 4), min(len(line), p + 5)):
        if line[q] == ".":
            filled = put(line, q, line[p])
            first, last = run(filled, q)
            if first <= p <= last and wins(filled, q, rule):
                found.append(q)
    return found


def is_straight_four(line: str, p: int, rule: int) -> bool:
    """Return whether the run of the stone at p, which is no five, is a straight four."""
    first, last = run(line, p)
    if last - first + 1 != 4 or cell(line, first - 1) != "." or cell(line, last + 1) != ".":
        return False
    opponent = "O" if line[p] == "X" else "X"
    for reply, other in ((first - 1, last + 1), (last + 1, first - 1)):
        answered = put(put(line, reply, opponent), other, line[p])
        if not wins(answered, other, rule):
            return False
    return True


def straight_four_cells(line: str, p: int, rule: int) -> list[int]:
    """Return the empty cells where a second stone makes a straight four together with the stone at p."""
    found = []
    for q in range(max(0, p - 3), min(len(line), p + 4)):
        if line[q] == ".":
            filled = put(line, q, line[p])
            first, last = run(filled, q)
            if first <= p <= last and not wins(filled, q, rule) and is_straight_four(filled, q, rule):
                found.append(q)
    return found


def shape_of(line: str, i: int, stone: str, rule: int) -> Shape:
    """Return what `stone` on the empty cell i makes on this line."""
    line = put(line, i, stone)
    if wins(line, i, rule):
        return Shape(True, False, False, False, False)
    n = len(completions(line, i, rule))
    straight = is_straight_four(line, i, rule)
    three = n == 0 and bool(straight_four_cells(line, i, rule))
    return Shape(False, n >= 1, n >= 2, straight, three)


@functools.lru_cache(maxsize=1 << 18)
def line_shapes(line: str, stone: str, rule: int) -> tuple[Shape, ...]:
    """Return `shape_of` every cell; NOTHING on taken cells."""
    if stone not in line:
        return (NOTHING,) * len(line)
    return tuple(shape_of(line, i, stone, rule) if c == "." else NOTHING for i, c in enumerate(line))


@functools.lru_cache(maxsize=1 << 18)
def foul_facts(line: str, i: int, stone: str, rule: int) -> tuple[bool, int, bool, tuple[int, ...]]:
    """Return (five, number of fours, overline, cells of the next straight four) of a stone at i.

    Each of them takes at least two more stones, at most four cells away.
    """
    if line.count(stone, max(0, i - 4), i + 5) < 2:
        return _NO_FACTS
    line = put(line, i, stone)
    first, last = run(line, i)
    five = wins(line, i, rule)
    fours = 0 if five else len(completions(line, i, rule))
    if is_straight_four(line, i, rule):
        assert fours == 2
        fours = 1
    threes = () if five or fours else tuple(straight_four_cells(line, i, rule))
    return five, fours, last - first + 1 >= 6, threes


@functools.lru_cache(maxsize=1 << 18)
def cells_with(line: str, stone: str, rule: int, field: str) -> tuple[int, ...]:
    """Return the cells of a line whose `Shape` has a field set."""
    if line.count(stone) < STONES_NEEDED[field]:
        return ()
    if field == "five":
        return tuple(i for i, c in enumerate(line) if c == "." and wins(put(line, i, stone), i, rule))
    return tuple(i for i, shape in enumerate(line_shapes(line, stone, rule)) if getattr(shape, field))


@functools.cache
def lines_of(width: int, height: int) -> tuple[list[tuple[list[int], int]], list[list[tuple[int, int]]]]:
    """Return all lines as (points, direction), and of each point by direction its (line, index)."""

    def inside(x: int, y: int) -> bool:
        return 0 <= x < width and 0 <= y < height

    lines: list[tuple[list[int], int]] = []
    places = [[(-1, -1)] * 4 for _ in range(width * height)]
    for d, (dx, dy) in enumerate(DIRECTIONS):
        for start in range(width * height):
            x, y = start % width, start // width
            if inside(x - dx, y - dy):
                continue
            points: list[int] = []
            while inside(x, y):
                places[y * width + x][d] = (len(lines), len(points))
                points.append(y * width + x)
                x, y = x + dx, y + dy
            lines.append((points, d))
    return lines, places


class NaiveBoard:
    """A position: a character a cell, the same once more as lines, and the list of points played."""

    def __init__(self, width: int, height: int, rule: int, cells: str | None = None) -> None:
        self.width, self.height, self.rule = width, height, rule
        self.cells = ["."] * (width * height)
        self.history: list[tuple[int, int]] = []  # (point, winner before)
        self.winner = NOBODY
        self.deepest = 0  # stones that the last `is_forbidden` had on the board at once, to judge threes
        self.lines, self.place_in_line = lines_of(width, height)
        self.texts = ["." * len(points) for points, _ in self.lines]
        for point, c in enumerate(cells or ""):
            self._set(point, c)

    def place(self, point: int, stone: str) -> None:
        """Put `X`, `O` or `#` on an empty point; remember who won with it."""
        assert self.cells[point] == "."
        self.history.append((point, self.winner))
        self._set(point, stone)
        if stone != "#" and any(wins(*self.line(point, d), self.rule) for d in range(4)):
            self.winner = COLOURS.index(stone)

    def undo(self) -> None:
        """Take the last placement back."""
        point, self.winner = self.history.pop()
        self._set(point, ".")

    def _set(self, point: int, c: str) -> None:
        self.cells[point] = c
        for number, i in self.place_in_line[point]:
            self.texts[number] = put(self.texts[number], i, c)

    def line(self, point: int, direction: int) -> tuple[str, int]:
        """Return the line through a point and the point's index on it."""
        number, i = self.place_in_line[point][direction]
        return self.texts[number], i

    def shapes(self, colour: int) -> list[list[Shape]]:
        """Return the shapes of every point in the four directions."""
        out = [[NOTHING] * 4 for _ in self.cells]
        for number, (points, d) in enumerate(self.lines):
            found = line_shapes(self.texts[number], COLOURS[colour], self.rule)
            for p, shape in zip(points, found, strict=True):
                out[p][d] = shape
        return out

    def points_with(self, colour: int, field: str) -> list[int]:
        """Return the points that have a `Shape` field set in some direction, ascending."""
        found = set()
        for (points, _), text in zip(self.lines, self.texts, strict=True):
            found.update(points[i] for i in cells_with(text, COLOURS[colour], self.rule, field))
        return sorted(found)

    def has(self, point: int, colour: int, field: str) -> bool:
        """Return whether a point has a `Shape` field set in some direction."""
        return any(
            i in cells_with(self.texts[number], COLOURS[colour], self.rule, field)
            for number, i in self.place_in_line[point]
        )

    def is_forbidden(self, point: int, colour: int = BLACK) -> bool:
        """Return whether a colour may not play on a point."""
        self.deepest = 0
        if (self.rule, colour) not in FORBIDDEN or self.cells[point] != ".":
            return False
        return self._fails(point, colour, five_fails=False, depth=0)

    def _fails(self, point: int, colour: int, *, five_fails: bool, depth: int) -> bool:
        self.deepest = max(self.deepest, depth)
        stone, forbidden = COLOURS[colour], FORBIDDEN[self.rule, colour]
        facts = [foul_facts(*self.line(point, d), stone, self.rule) for d in range(4)]
        if any(five for five, _, _, _ in facts):
            return five_fails
        if "overline" in forbidden and any(overline for _, _, overline, _ in facts):
            return True
        if "double four" in forbidden and sum(fours for _, fours, _, _ in facts) >= 2:
            return True
        if sum(bool(threes) for _, _, _, threes in facts) < 2:
            return False
        self._set(point, stone)
        real = sum(
            any(
                not self._fails(self._point(point, d, q), colour, five_fails=True, depth=depth + 1)
                for q in threes
            )
            for d, (_, _, _, threes) in enumerate(facts)
        )
        self._set(point, ".")
        return real >= 2

    def _point(self, point: int, direction: int, i: int) -> int:
        """Return the point of index i on the line through `point`."""
        return self.lines[self.place_in_line[point][direction][0]][0][i]

    def forbidden_points(self, colour: int = BLACK) -> list[int]:
        """Return all points forbidden to a colour."""
        return [p for p in range(len(self.cells)) if self.is_forbidden(p, colour)]

    def legal_points(self, colour: int) -> list[int]:
        """Return the empty points that a colour may use; none once somebody has won."""
        if self.winner != NOBODY:
            return []
        return [p for p, c in enumerate(self.cells) if c == "." and not self.is_forbidden(p, colour)]

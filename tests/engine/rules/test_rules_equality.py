"""The rules kernel against its naive twin, position by position.

Every placement and every undo is a position. After each of them the four lines that changed are compared
cell by cell for both colours, with the winner; whole boards (all shapes, five points, forbidden and legal
points, cells) are compared every few plies. Set TENGEN_LONG=1 for the full count. Omok's filled boards come
in blocks of 1,000 with a seed each, so that they can be run in pieces: `FILE::TEST\\[{0..24}\\]` in bash.
"""

from __future__ import annotations

import collections
import itertools
import os
import random

import pytest

from engine.rules import _board
from engine.rules._board import Board
from engine.rules.rule import ALL_RULES, Rule
from tests.helpers.rules import SIZES
from tests.reference.rules import COLOURS, NaiveBoard, Shape, line_shapes

LONG = os.environ.get("TENGEN_LONG") == "1"
POSITIONS_A_RULE = 60_000 if LONG else 1_000
FILLED = 40_000 if LONG else 700  # renju boards filled at random
OMOK_BLOCKS = 100 if LONG else 1  # of Omok boards filled at random
OMOK_BLOCK = 1_000 if LONG else 400
BRED = 40_000 if LONG else 1_000  # renju boards with deep recursion
FIELDS = Shape._fields


def kernel_bits(shapes: list[Shape]) -> int:
    """Fold the shapes of four directions into the kernel's SHAPE_* bits."""
    strong = sum(s.four or s.open_three for s in shapes)
    return (
        _board.SHAPE_FIVE * any(s.five for s in shapes)
        | _board.SHAPE_FOUR * any(s.four for s in shapes)
        | _board.SHAPE_DOUBLE_FOUR * any(s.double_four for s in shapes)
        | _board.SHAPE_OPEN_FOUR * any(s.open_four for s in shapes)
        | _board.SHAPE_OPEN_THREE * any(s.open_three for s in shapes)
        | _board.SHAPE_FORK * (strong >= 2)
    )


def show(naive: NaiveBoard) -> str:
    """Draw the position for a failure message."""
    w = naive.width
    rows = ["".join(naive.cells[y * w : y * w + w]) for y in range(naive.height)]
    return "\n".join([f"rule {naive.rule}", *rows])


def check_lines(kernel: Board, naive: NaiveBoard, point: int) -> None:
    """Compare the four lines through a point, and the winner."""
    assert kernel.winner == naive.winner, show(naive)
    for d in range(4):
        number, _ = naive.place_in_line[point][d]
        text = naive.texts[number]
        for colour in (0, 1):
            expected = line_shapes(text, COLOURS[colour], naive.rule)
            for p, shape in zip(naive.lines[number][0], expected, strict=True):
                masks = kernel.line_masks(p, d, colour)
                assert tuple(masks[f] for f in FIELDS) == shape, f"{p} {d} {colour} {masks}\n{show(naive)}"


def check_board(kernel: Board, naive: NaiveBoard) -> int:
    """Compare everything; return the number of forbidden points."""
    codes = ["XO.#".index(c) for c in naive.cells]
    assert kernel.cells().ravel().tolist() == codes
    for colour in (0, 1):
        shapes = naive.shapes(colour)
        bits = [kernel_bits(s) for s in shapes]
        assert kernel.shapes(colour).ravel().tolist() == bits, show(naive)
        assert [kernel.shape(p, colour) for p in range(kernel.points)] == bits, show(naive)
        assert kernel.five_points(colour) == naive.points_with(colour, "five")
    forbidden = [naive.forbidden_points(colour) for colour in (0, 1)]
    assert [kernel.forbidden_points(colour) for colour in (0, 1)] == forbidden, show(naive)
    assert kernel.legal_points() == naive.legal_points(kernel.to_move), show(naive)
    return sum(len(points) for points in forbidden)


def random_point(rng: random.Random, naive: NaiveBoard, reach: int) -> int:
    """Choose an empty point, `reach` > 0: at most so far from some stone."""
    empty = [p for p, c in enumerate(naive.cells) if c == "."]
    if reach and naive.history:
        for _ in range(20):
            around = rng.choice(naive.history)[0]
            x = around % naive.width + rng.randint(-reach, reach)
            y = around // naive.width + rng.randint(-reach, reach)
            if 0 <= x < naive.width and 0 <= y < naive.height and naive.cells[y * naive.width + x] == ".":
                return y * naive.width + x
    return rng.choice(empty)


def play_games(rng: random.Random, rule: int, positions: int) -> None:
    """Place and undo at random until `positions` have been compared. Some cells become obstacles."""
    seen = 0
    while seen < positions:
        width, height = rng.choice(SIZES)
        kernel, naive = Board(width, height, rule), NaiveBoard(width, height, rule)
        reach = rng.choice((0, 1, 1, 2, 3))
        obstacles = rng.choice((0.0, 0.0, 0.03, 0.15))
        length = rng.randint(1, min(width * height, 90))
        for ply in range(length):
            if naive.history and rng.random() < 0.15:
                point = naive.history[-1][0]
                kernel.undo()
                naive.undo()
            else:
                point = random_point(rng, naive, reach)
                if rng.random() < obstacles:
                    kernel.block(point)
                    naive.place(point, "#")
                else:
                    colour = kernel.to_move if rng.random() < 0.9 else rng.randint(0, 1)
                    kernel.place(point, colour)
                    naive.place(point, COLOURS[colour])
            check_lines(kernel, naive, point)
            seen += 1
            if ply % 9 == 8 or ply == length - 1:
                check_board(kernel, naive)
        while naive.history:
            point = naive.history[-1][0]
            kernel.undo()
            naive.undo()
            if rng.random() < 0.1:
                check_lines(kernel, naive, point)
                seen += 1
        check_board(kernel, naive)


@pytest.mark.parametrize("rule", ALL_RULES)
def test_kernel_equals_twin_in_random_positions(rule: int) -> None:
    play_games(random.Random(f"spread {rule}"), rule, POSITIONS_A_RULE)


def board_pair(cells: list[str], side: int, rule: int = Rule.RENJU) -> tuple[Board, NaiveBoard]:
    stones = [(p, "XO.#".index(c)) for p, c in enumerate(cells) if c != "."]
    return Board.from_stones(side, side, rule, stones), NaiveBoard(side, side, rule, "".join(cells))


def test_forbidden_points_equal_on_filled_boards() -> None:
    rng = random.Random("filled")
    fouls = 0
    for _ in range(FILLED):
        side = rng.choice((5, 7, 8, 9, 10, 11, 13, 15))
        weights = (rng.uniform(0.1, 0.35), rng.uniform(0, 0.1), 0.7, 0.005)
        kernel, naive = board_pair(rng.choices("XO.#", weights, k=side * side), side)
        forbidden = naive.forbidden_points()
        assert kernel.forbidden_points() == forbidden, show(naive)
        fouls += len(forbidden)
    assert fouls > FILLED // 2


@pytest.mark.parametrize("block", range(OMOK_BLOCKS))
def test_double_threes_of_omok_equal(block: int) -> None:
    """On filled boards, for both colours."""
    rng = random.Random(f"omok {block}")
    found = [0, 0]
    for _ in range(OMOK_BLOCK):
        side = rng.choice((7, 8, 9, 10, 11, 13, 15))
        weights = (rng.uniform(0.08, 0.22), rng.uniform(0.08, 0.22), 0.7, 0.005)
        kernel, naive = board_pair(rng.choices("XO.#", weights, k=side * side), side, Rule.OMOK)
        for colour in (0, 1):
            forbidden = naive.forbidden_points(colour)
            assert kernel.forbidden_points(colour) == forbidden, show(naive)
            found[colour] += len(forbidden)
    assert min(found) > OMOK_BLOCK // 20, found


def test_forbidden_points_equal_where_threes_nest() -> None:
    """Boards bred for depth: a change of some cells stays if the recursion goes as deep as before."""
    rng = random.Random("nested")
    seen = collections.Counter[int]()
    side = 11
    for _ in range(BRED // 250):
        cells = rng.choices("XO.", (0.2, 0.05, 0.75), k=side * side)
        best = 0
        for _ in range(250):
            changed = list(cells)
            for p in rng.sample(range(side * side), rng.randint(1, 3)):
                changed[p] = rng.choices("XO.", (0.3, 0.1, 0.6))[0]
            kernel, naive = board_pair(changed, side)
            depth = 0
            for p in range(side * side):
                assert kernel.is_forbidden(p) == naive.is_forbidden(p), f"{p}\n{show(naive)}"
                depth = max(depth, naive.deepest)
            seen[depth] += 1
            if depth >= best:
                cells, best = changed, depth
    assert sum(n for depth, n in seen.items() if depth >= 3) > BRED // 10, seen


@pytest.mark.parametrize("rule", ALL_RULES)
def test_every_short_line(rule: int) -> None:
    """All contents of a row: of black, white and empty, and obstacles in the shorter ones."""
    rows = [(5, "XO.#"), (6, "XO.#"), (8, "XO.")] + LONG * [(7, "XO.#"), (9, "XO."), (10, "XO.")]
    for width, alphabet in rows:
        kernel = Board(width, 5, rule)
        for text in itertools.product(alphabet, repeat=width):
            stones = [(2 * width + i, c) for i, c in enumerate(text) if c != "."]
            for point, c in stones:
                if c == "#":
                    kernel.block(point)
                else:
                    kernel.place(point, COLOURS.index(c))
            for colour in (0, 1):
                expected = line_shapes("".join(text), COLOURS[colour], rule)
                row = [tuple(kernel.line_masks(2 * width + i, 0, colour).values()) for i in range(width)]
                assert row == list(expected), (text, colour)
            for _ in stones:
                kernel.undo()

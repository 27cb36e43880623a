"""Renju by example: fouls of black, and what is none."""

from __future__ import annotations

import random

import pytest

from engine._encoding import planes
from engine.evaluator._backend import UniformBackend
from engine.planes import Plane
from engine.rules._board import EMPTY
from engine.search._tree import Tree
from engine.search.params import SearchParams
from tests.helpers.rules import RENJU, draw, row_board
from tests.helpers.search import random_position


@pytest.mark.parametrize("name", RENJU)
def test_fouls_of_black(name: str) -> None:
    board, marks = draw(RENJU[name], 4)
    (point,) = marks["?"]
    assert board.is_forbidden(point)
    assert point in board.forbidden_points()
    assert board.to_move == 1 or point not in board.legal_points()
    board.set_to_move(1)
    assert point in board.legal_points()
    for rule in (0, 1, 8, 9):
        assert draw(RENJU[name], rule)[0].forbidden_points() == []


def test_forbidden_points_in_planes_and_lists_of_moves_are_those_of_each_point() -> None:
    rng, found = random.Random(7), 0
    for number in range(120):
        board = random_position(rng, 9 + number % 7, 9, 4, 12 + number % 40)
        board.set_to_move(0)
        forbidden = [point for point in range(board.width * board.height) if board.is_forbidden(point, 0)]
        plane = planes(board)[Plane.BLACK_FORBIDDEN].ravel()
        assert plane.nonzero()[0].tolist() == forbidden
        found += len(forbidden)
        if board.winner != EMPTY or board.five_points(0) or board.five_points(1):
            continue
        tree = Tree(SearchParams(leaf_vcf_nodes=0), 1 << 20, None)
        tree.set_root(board)
        tree.run(1, UniformBackend())
        assert sorted(tree.moves().tolist()) == board.legal_points()
    assert found > 40


ALLOWED = {
    "four and three": """
        .........
        .........
        OXXX?....
        ....X....
        ....X....
        .........
        .........""",
    "a five beside an overline": """
        ....X....
        ....X....
        XXXX?.X..
        ....X....
        ....X....
        ....X....
        ....X....""",
    "a five that is a double four too": """
        .....X...
        ....X....
        XXXX?....
        ..X.X....
        .X..X....
        ....X....
        .........""",
    "a straight four alone": """
        ........
        ..XXX?..
        ........
        ........
        ........""",
    "two threes, one closed": """
        .........
        .........
        .OXX?....
        ....X....
        ....X....
        .........
        .........""",
    "a three that only reaches an overline": """
        ..........
        ..........
        .X.XX?..X.
        .....X....
        .....X....
        ..........
        ..........""",
    "two threes at the edge": """
        ..XX?....
        ....X....
        ....X....
        .........
        .........""",
}


@pytest.mark.parametrize("name", ALLOWED)
def test_points_that_are_no_foul(name: str) -> None:
    board, marks = draw(ALLOWED[name], 4)
    (point,) = marks["?"]
    assert not board.is_forbidden(point)


@pytest.mark.parametrize("name", [name for name in ALLOWED if "five" in name])
def test_a_five_wins_for_black_whatever_else_it_makes(name: str) -> None:
    board, marks = draw(ALLOWED[name], 4)
    board.place(marks["?"][0], 0)
    assert board.winner == 0


def test_overline_is_no_win_for_black_and_wins_for_white() -> None:
    board, marks = draw(RENJU["overline"], 4)
    board.place(marks["?"][0], 0)
    assert board.winner == 2
    white, point = row_board(".XXX?XX..", 4, swap=True)
    white.place(point, 1)
    assert white.winner == 1


def test_a_three_whose_four_is_forbidden_does_not_count() -> None:
    """The column of ? is a three only by way of its two completions; both are fouls, so ? is allowed.

    `a` completes the column into a straight four, but makes a double four with its row; so does `b`.
    """
    text = """
        ............
        ............
        .....aXXX...
        .....X......
        .....X......
        ..XX.?......
        .....bXXX...
        ............
        ............"""
    board, marks = draw(text, 4)
    assert not board.is_forbidden(marks["a"][0])  # no four in the column yet
    (point,) = marks["?"]
    assert not board.is_forbidden(point)
    board, marks = draw(text.replace("bXXX", "b..."), 4)
    assert board.is_forbidden(marks["?"][0])

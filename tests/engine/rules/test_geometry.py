"""Coordinates and the eight symmetries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from engine.rules import geometry


def test_letters_are_columns_and_numbers_are_rows_from_the_top() -> None:
    assert geometry.parse_move("a1", 15, 15) == 0
    assert geometry.parse_move("b1", 15, 15) == 1
    assert geometry.parse_move("a2", 15, 15) == 15
    assert geometry.parse_move(" H8\n", 15, 15) == geometry.parse_move("7,7", 15, 15) == 7 * 15 + 7
    assert geometry.parse_move("v22", 22, 22) == 22 * 22 - 1
    assert geometry.parse_move("7, 3", 9, 5) == 3 * 9 + 7


@pytest.mark.parametrize(
    "text", ["", "h", "8", "8h", "h0", "h16", "p8", "15,0", "0,15", "-1,0", "7;7", "7,7,7", "h8h9", "ä1"]
)
def test_what_is_no_move_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"off the|not a move"):
        geometry.parse_move(text, 15, 15)


def test_rows_of_moves_in_every_spelling() -> None:
    points = [7 * 15 + 7, 9 * 15 + 7, 0]
    for text in ("h8h10a1", "H8 h10\ta1 ", "7,7 7,9 0,0", "h8;h10; 0,0"):
        assert geometry.parse_moves(text, 15, 15) == points
    assert geometry.parse_moves("  ", 15, 15) == []
    with pytest.raises(ValueError, match="zz"):
        geometry.parse_moves("h8zz", 15, 15)
    with pytest.raises(ValueError, match="h99"):
        geometry.parse_moves("h8h99", 15, 15)


@pytest.mark.parametrize(("width", "height"), [(5, 5), (15, 15), (22, 22), (5, 22), (22, 7)])
def test_text_and_point_turn_into_each_other(width: int, height: int) -> None:
    points = list(range(width * height))
    assert [geometry.parse_move(geometry.format_move(p, width), width, height) for p in points] == points
    assert geometry.parse_moves(geometry.format_moves(points, width), width, height) == points
    for p in points:
        x, y = geometry.xy(p, width)
        assert geometry.parse_move(f"{x},{y}", width, height) == geometry.point_of(x, y, width, height) == p


def test_the_documented_order_of_symmetries() -> None:
    corner = geometry.point_of(1, 0, 5, 5)  # next to the top left corner, to its right
    moved = [geometry.xy(geometry.transform_point(corner, 5, 5, s), 5) for s in range(8)]
    assert moved == [(1, 0), (3, 0), (1, 4), (3, 4), (0, 1), (0, 3), (4, 1), (4, 3)]


def test_the_symmetries_of_a_square_form_a_group() -> None:
    permutations = [tuple(geometry.symmetry_permutation(6, 6, s)) for s in range(8)]
    assert len(set(permutations)) == 8
    assert permutations[0] == tuple(range(36))
    for a, b in itertools.product(permutations, repeat=2):
        assert tuple(a[i] for i in b) in permutations


@pytest.mark.parametrize(("width", "height"), [(6, 6), (5, 9), (9, 5)])
def test_permutations_move_values_and_inverses_undo_them(width: int, height: int) -> None:
    values = np.arange(2 * width * height).reshape(2, -1)
    for s in geometry.symmetries(width, height):
        moved = values[:, geometry.symmetry_permutation(width, height, s)]
        for p in range(width * height):
            assert (moved[:, geometry.transform_point(p, width, height, s)] == values[:, p]).all()
        back = geometry.symmetry_permutation(width, height, geometry.inverse_symmetry(s))
        assert (moved[:, back] == values).all()


def test_a_rectangle_has_four_symmetries() -> None:
    assert list(geometry.symmetries(5, 9)) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="no symmetry 4"):
        geometry.symmetry_permutation(5, 9, 4)
    with pytest.raises(ValueError, match="no symmetry 8"):
        geometry.symmetry_permutation(9, 9, 8)

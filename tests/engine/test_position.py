"""Positions as values."""

import pytest

from engine.errors import PositionError
from engine.position import board_after, board_of, without
from engine.rules._board import EMPTY, OBSTACLE
from engine.rules.rule import Rule

STONES = ((112, 0), (113, 1), (0, OBSTACLE), (127, 0))


def test_a_board_of_stones_and_obstacles():
    board = board_of(15, 15, Rule.RENJU, STONES)
    assert board.stones() == list(STONES) and board.to_move == 1 and board.rule == Rule.RENJU
    assert board_of(15, 15, 0, STONES, 0).to_move == 0


@pytest.mark.parametrize(
    ("size", "stones"),
    [((4, 15), ()), ((15, 23), ()), ((15, 15), ((225, 0),)),
     ((15, 15), ((1, 0), (1, 1))), ((15, 15), ((1, 2),))],
)
def test_what_is_no_position_is_refused(size, stones):
    with pytest.raises(PositionError):
        board_of(*size, 0, stones)


@pytest.mark.parametrize("rule", [Rule.STANDARD, Rule.RENJU, Rule.OMOK, Rule.STANDARD_CARO])
def test_an_overline_that_is_listed_in_a_row_is_no_five(rule):
    stones = [(point, 1) for point in range(30, 36)] + [(point, 0) for point in (1, 3, 5, 107, 109, 111)]
    if rule == Rule.RENJU:  # where an overline of white wins
        stones = [(point, 1 - colour) for point, colour in stones]
    board = board_of(15, 15, rule, stones)
    assert board.winner == EMPTY and board.to_move == 1 - stones[-1][1]
    assert sorted(board.stones()) == sorted(stones)
    assert board_of(15, 15, rule, stones[:5]).winner == stones[0][1], "five stones of it are one"


@pytest.mark.parametrize("rule", [Rule.CARO, Rule.STANDARD_CARO])
def test_a_closed_row_is_no_five_in_any_order(rule):
    row, ends = [(point, 0) for point in range(33, 38)], [(32, 1), (38, 1)]
    for stones in (row + ends, ends + row, [*row[:3], *ends, *row[3:]], [ends[0], *row, ends[1]]):
        assert board_of(15, 15, rule, stones).winner == EMPTY
    assert board_of(15, 15, rule, [*row, ends[0]]).winner == 0, "one end is open"


def test_a_game_that_was_won_keeps_its_order():
    stones = [(first + i, colour) for i in range(4) for first, colour in ((30, 0), (60, 1))]
    stones += [(34, 0), (100, 1)]
    board = board_of(15, 15, Rule.FREESTYLE, stones)
    assert board.winner == 0 and board.stones() == stones


def test_a_move_makes_another_board():
    before = board_of(15, 15, 0, STONES)
    after = board_after(before, 5)
    assert before.stones() == list(STONES) and after.stones() == [*STONES, (5, 1)]
    with pytest.raises(PositionError):
        board_after(after, 5)


def test_taking_back_gives_the_turn_to_the_colour_of_the_stone():
    assert without(STONES, 1, 113) == (((112, 0), (0, OBSTACLE), (127, 0)), 1)
    assert without(STONES, 1, 127) == (STONES[:-1], 0)
    assert without(STONES, 1, 0) == ((STONES[0], STONES[1], STONES[3]), 1)
    with pytest.raises(PositionError, match="no stone at point 9"):
        without(STONES, 1, 9)

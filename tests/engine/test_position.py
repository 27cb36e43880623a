"""Positions as values."""

import pytest

from engine.errors import PositionError
from engine.position import board_after, board_of, without
from engine.rules._board import OBSTACLE
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

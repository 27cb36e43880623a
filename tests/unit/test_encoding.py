"""The planes, held against what the board says of each point."""

import random

import numpy as np
import pytest

from engine.encoding import N_PLANES, encode, encode_games
from engine.rules._board import (
    BLACK,
    OBSTACLE,
    SHAPE_DOUBLE_FOUR,
    SHAPE_FIVE,
    SHAPE_FORK,
    SHAPE_FOUR,
    SHAPE_OPEN_FOUR,
    SHAPE_OPEN_THREE,
    Board,
)  # fmt: skip
from engine.rules.rule import Rule
from tests.reference.positions import kernel_board, random_position

SHAPES = (SHAPE_FIVE, SHAPE_OPEN_FOUR | SHAPE_DOUBLE_FOUR, SHAPE_FOUR, SHAPE_OPEN_THREE, SHAPE_FORK)


@pytest.mark.parametrize("rule", Rule)
def test_planes_say_what_the_board_says(rule):
    rng = random.Random(int(rule))
    seen = np.zeros(N_PLANES, bool)
    for _ in range(300):
        board = kernel_board(random_position(rng, rule, (5, 12), (4, 40), 0.05))
        own, other = board.to_move, 1 - board.to_move
        cells = board.cells()
        expected = np.zeros((N_PLANES, board.height, board.width), np.float32)
        expected[0] = cells != OBSTACLE
        expected[1], expected[2] = cells == own, cells == other
        for i, shape in enumerate(SHAPES):
            expected[3 + 2 * i] = (board.shapes(own) & shape) != 0
            expected[4 + 2 * i] = (board.shapes(other) & shape) != 0
        expected[13].flat[board.forbidden_points()] = 1
        expected[14] = own == BLACK
        exact = [
            rule in (Rule.STANDARD, Rule.STANDARD_CARO) or (rule == Rule.RENJU and colour == BLACK)
            for colour in (own, other)
        ]
        expected[15], expected[16] = exact
        if rule == Rule.RENJU:
            expected[17], expected[18] = own == BLACK, other == BLACK
        expected[19] = rule in (Rule.CARO, Rule.STANDARD_CARO)
        np.testing.assert_array_equal(encode(board), expected)
        seen |= expected.any(axis=(1, 2))
    assert seen[:13].all() and seen[14], "the positions show too little"


def test_positions_of_games_are_encoded_at_once_as_they_are_one_by_one():
    rng = random.Random(5)
    rules, plies, moves, expected = [], [], [], []
    for number in range(60):
        rule = list(Rule)[number % len(Rule)]
        points = rng.sample(range(9 * 7), rng.choice((0, 1, 12, 40, 63)))
        board = Board.from_stones(9, 7, rule, [(p, k & 1) for k, p in enumerate(points)])
        board.set_to_move(len(points) & 1)
        expected.append(encode(board))
        rules.append(int(rule))
        plies.append(len(points))
        moves += points
    counts, flat = np.array(plies, np.int32), np.array(moves, np.uint16)
    np.testing.assert_array_equal(encode_games(9, 7, rules, counts, flat), np.stack(expected))
    for bad, words in ((63, "point 63 is taken or off"), (moves[0], f"point {moves[0]} is taken or off")):
        with pytest.raises(ValueError, match=words):
            encode_games(9, 7, [0], np.array([2], np.int32), np.array([moves[0], bad], np.uint16))
    with pytest.raises(ValueError, match="another number"):
        encode_games(9, 7, [0], np.array([2], np.int32), np.zeros(1, np.uint16))
    with pytest.raises(ValueError, match="rule must be"):
        encode_games(9, 7, [2], np.array([0], np.int32), np.zeros(0, np.uint16))

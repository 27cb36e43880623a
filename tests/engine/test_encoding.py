"""The planes, held against what the board says of each point."""

import random

import numpy as np
import pytest

from engine.encoding import N_PLANES, encode, encode_games
from engine.rules._board import (
    BLACK,
    EMPTY,
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
from engine.threats._solver import Solver
from engine.threats.solution import Verdict
from tests.reference.positions import kernel_board, random_position

THREAT = (14, 15, 22)
"""Planes of a win by fours that the opponent threatens."""

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
        if rule == Rule.RENJU:
            expected[13].flat[board.forbidden_points(BLACK)] = 1
        expected[16] = own == BLACK
        exact = [
            rule in (Rule.STANDARD, Rule.STANDARD_CARO, Rule.OMOK) or (rule == Rule.RENJU and colour == BLACK)
            for colour in (own, other)
        ]
        expected[17], expected[18] = exact
        if rule == Rule.RENJU:
            expected[19], expected[20] = own == BLACK, other == BLACK
        expected[21] = rule in (Rule.CARO, Rule.STANDARD_CARO)
        planes = encode(board)
        np.testing.assert_array_equal(np.delete(planes, THREAT, 0), np.delete(expected, THREAT, 0))
        assert set(np.unique(planes)) <= {0, 1}
        seen |= planes.any(axis=(1, 2))
    assert seen[:13].all() and seen[14:17].all() and seen[22], "the positions show too little"


@pytest.mark.parametrize("rule", Rule)
def test_planes_say_how_the_opponent_would_win_by_fours(rule):
    rng, solver = random.Random(100 + int(rule)), Solver(14)
    there = missed = stopped = 0
    for _ in range(150):
        board = kernel_board(random_position(rng, rule, (7, 12), (8, 40), 0.05))
        begins, stops, threatened = encode(board)[list(THREAT)]
        solution = solver.solve(board, "vcf", 1 - board.to_move, 200_000)
        if solution.verdict is not Verdict.WIN:
            assert not (begins.any() or stops.any() or threatened.any())
            continue
        if not threatened.any():  # a long one
            missed += 1
            assert solution.distance > 3
            assert not (begins.any() or stops.any())
            continue
        there += 1
        assert threatened.all() and begins.sum() == 1
        wins = board.copy()
        wins.set_to_move(1 - board.to_move)
        wins.place(int(begins.argmax()))
        assert wins.winner != EMPTY or wins.five_points(1 - board.to_move)
        for point in board.legal_points():
            if stops.flat[point]:
                stopped += 1
                continue
            after = board.copy()
            after.place(point)
            assert solver.solve(after, "vcf", nodes=200_000).verdict is Verdict.WIN, f"{point} stops it"
    assert there > 20 and stopped > 20 and missed < there / 4


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

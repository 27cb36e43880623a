"""Simulations that the kernel does one by one for its caller, as self-play asks for them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from engine.evaluator._backend import HashedBackend
from engine.evaluator.hashed import HashedEvaluator
from engine.rules._board import Board
from engine.search._tree import EVALUATED, NOTHING_LEFT, Tree, gather, scatter
from engine.search.params import SearchParams
from tests.helpers.search import MIB, buffers, grown, put, random_position


def test_simulations_in_the_kernel_grow_the_same_tree_as_a_batch() -> None:
    board = random_position(random.Random(8), 9, 9, 0, 9)
    asked, alone = grown(board, 1, seed=3), grown(board, 1, seed=3)
    planes, keys = buffers(board)
    forced = asked.moves()[:4].tolist()
    statuses = []
    for i in range(120):
        point = forced[i % 4] if i % 3 == 0 else -1
        statuses.append(alone.simulate(HashedBackend(3), point))
        status = np.zeros(1, np.int32)
        if gather([asked], planes, keys, status, np.array([point], np.int32)):
            scatter([asked], *HashedEvaluator(3).evaluate(planes, keys), status)
            assert statuses[-1] == EVALUATED
        else:
            assert statuses[-1] == status[0]
    assert alone.signature() == asked.signature()
    assert statuses.count(EVALUATED) > 60


def test_a_simulation_tells_when_there_was_nothing_to_do_and_refuses_no_move() -> None:
    tree = Tree(SearchParams(), MIB)
    with pytest.raises(ValueError, match="no root"):
        tree.simulate(HashedBackend(1))
    tree = grown(put(Board(9, 9, 0), "4,4"), 1)
    with pytest.raises(ValueError, match="point 40 is no move"):
        tree.simulate(HashedBackend(1), 40)
    assert tree.simulate(HashedBackend(1), 8) == EVALUATED
    tree.exclude([8], 4)
    assert tree.simulate(HashedBackend(1), 8) == NOTHING_LEFT

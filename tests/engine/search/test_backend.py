"""Evaluator backends: a callback and its context, which the kernel calls without Python."""

from __future__ import annotations

import numpy as np
import pytest

from engine.encoding import N_PLANES, encode
from engine.evaluator._backend import HashedBackend, KernelBackend, LineNetBackend, UniformBackend
from engine.evaluator._lines import LineNet
from engine.evaluator.base import LINE_NET_COST, PYTHON_COST, STUB_COST, Decorator
from engine.evaluator.hashed import HashedEvaluator
from engine.evaluator.uniform import UniformEvaluator
from engine.rules._board import Board
from engine.search._tree import Tree
from engine.search.mcts import Search
from engine.search.params import SearchParams
from engine.search.stoppers import NodeLimit
from engine.threats._solver import Solver
from tests.helpers.lines import random_weights
from tests.helpers.search import put


def test_a_line_net_gives_its_backend_what_it_gives_python() -> None:
    net = LineNet(random_weights(1, 16, 2, 8, 8, 16), 1)
    board = put(Board(13, 9, 0), "5,5 6,5 6,6")
    planes = encode(board)
    logits, wdl = LineNetBackend(net).evaluate(planes, board.hash)
    policy, chances = np.zeros((1, 117), np.float32), np.zeros((1, 3), np.float32)
    net.evaluate(planes[None], policy, chances)
    assert (logits == policy[0]).all() and (wdl == chances[0]).all()


def test_the_net_of_a_backend_lives_as_long_as_the_backend() -> None:
    backend = LineNetBackend(LineNet(random_weights(1, 16, 2, 8, 8, 16), 1))
    tree = Tree()
    tree.set_root(Board(9))
    assert tree.run(200, backend) == 200


def test_a_backend_needs_a_callback_and_a_board() -> None:
    tree = Tree()
    tree.set_root(Board(9))
    with pytest.raises(ValueError, match="without a callback"):
        tree.run(1, KernelBackend())
    with pytest.raises(ValueError, match="without a callback"):
        KernelBackend().evaluate(np.zeros((N_PLANES, 9, 9), np.float32), 1)
    with pytest.raises(ValueError, match="planes"):
        UniformBackend().evaluate(np.zeros((N_PLANES - 1, 9, 9), np.float32), 1)
    with pytest.raises(ValueError, match="planes"):
        HashedBackend(1).evaluate(np.zeros((N_PLANES, 23, 23), np.float32), 1)
    with pytest.raises(TypeError):
        tree.run(1, HashedEvaluator(1))  # type: ignore[arg-type]


def test_vct_follows_the_caller_not_the_evaluator() -> None:
    board = put(Board(15, 15, 0), "7,7 0,0 8,7 2,0 9,8 4,0")
    found = {}
    for vct in (False, True):
        tree = Tree(SearchParams(), 16 << 20, Solver(12))
        tree.set_root(board)
        tree.run(400, HashedBackend(1), vct=vct)
        found[vct] = tree.solver_nodes
    assert found[True] > 1.2 * found[False]


class Asked(Decorator):
    """Any evaluator, asked from Python."""

    def evaluate(self, planes, keys):
        return self.inner.evaluate(planes, keys)


def test_what_the_solver_may_spend_follows_the_cost() -> None:
    """The same evaluator, in the kernel and from Python: dearer simulations allow more, the cheapest some."""
    assert STUB_COST < LINE_NET_COST < PYTHON_COST
    assert UniformEvaluator().cost == HashedEvaluator(1).cost == STUB_COST
    assert Asked(HashedEvaluator(1)).cost == PYTHON_COST and Asked(HashedEvaluator(1)).backend is None
    budgets = []
    none = SearchParams(root_solver_nodes=0)
    for params, evaluator in (
        (SearchParams(), HashedEvaluator(1)),
        (SearchParams(), Asked(HashedEvaluator(1))),
        (none, Asked(HashedEvaluator(1))),
    ):
        search = Search(params, 16 << 20)
        search.search(put(Board(15, 15, 0), "7,7 8,8"), evaluator, [NodeLimit(40)])
        assert search._root_solver is not None
        budgets.append(search._root_solver._nodes_a_simulation)
    assert budgets == [1, 32, 0]  # 8 placements, times 0.1 and 4

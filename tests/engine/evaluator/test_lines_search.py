"""A line net inside the tree kernel: the same tree as when it is called from Python."""

import numpy as np
import pytest

from engine.encoding import N_PLANES
from engine.evaluator._backend import LineNetBackend
from engine.evaluator._lines import LineNet
from engine.rules._board import Board
from engine.rules.rule import NET_RULES
from engine.search import _tree
from engine.search._tree import Tree
from engine.threats._solver import Solver
from tests.helpers.lines import random_weights
from tests.helpers.search import put


def grown_from_python(tree: Tree, net: LineNet, board: Board, simulations: int) -> int:
    planes = np.zeros((1, N_PLANES, board.height, board.width), np.float32)
    keys = np.zeros(1, np.uint64)
    policy, wdl = np.zeros((1, board.points), np.float32), np.zeros((1, 3), np.float32)
    for done in range(simulations):
        status = tree.select(planes, keys)
        if status == _tree.LEAF:
            net.evaluate(planes, policy, wdl)
            tree.expand(policy, wdl)
        elif status != _tree.SOLVED:
            return done
    return simulations


@pytest.mark.parametrize("rule", NET_RULES)
@pytest.mark.parametrize(("width", "height"), [(9, 9), (15, 15), (13, 7)])
def test_the_kernel_grows_the_same_tree(rule, width, height):
    net = LineNet(random_weights(rule, 16, 2, 8, 8, 16), 1)
    board = Board(width, height, rule)
    for k in range(7):
        board.place(board.legal_points()[(k * 37 + 11) % len(board.legal_points())])
    trees = [Tree(solver=Solver(12)) for _ in range(2)]
    for tree in trees:
        tree.set_root(board)
    done = grown_from_python(trees[0], net, board, 600)
    assert trees[1].run(600, LineNetBackend(net)) == done
    for name in ("moves", "priors", "edge_visits", "edge_q", "edge_proven", "edge_distance"):
        np.testing.assert_array_equal(*(getattr(tree, name)() for tree in trees), err_msg=name)
    for name in ("visits", "wdl", "proven", "distance", "evaluations", "solver_nodes", "depth_sum"):
        assert getattr(trees[0], name) == getattr(trees[1], name), name


def test_nothing_is_done_below_a_decided_root():
    net = LineNet(random_weights(1, 16, 2, 8, 8, 16), 1)
    board = put(Board(9), "0,0 0,8 1,0 1,8 2,0 2,8 3,0 3,8")
    tree = Tree()
    tree.set_root(board)
    assert tree.run(100, LineNetBackend(net)) <= 1
    assert tree.proven == _tree.PROVEN_WIN
    assert tree.run(100, LineNetBackend(net)) == 0


def test_a_net_that_answers_nonsense_is_an_error():
    weights = random_weights(1, 16, 2, 8, 8, 16)
    weights["out_b"] = np.array([np.inf, 0, 0], np.float32)
    tree = Tree()
    tree.set_root(Board(9))
    with pytest.raises(ValueError, match="not finite"):
        tree.run(10, LineNetBackend(LineNet(weights, 1)))


def test_without_a_net_or_a_root_there_is_nothing_to_run():
    tree = Tree()
    with pytest.raises(ValueError, match="no root"):
        tree.run(1, LineNetBackend(LineNet(random_weights(1, 16, 2, 8, 8, 16), 1)))
    tree.set_root(Board(9))
    with pytest.raises(TypeError):
        tree.run(1, None)
    with pytest.raises(ValueError, match="not built"):
        LineNetBackend(LineNet.__new__(LineNet))

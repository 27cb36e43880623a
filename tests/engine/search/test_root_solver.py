"""Proofs at the root beside the simulations."""

import numpy as np

from engine.encoding import N_PLANES
from engine.evaluator._backend import UniformBackend
from engine.rules._board import Board
from engine.rules.geometry import parse_move, parse_moves
from engine.search import _tree
from engine.search._tree import Tree
from engine.search.params import SearchParams
from engine.search.root_solver import RootSolver
from engine.threats._solver import Solver

# White threatens to win by fours and threes; of the moves in the way, f9 does not help.
MOVES = "j5h7i3k2h6k1l4m2h2j4o2n6l6g8n5j2l2i1i10l7j1g11g1e10j12e7"


def test_the_move_that_would_be_played_is_checked_for_the_answer_that_wins() -> None:
    board = Board(15, 15, 0)
    for point in parse_moves(MOVES, 15, 15):
        board.place(point)
    loser = parse_move("f9", 15, 15)
    tree = Tree(SearchParams(leaf_vcf_nodes=0), 8 << 20, None)
    tree.set_root(board)
    tree.run(1, UniformBackend())
    planes = np.zeros((1, N_PLANES, 15, 15), np.float32)
    keys = np.zeros(1, np.uint64)
    for _ in range(20):  # make f9 the favourite
        if tree.select(planes, keys, loser) == _tree.LEAF:
            tree.expand(np.zeros(225, np.float32), np.array([0, 1, 0], np.float32))
    assert tree.top_two()[0] == loser
    prover = RootSolver(Solver(16), tree, board, nodes_a_simulation=1_000_000)
    while tree.top_two()[0] == loser and prover.due(20):
        prover.step(lambda: False)
    proven = dict(zip(tree.moves().tolist(), tree.edge_proven().tolist(), strict=True))
    assert proven[loser] == _tree.PROVEN_LOSS
    assert tree.proven == _tree.PROVEN_NONE
    assert tree.top_two()[0] != loser


def test_a_checked_move_is_not_asked_about_again() -> None:
    board = Board(15, 15, 0)
    board.place(112)
    tree = Tree(SearchParams(), 8 << 20, None)
    tree.set_root(board)
    tree.run(50, UniformBackend())
    prover = RootSolver(Solver(16), tree, board, nodes_a_simulation=1_000_000)
    steps = 0
    while prover.due(50):
        prover.step(lambda: False)
        steps += 1
        assert steps < 100

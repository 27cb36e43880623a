"""Proofs in the tree: by the solver, with threes, and where moves in another order meet."""

from __future__ import annotations

import random

import numpy as np
import pytest

from engine.evaluator._backend import HashedBackend, UniformBackend
from engine.rules._board import EMPTY, Board
from engine.rules.rule import ALL_RULES
from engine.search._tree import FULL, LEAF, PROVEN_DRAW, PROVEN_LOSS, PROVEN_NONE, SOLVED, Tree
from engine.search.params import SearchParams
from engine.threats._solver import Solver
from tests.helpers.search import LONG, MIB, buffers, put, random_position


@pytest.mark.parametrize("rule", ALL_RULES)
def test_proofs_agree_with_and_without_the_solver(rule: int) -> None:
    rng = random.Random(rule)
    solver, proven = Solver(14), 0
    for _ in range(25):
        board = random_position(rng, 6, 6, rule, rng.randrange(14, 34))
        if not board.n_empty:
            continue
        results = []
        for with_solver in (None, solver):
            tree = Tree(SearchParams(), 64 * MIB, with_solver)
            tree.set_root(board)
            tree.run(4000, UniformBackend())
            results.append(tree.proven)
        if PROVEN_NONE not in results:
            assert results[0] == results[1]
            proven += 1
    assert proven >= 5


def test_solver_spares_the_net() -> None:
    board = put(Board(15, 15, 0), "7,7 0,0 8,7 2,0 9,8 4,0")
    params = SearchParams(leaf_defences=False)  # or there were no leaves to solve
    with_solver, without = Tree(params, 32 * MIB, Solver(14)), Tree(params, 32 * MIB)
    off = Tree(SearchParams(leaf_vcf_nodes=0), 32 * MIB, Solver(14))
    for tree in (with_solver, without, off):
        tree.set_root(board)
        tree.run(400, HashedBackend(1))
    assert with_solver.solver_nodes > 0
    assert with_solver.solved_leaves > without.solved_leaves
    assert off.solver_nodes == 0
    assert off.signature() == without.signature()


def test_two_runs_grow_the_same_tree() -> None:
    board = put(Board(15, 15, 4), "7,7 8,8 6,6")
    signatures = set()
    for _ in range(2):
        tree = Tree(SearchParams(), 64 * MIB, Solver(14))
        tree.set_root(board)
        tree.run(1000, HashedBackend(1))
        signatures.add(tree.signature())
    assert len(signatures) == 1


def test_status_of_settled_simulations() -> None:
    board = put(Board(15, 15, 0), "7,7 0,0 8,7 2,0 9,7 4,0 3,12 6,0")
    tree = Tree(SearchParams(), MIB)
    tree.set_root(board)
    planes, keys = buffers(board)
    status = tree.select(planes, keys)
    assert status in (SOLVED, LEAF)
    assert status != FULL


def simulate(tree: Tree, board: Board, simulations: int) -> None:
    """Let the tree grow as with a net that knows nothing."""
    planes, keys = buffers(board)
    logits, wdl = np.zeros(board.points, np.float32), np.array([0, 1, 0], np.float32)
    for _ in range(simulations):
        status = tree.select(planes, keys)
        if status == LEAF:
            tree.expand(logits, wdl)
        elif status != SOLVED:
            break


@pytest.mark.parametrize("rule", ALL_RULES)
def test_threes_in_the_tree_prove_nothing_wrong(rule: int) -> None:
    rng = random.Random(70 + rule)
    params = SearchParams(tree_vct_visits=1, tree_vct_nodes=200)
    solver, proven, lost = Solver(14), 0, 0
    for _ in range(60 * LONG):
        board = random_position(rng, 6, 6, rule, rng.randrange(12, 26))
        if not board.n_empty:
            continue
        exhaustive = Tree(SearchParams(), 64 * MIB)
        exhaustive.set_root(board)
        exhaustive.run(20_000, UniformBackend())
        tree = Tree(params, 64 * MIB, solver)
        tree.set_root(board)
        simulate(tree, board, 300)
        if PROVEN_NONE not in (exhaustive.proven, tree.proven):
            assert tree.proven == exhaustive.proven
            proven += 1
            lost += tree.proven == PROVEN_LOSS
    assert proven >= 12 and lost >= 1


def test_moves_that_do_not_stop_a_win_by_fours_are_forgotten() -> None:
    # Black's h8 makes an open three, so that white has few answers.
    board = put(Board(15, 15, 0), "6,7 3,3 5,7 11,3")
    three = 7 * 15 + 7
    params = SearchParams(tree_vct_visits=4, leaf_defences=False)
    tree = Tree(params, 32 * MIB, Solver(14))
    tree.set_root(board)
    planes, keys = buffers(board)
    for _ in range(6):
        if tree.select(planes, keys, three) == LEAF:
            tree.expand(np.zeros(225, np.float32), np.array([0, 1, 0], np.float32))
    board.place(three)
    visited = tree.set_root(board)
    assert visited >= 4
    defences = set(Solver(14).solve(board, "vct", 0, 100_000).defences)
    moves = set(tree.moves().tolist())
    seen = {p for p, n in zip(tree.moves().tolist(), tree.edge_visits().tolist(), strict=True) if n}
    assert 0 < len(defences) < 20
    assert defences <= moves
    assert len(moves - seen) <= 20  # a smaller budget may leave more than the defences
    lost = {
        p
        for p, code in zip(tree.moves().tolist(), tree.edge_proven().tolist(), strict=True)
        if code == PROVEN_LOSS
    }
    assert lost and lost <= seen - defences


def positions_of(tree: Tree) -> list[tuple[frozenset[int], frozenset[int]]]:
    return [(frozenset(path[0::2]), frozenset(path[1::2])) for path, *_ in tree.dump()]


def test_moves_in_another_order_lead_to_the_same_node() -> None:
    trees = {}
    for shared in (False, True):
        tree = trees[shared] = Tree(SearchParams(transpositions=shared))
        tree.set_root(put(Board(5), "0,0 1,1 4,0 3,4 2,2 0,4"))
        assert tree.run(3000, HashedBackend(5)) == 3000
    assert len(set(positions_of(trees[True]))) == trees[True].nodes
    assert len(set(positions_of(trees[False]))) < 0.95 * trees[False].nodes
    assert trees[True].evaluations < 0.95 * trees[False].evaluations
    edges = trees[True].edge_visits()
    assert edges.sum() == trees[True].visits - 1


def test_a_proof_counts_for_every_way_to_it() -> None:
    """A draw with ten cells left: not even 200,000 simulations prove it where every order is looked at."""
    board = random_position(random.Random(0), 5, 5, 0, 15)
    results = {}
    for shared in (False, True):
        tree = Tree(SearchParams(transpositions=shared, edge_cap=0))
        tree.set_root(board)
        tree.run(40_000, HashedBackend(5))
        results[shared] = (tree.proven, tree.distance)
    assert results == {False: (PROVEN_NONE, 0), True: (PROVEN_DRAW, 10)}


def test_shared_nodes_live_as_long_as_somebody_needs_them() -> None:
    """Roots that move on, trees that are cut for want of memory: the nodes in use stay consistent."""
    tree = Tree(SearchParams(), 1 << 20)
    board = Board(6)
    rng = np.random.default_rng(4)
    for _ in range(60):
        if board.winner != EMPTY or board.n_empty == 0:
            board = Board(6)
        tree.set_root(board)
        tree.run(2500, UniformBackend())
        tree.check()
        positions = positions_of(tree)
        assert len(set(positions)) == len(positions) <= tree.nodes
        moves = tree.moves()
        board.place(int(moves[rng.integers(min(3, len(moves)))]) if len(moves) else tree.proof_move())
    tree.clear()
    assert tree.nodes == 0


def test_a_node_that_only_dead_ones_know_is_found_behind_a_forced_move() -> None:
    """Black's four and its block before or behind two quiet moves. The first order is on its way to be freed
    when the second one finds its last node, and making nodes for the forced moves frees more of it. The next
    root has three edges and room for a fourth, so that nothing is freed earlier."""
    four, quiet, answer = 4 * 9 + 6, 1 * 9 + 1, 1 * 9 + 7
    board = put(Board(9), "3,4 2,4 4,4 8,8 5,4 0,8")
    tree = Tree(SearchParams(leaf_vcf_nodes=0, edge_cap=0))
    planes, keys = buffers(board)

    def simulate(move: int, *favourites: int) -> int:
        status = tree.select(planes, keys, move)
        if status == LEAF:
            policy = np.zeros((1, 81), np.float32)
            policy[0, favourites] = 20.0
            tree.expand(policy, np.array([0.3, 0.4, 0.3], np.float32))
        return status

    tree.set_root(board)
    assert simulate(-1, 0) == LEAF
    assert [simulate(quiet, *favourites) for favourites in [(answer,), (60, 62, 64), (0,), (0,), (0,)]] == [
        LEAF
    ] * 5
    assert [simulate(four, favourite) for favourite in (quiet, answer, 0)] == [LEAF] * 3
    nodes = tree.nodes
    board.place(quiet)
    board.place(answer)
    assert tree.set_root(board) == 4
    assert simulate(four, 0) == SOLVED  # without an evaluation
    tree.check()
    assert tree.nodes < nodes
    for _ in range(50):
        simulate(-1, 0)
    tree.check()

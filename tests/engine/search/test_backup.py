"""The sums of every node are what its edges say, whatever a tree has been through."""

from __future__ import annotations

import random

import numpy as np
import pytest

from engine.evaluator.hashed import HashedEvaluator
from engine.evaluator.uniform import UniformEvaluator
from engine.rules._board import EMPTY, Board
from engine.rules.rule import ALL_RULES
from engine.search._tree import LEAF, PROVEN_NONE, SOLVED, Tree, gather, scatter
from engine.search.params import SearchParams
from engine.threats._solver import Solver
from tests.helpers.search import buffers, put, random_position

MIB = 1 << 20
BUSY = {"tree_vct_visits": 2, "tree_vct_nodes": 60, "edge_cap": 8, "leaf_defences": False}
"""Settings with which many moves are taken back."""
PARAMS = [{}, BUSY, {"transpositions": False}, {"minimax_weight": 0.0, "edge_cap": 0}]


def play_on(board: Board, rng: random.Random) -> bool:
    """Play a random move; whether the game goes on."""
    fives = set(board.five_points(board.to_move))
    moves = [p for p in board.legal_points() if p not in fives]
    if not moves:
        return False
    board.place(rng.choice(moves))
    return board.winner == EMPTY and board.n_empty > 0 and bool(board.legal_points())


@pytest.mark.parametrize("rule", ALL_RULES)
@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_statistics_add_up_along_games(rule: int, params: dict[str, float]) -> None:
    rng = random.Random(f"{rule} {params}")
    solver = Solver(12)
    for trial in range(4):
        width, height = rng.choice([(5, 5), (6, 6), (9, 7), (15, 15)])
        board = random_position(rng, width, height, rule, rng.choice([6, 12, width * height - 9]))
        if not board.legal_points():
            continue
        tree = Tree(SearchParams(**params), MIB if trial == 3 else 16 * MIB, solver)
        evaluator = UniformEvaluator() if trial == 1 else HashedEvaluator(trial)
        for _ in range(3):
            tree.set_root(board)
            tree.check()
            for simulations in (1, 7, 400, 1500):
                tree.run(simulations, evaluator.backend)
                tree.check()
            if tree.proven == PROVEN_NONE and tree.open_moves() > 2:
                tree.add_root_noise(0.3, seed=trial)
                tree.exclude(tree.moves()[:2].tolist(), 4)
                tree.check()
                tree.run(200, evaluator.backend)
                tree.check()
            if not play_on(board, rng):
                break


def test_statistics_add_up_where_draws_are_proven() -> None:
    """Five cells are left and no five is to be had: every line ends in a draw, reached in many orders."""
    board = Board(5, 5, 0)
    rows = ["01010", "01010", "10101", "01010", "01010"]
    for y, row in enumerate(rows):
        for x, colour in enumerate(row):
            if (x, y) not in ((0, 0), (4, 4), (2, 2), (0, 3), (3, 1)):
                board.place(y * 5 + x, int(colour))
    board.set_to_move(0)
    for params in PARAMS:
        tree = Tree(SearchParams(**params))
        tree.set_root(board)
        for _ in range(300):
            tree.run(1, HashedEvaluator(3).backend)
            tree.check()


def test_statistics_add_up_in_batches_with_moves_that_are_forced_on_the_root() -> None:
    rng = random.Random(3)
    solver = Solver(12)
    boards = [random_position(rng, 9, 9, rule, 7) for rule in ALL_RULES]
    trees = [Tree(SearchParams(**BUSY), 2 * MIB, solver) for _ in boards]
    evaluator = HashedEvaluator(4)
    planes, keys = buffers(boards[0], len(boards))
    for tree, board in zip(trees, boards, strict=True):
        tree.set_root(board)
    for step in range(300):
        status = np.zeros(len(trees), np.int32)
        moves = np.full(len(trees), -1, np.int32)
        if step % 3 == 2:
            for i, tree in enumerate(trees):
                moves[i] = rng.choice(tree.moves().tolist() or [-1])
        n = gather(trees, planes, keys, status, moves, tries=2)
        if n:
            scatter(trees, *evaluator.evaluate(planes[:n], keys[:n]), status)
        if step % 25 == 0:
            for tree in trees:
                tree.check()


def test_a_root_that_is_condensed_keeps_its_moves_and_what_they_are_worth() -> None:
    """A sharp policy fills the memory with small blocks below one move; then the root gets all its moves, and
    no block for so many edges is left. What lies below its moves goes, and the search goes on."""
    board = put(Board(20), "5,5")
    tree = Tree(SearchParams(), MIB)
    tree.set_root(board)
    planes, keys = buffers(board)

    def simulate(move: int) -> int:
        status = tree.select(planes, keys, move)
        if status == LEAF:
            rng = np.random.default_rng(int(keys[0]))
            wdl = 0.35 + 0.1 * rng.random(3)
            tree.expand((12 * rng.random((1, 400))).astype(np.float32), (wdl / wdl.sum()).astype(np.float32))
        return status

    assert simulate(-1) == LEAF
    moves = tree.moves().tolist()
    for _ in range(15_000):
        assert simulate(moves[0]) == LEAF
    for move in moves:
        nodes, before = tree.nodes, {row[0]: row[1:6] for row in tree.dump() if len(row[0]) == 1}
        assert simulate(move) == LEAF
        if 2 * tree.nodes < nodes:
            break
    else:
        pytest.fail("there was room for all")
    assert len(before) > 8
    assert max(visits for visits, *_ in before.values()) > 100
    assert before.pop((move,), None) is None
    after = {row[0]: row for row in tree.dump() if len(row[0]) == 1}
    assert after.pop((move,))[1] == 1
    assert {path: row[1:6] for path, row in after.items()} == before
    assert not any(row[7] for row in after.values())
    for move in moves:
        assert simulate(move) == LEAF
    tree.check()
    assert tree.run(2000, HashedEvaluator(6).backend) == 2000
    tree.check()
    assert tree.visits == tree.edge_visits().sum() + 1
    assert tree.memory_used <= MIB


def test_a_root_proven_by_the_solver_has_a_favourite_among_its_moves() -> None:
    """Its single move was visited, but what proves it is not known of that move."""
    board = put(Board(15, 15, 0), "7,7")
    tree = Tree(SearchParams(**BUSY), 16 * MIB, Solver(12))
    rng = random.Random(5)
    seen = 0
    for trial in range(40):
        board = random_position(rng, 9, 9, trial % 2, 14)
        tree.clear()
        for _ in range(4):
            tree.set_root(board)
            planes, keys = buffers(board)
            for _ in range(120):
                status = tree.select(planes, keys)
                if status == LEAF:
                    tree.expand(*HashedEvaluator(trial).evaluate(planes, keys))
                elif status != SOLVED:
                    break
            moves = tree.moves().tolist()
            point = tree.top_two()[0]
            assert point in moves if moves else point == -1
            seen += tree.proven != PROVEN_NONE and bool(moves)
            if not play_on(board, rng):
                break
    assert seen

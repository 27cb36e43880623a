"""What a tree keeps: from root to root, in little memory, over many games."""

from __future__ import annotations

import random

import pytest

from engine.config import EngineConfig
from engine.evaluator._backend import HashedBackend
from engine.evaluator.make import make_evaluator
from engine.evaluator.uniform import UniformEvaluator
from engine.rules._board import EMPTY, Board
from engine.rules.rule import NET_RULES
from engine.search._tree import PROVEN_NONE, PROVEN_WIN, Tree
from engine.search.mcts import Search
from engine.search.params import SearchParams
from engine.search.stoppers import NodeLimit
from engine.threats._solver import Solver
from tests.helpers.search import LONG, MIB, grown, put

# --- re-rooting ---------------------------------------------------------------------------------------------


def test_subtree_is_kept_after_two_plies() -> None:
    board = put(Board(15, 15, 0), "7,7")
    tree = grown(board, 3000)
    line = tree.pv()[:2]
    rows = {row[0]: row for row in tree.dump()}
    for point in line:
        board.place(point)
    kept = tree.set_root(board)
    assert kept == rows[tuple(line)][1] > 20
    below = [(row[0][2:], *row[1:6]) for path, row in rows.items() if path[:2] == tuple(line)]
    assert sorted(below) == sorted(tuple(row[:6]) for row in tree.dump())
    tree.run(100, HashedBackend(1))
    assert tree.visits == kept + 100


def test_stones_in_another_order_keep_the_subtree() -> None:
    board = put(Board(15, 15, 0), "7,7")
    tree = grown(board, 3000)
    line = tree.pv()[:4]
    shuffled = Board(15, 15, 0)
    for point, colour in ((line[3], 0), (line[2], 1), (7 * 15 + 7, 0), (line[1], 0), (line[0], 1)):
        shuffled.place(point, colour)
    shuffled.set_to_move(1)
    expected = {row[0]: row[1] for row in tree.dump()}[tuple(line)]
    assert tree.set_root(shuffled) >= expected > 0


def test_a_win_whose_move_is_not_known_is_looked_for() -> None:
    """The solver proved that a move loses, without the answer; then the opponent plays that move."""
    board = put(Board(15, 15, 0), "7,7 8,8")
    search = Search(memory_bytes=16 * MIB)
    search.search(board, UniformEvaluator(), [NodeLimit(300)])
    visited = search.tree.top_two()[0]
    search.tree.exclude([visited], 9)
    board.place(visited)
    assert search.tree.set_root(board) > 0 and search.tree.proven == PROVEN_WIN
    result = search.search(board, UniformEvaluator(), [NodeLimit(50)])
    assert result.simulations == 50 and result.proven is None


@pytest.mark.parametrize(
    "change", ["other size", "other rule", "stone gone", "wrong side to move", "obstacle", "far", "turned"]
)
def test_other_positions_clear_the_tree(change: str) -> None:
    board = put(Board(15, 15, 0), "7,7 8,8")
    tree = grown(board, 1000)
    a, b = tree.pv()[:2]
    other = board.copy()
    if change == "other size":
        other = put(Board(16, 15, 0), "7,7 8,8")
    elif change == "other rule":
        other = put(Board(15, 15, 1), "7,7 8,8")
    elif change == "stone gone":
        other = put(Board(15, 15, 0), "7,7")
    elif change == "wrong side to move":
        other.place(a)
        other.set_to_move(0)
    elif change == "obstacle":
        other.block(a)
    elif change == "far":
        for point in [p for p in board.legal_points() if p not in (a, b)][:8]:
            other.place(point)
    else:
        other = put(Board(15, 15, 0), "8,8 7,7")
    assert tree.set_root(other) == 0
    assert not tree.has_root
    assert tree.run(10, HashedBackend(1)) == 10
    assert sorted(tree.moves().tolist()) == other.legal_points()


def test_root_has_all_moves_after_rerooting() -> None:
    board = put(Board(15, 15, 0), "7,7")
    tree = grown(board, 500)
    board.place(tree.pv()[0])
    assert tree.set_root(board) > 0
    assert sorted(tree.moves().tolist()) == board.legal_points()
    assert tree.priors().sum() == pytest.approx(1, abs=2.0**-12)


def test_game_over_is_refused() -> None:
    tree = Tree(SearchParams(), MIB)
    board = put(Board(15, 15, 0), "3,3 0,0 4,3 0,2 5,3 0,4 6,3 0,6 7,3")
    with pytest.raises(ValueError, match="over"):
        tree.set_root(board)
    with pytest.raises(ValueError, match="root"):
        tree.run(1, HashedBackend(0))


# --- memory -------------------------------------------------------------------------------------------------


def test_full_arena_goes_on_searching_within_its_bound() -> None:
    board = put(Board(15, 15, 0), "7,7")
    tree = Tree(SearchParams(edge_cap=0), MIB)
    tree.set_root(board)
    assert tree.run(6000, HashedBackend(1)) == 6000
    assert tree.visits == 6000
    assert tree.memory_used <= MIB
    assert tree.nodes < 2000
    assert sum(row[1] for row in tree.dump() if len(row[0]) == 1) == 5999
    board.place(tree.top_two()[0])
    tree.set_root(board)
    assert tree.run(3000, HashedBackend(1)) == 3000
    assert tree.memory_used <= MIB


@pytest.mark.parametrize(("side", "seed"), [(15, 1), (15, 3), (20, 2), (20, 3)])
def test_a_full_memory_keeps_most_of_the_tree(side: int, seed: int) -> None:
    """Blocks of many sizes come and go, and what is freed is of use again: no part of the tree is dropped."""
    rng, board = random.Random(seed), Board(side, side, 0)
    while board.ply < 6:
        x, y = (side // 2 + rng.randint(-3, 3) for _ in range(2))
        if board.cell(y * side + x) == EMPTY:
            board.place(y * side + x)
            if board.five_points(0) or board.five_points(1):
                board.undo()
    tree = Tree(SearchParams(), 2 * MIB, Solver(14))
    tree.set_root(board)
    backend = make_evaluator(EngineConfig(), 0).backend
    nodes = 0
    for _ in range(400):
        assert tree.run(100, backend) == 100
        assert tree.nodes > 0.8 * nodes
        nodes = max(nodes, tree.nodes)
    assert tree.memory_used <= 2 * MIB and nodes < 20_000
    tree.exclude([p for p in tree.moves().tolist() if p != tree.top_two()[0]], 30)
    assert tree.nodes > 0.8 * nodes and tree.open_moves() == 1
    assert tree.run(100, backend) == 100


def test_buried_subtrees_are_used_again() -> None:
    board = Board(9, 9, 0)
    tree = Tree(SearchParams(), 8 * MIB)
    used = []
    for _ in range(12):
        tree.set_root(board)
        if tree.run(1500, HashedBackend(3)) < 1500:
            break
        used.append(tree.memory_used)
        board.place(tree.top_two()[0])
    assert max(used) <= 3 * used[1]
    assert tree.nodes < 6000


def test_hundred_games_leave_no_memory_behind() -> None:
    tree = Tree(SearchParams(), 16 * MIB, Solver(10))
    rng = random.Random(1)
    used = 0
    for game in range(100 * LONG):
        board = Board(8, 8, rng.choice(NET_RULES))
        while board.winner == 2 and board.n_empty:
            tree.set_root(board)
            tree.run(40, HashedBackend(game))
            point = tree.proof_move() if tree.proven != PROVEN_NONE else tree.top_two()[0]
            if point < 0:
                break
            board.place(point)
        if game == 20:
            used = tree.memory_used
    assert 0 < used <= tree.memory_used <= 2 * used


def test_bounds_of_memory() -> None:
    with pytest.raises(ValueError, match="MiB"):
        Tree(SearchParams(), MIB - 1)
    tree = grown(put(Board(15, 15, 0), "4,4"), 8000)
    assert tree.memory_used > MIB
    tree.memory_bytes = MIB
    assert tree.run(10, HashedBackend(1)) == 10
    tree.clear()
    assert tree.memory_used <= MIB
    tree.trim()
    assert tree.memory_used == 0
    assert not tree.has_root

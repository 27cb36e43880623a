"""Leaves whose opponent threatens to win by fours: only the moves that may stop him are stored."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from engine.encoding import encode
from engine.evaluator.hashed import HashedEvaluator
from engine.rules._board import EMPTY, Board
from engine.rules.rule import ALL_RULES, NET_RULES
from engine.search._tree import LEAF, PROVEN_LOSS, PROVEN_NONE, Tree
from engine.search.mcts import Search
from engine.search.params import SearchParams
from engine.search.stoppers import NodeLimit
from engine.threats._solver import Solver
from engine.threats.solution import Verdict
from tests.helpers.search import MIB, buffers, put
from tests.reference.positions import kernel_board, random_position

THREATS = {
    "open three": ("6,7 3,3 5,7 11,3", (7, 7)),
    "four and three": ("5,7 4,7 6,7 1,1 8,8 13,1 8,9 1,13", (7, 7)),
}
"""Moves with the one of black behind which he threatens to win by fours."""


def step(tree: Tree, board: Board, move: int = -1) -> int:
    """Do a simulation with a net that knows nothing, through a move of the root."""
    status = tree.select(*buffers(board), move)
    if status == LEAF:
        tree.expand(np.zeros(board.points, np.float32), np.array([0, 1, 0], np.float32))
    return status


def reach(board: Board, move: int, params: SearchParams | None = None) -> tuple[Tree, Board]:
    """Return a tree whose root was a leaf behind that move, and the root's position."""
    tree = Tree(params, 4 * MIB, Solver(12))
    tree.set_root(board)
    step(tree, board)
    step(tree, board, move)
    board = board.copy()
    board.place(move)
    tree.set_root(board)
    return tree, board


@pytest.mark.parametrize("threat", THREATS)
def test_a_leaf_keeps_the_defences_and_the_root_all_moves(threat: str) -> None:
    moves, (x, y) = THREATS[threat]
    before, move = put(Board(15, 15, 0), moves), y * 15 + x
    tree, board = reach(before, move)
    legal = board.legal_points()
    defences = Solver(14).solve(board, "vcf", 0, 100_000).defences
    assert 1 < len(defences) < 20
    assert sorted(tree.moves().tolist()) == list(defences) == np.flatnonzero(encode(board)[15]).tolist()
    everything, _ = reach(before, move, SearchParams(leaf_defences=False, edge_cap=0))
    assert sorted(everything.moves().tolist()) == legal
    root = Tree(None, 4 * MIB, Solver(12))
    root.set_root(board)
    step(root, board)
    assert sorted(root.moves().tolist()) == legal


@pytest.mark.parametrize("threat", THREATS)
def test_defences_beyond_the_cap_are_stored_when_they_are_wanted(threat: str) -> None:
    moves, (x, y) = THREATS[threat]
    tree, board = reach(put(Board(15, 15, 0), moves), y * 15 + x, SearchParams(edge_cap=1))
    defences = Solver(14).solve(board, "vcf", 0, 100_000).defences
    assert sorted(tree.moves().tolist()) == list(defences)
    tree.exclude(tree.moves()[:1].tolist(), 4)
    assert tree.run(20, HashedEvaluator(1).backend) == 20 or tree.proven == PROVEN_LOSS


def test_the_defences_that_a_node_keeps_share_the_prior_of_the_moves_it_drops() -> None:
    """Without it, one of two defences of nearly the same value would get most visits."""
    moves, (x, y) = THREATS["open three"]
    before = put(Board(15, 15, 0), moves)
    params = SearchParams(leaf_defences=False, edge_cap=0, tree_vct_visits=2, tree_vct_nodes=2000)
    tree = Tree(params, 16 * MIB, Solver(12))
    tree.set_root(before)
    for _ in range(8):
        step(tree, before, y * 15 + x)
    board = before.copy()
    board.place(y * 15 + x)
    tree.set_root(board)
    assert len(tree.moves()) == 3
    tree.run(400, HashedEvaluator(1).backend)
    visits = sorted(tree.edge_visits().tolist())
    assert visits[1] > 0.8 * visits[2] > 100


def threatened(rule: int, count: int) -> Iterator[tuple[Tree, Board]]:
    """Yield trees whose root was a leaf that the solver settled or a threat narrowed, with the position."""
    rng = random.Random(900 + rule)
    for _ in range(count):
        board = kernel_board(random_position(rng, rule, (6, 12), (8, 40), 0.05))
        stones, attacker = board.stones(), 1 - board.to_move
        if board.five_points(0) or board.five_points(1) or not encode(board)[22].any():
            continue
        for last in [stone for stone in stones if stone[1] == attacker]:
            others = [stone for stone in stones if stone != last]
            before = Board.from_stones(board.width, board.height, rule, others)
            before.set_to_move(attacker)
            if before.winner != EMPTY or not before.legal_points() or before.is_forbidden(last[0]):
                continue
            if before.five_points(0) or before.five_points(1):
                continue
            tree, after = reach(before, last[0], SearchParams(edge_cap=0))
            if tree.visits:
                yield tree, after
                break


@pytest.mark.parametrize("rule", ALL_RULES)
def test_every_move_that_a_leaf_drops_loses(rule: int) -> None:
    solver = Solver(14)
    narrowed = lost = 0
    for tree, board in threatened(rule, 600):
        if tree.proven not in (PROVEN_NONE, PROVEN_LOSS):
            continue
        kept = set(tree.moves().tolist()) if tree.proven == PROVEN_NONE else set()
        legal = set(board.legal_points())
        assert kept <= legal
        narrowed += 1 < len(kept) < len(legal)
        lost += not kept
        for point in legal - kept:
            after = board.copy()
            after.place(point)
            assert solver.solve(after, "vcf", nodes=500_000).verdict is Verdict.WIN, f"{point} was dropped"
        if not kept:
            assert tree.proof_move() in legal
    assert narrowed > 20 and lost


def test_a_single_defence_is_walked_through_without_an_evaluation() -> None:
    for tree, board in threatened(0, 600):
        if tree.forced and tree.proven == PROVEN_NONE:
            assert tree.raw_wdl is None and tree.visits == 1
            assert tree.moves().tolist() == np.flatnonzero(encode(board)[15]).tolist()
            return
    pytest.fail("no position has a single defence")


@pytest.mark.parametrize("rule", NET_RULES)  # under Omok a second open three is forbidden
def test_a_leaf_without_a_defence_is_lost_and_still_has_a_move_to_play(rule: int) -> None:
    before = put(Board(15, 15, rule), "0,14 5,7 14,14 6,7 14,0 7,5 0,0 7,6 14,7")
    tree, board = reach(before, 7 * 15 + 7)  # white's second open three
    assert (tree.proven, tree.visits, tree.evaluations) == (PROVEN_LOSS, 1, 1)
    assert tree.distance % 2 == 0 and tree.distance >= 4
    assert tree.proof_move() in board.legal_points()
    search = Search(SearchParams(root_solver_nodes=0), 16 * MIB)
    search.search(before, HashedEvaluator(1), [NodeLimit(400)])
    result = search.search(board, HashedEvaluator(1), [NodeLimit(400)])
    assert result.proven == "loss"
    assert result.point in board.legal_points()

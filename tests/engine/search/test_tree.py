"""The tree: signs, masks, noise, batches."""

from __future__ import annotations

import random

import numpy as np
import pytest

from engine.encoding import N_PLANES, encode
from engine.evaluator._backend import HashedBackend
from engine.evaluator.hashed import HashedEvaluator
from engine.evaluator.uniform import UniformEvaluator
from engine.rules._board import Board
from engine.rules.rule import NET_RULES
from engine.search._tree import (
    IDLE,
    LEAF,
    NOTHING_LEFT,
    PROVEN_DRAW,
    PROVEN_LOSS,
    PROVEN_WIN,
    SKIP,
    Tree,
    gather,
    scatter,
)  # fmt: skip
from engine.search.params import SearchParams
from engine.threats._solver import Solver
from tests.helpers.search import MIB, buffers, grown, put, random_position


@pytest.mark.parametrize("evaluator", [UniformEvaluator(), HashedEvaluator(9)], ids=lambda e: e.name)
def test_python_and_kernel_evaluators_agree_bit_for_bit(evaluator: HashedEvaluator) -> None:
    keys = np.random.default_rng(3).integers(0, 2**64, size=50, dtype=np.uint64)
    planes = np.zeros((50, N_PLANES, 9, 7), np.float32)
    policy, wdl = evaluator.evaluate(planes, keys)
    for i, key in enumerate(keys.tolist()):
        logits, chances = evaluator.backend.evaluate(planes[i], key)
        assert (logits == policy[i]).all()
        assert (chances == wdl[i]).all()
    assert np.abs(wdl.sum(axis=1) - 1).max() < 1e-6


def test_value_is_negated_once_a_ply() -> None:
    """A net that always sees 0.8 for the side to move: the root is worth 0.8 at first, each of its moves
    -0.8."""
    board = put(Board(15, 15, 0), "7,7")
    tree = Tree(SearchParams(), 16 * MIB)
    tree.set_root(board)
    planes, keys = buffers(board)
    policy, wdl = np.zeros(225, np.float32), np.array([0.85, 0.1, 0.05], np.float32)
    for _ in range(3):
        assert tree.select(planes, keys) == LEAF
        tree.expand(policy, wdl)
    assert tree.raw_wdl == pytest.approx((0.85, 0.1, 0.05))
    visited = tree.edge_visits() > 0
    assert tree.edge_q()[visited] == pytest.approx([-0.8, -0.8])
    assert tree.edge_draw()[visited] == pytest.approx([0.1, 0.1])
    assert tree.edge_minimax()[visited] == pytest.approx([-0.8, -0.8], abs=1 / 127)
    assert np.isnan(tree.edge_minimax()[~visited]).all()
    win, draw, loss = tree.wdl
    assert win - loss == pytest.approx((0.8 - 0.8 - 0.8) / 3)
    assert draw == pytest.approx(0.1)


def test_winning_move_of_one_colour_is_found_for_both() -> None:
    for first in ("0,14", ""):  # a stone elsewhere turns the colours round
        board = Board(15, 15, 0)
        for pair in f"{first} 3,3 0,0 4,3 2,14 5,3 14,14".split():
            put(board, pair)
        if first:
            board.set_to_move(1)
        line = {board.cell(3 * 15 + x) for x in (3, 4, 5)}
        assert line == {1 if first else 0}
        tree = Tree(SearchParams(), 32 * MIB, Solver(12))
        tree.set_root(board)
        tree.run(50, HashedBackend(1))
        assert tree.proven == PROVEN_WIN
        assert tree.distance == 3


@pytest.mark.parametrize("rule", NET_RULES)
def test_moves_are_the_legal_ones_and_priors_sum_to_one(rule: int) -> None:
    rng = random.Random(rule)
    for trial in range(60):
        board = random_position(rng, 15, 15, rule, rng.randrange(40))
        if board.five_points(0) or board.five_points(1) or not board.n_empty:
            continue
        tree = grown(board, 40, seed=trial)
        assert sorted(tree.moves().tolist()) == board.legal_points()
        assert tree.priors().sum() == pytest.approx(1, abs=2.0**-12)
        policy, _ = HashedEvaluator(trial).evaluate(buffers(board)[0], np.array([board.hash], np.uint64))
        logits = policy[0, tree.moves()].astype(float) - policy.max()
        weights = np.exp(logits / SearchParams().policy_temperature)
        assert tree.priors() == pytest.approx(weights / weights.sum(), rel=2.0**-12 + 1e-5, abs=2.0**-31)


def test_black_never_considers_a_forbidden_point() -> None:
    board = Board(15, 15, 4)
    for x, y in ((7, 5), (7, 6), (5, 7), (6, 7)):
        board.place(y * 15 + x, 0)
    board.place(0, 1)
    board.place(14, 1)
    board.set_to_move(0)
    assert board.is_forbidden(7 * 15 + 7)
    tree = grown(board, 2000)
    assert 7 * 15 + 7 not in tree.moves()
    board.set_to_move(1)
    assert 7 * 15 + 7 in grown(board, 10).moves()
    for path, *_ in grown(board, 2000).dump():
        replay, colour = board.copy(), 1
        for point in path:
            assert not replay.is_forbidden(point, colour)
            replay.place(point)
            colour = 1 - colour


def test_forced_block_is_the_only_move_and_costs_no_evaluation() -> None:
    board = put(Board(15, 15, 0), "3,3 0,0 4,3 0,2 5,3 0,4 6,3 2,3")
    board.place(14 * 15 + 14)
    assert board.five_points(0) == [3 * 15 + 7]
    tree = grown(board, 100)
    assert tree.forced
    assert tree.moves().tolist() == [3 * 15 + 7]
    assert tree.raw_wdl is None
    assert tree.evaluations <= 100


def test_two_five_points_lose_in_two_plies() -> None:
    board = put(Board(15, 15, 0), "3,3 0,0 4,3 0,2 5,3 0,4 6,3")
    tree = grown(board, 5)
    assert (tree.proven, tree.distance) == (PROVEN_LOSS, 2)
    assert tree.proof_move() in board.five_points(0)
    assert tree.wdl == (0.0, 0.0, 1.0)


def test_caro_four_can_be_stopped_at_its_end() -> None:
    """White closes one end of black's four; the other end stops the five as well, since both are blocked
    then."""
    board = Board(15, 15, 8)
    for x in (4, 5, 6, 8):
        board.place(3 * 15 + x, 0)
    board.place(3 * 15 + 3, 1)
    board.set_to_move(1)
    assert board.five_points(0) == [3 * 15 + 7]
    tree = grown(board, 50)
    assert sorted(tree.moves().tolist()) == [3 * 15 + 7, 3 * 15 + 9]


def test_renju_black_loses_when_his_only_block_is_forbidden() -> None:
    board = Board(15, 15, 4)
    for x in (3, 4, 5, 6):
        board.place(3 * 15 + x, 1)
    board.place(3 * 15 + 2, 0)  # white's only five point is (7,3)
    for x, y in ((7, 4), (7, 5), (8, 4), (9, 5)):
        board.place(y * 15 + x, 0)
    board.place(14 * 15, 1)
    board.set_to_move(0)
    assert board.is_forbidden(3 * 15 + 7)
    tree = grown(board, 5)
    assert (tree.proven, tree.distance) == (PROVEN_LOSS, 2)


def test_full_board_is_a_draw() -> None:
    """Columns in pairs of colours, shifted, make no five; two empty cells are left."""
    board = Board(5, 5, 0)
    rows = ["01010", "01010", "10101", "01010", "01010"]
    for y, row in enumerate(rows):
        for x, c in enumerate(row):
            if (x, y) not in ((0, 0), (4, 4)):
                board.place(y * 5 + x, int(c))
    board.set_to_move(0)
    tree = grown(board, 50)
    assert (tree.proven, tree.distance) == (PROVEN_DRAW, 2)
    assert tree.wdl == (0.0, 1.0, 0.0)
    assert len(tree.pv()) == 2


def test_shortest_win_is_reported() -> None:
    """Black has a straight four next move (3 plies) and would also win more slowly elsewhere."""
    board = put(Board(15, 15, 0), "7,7 0,0 8,7 2,0 9,7 4,0")
    tree = Tree(SearchParams(), 64 * MIB, Solver(14))
    tree.set_root(board)
    tree.run(10, HashedBackend(0))
    assert (tree.proven, tree.distance) == (PROVEN_WIN, 3)
    assert tree.run(10, HashedBackend(0)) == 0


def test_solved_root_takes_no_simulations() -> None:
    board = put(Board(15, 15, 0), "7,7 0,0 8,7 2,0 9,7 4,0 10,7 6,0")
    tree = grown(board, 1)
    assert (tree.proven, tree.distance) == (PROVEN_WIN, 1)
    planes, keys = buffers(board)
    assert tree.select(planes, keys) == NOTHING_LEFT
    assert tree.visits == 1


def test_moves_proven_to_lose_leave_the_average() -> None:
    board = put(Board(15, 15, 0), "7,7")
    tree = grown(board, 400)
    points = tree.moves()[:3].tolist()
    edges = zip(tree.moves(), tree.edge_visits(), tree.edge_q(), strict=True)
    kept = [(v, q) for p, v, q in edges if p not in points and v]
    weight = 1 + sum(v for v, _ in kept)
    total = tree.raw_wdl[0] - tree.raw_wdl[2] + sum(v * q for v, q in kept)
    visits = tree.visits
    tree.exclude(points, 4)
    assert tree.visits == visits, "visits count effort"
    assert tree.wdl[0] - tree.wdl[2] == pytest.approx(total / weight, abs=1e-6)
    before = tree.edge_visits()[:3].copy()
    tree.run(300, HashedBackend(1))
    assert (tree.edge_visits()[:3] == before).all(), "proven moves take no simulations"


def test_all_moves_excluded_is_a_loss_defended_longest() -> None:
    board = put(Board(9, 9, 0), "4,4")
    tree = grown(board, 50)
    tree.exclude(tree.moves().tolist(), 4)
    assert (tree.proven, tree.distance) == (PROVEN_LOSS, 4)
    stubborn = int(tree.moves()[7])
    tree.exclude([stubborn], 10)
    assert tree.distance == 10
    assert tree.proof_move() == stubborn


# --- noise
# ------------------------------------------------------------------------------------------------------


def test_noise_acts_on_every_move_and_is_left_behind() -> None:
    board = Board(9, 9, 0)
    quiet, noisy = Tree(SearchParams(), 16 * MIB), Tree(SearchParams(), 16 * MIB)
    differs = 0
    for ply in range(6):
        for tree in (quiet, noisy):
            tree.set_root(board)
        noisy.add_root_noise(0.5, seed=ply)
        for tree in (quiet, noisy):
            tree.run(300, HashedBackend(4))
        fresh = grown(board, 1, seed=4)
        clean = dict(zip(noisy.moves().tolist(), noisy.priors().tolist(), strict=True))
        expected = dict(zip(fresh.moves().tolist(), fresh.priors().tolist(), strict=True))
        top = sorted(expected, key=lambda p: -expected[p])[: SearchParams().edge_cap]
        assert [clean[p] for p in top] == pytest.approx([expected[p] for p in top], rel=1e-5)
        spread = [int((tree.edge_visits() > 0).sum()) for tree in (quiet, noisy)]
        differs += spread[1] > spread[0]
        board.place(noisy.top_two()[0])
    assert differs == 6, "noise widens the root on every move, also where the subtree was kept"


def test_noise_does_not_pile_up() -> None:
    board = put(Board(9, 9, 0), "4,4")
    tree = grown(board, 50)
    before = tree.priors()
    for seed in range(20):
        tree.add_root_noise(0.9, seed=seed)
    tree.add_root_noise(0.0)
    assert sorted(tree.priors().tolist()) == sorted(before.tolist())
    tree.add_root_noise(0.25, seed=1)
    tree.run(50, HashedBackend(1))
    assert sorted(tree.priors().tolist()) == sorted(before.tolist())


# --- batches
# ----------------------------------------------------------------------------------------------------


def test_batches_grow_the_same_trees_as_single_simulations() -> None:
    rng = random.Random(5)
    boards = [random_position(rng, 9, 9, rule, 6 + rule) for rule in (*NET_RULES, 0, 4)]
    evaluator = HashedEvaluator(2)
    trees = [Tree(SearchParams(), 4 * MIB) for _ in boards]
    for tree, board in zip(trees, boards, strict=True):
        tree.set_root(board)
    planes, keys = buffers(boards[0], len(boards))
    status = np.zeros(len(boards), np.int32)
    for _ in range(200):
        n = gather(trees, planes, keys, status)
        assert n == (status == LEAF).sum()
        if n:
            scatter(trees, *evaluator.evaluate(planes[:n], keys[:n]), status)
        assert (status != LEAF).all()
    for tree, board in zip(trees, boards, strict=True):
        alone = Tree(SearchParams(), 4 * MIB)
        alone.set_root(board)
        alone.run(200, HashedBackend(2))
        assert tree.signature() == alone.signature()


def test_gather_writes_planes_of_the_leaf_in_rows_of_waiting_trees() -> None:
    boards = [put(Board(9, 9, 0), "4,4"), put(Board(9, 9, 0), "4,4 5,5"), put(Board(9, 9, 0), "3,3 6,6 5,5")]
    trees = [Tree(SearchParams(), MIB) for _ in boards]
    for tree, board in zip(trees, boards, strict=True):
        tree.set_root(board)
    planes, keys = buffers(boards[0], 3)
    status = np.array([IDLE, SKIP, IDLE], np.int32)
    assert gather(trees, planes, keys, status) == 2
    assert status.tolist() == [LEAF, SKIP, LEAF]
    assert (planes[0] == encode(boards[0])).all()
    assert (planes[1] == encode(boards[2])).all()
    assert keys[:2].tolist() == [boards[0].hash, boards[2].hash]


def test_root_moves_are_forced() -> None:
    board = put(Board(9, 9, 0), "4,4")
    tree = grown(board, 1)
    planes, keys = buffers(board)
    wanted = [8, 8, 70, 8, 70, 3]
    for point in wanted:
        status = np.zeros(1, np.int32)
        assert gather([tree], planes, keys, status, np.array([point], np.int32)) == 1
        scatter([tree], *HashedEvaluator(1).evaluate(planes, keys), status)
    visits = dict(zip(tree.moves().tolist(), tree.edge_visits().tolist(), strict=True))
    assert {p: v for p, v in visits.items() if v} == {8: 3, 70: 2, 3: 1}
    with pytest.raises(ValueError, match="no move"):
        gather([tree], planes, keys, np.zeros(1, np.int32), np.array([40], np.int32))
    tree.exclude([8], 4)
    status = np.zeros(1, np.int32)
    assert gather([tree], planes, keys, status, np.array([8], np.int32)) == 0
    assert status[0] == NOTHING_LEFT


def test_dropped_leaf_leaves_no_trace() -> None:
    board = put(Board(9, 9, 0), "4,4")
    tree = grown(board, 100)
    before = tree.signature()
    planes, keys = buffers(board)
    for _ in range(3):
        assert tree.select(planes, keys) == LEAF
    assert tree.signature() == before
    tree.set_root(board)
    with pytest.raises(ValueError, match="pending"):
        tree.expand(np.zeros(81, np.float32), np.array([0, 1, 0], np.float32))


@pytest.mark.parametrize("wrong", ["nan policy", "inf policy", "nan wdl", "logits as wdl", "short policy"])
def test_bad_answers_are_refused(wrong: str) -> None:
    board = put(Board(9, 9, 0), "4,4")
    tree = grown(board, 20)
    before = tree.signature()
    policy, wdl = np.zeros(81, np.float32), np.array([0.2, 0.3, 0.5], np.float32)
    if wrong == "nan policy":
        policy[:] = np.nan
    elif wrong == "inf policy":
        policy[:] = np.inf
    elif wrong == "nan wdl":
        wdl[1] = np.nan
    elif wrong == "logits as wdl":
        wdl[:] = (5.0, 1.0, -3.0)
    else:
        policy = policy[:80]
    assert tree.select(*buffers(board)) == LEAF
    with pytest.raises(ValueError, match=r"finite|policy"):
        tree.expand(policy, wdl)
    assert tree.signature() == before

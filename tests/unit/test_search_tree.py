"""The tree: signs, masks, noise, re-rooting, batches, memory."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from engine.evaluator._judge import HashedJudge, UniformJudge
from engine.evaluator.hashed import HashedEvaluator
from engine.evaluator.uniform import UniformEvaluator
from engine.rules._board import EMPTY, Board
from engine.search._tree import (
    FULL,
    IDLE,
    LEAF,
    NOTHING_LEFT,
    PROVEN_DRAW,
    PROVEN_LOSS,
    PROVEN_NONE,
    PROVEN_WIN,
    SKIP,
    SOLVED,
    Tree,
    gather,
    scatter,
)  # fmt: skip
from engine.search.params import SearchParams
from engine.threats._solver import Solver
from tests.property.test_tree_equality import random_position

MIB = 1 << 20
LONG = 10 if os.environ.get("TENGEN_LONG") == "1" else 1


def grown(board: Board, simulations: int = 500, *, params: SearchParams | None = None, seed: int = 1) -> Tree:
    tree = Tree(params, 64 * MIB)
    tree.set_root(board)
    tree.run(simulations, HashedJudge(seed))
    return tree


def buffers(board: Board, rows: int = 1) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((rows, 20, board.height, board.width), np.float32), np.zeros(rows, np.uint64)


def put(board: Board, text: str) -> Board:
    """Place "x,y x,y ..." in turn."""
    for pair in text.split():
        x, y = pair.split(",")
        board.place(int(y) * board.width + int(x))
    return board


@pytest.mark.parametrize("evaluator", [UniformEvaluator(), HashedEvaluator(9)], ids=lambda e: e.name)
def test_python_and_kernel_evaluators_agree_bit_for_bit(evaluator: HashedEvaluator) -> None:
    keys = np.random.default_rng(3).integers(0, 2**64, size=50, dtype=np.uint64)
    planes = np.zeros((50, 20, 9, 7), np.float32)
    policy, wdl = evaluator.evaluate(planes, keys)
    for i, key in enumerate(keys.tolist()):
        logits, chances = evaluator.judge.ask(planes[i], key)
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
        tree.run(50, HashedJudge(1))
        assert tree.proven == PROVEN_WIN
        assert tree.distance == 3


@pytest.mark.parametrize("rule", [0, 1, 4, 8, 9])
def test_moves_are_the_legal_ones_and_priors_sum_to_one(rule: int) -> None:
    rng = random.Random(rule)
    for trial in range(60):
        board = random_position(rng, 15, 15, rule, rng.randrange(40))
        if board.five_points(0) or board.five_points(1) or not board.n_empty:
            continue
        tree = grown(board, 40, seed=trial)
        assert sorted(tree.moves().tolist()) == board.legal_points()
        assert tree.priors().sum() == pytest.approx(1, abs=1e-5)
        policy, _ = HashedEvaluator(trial).evaluate(buffers(board)[0], np.array([board.hash], np.uint64))
        logits = policy[0, tree.moves()].astype(float) - policy.max()
        weights = np.exp(logits / SearchParams().policy_temperature)
        assert tree.priors() == pytest.approx(weights / weights.sum(), rel=1e-5, abs=1e-12)


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
            assert not (colour == 0 and replay.is_forbidden(point))
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
    tree.run(10, HashedJudge(0))
    assert (tree.proven, tree.distance) == (PROVEN_WIN, 3)
    assert tree.run(10, HashedJudge(0)) == 0


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
    tree.run(300, HashedJudge(1))
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
            tree.run(300, HashedJudge(4))
        fresh = grown(board, 1, seed=4)
        clean = dict(zip(noisy.moves().tolist(), noisy.priors().tolist(), strict=True))
        expected = dict(zip(fresh.moves().tolist(), fresh.priors().tolist(), strict=True))
        top = sorted(expected, key=lambda p: -expected[p])[:20]
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
    tree.run(50, HashedJudge(1))
    assert sorted(tree.priors().tolist()) == sorted(before.tolist())


# --- re-rooting
# -------------------------------------------------------------------------------------------------


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
    tree.run(100, HashedJudge(1))
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
    assert tree.run(10, HashedJudge(1)) == 10
    assert sorted(tree.moves().tolist()) == other.legal_points()


def test_root_has_all_moves_after_rerooting() -> None:
    board = put(Board(15, 15, 0), "7,7")
    tree = grown(board, 500)
    board.place(tree.pv()[0])
    assert tree.set_root(board) > 0
    assert sorted(tree.moves().tolist()) == board.legal_points()
    assert tree.priors().sum() == pytest.approx(1, abs=1e-4)


def test_game_over_is_refused() -> None:
    tree = Tree(SearchParams(), MIB)
    board = put(Board(15, 15, 0), "3,3 0,0 4,3 0,2 5,3 0,4 6,3 0,6 7,3")
    with pytest.raises(ValueError, match="over"):
        tree.set_root(board)
    with pytest.raises(ValueError, match="root"):
        tree.run(1, HashedJudge(0))


# --- batches
# ----------------------------------------------------------------------------------------------------


def test_batches_grow_the_same_trees_as_single_simulations() -> None:
    rng = random.Random(5)
    boards = [random_position(rng, 9, 9, rule, 6 + rule) for rule in (0, 1, 4, 8, 9, 0, 4)]
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
        alone.run(200, HashedJudge(2))
        assert tree.signature() == alone.signature()


def test_gather_writes_planes_of_the_leaf_in_rows_of_waiting_trees() -> None:
    from engine.encoding import encode

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


# --- memory
# -----------------------------------------------------------------------------------------------------


def test_full_arena_goes_on_searching_within_its_bound() -> None:
    board = put(Board(15, 15, 0), "7,7")
    tree = Tree(SearchParams(edge_cap=0), MIB)
    tree.set_root(board)
    assert tree.run(6000, HashedJudge(1)) == 6000
    assert tree.visits == 6000
    assert tree.memory_used <= MIB
    assert tree.nodes < 2000
    assert sum(row[1] for row in tree.dump() if len(row[0]) == 1) == 5999
    board.place(tree.top_two()[0])
    tree.set_root(board)
    assert tree.run(3000, HashedJudge(1)) == 3000
    assert tree.memory_used <= MIB


def test_buried_subtrees_are_used_again() -> None:
    board = Board(9, 9, 0)
    tree = Tree(SearchParams(), 8 * MIB)
    used = []
    for _ in range(12):
        tree.set_root(board)
        if tree.run(1500, HashedJudge(3)) < 1500:
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
        board = Board(8, 8, rng.choice((0, 1, 4, 8, 9)))
        while board.winner == 2 and board.n_empty:
            tree.set_root(board)
            tree.run(40, HashedJudge(game))
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
    assert tree.run(10, HashedJudge(1)) == 10
    tree.clear()
    assert tree.memory_used <= MIB
    tree.trim()
    assert tree.memory_used == 0
    assert not tree.has_root


# --- solver
# -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [0, 1, 4, 8, 9])
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
            tree.run(4000, UniformJudge())
            results.append(tree.proven)
        if PROVEN_NONE not in results:
            assert results[0] == results[1]
            proven += 1
    assert proven >= 5


def test_solver_spares_the_net() -> None:
    board = put(Board(15, 15, 0), "7,7 0,0 8,7 2,0 9,8 4,0")
    with_solver, without = Tree(SearchParams(), 32 * MIB, Solver(14)), Tree(SearchParams(), 32 * MIB)
    off = Tree(SearchParams(leaf_vcf_nodes=0), 32 * MIB, Solver(14))
    for tree in (with_solver, without, off):
        tree.set_root(board)
        tree.run(400, HashedJudge(1))
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
        tree.run(1000, HashedJudge(1))
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


@pytest.mark.parametrize("rule", [0, 1, 4, 8, 9])
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
        exhaustive.run(20_000, UniformJudge())
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
    tree = Tree(SearchParams(tree_vct_visits=4), 32 * MIB, Solver(14))
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
        assert tree.run(3000, HashedJudge(5)) == 3000
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
        tree.run(40_000, HashedJudge(5))
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
        tree.run(2500, UniformJudge())
        tree.check()
        positions = positions_of(tree)
        assert len(set(positions)) == len(positions) <= tree.nodes
        moves = tree.moves()
        board.place(int(moves[rng.integers(min(3, len(moves)))]) if len(moves) else tree.proof_move())
    tree.clear()
    assert tree.nodes == 0


def test_a_node_that_only_dead_ones_know_is_found_behind_a_forced_move() -> None:
    """Black's four and its block before or behind two quiet moves. The first order is on its way to be freed
    when the second one finds its last node, and making nodes for the forced moves frees more of it."""
    four, quiet, answer = 4 * 9 + 6, 1 * 9 + 1, 1 * 9 + 7
    board = put(Board(9), "3,4 2,4 4,4 8,8 5,4 0,8")
    tree = Tree(SearchParams(leaf_vcf_nodes=0, edge_cap=0))
    planes, keys = buffers(board)

    def simulate(move: int, favourite: int) -> int:
        status = tree.select(planes, keys, move)
        if status == LEAF:
            policy = np.zeros((1, 81), np.float32)
            policy[0, favourite] = 20.0
            tree.expand(policy, np.array([0.3, 0.4, 0.3], np.float32))
        return status

    tree.set_root(board)
    favourites = [(quiet, answer), (quiet, 40), (quiet, 0), (four, quiet), (four, answer), (four, 0)]
    for move, favourite in [(-1, 0), *favourites]:
        assert simulate(move, favourite) == LEAF
    nodes = tree.nodes
    board.place(quiet)
    board.place(answer)
    assert tree.set_root(board) == 2
    assert simulate(four, 0) == SOLVED  # without an evaluation
    tree.check()
    assert tree.nodes < nodes
    for _ in range(50):
        simulate(-1, 0)
    tree.check()

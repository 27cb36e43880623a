"""A whole search: choice of the move, stoppers, proofs at the root, restarts."""

from __future__ import annotations

import random

import numpy as np
import pytest

from engine.evaluator.hashed import HashedEvaluator
from engine.evaluator.uniform import UniformEvaluator
from engine.rules._board import Board
from engine.rules.rule import ALL_RULES
from engine.search._tree import PROVEN_WIN
from engine.search.mcts import Search, _rank
from engine.search.params import SearchParams
from engine.search.result import MoveStats, Proof, SearchResult
from engine.search.stoppers import NodeLimit, SearchState  # fmt: skip
from engine.threats._solver import Solver
from engine.threats.solution import Verdict
from tests.helpers.search import FakeClock, PythonHashed, put, random_position

MIB = 1 << 20


def searched(board: Board, simulations: int = 200, *, solver: bool = True, evaluator=None) -> SearchResult:
    search = Search(SearchParams(), 32 * MIB, solver=solver)
    return search.search(board, evaluator or HashedEvaluator(1), [NodeLimit(simulations)])


@pytest.mark.parametrize("rule", ALL_RULES)
def test_net_and_kernel_give_the_same_search(rule: int) -> None:
    board = random_position(random.Random(rule + 3), 15, 15, rule, 8)
    one = searched(board, 300, solver=False, evaluator=HashedEvaluator(4))
    two = searched(board, 300, solver=False, evaluator=PythonHashed(4))
    assert (one.point, one.visits, one.pv) == (two.point, two.visits, two.pv)
    moves = [[(c.point, c.visits, c.q) for c in result.candidates] for result in (one, two)]
    assert moves[0] == moves[1]


def test_result_describes_the_search() -> None:
    board = put(Board(15, 15, 0), "7,7 8,8")
    evaluator = PythonHashed(1)
    result = searched(board, 300, evaluator=evaluator)
    assert result.simulations == result.visits == 300
    assert result.evaluations == evaluator.calls <= 300
    assert result.stop_reason == "node limit"
    assert result.point == result.pv[0] == result.candidates[0].point
    assert sum(result.wdl) == pytest.approx(1)
    assert sum(c.visits for c in result.candidates) == 299
    assert len({c.point for c in result.candidates}) == 223
    assert sum(c.prior for c in result.candidates) == pytest.approx(1, abs=2.0**-12)
    assert 1 < result.depth_mean <= result.depth_max
    assert board.ply == 2, "the board is the caller's"


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_move_has_the_best_value_of_those_that_have_enough_visits(share: float) -> None:
    others = 0
    for seed in range(8):
        board = random_position(random.Random(seed), 15, 15, 0, 8)
        params = SearchParams(final_minimax_weight=share, lcb_min_visit_ratio=0.3, lcb_stdev=0.4)
        search = Search(params, 32 * MIB, solver=False)
        result = search.search(board, HashedEvaluator(seed), [NodeLimit(500)])
        tree = search.tree
        visits, q, best = tree.edge_visits(), tree.edge_q(), tree.edge_minimax()
        rivals = np.flatnonzero(visits >= 0.3 * visits.max())
        value = q[rivals] + share * (best[rivals] - q[rivals]) - 0.4 / np.sqrt(visits[rivals])
        assert result.point == tree.moves()[rivals[np.argmax(value)]]
        others += bool(visits[rivals[np.argmax(value)]] < visits.max())
    assert others, "a rival was never chosen"


def test_tree_is_kept_between_moves() -> None:
    board = put(Board(15, 15, 0), "7,7 8,8")
    search = Search(SearchParams(), 32 * MIB)
    first = search.search(board, HashedEvaluator(1), [NodeLimit(2000)])
    for point in first.pv[:2]:
        board.place(point)
    second = search.search(board, HashedEvaluator(1), [NodeLimit(100)])
    assert second.simulations == 100
    assert second.visits > 120
    search.clear()
    assert search.search(board, HashedEvaluator(1), [NodeLimit(100)]).visits == 100


def test_clear_forgets_what_the_solvers_found() -> None:
    board = put(Board(15, 15, 0), "7,7 8,8 7,8 8,7 6,6 9,9 5,8 8,10")
    search = Search(SearchParams(root_solver_nodes=0), 32 * MIB)

    def placements() -> int:
        search.search(board, PythonHashed(1), [NodeLimit(400)])
        return search.tree.solver_nodes

    first = placements()
    search.tree.clear()
    known = placements()
    search.clear()
    assert 0 < known < first, "the solver of the tree remembers nothing"
    assert placements() == first


def test_own_five_and_block_come_at_once() -> None:
    board = put(Board(15, 15, 0), "3,3 0,0 4,3 0,2 5,3 0,4 6,3 2,3")
    win = searched(board)
    assert (win.point, win.proven, win.distance, win.simulations) == (3 * 15 + 7, "win", 1, 1)
    board.place(14 * 15 + 14)
    states: list[bool] = []

    class Watcher:
        def should_stop(self, state: SearchState) -> str | None:
            states.append(state.single_move)
            return None

    block = Search(SearchParams(), MIB).search(board, HashedEvaluator(1), [Watcher(), NodeLimit(50)])
    assert block.point == 3 * 15 + 7
    assert all(states)


def test_deep_win_by_fours_is_played_with_its_line() -> None:
    """Two rows of three, each closed at one end, cross in an empty cell: four, block, then the crossing
    four."""
    board = Board(15, 15, 0)
    for x, y in ((4, 7), (5, 7), (6, 7), (8, 4), (8, 5), (8, 6)):
        board.place(y * 15 + x, 0)
    for x, y in ((3, 7), (8, 3), (0, 14), (14, 0), (14, 14), (0, 0)):
        board.place(y * 15 + x, 1)
    board.set_to_move(0)
    assert Solver(14).solve(board, "vcf").verdict is Verdict.WIN
    result = searched(board, 50)
    assert result.proven == "win"
    assert result.distance == len(result.pv)
    replay = board.copy()
    for point in result.pv:
        replay.place(point)
    assert replay.winner == 0


def test_only_defences_remain_against_a_straight_four() -> None:
    board = put(Board(15, 15, 0), "7,7 0,0 8,7 2,0 9,7")
    result = searched(board, 200)
    row = 7 * 15
    assert result.point in {row + x for x in (5, 6, 10, 11)}
    losers = [c for c in result.candidates if c.proven == "loss"]
    assert len(losers) > 200
    assert all(c.distance and c.distance % 2 == 0 for c in losers)


@pytest.mark.parametrize("rule", ALL_RULES)
def test_excluded_moves_really_lose(rule: int) -> None:
    """A move is only called lost if the opponent's win behind it is proven again from there."""
    rng, checked, solver = random.Random(rule), 0, Solver(16)
    for trial in range(40):
        board = random_position(rng, 11, 11, rule, rng.randrange(10, 34))
        if board.five_points(0) or board.five_points(1):
            continue
        result = searched(board, 20, evaluator=HashedEvaluator(trial))
        losers = [c.point for c in result.candidates if c.proven == "loss"]
        for point in rng.sample(losers, min(6, len(losers))):
            board.place(point)
            answers = [solver.solve(board, kind, nodes=300_000).verdict for kind in ("vcf", "vct")]
            board.undo()
            assert Verdict.WIN in answers
            checked += 1
    assert checked >= 20


def test_lost_root_is_defended_longest() -> None:
    """Black has two open threes; white can only delay, best by a move that black's straight four must
    answer."""
    board = put(Board(15, 15, 0), "3,3 14,14 4,3 14,11 5,3 11,14 3,10 0,7 4,10 0,0 5,10")
    result = searched(board, 300)
    assert result.proven == "loss"
    assert result.stop_reason == "proven loss"
    solver = Solver(16)
    truth = {}
    for move in result.candidates:
        board.place(move.point)
        truth[move.point] = solver.solve(board, "vcf", nodes=100_000).distance + 1
        board.undo()
    assert result.distance == truth[result.point] == max(truth.values())
    assert result.candidates[0].point == result.point


def test_root_that_a_pass_proves_lost_is_defended_longest() -> None:
    """No move stops what white threatens after a pass; the loss is then timed move by move."""
    board = Board(13, 9, 8)
    for point in (
        110, 108, 111, 83, 82, 109, 100, 59, 48, 69, 60, 87, 99, 89, 45, 30, 32, 19, 76, 31, 8, 16, 43, 44,
    ):  # fmt: skip
        board.place(point)
    result = searched(board, 300)
    assert result.proven == "loss"
    assert result.distance == 8
    assert {c.distance for c in result.candidates} == {4, 8}


def test_candidates_are_ranked_by_proof_then_by_visits() -> None:
    def move(point: int, visits: int, proven: Proof | None = None, distance: int | None = None) -> MoveStats:
        return MoveStats(point, visits, 0.1, 0.0, (0.0, 1.0, 0.0), proven, distance, (point,))

    ranked = [
        move(7, 1, "win", 3), move(6, 9, "win", 5), move(5, 40), move(4, 30, "draw", 9), move(3, 2),
        move(2, 1, "loss", 8), move(1, 50, "loss", 4), move(0, 9, "loss", 4),
    ]  # fmt: skip
    assert sorted(ranked[::-1], key=_rank) == ranked


def test_solver_can_be_switched_off() -> None:
    board = put(Board(15, 15, 0), "7,7 0,0 8,7 2,0 9,7")
    search = Search(SearchParams(), 32 * MIB, solver=False)
    result = search.search(board, HashedEvaluator(1), [NodeLimit(50)])
    assert search.tree.solver_nodes == 0
    assert all(c.proven is None for c in result.candidates if c.visits == 0)


# --- stoppers
# ---------------------------------------------------------------------------------------------------


def test_search_goes_on_in_a_small_arena() -> None:
    result = Search(SearchParams(), MIB).search(
        put(Board(20, 20, 0), "9,9"), HashedEvaluator(1), [NodeLimit(20_000)]
    )
    assert result.simulations == 20_000


def test_a_proven_root_whose_moves_were_freed_is_searched_afresh() -> None:
    board = put(Board(15, 15, 0), "7,7 8,8")
    search = Search(SearchParams(), MIB, solver=False)
    search.search(board, HashedEvaluator(1), [NodeLimit(12_000)])
    point = next(row[0][0] for row in search.tree.dump() if len(row[0]) == 1 and not (row[4] or row[6]))
    search.tree.exclude([point], 6)
    board.place(point)
    search.tree.set_root(board)
    assert search.tree.proven == PROVEN_WIN and not len(search.tree.moves()), "proven by its parent alone"
    result = search.search(board, HashedEvaluator(1), [NodeLimit(50)])
    assert result.point in board.legal_points() and result.simulations == 50


def test_node_limit_is_exact() -> None:
    for simulations in (1, 2, 77, 1500):
        assert searched(put(Board(9, 9, 0), "4,4"), simulations).simulations == simulations


@pytest.mark.parametrize("rule", [0, 1, 4])
def test_a_search_limited_in_simulations_is_the_same_at_any_speed(rule: int) -> None:
    """A clock decides how many simulations the kernel does at a time, never when the solver is asked."""
    board = random_position(random.Random(rule), 15, 15, rule, 14)
    params = SearchParams(root_solver_nodes=400)  # a tenth of it for an evaluator of the kernel
    found = []
    for step_s in (0.0, 0.0003, 0.0008, 1.0):
        search = Search(params, 32 * MIB, now_s=FakeClock(step_s))
        first = search.search(board, HashedEvaluator(2), [NodeLimit(1500)])
        board.place(first.point)
        second = search.search(board, HashedEvaluator(2), [NodeLimit(1500)])
        board.undo()
        found.append([(c.point, c.visits, c.q) for result in (first, second) for c in result.candidates])
    assert found[1:] == found[:1] * 3


def test_reports_come_while_searching() -> None:
    seen: list[SearchResult] = []
    clock = FakeClock(0.01)
    search = Search(SearchParams(), 8 * MIB, now_s=clock)
    search.search(put(Board(9, 9, 0), "4,4"), PythonHashed(1), [NodeLimit(300)], seen.append)
    assert len(seen) >= 3
    assert [r.simulations for r in seen] == sorted({r.simulations for r in seen})
    assert {r.stop_reason for r in seen} == {""}


def test_uniform_evaluator_blocks_and_wins_without_a_net() -> None:
    board = Board(15, 15, 0)
    search = Search(SearchParams(), 32 * MIB)
    rng = np.random.default_rng(1)
    while board.winner == 2 and board.n_empty:
        if board.to_move == 0:
            board.place(search.search(board, UniformEvaluator(), [NodeLimit(300)]).point)
        else:
            board.place(int(rng.choice(board.legal_points())))
    assert board.winner == 0

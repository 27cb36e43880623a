"""Root search of self-play: schedules, hand-checked targets, noise at every root, moves kept by point."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.encoding import N_PLANES
from engine.rules._board import Board
from engine.search._tree import IDLE, LEAF, PROVEN_NONE, Tree, gather, scatter
from engine.search.params import SearchParams
from training.play.gumbel import GumbelRoot, improved_policy, phases, v_mix
from training.settings.play import GumbelParams

NAN = float("nan")


class Oracle:
    """Even or given priors; everything is a draw."""

    def __init__(self, favourites: dict[int, float] | None = None) -> None:
        self.favourites = favourites or {}

    def answer(self, board_points: int) -> tuple[np.ndarray, np.ndarray]:
        policy = np.zeros((1, board_points), np.float32)
        for point, logit in self.favourites.items():
            policy[0, point] = logit
        return policy, np.array([[0.0, 1.0, 0.0]], np.float32)


def simulate(tree: Tree, oracle: Oracle, move: int, good: int | None = None) -> int:
    """Do one simulation; leaves below the root move `good` are good for black, who is to move at the root."""
    planes = np.empty((1, N_PLANES, 9, 9), np.float32)
    status = np.zeros(1, np.int32)
    if gather([tree], planes, np.empty(1, np.uint64), status, np.array([move], np.int32)):
        policy, wdl = oracle.answer(81)
        if move == good:
            wdl[:] = [[0.8, 0.2, 0.0]] if planes[0, 16, 0, 0] else [[0.0, 0.2, 0.8]]
        scatter([tree], policy, wdl, status)
        return IDLE
    return int(status[0])


def expanded(oracle: Oracle, stones=((40, 0), (41, 1))) -> Tree:
    # `simulate` gives a position another value behind another root move, so positions must not be shared.
    tree = Tree(SearchParams(leaf_vcf_nodes=0, transpositions=False), 4 << 20)
    tree.set_root(Board.from_stones(9, 9, 0, list(stones)))
    simulate(tree, oracle, -1)
    return tree


def search(tree: Tree, oracle: Oracle, root: GumbelRoot, good: int | None = None) -> list[int]:
    done = []
    while root.queue or root.refill():
        done.append(root.queue.pop())
        assert simulate(tree, oracle, done[-1], good) in (IDLE, LEAF)
    return done


def test_schedules():
    assert phases(16, 32) == [(16, 1), (8, 1), (4, 2)]
    assert phases(4, 16) == [(4, 2), (2, 4)]
    assert phases(1, 7) == [(1, 7)]
    for considered in range(1, 20):
        for simulations in range(1, 70):
            assert sum(m * v for m, v in phases(considered, simulations)) >= simulations


def test_value_of_unvisited_moves_by_hand():
    assert v_mix([0.5, 0.3, 0.2], [2, 1, 0], [0.1, -0.2, NAN], 0.05) == pytest.approx(
        (0.05 + 3 * (0.5 * 0.1 - 0.3 * 0.2) / 0.8) / 4
    )
    assert v_mix([1.0], [0], [NAN], 0.4) == v_mix([], [], [], 0.4) == 0.4


def test_target_by_hand():
    # sigma = (50 + 2) * 0.3 * q = 15.6 q; weights 0.5 e^1.56, 0.3 e^-3.12, 0.2 e^0.04875
    for n in (2, 3):
        target, kl = improved_policy(
            np.array([0.5, 0.3, 0.2]), [2, 1, 0][:n], [1.56, -3.12, NAN][:n], 15.6 * 0.003125
        )
        assert target == pytest.approx([0.914232, 0.005090, 0.080684], abs=2e-5)
        by_definition = (target * np.log(target / [0.5, 0.3, 0.2])).sum()
        assert kl == pytest.approx(by_definition)


def test_a_move_left_out_has_no_weight():
    target, kl = improved_policy(np.array([0.6, 0.3, 0.1]), [3, 1], [-math.inf, 1.0], 0.0)
    assert target == pytest.approx(np.array([0, 0.3 * math.e, 0.1]) / (0.3 * math.e + 0.1))
    assert kl == pytest.approx((target[1:] * np.log(target[1:] / [0.3, 0.1])).sum())


def test_moves_that_the_net_gave_nothing_share_the_target_when_the_others_are_lost():
    # A net that is sure of one move leaves the others priors of 0 in float32.
    target, kl = improved_policy(np.array([1.0, 0.0, 0.0]), [5, 1], [-math.inf, 1.0], 0.0)
    assert target == pytest.approx(np.array([0, math.e, 1]) / (math.e + 1))
    assert math.isfinite(kl) and kl > 0


def test_visits_follow_the_schedule_and_start_with_the_likely_moves():
    oracle = Oracle({p: 5.0 - i for i, p in enumerate((30, 31, 32, 33))})
    tree = expanded(oracle)
    root = GumbelRoot(tree, np.random.default_rng(1), 16, GumbelParams(considered=4, noise=0.0))
    done = search(tree, oracle, root)
    assert sorted(done[:8]) == [30, 30, 31, 31, 32, 32, 33, 33]
    assert len(done) == 16 and len(set(done[8:])) == 2
    assert int(tree.edge_visits().sum()) == 16


def test_a_good_move_found_by_noise_enters_the_target_and_is_played():
    oracle = Oracle({30: 6.0})
    good = 70
    hits = 0
    params = GumbelParams(dirichlet=0.5, dirichlet_total=5)
    for seed in range(40):
        tree = expanded(oracle)
        root = GumbelRoot(tree, np.random.default_rng(seed), 32, params)
        done = search(tree, oracle, root, good)
        choice = root.choice()
        weight = float(choice.target[choice.points == good][0])
        assert choice.target.sum() == pytest.approx(1) and choice.surprise > -1e-6
        if good in done:
            hits += 1
            assert choice.point == good and weight > 0.9
        else:
            assert weight < 0.05
    assert hits >= 2


def test_noise_is_drawn_for_a_root_kept_from_the_last_search():
    oracle = Oracle()
    tree = expanded(oracle)
    for move in range(20):
        simulate(tree, oracle, move)
    tree.set_root(Board.from_stones(9, 9, 0, [(40, 0), (41, 1), (7, 0)]))
    assert tree.has_root and tree.proven == PROVEN_NONE
    searched = set()
    for seed in range(4):
        root = GumbelRoot(tree, np.random.default_rng(seed), 8, GumbelParams())
        searched.add(tuple(search(tree, oracle, root)))
    assert len(searched) == 4


def test_values_stay_with_their_points_when_the_order_of_moves_changes():
    oracle = Oracle({30: 2.0, 31: 1.9, 32: 1.8})
    tree = expanded(oracle)
    good = 32
    before = tree.moves().tolist()
    root = GumbelRoot(tree, np.random.default_rng(3), 24, GumbelParams(considered=3, noise=0.0))
    search(tree, oracle, root, good)
    choice = root.choice()
    assert choice.point == good
    assert choice.points.tolist() == tree.moves().tolist()
    assert sorted(before) == sorted(choice.points.tolist())
    assert choice.points[choice.target.argmax()] == good
    assert sum(choice.wdl) == pytest.approx(1) and choice.wdl[0] - choice.wdl[2] > 0.75
    assert tree.wdl[0] - tree.wdl[2] < choice.wdl[0] - choice.wdl[2], "the mean counts what was ruled out"


def test_q_is_seen_by_the_mover():
    oracle = Oracle()
    tree = expanded(oracle)
    simulate(tree, oracle, 70, good=70)  # bad for the opponent at the leaf: good for the mover
    q = tree.edge_q()[tree.moves() == 70][0]
    assert q == pytest.approx(0.8)
    assert tree.wdl[0] > tree.wdl[2]


def test_moves_proven_to_lose_have_no_weight():
    oracle = Oracle({30: 4.0, 31: 3.0})
    tree = expanded(oracle)
    tree.exclude([30], 2)
    root = GumbelRoot(tree, np.random.default_rng(1), 8, GumbelParams(considered=2))
    assert 30 not in search(tree, oracle, root)
    choice = root.choice()
    assert choice.target[choice.points == 30][0] == 0


def test_a_value_counts_the_more_the_more_visits_there_are():
    """sigma(q) = (offset + max N) * scale * q, told from the target and the values of the tree."""
    oracle, params = Oracle(), GumbelParams(considered=2, noise=0.0, scale=0.05, offset=5.0)
    found = []
    for simulations in (4, 60):
        tree = expanded(oracle)
        root = GumbelRoot(tree, np.random.default_rng(1), simulations, params)
        good = root.queue[-1] if root.queue or root.refill() else -1
        search(tree, oracle, root, good)
        choice, edges = root.choice(), {edge[0]: edge for edge in tree.visited_edges()}
        other = next(p for p in edges if p != good)
        target = dict(zip(choice.points.tolist(), choice.target.tolist(), strict=True))
        most = max(edge[1] for edge in edges.values())
        wanted = 0.05 * (5 + most) * (edges[good][2] - edges[other][2])
        assert math.log(target[good] / target[other]) == pytest.approx(wanted, abs=1e-4)
        found.append(wanted)
    assert found[1] > 3 * found[0] > 0


def test_dirichlet_noise_brings_moves_that_the_net_does_not_think_of():
    oracle = Oracle({30: 9.0, 31: 8.0})
    chosen = []
    for share in (0.0, 0.9):
        params = GumbelParams(considered=2, noise=1e-6, dirichlet=share, dirichlet_total=3.0)
        seeds = range(12)
        roots = [GumbelRoot(expanded(oracle), np.random.default_rng(s), 2, params) for s in seeds]
        chosen.append({frozenset(search(expanded(oracle), oracle, root)) for root in roots})
    assert chosen[0] == {frozenset({30, 31})}
    assert len(chosen[1]) > 3

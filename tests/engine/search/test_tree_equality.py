"""The kernel's tree equals its naive twin, node for node."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from engine.encoding import N_PLANES
from engine.evaluator._backend import HashedBackend
from engine.evaluator.hashed import HashedEvaluator
from engine.evaluator.uniform import UniformEvaluator
from engine.rules._board import Board
from engine.rules.rule import NET_RULES
from engine.search._tree import LEAF, NOTHING_LEFT, Tree
from engine.search.params import SearchParams
from tests.helpers.search import random_position
from tests.reference.puct import Twin

LONG = 10 if os.environ.get("TENGEN_LONG") == "1" else 1


def evaluate_of(evaluator: HashedEvaluator | UniformEvaluator):
    def evaluate(board: Board):
        planes = np.zeros((1, N_PLANES, board.height, board.width), dtype=np.float32)
        policy, wdl = evaluator.evaluate(planes, np.array([board.hash], dtype=np.uint64))
        return policy[0].tolist(), tuple(wdl[0].tolist())

    return evaluate


def without_stored(dump):
    return [(*row[:6], row[7]) for row in dump]


@pytest.mark.parametrize("rule", NET_RULES)
@pytest.mark.parametrize("uniform", [False, True])
def test_kernel_tree_equals_twin(rule: int, uniform: bool) -> None:
    rng = random.Random(100 * rule + uniform)
    seen = set()
    shared = False
    for trial in range(12 * LONG):
        width, height = rng.choice([(5, 5), (6, 6), (7, 9), (9, 7), (15, 15), (8, 8), (20, 20)])
        stones = rng.choice([0, 3, 8, 12, 16, width * height - 4, width * height - 8])
        n = rng.choice([40, 150, 400])
        small = trial < 2  # where many moves lead to the same positions
        if small:
            width, height, stones, n = 5, 5, rng.choice([6, 8, 10]), 1200
        board = random_position(rng, width, height, rule, min(stones, 77))
        params = SearchParams(
            edge_cap=rng.choice([0, 4, 32]),
            fpu_reduction=rng.choice([0.0, 0.3]),
            policy_temperature=rng.choice([1.0, 1.5]),
            c_puct=rng.choice([0.6, 1.5]),
            transpositions=small or rng.random() < 0.7,
            minimax_weight=rng.choice([0.0, 0.2, 0.9]),
        )
        evaluator = UniformEvaluator() if uniform else HashedEvaluator(trial)
        tree = Tree(params, 32 << 20)
        tree.set_root(board)
        twin = Twin(board, evaluate_of(evaluator), params)
        done = tree.run(n, evaluator.backend)
        assert done == sum(twin.simulate() for _ in range(n))
        assert without_stored(tree.dump()) == twin.dump()
        seen.add(tree.proven)
        shared |= any(node.shared for node in twin.nodes.values())
    assert len(seen) >= 2, "the positions prove nothing"
    assert shared, "no position was reached in two ways"


@pytest.mark.parametrize("rule", NET_RULES)
def test_select_and_expand_grow_the_tree_of_run(rule: int) -> None:
    rng = random.Random(rule)
    for trial in range(4):
        board = random_position(rng, 9, 9, rule, 10)
        evaluator = HashedEvaluator(trial)
        by_run, by_hand = Tree(), Tree()
        by_run.set_root(board)
        by_run.run(300, HashedBackend(trial))
        by_hand.set_root(board)
        planes, keys = np.zeros((1, N_PLANES, 9, 9), np.float32), np.zeros(1, np.uint64)
        for _ in range(300):
            status = by_hand.select(planes, keys)
            if status == LEAF:
                by_hand.expand(*evaluator.evaluate(planes, keys))
            elif status == NOTHING_LEFT:
                break
        assert by_hand.signature() == by_run.signature()
        assert by_hand.visits == by_run.visits > 0

"""What the tests of the search share: trees, positions, clocks, evaluators."""

from __future__ import annotations

import os
import random

import numpy as np

from engine.encoding import N_PLANES
from engine.evaluator._backend import HashedBackend
from engine.evaluator.base import PYTHON_COST
from engine.evaluator.hashed import HashedEvaluator
from engine.rules._board import Board
from engine.search._tree import (
    Tree,
)
from engine.search.params import SearchParams

MIB = 1 << 20
LONG = 10 if os.environ.get("TENGEN_LONG") == "1" else 1


def grown(board: Board, simulations: int = 500, *, params: SearchParams | None = None, seed: int = 1) -> Tree:
    tree = Tree(params, 64 * MIB)
    tree.set_root(board)
    tree.run(simulations, HashedBackend(seed))
    return tree


def buffers(board: Board, rows: int = 1) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((rows, N_PLANES, board.height, board.width), np.float32), np.zeros(rows, np.uint64)


def put(board: Board, text: str) -> Board:
    """Place "x,y x,y ..." in turn."""
    for pair in text.split():
        x, y = pair.split(",")
        board.place(int(y) * board.width + int(x))
    return board


def random_position(rng: random.Random, width: int, height: int, rule: int, stones: int) -> Board:
    """Random stones in clusters that make no five."""
    board = Board(width, height, rule)
    for _ in range(stones):
        fives = board.five_points(board.to_move)
        moves = [p for p in board.legal_points() if p not in fives]
        if not moves or board.n_empty <= 2:
            break
        last = [q for q, _ in board.stones()[-4:]]
        near = [p for p in moves if any(_distance(p, q, width) <= 2 for q in last)]
        board.place(rng.choice(near or moves))
    return board


def _distance(p: int, q: int, width: int) -> int:
    return max(abs(p % width - q % width), abs(p // width - q // width))


class PythonHashed(HashedEvaluator):
    """The hashed evaluator, called as a net is."""

    cost = PYTHON_COST

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.backend = None
        self.calls = 0

    def evaluate(self, planes, keys):
        self.calls += 1
        return super().evaluate(planes, keys)


class FakeClock:
    """Moves on by `step_s` whenever it is read."""

    def __init__(self, step_s: float) -> None:
        self.time_s, self.step_s = 100.0, step_s

    def __call__(self) -> float:
        self.time_s += self.step_s
        return self.time_s

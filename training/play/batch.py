"""Many trees, one evaluator: gather leaves across games, evaluate them in one batch, scatter the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from engine.encoding import N_PLANES
from engine.evaluator._backend import KernelBackend
from engine.evaluator.base import Evaluator
from engine.search._tree import EVALUATED, IDLE, LEAF, Tree, gather, scatter


class Searcher(Protocol):
    """Something with a tree that wants simulations until `want` is None."""

    tree: Tree

    @property
    def want(self) -> int | None:
        """Root move of the next simulation (-1: the tree's choice); None: no simulation wanted now."""

    def advance(self, status: int) -> None:
        """Go on after a simulation with this outcome."""


class LeafBatch:
    """Buffers for up to `rows` leaves of one board size."""

    def __init__(self, rows: int, width: int, height: int) -> None:
        self._planes = np.empty((rows, N_PLANES, height, width), np.float32)
        self._keys = np.empty(rows, np.uint64)
        self.rows = rows

    def step(self, searchers: Sequence[Searcher], evaluator: Evaluator, rounds: int = 1) -> int:
        """Bring every searcher to a leaf, evaluate the leaves, finish their simulations; so many times.

        Simulations that end without the evaluator are followed by the next one at once, so that a batch stays
        full. An evaluator of the kernel judges one leaf after the other anyway: with it every searcher does
        its rounds in a row, while its tree is in the cache.

        Returns:
            Number of leaves evaluated; 0 when no searcher wants anything.
        """
        backend = evaluator.backend
        if backend is not None:
            return sum(_in_the_kernel(searcher, backend, rounds) for searcher in searchers)
        return sum(self._round(searchers, evaluator) for _ in range(rounds))

    def _round(self, searchers: Sequence[Searcher], evaluator: Evaluator) -> int:
        waiting: list[Searcher] = []
        pending = [s for s in searchers if s.want is not None]
        while pending:
            trees = [s.tree for s in pending]
            status = np.zeros(len(pending), np.int32)
            moves = np.array([s.want for s in pending], np.int32)
            gather(trees, self._planes[len(waiting) :], self._keys[len(waiting) :], status, moves)
            again: list[Searcher] = []
            for searcher, code in zip(pending, status.tolist(), strict=True):
                if code == LEAF:
                    waiting.append(searcher)
                else:
                    searcher.advance(code)
                    if searcher.want is not None:
                        again.append(searcher)
            pending = again
        n = len(waiting)
        if n:
            policy, wdl = evaluator.evaluate(self._planes[:n], self._keys[:n])
            scatter([s.tree for s in waiting], policy, wdl, np.full(n, LEAF, np.int32))
            for searcher in waiting:
                searcher.advance(IDLE)
        return n


def _in_the_kernel(searcher: Searcher, backend: KernelBackend, rounds: int) -> int:
    """Do simulations until so many were evaluated, or the searcher wants no more; return how many were."""
    evaluated = 0
    while evaluated < rounds and (root_move := searcher.want) is not None:
        status = searcher.tree.simulate(backend, root_move)
        evaluated += status == EVALUATED
        searcher.advance(status)
    return evaluated

"""Cache of evaluations by position."""

from __future__ import annotations

import numpy as np

from engine.evaluator.base import Decorator, Evaluator, Keys, Planes, Policy, Wdl

OVERHEAD_BYTES = 300
"""Of an entry besides its numbers (measured: dict slot, key, bytes objects of CPython 3.11)."""


class CachedEvaluator(Decorator):
    """Decorates an evaluator with a bounded memory; the oldest half goes when it is full.

    Keys are `Board.hash`, which covers stones, side to move, size and rule; two positions with one hash are
    taken as one.
    """

    def __init__(self, inner: Evaluator, max_bytes: int) -> None:
        """Cache up to `max_bytes` of evaluations of `inner`, at least one."""
        super().__init__(inner)
        self.max_bytes = max_bytes
        self.hits = 0
        self.misses = 0
        self._new: dict[int, tuple[Policy, Wdl]] = {}
        self._old: dict[int, tuple[Policy, Wdl]] = {}
        self._new_bytes = 0

    def evaluate(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        """Answer from memory where possible; see `Evaluator.evaluate`."""
        if len(keys) == 1:
            key = int(keys[0])
            found = self._find(key)
            if found is None:
                self.misses += 1
                policy, wdl = self.inner.evaluate(planes, keys)
                self._put(key, policy.copy(), wdl.copy())
                return policy, wdl
            self.hits += 1
            return found
        return self._evaluate_batch(planes, keys)

    def _evaluate_batch(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        found = [self._find(int(key)) for key in keys]
        missing = [i for i, entry in enumerate(found) if entry is None]
        self.hits += len(found) - len(missing)
        self.misses += len(missing)
        points = planes.shape[2] * planes.shape[3]
        policy = np.empty((len(keys), points), np.float32)
        wdl = np.empty((len(keys), 3), np.float32)
        if missing:
            policy[missing], wdl[missing] = self.inner.evaluate(
                np.ascontiguousarray(planes[missing]), np.ascontiguousarray(keys[missing])
            )
        for i, entry in enumerate(found):
            if entry is None:
                self._put(int(keys[i]), policy[i : i + 1].copy(), wdl[i : i + 1].copy())
            else:
                policy[i], wdl[i] = entry[0][0], entry[1][0]
        return policy, wdl

    def clear(self) -> None:
        """Clear the cache."""
        self._new, self._old, self._new_bytes = {}, {}, 0

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def _find(self, key: int) -> tuple[Policy, Wdl] | None:
        entry = self._new.get(key)
        if entry is None:
            entry = self._old.pop(key, None)
            if entry is not None:
                self._put(key, *entry)
        return entry

    def _put(self, key: int, policy: Policy, wdl: Wdl) -> None:
        size = policy.nbytes + wdl.nbytes + OVERHEAD_BYTES
        if self._new_bytes + size > self.max_bytes // 2 and self._new:
            self._old, self._new, self._new_bytes = self._new, {}, 0
        self._new[key] = (policy, wdl)
        self._new_bytes += size

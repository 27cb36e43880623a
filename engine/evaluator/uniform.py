"""No net at all: every move is as good as the other, every position even."""

from __future__ import annotations

import numpy as np

from engine.encoding import FEATURE_VERSION
from engine.evaluator._backend import UniformBackend
from engine.evaluator.base import STUB_COST, Keys, Planes, Policy, Wdl
from engine.rules.rule import ALL_RULES


class UniformEvaluator:
    """Zero logits and a certain draw. The search kernel computes the same itself (`UniformBackend`)."""

    __slots__ = ()

    name = "uniform"
    feature_version = FEATURE_VERSION
    max_batch: int | None = None
    min_side = 5
    max_side = 22
    rules: tuple[int, ...] = ALL_RULES
    backend = UniformBackend()
    cost = STUB_COST

    def evaluate(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        """See `engine.evaluator.base.Evaluator.evaluate`."""
        batch, _, height, width = planes.shape
        wdl = np.zeros((batch, 3), dtype=np.float32)
        wdl[:, 1] = 1
        return np.zeros((batch, height * width), dtype=np.float32), wdl

"""Shows each position to the net in a random orientation and turns the answer back."""

from __future__ import annotations

from random import Random

import numpy as np

from engine.evaluator.base import Decorator, Evaluator, Keys, Planes, Policy, Wdl
from engine.rules.geometry import inverse_symmetry, symmetries, symmetry_permutation


class SymmetricEvaluator(Decorator):
    """Decorates an evaluator: one random element of D4 a position (of the four that keep a rectangle)."""

    def __init__(self, inner: Evaluator, seed: int) -> None:
        """Draw orientations from a generator with this seed."""
        super().__init__(inner)
        self._random = Random(seed)

    def evaluate(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        """Evaluate turned positions; see `Evaluator.evaluate`."""
        batch, channels, height, width = planes.shape
        choices = symmetries(width, height)
        drawn = [choices[self._random.randrange(len(choices))] for _ in range(batch)]
        turned = np.empty((batch, channels, height * width), np.float32)
        flat = planes.reshape(batch, channels, height * width)
        for i, symmetry in enumerate(drawn):
            np.take(flat[i], symmetry_permutation(width, height, symmetry), axis=1, out=turned[i])
        moved, wdl = self.inner.evaluate(turned.reshape(planes.shape), keys)
        policy = np.empty_like(moved)
        for i, symmetry in enumerate(drawn):
            back = symmetry_permutation(width, height, inverse_symmetry(symmetry))
            np.take(moved[i], back, out=policy[i])
        return policy, wdl

"""A fake net for tests and benchmarks: numbers that depend on nothing but the position's hash and a seed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.encoding import FEATURE_VERSION
from engine.evaluator._backend import HashedBackend
from engine.evaluator.base import STUB_COST, Keys, Planes, Policy, Wdl
from engine.rules.rule import ALL_RULES

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Finish a SplitMix64 step (https://prng.di.unimi.it/splitmix64.c)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class HashedEvaluator:
    """Deterministic noise. The search kernel computes the same bits itself (`HashedBackend`).

    With `s = mix(key ^ mix(seed))`, all in 64 bits: the logit of point p is the top 24 bits of
    `mix(s + (p + 1) * golden)` as a fraction, times 64, so that few moves stand out. With d the lowest 16
    bits of `mix(s)`, u the next 16 and T = 2**20 - d: draw is d, win is T // 4 + u * (T // 2) // 2**16, loss
    the rest, all over 2**20.
    """

    __slots__ = ("backend", "seed")

    name = "hashed"
    feature_version = FEATURE_VERSION
    max_batch: int | None = None
    min_side = 5
    max_side = 22
    rules: tuple[int, ...] = ALL_RULES
    cost = STUB_COST

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.backend = HashedBackend(seed)

    def evaluate(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        """See `engine.evaluator.base.Evaluator.evaluate`; of the planes only the shape is used."""
        _, _, height, width = planes.shape
        steps = np.arange(1, height * width + 1, dtype=np.uint64) * _GOLDEN
        seed = _mix(np.array([self.seed], dtype=np.uint64))
        states = _mix(keys.astype(np.uint64) ^ seed)
        logits = (_mix(states[:, None] + steps) >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-18)
        bits = _mix(states)
        draw = bits & np.uint64(0xFFFF)
        rest = np.uint64(1 << 20) - draw
        spread = (bits >> np.uint64(16)) & np.uint64(0xFFFF)
        win = rest // np.uint64(4) + ((spread * (rest // np.uint64(2))) >> np.uint64(16))
        wdl = np.stack([win, draw, rest - win], axis=1).astype(np.float32) * np.float32(2.0**-20)
        return logits, wdl

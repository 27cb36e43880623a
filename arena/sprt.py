"""Sequential tests of a match: generalised likelihood ratios over scores of pairs, as fishtest uses them.

The likelihood ratio compares the likeliest distribution of outcomes with mean score `s1` to the likeliest one
with mean score `s0`. With observed shares `p_i` of scores `a_i`, the likeliest distribution with mean `s` is
`p_i / (1 + t (a_i - s))`, where `t` makes the mean right.

Sources: M. Van den Bergh, "A practical introduction to the GSPRT"
(https://www.cantate.be/Fishtest/GSPRT_approximation.pdf); fishtest, https://github.com/official-stockfish/fishtest;
https://www.chessprogramming.org/Sequential_Probability_Ratio_Test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from arena.elo import pentanomial, score_of

_LEAST_COUNT = 1e-3
"""Put in place of an outcome that was never seen, as fishtest does."""
_STEPS = 100
"""Halvings of the interval of `t`: more than doubles have bits."""


@dataclass(frozen=True, slots=True)
class Sprt:
    """Sequential test of "elo1 or more" against "elo0 or less", errors alpha and beta."""

    elo0: float = 0.0
    elo1: float = 20.0
    alpha: float = 0.05
    beta: float = 0.05

    @property
    def bounds(self) -> tuple[float, float]:
        """The log-likelihood ratios at which the test rejects and accepts."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def llr(self, pairs: Sequence[Sequence[float]]) -> float:
        """Return the log-likelihood ratio of complete pairs (pentanomial)."""
        return self.llr_of_counts(pentanomial(pairs))

    def llr_of_counts(self, counts: Sequence[float]) -> float:
        """Return the log-likelihood ratio of outcomes whose scores are evenly spread from 0 to 1.

        Args:
            counts: five for pairs (0, 1/2, 1, 3/2, 2 points), three for single games (loss, draw, win).
        """
        total = sum(counts)
        if not total:
            return 0.0
        filled = [count or _LEAST_COUNT for count in counts]
        whole = sum(filled)
        shares = [count / whole for count in filled]
        scores = [i / (len(counts) - 1) for i in range(len(counts))]
        s0, s1 = score_of(self.elo0), score_of(self.elo1)
        t0, t1 = (_tilt(shares, scores, s) for s in (s0, s1))
        ratio = sum(
            share * math.log((1 + t0 * (score - s0)) / (1 + t1 * (score - s1)))
            for share, score in zip(shares, scores, strict=True)
        )
        return whole * ratio

    def verdict(self, pairs: Sequence[Sequence[float]]) -> str | None:
        """Return "accept" (elo1), "reject" (elo0) or None while undecided."""
        llr = self.llr(pairs)
        low, high = self.bounds
        if llr >= high:
            return "accept"
        return "reject" if llr <= low else None

    def describe(self, llr: float) -> str:
        """Return the state of the test at a log-likelihood ratio in one phrase."""
        low, high = self.bounds
        return f"LLR {llr:+.2f} [{low:.2f}, {high:.2f}] for Elo {self.elo0:g}, {self.elo1:g}"


def _tilt(shares: Sequence[float], scores: Sequence[float], mean: float) -> float:
    """Return t with sum of share (score - mean) / (1 + t (score - mean)) = 0; all shares are positive."""
    low, high = -1 / (max(scores) - mean), 1 / (mean - min(scores))
    for _ in range(_STEPS):
        t = (low + high) / 2
        slope = sum(p * (a - mean) / (1 + t * (a - mean)) for p, a in zip(shares, scores, strict=True))
        if slope > 0:  # the sum falls with t
            low = t
        else:
            high = t
    return (low + high) / 2

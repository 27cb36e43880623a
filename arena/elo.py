"""Elo: intervals of a match, ratings of many players on one scale.

Scores are those of the first player: 1 win, 0.5 draw, 0 loss. Games come in pairs on one opening
with colours swapped; a pair is the unit of independence, so variances are taken over pairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

_Z95 = 1.959964
ELO_LIMIT = 1200.0  # derived: a score of 0.999; nothing beyond is measured by a match


def elo_of(score: float) -> float:
    """Return the Elo difference of an expected score, within +-ELO_LIMIT."""
    if score <= 0:
        return -ELO_LIMIT
    if score >= 1:
        return ELO_LIMIT
    return max(-ELO_LIMIT, min(ELO_LIMIT, 400 * math.log10(score / (1 - score))))


def score_of(elo: float) -> float:
    """Return the expected score of an Elo difference."""
    return 1 / (1 + 10 ** (-elo / 400))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A score in [0, 1] and its Elo, with 95 % interval, over a number of games."""

    games: int
    score: float
    score_low: float
    score_high: float

    @property
    def elo(self) -> float:
        """Elo difference of the first player over the second."""
        return elo_of(self.score)

    def __str__(self) -> str:
        low, high = elo_of(self.score_low), elo_of(self.score_high)
        return (
            f"score {self.score:.3f} [{self.score_low:.3f}, {self.score_high:.3f}], "
            f"Elo {self.elo:+.0f} [{low:+.0f}, {high:+.0f}] (95 %, {self.games} games)"
        )


def estimate(pairs: Sequence[Sequence[float]]) -> Estimate:
    """Return score and interval of finished games, grouped by pair (a pair may hold one game).

    A Wilson interval with the number of games scaled so that its variance is the one seen between
    pairs; it stays sensible for clean sweeps.
    """
    scores = [s for pair in pairs for s in pair]
    games = len(scores)
    if not games:
        return Estimate(0, 0.5, 0.0, 1.0)
    mean = sum(scores) / games
    effective = float(games)
    if 0 < mean < 1:
        # One virtual pair of independent games keeps few equal pairs from claiming certainty.
        deviations = sum((sum(pair) - mean * len(pair)) ** 2 for pair in pairs)
        spread = deviations + games / len(pairs) * mean * (1 - mean)
        effective = games**2 * mean * (1 - mean) / spread
    z2 = _Z95**2 / effective
    centre = (mean + z2 / 2) / (1 + z2)
    half = _Z95 * math.sqrt(mean * (1 - mean) / effective + z2 / (4 * effective)) / (1 + z2)
    return Estimate(games, mean, max(0.0, centre - half), min(1.0, centre + half))


def pentanomial(pairs: Sequence[Sequence[float]]) -> list[int]:
    """Return how many complete pairs scored 0, 1/2, 1, 3/2 and 2 points."""
    found = [0] * 5
    for pair in pairs:
        if len(pair) == 2:
            found[round(2 * sum(pair))] += 1
    return found


def rate(
    results: Mapping[tuple[str, str], tuple[float, int]],
    anchor: str,
    anchor_elo: float = 0.0,
    virtual_draws: float = 2.0,
) -> dict[str, tuple[float, float]]:
    """Put players on one scale by maximum likelihood (Bradley-Terry, a draw is half a win).

    Args:
        results: (first, second) -> (points of the first, games).
        anchor: player whose rating is fixed at `anchor_elo`.
        virtual_draws: added between players that met, which keeps sweeps finite. Take few where players far
            apart met in few games: there they pull the whole scale together.

    Returns:
        player -> (Elo, 95 % half width against the anchor).
    """
    names = sorted({name for pair in results for name in pair} | {anchor})
    index = {name: i for i, name in enumerate(names)}
    unit = math.log(10) / 400
    elo = np.zeros(len(names))
    free = [i for i, name in enumerate(names) if name != anchor]
    hessian = np.zeros((len(names), len(names)))
    for _ in range(100):
        gradient = np.zeros(len(names))
        hessian[:] = 0
        for (first, second), (points, games) in results.items():
            i, j, n = index[first], index[second], games + virtual_draws
            expected = score_of(elo[i] - elo[j])
            slope = unit * (points + virtual_draws / 2 - n * expected)
            gradient[i] += slope
            gradient[j] -= slope
            weight = unit**2 * n * expected * (1 - expected)
            hessian[[i, j, i, j], [i, j, j, i]] += [weight, weight, -weight, -weight]
        hessian[np.diag_indices_from(hessian)] += 1e-9  # players without a game
        step = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free]) if free else np.zeros(0)
        elo[free] += np.clip(step, -200, 200)
        if not len(step) or float(np.abs(step).max()) < 1e-6:
            break
    half = np.zeros(len(names))
    if free:
        half[free] = _Z95 * np.sqrt(np.diag(np.linalg.inv(hessian[np.ix_(free, free)])))
    return {name: (anchor_elo + float(elo[i]), float(half[i])) for name, i in index.items()}

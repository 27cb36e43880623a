"""The sequential test of matches."""

from __future__ import annotations

import itertools
import math

import pytest

from arena.elo import score_of
from arena.sprt import Sprt


def test_it_decides() -> None:
    test = Sprt(0, 20)
    assert test.verdict([[1, 0.5]] * 200) == "accept"
    assert test.verdict([[0, 0.5]] * 200) == "reject"
    assert test.verdict([[1, 0]] * 3) is None
    assert test.verdict([]) is None and test.llr([[1]]) == 0
    assert test.bounds == pytest.approx((-2.944, 2.944), abs=1e-3)


def likeliest(counts: tuple[int, int, int], mean: float) -> float:
    """Return the largest log-likelihood of three outcomes with a given mean score, by looking around."""
    best = -math.inf
    for step in range(1, 20_000):
        draws = step / 20_000
        wins = mean - draws / 2
        losses = 1 - wins - draws
        if wins > 0 and losses > 0:
            terms = zip(counts, (losses, draws, wins), strict=True)
            best = max(best, sum(n * math.log(p) for n, p in terms))
    return best


@pytest.mark.parametrize("counts", [(30, 50, 40), (5, 10, 40), (200, 3, 190)])
def test_the_ratio_is_that_of_the_likeliest_distributions(counts: tuple[int, int, int]) -> None:
    test = Sprt(0, 40)
    expected = likeliest(counts, score_of(40)) - likeliest(counts, score_of(0))
    assert test.llr_of_counts(counts) == pytest.approx(expected, abs=1e-3)


def test_pairs_that_are_alike_decide_sooner() -> None:
    """The same score, once from pairs of a win and a draw, once from sweeps of either side."""
    steady = [[1, 0.5]] * 40
    blurred = [[1, 1]] * 30 + [[0, 0]] * 10
    assert sum(map(sum, steady)) == sum(map(sum, blurred))
    assert Sprt(0, 20).llr(steady) > 2 * Sprt(0, 20).llr(blurred) > 0


def test_ratios_are_antisymmetric() -> None:
    for counts in itertools.product((0, 3, 11), repeat=5):
        if sum(counts):
            there, back = Sprt(-15, 15).llr_of_counts(counts), Sprt(-15, 15).llr_of_counts(counts[::-1])
            assert there == pytest.approx(-back, abs=1e-6)

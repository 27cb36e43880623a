"""Blocks whose depthwise taps lie apart: the kernel gives what its naive twin gives, on all paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.evaluator._lines import LineNet
from tests.reference.lines import depthwise, judge_lines, window
from tests.unit.test_lines_kernel import (
    SIZES,
    WAYS,
    build,
    evaluate,
    random_planes,
    random_weights,
    sparse_planes,
    with_bytes,
)

TAPS = [(1, 2, 1, 2), (4, 1, 3, 2), (3, 3, 3, 3)]


def test_the_reference_adds_up_cells_that_far_away() -> None:
    x = np.random.default_rng(1).normal(size=(6, 7, 2))
    taps = np.random.default_rng(2).normal(size=(9, 2))
    y = depthwise(x, taps, 2)
    there = [(dy, dx) for dy in (-2, 0, 2) for dx in (-2, 0, 2)]
    for row, column in ((3, 4), (0, 0), (5, 1)):
        expected = np.zeros(2)
        for (dy, dx), weight in zip(there, taps, strict=True):
            if 0 <= row + dy < 6 and 0 <= column + dx < 7:
                expected += x[row + dy, column + dx] * weight
        np.testing.assert_allclose(y[row, column], expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("margin", [0, 1, 3])
@pytest.mark.parametrize("dilations", TAPS)
def test_floats_and_16_bits(dilations: tuple[int, ...], margin: int, way: str) -> None:
    for channels in (64, 40):
        weights = random_weights(channels, channels, 4, 16, 16, 32)
        if channels > 40:
            weights["pool_usual"] = np.random.default_rng(5).normal(0, 0.5, channels).astype(np.float32)
        net = build(weights, 2, dilations=dilations, margin=margin, **WAYS[way])
        assert net.dilations == dilations
        windows = 0
        for seed, (width, height) in enumerate(SIZES):
            for planes in (random_planes(seed, width, height), sparse_planes(seed, width, height)):
                windows += window(planes, margin) is not None
                policy, wdl = evaluate(net, planes[None])
                expected_policy, expected_wdl = judge_lines(weights, 2, planes, margin, dilations)
                np.testing.assert_allclose(policy[0], expected_policy, rtol=0, atol=1e-3)
                np.testing.assert_allclose(wdl[0], expected_wdl, rtol=0, atol=2e-4)
        assert bool(windows) == bool(margin), windows


@pytest.mark.parametrize("path", ["avx2", "avxvnni", "avx512"])
@pytest.mark.parametrize("margin", [0, 3])
@pytest.mark.parametrize(("channels", "dilations"), [(64, taps) for taps in TAPS] + [(32, TAPS[1])])
def test_8_bits(channels: int, dilations: tuple[int, ...], margin: int, path: str) -> None:
    weights = with_bytes(random_weights(7, channels, 4, 16, 16, 32))
    narrow, net = (
        build(weights, 2, path=either, dilations=dilations, margin=margin) for either in ("avx2", path)
    )
    for seed, (width, height) in enumerate(SIZES):
        for planes in (random_planes(seed, width, height), sparse_planes(seed, width, height)):
            policy, wdl = evaluate(net, planes[None])
            expected_policy, expected_wdl = judge_lines(weights, 2, planes, margin, dilations)
            np.testing.assert_allclose(policy[0], expected_policy, rtol=0, atol=0.03)
            np.testing.assert_allclose(wdl[0], expected_wdl, rtol=0, atol=1e-3)
            for mine, other in zip((policy, wdl), evaluate(narrow, planes[None]), strict=True):
                np.testing.assert_array_equal(mine, other)


def test_what_was_judged_before_leaves_nothing_behind() -> None:
    """Windows and whole boards of many sizes one after the other: borders are as wide as before."""
    weights = with_bytes(random_weights(3, 32, 3, 16, 16, 8))
    net = LineNet(weights, 1, dilations=(2, 4, 1), margin=3)
    boards = [
        make(seed, 5 + seed % 18, 5 + seed // 2 % 18)
        for seed in range(40)
        for make in (random_planes, sparse_planes)
    ]
    first = [evaluate(net, planes[None]) for planes in boards]
    for i in np.random.default_rng(1).permutation(len(boards)):
        fresh = LineNet(weights, 1, dilations=(2, 4, 1), margin=3)
        for mine, again, new in zip(
            first[i], evaluate(net, boards[i][None]), evaluate(fresh, boards[i][None]), strict=True
        ):
            np.testing.assert_array_equal(mine, again)
            np.testing.assert_array_equal(mine, new)


def test_neighbouring_taps_are_the_default() -> None:
    weights = random_weights(1, 16, 2, 8, 8, 16)
    nets = [LineNet(weights, 1), LineNet(weights, 1, dilations=[1, 1]), LineNet(weights, 1, dilations=(1, 2))]
    policies = [evaluate(net, random_planes(1, 15, 15)[None])[0] for net in nets]
    np.testing.assert_array_equal(policies[0], policies[1])
    assert not np.allclose(policies[0], policies[2])


@pytest.mark.parametrize("dilations", [(), (1,), (1, 2, 1), (0, 1), (1, 5), (1, True), (1, 1.5), ("1", "2")])
def test_bad_dilations_are_refused(dilations: Any) -> None:
    with pytest.raises(ValueError, match="dilations must be 2 numbers from 1 to 4"):
        LineNet(random_weights(1, 16, 2, 8, 8, 16), 1, dilations=dilations)

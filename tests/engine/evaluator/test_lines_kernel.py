"""The line net's kernel gives what its naive twin gives, on all paths that this processor can take."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from engine.encoding import N_PLANES
from engine.evaluator._lines import LineNet, paths
from tests.helpers.lines import (
    VECTOR_PATHS,
    WAYS,
    Array,
    assert_agrees,
    build,
    evaluate,
    random_planes,
    random_weights,
    with_bytes,
)
from tests.reference.lines import evaluate_lines, window

SIZES = [(5, 5), (22, 22), (9, 13), (13, 9), (15, 15), (16, 17), (22, 5), (8, 19)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("channels", "blocks", "pooled", "policy", "value", "hidden", "top"),
    [
        (32, 3, 1, 16, 16, 32, 2000),
        (32, 2, -1, 8, 24, 20, 30000),  # four entries do not fit 16 bits
        (16, 1, 0, 16, 8, 1, 8191),
        (40, 2, 1, 8, 32, 7, 500),
        (48, 2, 0, 24, 16, 24, 2000),
        (64, 2, 1, 16, 40, 33, 32767),
        (96, 1, -1, 32, 32, 64, 2000),
    ],
)
def test_kernel_agrees_with_the_reference(
    channels: int, blocks: int, pooled: int, policy: int, value: int, hidden: int, top: int, way: str
) -> None:
    weights = random_weights(channels + blocks, channels, blocks, policy, value, hidden, top)
    net = build(weights, pooled, **WAYS[way])
    assert (net.channels, net.blocks) == (channels, blocks)
    for seed, (width, height) in enumerate(SIZES[:: 1 if channels == 32 else 2]):
        assert_agrees(net, weights, pooled, random_planes(seed, width, height))


@pytest.mark.parametrize("path", VECTOR_PATHS)
@pytest.mark.parametrize(
    ("channels", "blocks", "pooled"),
    [(16, 2, 0), (32, 3, 1), (40, 1, -1), (48, 2, 1), (64, 4, 2), (96, 1, 0)],
)
def test_products_of_8_bits_are_those_of_the_reference(
    channels: int, blocks: int, pooled: int, path: str
) -> None:
    floats = random_weights(channels, channels, blocks, 16, 16, 32)
    weights = with_bytes(floats)
    if path == "avx512" and channels % 16:
        pytest.skip("AVX-512 takes channels in sixteens")
    net = build(weights, pooled, path=path)
    for seed, (width, height) in enumerate(SIZES):
        planes = random_planes(seed, width, height)
        policy, wdl = evaluate(net, planes[None])
        want_policy, want_wdl = evaluate_lines(weights, pooled, planes)
        # An activation that lies between two levels may become either one.
        np.testing.assert_allclose(policy[0], want_policy, rtol=0, atol=0.03)
        np.testing.assert_allclose(wdl[0], want_wdl, rtol=0, atol=1e-3)
        for way in ("exact", "plain"):
            assert_agrees(LineNet(weights, pooled, **WAYS[way]), floats, pooled, planes)


def sparse_planes(seed: int, width: int, height: int) -> Array:
    """Planes of a few stones in one or two clusters, some at an edge; for odd seeds black is to move."""
    generator = np.random.default_rng(seed)
    planes = np.zeros((N_PLANES, height, width), dtype=np.float32)
    planes[0] = 1
    planes[16:] = generator.integers(0, 2, (7, 1, 1))
    planes[16] = seed % 2
    for _ in range(generator.integers(1, 3)):
        y, x = generator.integers(0, height), generator.integers(0, width)
        for _ in range(generator.integers(3, 8)):
            at = min(height - 1, y + generator.integers(0, 3)), min(width - 1, x + generator.integers(0, 3))
            planes[1:3, *at] = 0
            planes[generator.integers(1, 3), *at] = 1
    near = np.nonzero(planes[1] + planes[2])
    planes[3 + seed % 13, near[0], near[1]] = 1
    return planes


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("channels", "blocks", "pooled"), [(16, 3, 1), (64, 4, 2), (40, 2, -1), (32, 1, 0)])
def test_a_window_around_the_stones_gives_what_the_reference_gives(
    channels: int, blocks: int, pooled: int, way: str
) -> None:
    weights = random_weights(channels, channels, blocks, 16, 16, 32)
    if channels > 32:
        weights["pool_usual"] = np.random.default_rng(5).normal(0, 0.5, channels).astype(np.float32)
    whole = build(weights, pooled, **WAYS[way])
    nets = [build(weights, pooled, margin=margin, **WAYS[way]) for margin in (1, 3)]
    windows = 0
    for seed in range(16):
        planes = sparse_planes(seed, *SIZES[seed % len(SIZES)])
        net = nets[seed // len(SIZES)]
        assert_agrees(net, weights, pooled, planes)
        if window(planes, net.margin) is None:
            both = (evaluate(either, planes[None]) for either in (net, whole))
            for mine, all_of_it in zip(*both, strict=True):
                np.testing.assert_array_equal(mine, all_of_it)
        else:
            windows += 1
    assert 5 < windows < 16


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("channels", "blocks", "pooled"), [(16, 3, 1), (64, 4, 2), (40, 2, -1), (32, 1, 0)])
def test_beyond_the_margin_of_a_closed_net_the_board_ends(
    channels: int, blocks: int, pooled: int, way: str
) -> None:
    weights = random_weights(channels, channels, blocks, 16, 16, 32)
    weights["pool_usual"] = np.random.default_rng(5).normal(0, 0.5, channels).astype(np.float32)
    nets = [build(weights, pooled, margin=margin, closed=True, **WAYS[way]) for margin in (1, 2, 30)]
    smaller = 0
    for seed in range(18):
        width, height = SIZES[seed % len(SIZES)]
        planes = sparse_planes(seed, width, height)
        if seed % 5 == 1:
            planes[0, seed % height, :2] = 0
        if seed % 5 == 2:
            planes[1:3, 1:] = 0  # a stone or two, or none
        inside = window(planes, nets[seed % 3].margin, closed=True)
        smaller += inside is not None and not inside.all()
        assert_agrees(nets[seed % 3], weights, pooled, planes)
    assert smaller > 8


def test_an_empty_board_is_whole_to_a_closed_net() -> None:
    weights = random_weights(4, 16, 2, 8, 8, 8)
    planes = np.zeros((1, N_PLANES, 15, 15), np.float32)
    planes[0, 0] = 1
    whole, closed = LineNet(weights, 1), LineNet(weights, 1, margin=2, closed=True)
    assert not whole.closed and closed.closed
    for mine, other in zip(*(evaluate(net, planes) for net in (whole, closed)), strict=True):
        np.testing.assert_array_equal(mine, other)
    with pytest.raises(ValueError, match="margin"):
        LineNet(weights, 1, closed=True)


def test_a_window_needs_five_stones() -> None:
    """What pooling usually adds is far off behind one or two stones: corners got the best logits."""
    weights = random_weights(4, 16, 2, 8, 8, 8) | {"pool_usual": np.ones(16, np.float32)}
    whole, part = (LineNet(weights, 1, margin=margin) for margin in (0, 3))
    planes = np.zeros((1, N_PLANES, 20, 20), np.float32)
    planes[0, 0] = 1
    for stones in range(1, 7):
        planes[0, 1 + stones % 2, 9, 6 + stones] = 1
        both = [evaluate(net, planes)[0] for net in (whole, part)]
        assert np.array_equal(*both) == (stones < 5), stones


@pytest.mark.parametrize("path", VECTOR_PATHS[1:])
@pytest.mark.parametrize(("margin", "closed"), [(0, False), (3, False), (2, True)])
@pytest.mark.parametrize(
    ("channels", "policy", "value", "top"),
    [
        (16, 8, 8, 2000),
        (32, 16, 16, 30000),
        (48, 24, 8, 500),
        (64, 16, 32, 8000),
        (80, 32, 32, 8191),
        (96, 64, 32, 9),
    ],
)
def test_faster_paths_give_the_same_bits(
    channels: int, policy: int, value: int, top: int, margin: int, closed: bool, path: str
) -> None:
    weights = with_bytes(random_weights(channels, channels, 2, policy, value, 24, top))
    narrow, wide = (
        build(weights, 1, path=either, margin=margin, closed=closed) for either in (VECTOR_PATHS[0], path)
    )
    for seed, (width, height) in enumerate(SIZES):
        for planes in (random_planes(seed, width, height), sparse_planes(seed, width, height)):
            for mine, other in zip(*(evaluate(net, planes[None]) for net in (narrow, wide)), strict=True):
                np.testing.assert_array_equal(mine, other)


RECORDED = "0ab2e5701c81de54"


def test_vectors_of_every_processor_give_the_recorded_bits() -> None:
    digest = hashlib.sha256()
    weights = random_weights(5, 64, 3, 16, 16, 32, 8000)
    for chosen in (weights, with_bytes(weights)):
        for exact in (False, True):
            net = build(chosen, 1, path=VECTOR_PATHS[0], margin=3, closed=True, exact=exact)
            for seed, (width, height) in enumerate(SIZES):
                digest.update(evaluate(net, sparse_planes(seed, width, height)[None])[0].tobytes())
    assert digest.hexdigest()[:16] == RECORDED


@pytest.mark.parametrize("path", VECTOR_PATHS)
@pytest.mark.parametrize("closed", [False, True])
def test_a_window_in_8_bits_gives_what_the_reference_gives(path: str, closed: bool) -> None:
    weights = with_bytes(random_weights(7, 64, 4, 16, 16, 32))
    net = build(weights, 2, path=path, margin=3, closed=closed)
    for seed in range(len(SIZES)):
        planes = sparse_planes(seed, *SIZES[seed])
        policy, wdl = evaluate(net, planes[None])
        want_policy, want_wdl = evaluate_lines(weights, 2, planes, 3, closed)
        np.testing.assert_allclose(policy[0], want_policy, rtol=0, atol=0.03)
        np.testing.assert_allclose(wdl[0], want_wdl, rtol=0, atol=1e-3)


def test_a_window_does_not_depend_on_what_was_judged_before() -> None:
    """More sizes and rules than are kept, an empty board and obstacles between them."""
    weights = random_weights(3, 16, 2, 8, 8, 8)
    nets = [LineNet(weights, 1, margin=3, closed=closed) for closed in (False, True)]
    many = [sparse_planes(seed, 10 + seed % 13, 10 + seed // 13 % 13) for seed in range(90)]
    for i in (4, 30, 60):
        many[i][1:16] = 0
        many[i + 1][0, 0, 0] = 0
    for net in nets:
        first = [evaluate(net, planes[None]) for planes in many]
        for i in np.random.default_rng(1).permutation(len(many)):
            fresh = first[i]
            if i % 10 == 0:
                fresh = evaluate(LineNet(weights, 1, margin=3, closed=net.closed), many[i][None])
            for mine, again, new in zip(first[i], evaluate(net, many[i][None]), fresh, strict=True):
                np.testing.assert_array_equal(mine, again)
                np.testing.assert_array_equal(mine, new)


@pytest.mark.parametrize("margin", [-1, 1.5, True, "3"])
def test_a_margin_is_a_whole_number(margin: object) -> None:
    with pytest.raises(ValueError, match="margin"):
        LineNet(random_weights(1, 16, 1, 8, 8, 8), -1, margin=margin)  # type: ignore[arg-type]


def test_the_largest_sums_of_8_bits_do_not_overflow() -> None:
    floats = random_weights(1, 32, 1, 8, 8, 8)
    for sign in (1, -1):
        weights = with_bytes(floats)
        levels = np.full((1, 32, 32), sign * 258 // 16, np.int64)
        levels[:, [0, 2]] += sign * 258 - 16 * levels[:, [0, 2]]  # 258 in each of two sums
        weights |= {"pw_levels": levels.astype(np.int8), "pw_unit": np.full((1, 32), 1e-6, np.float32)}
        weights["dw_bias"] = np.full((1, 32), 50, np.float32)  # all inputs at 127
        planes = random_planes(1, 15, 15)
        for path in set(paths()) - {"plain"}:
            policy, _ = evaluate(LineNet(weights, -1, path=path), planes[None])
            expected = evaluate_lines(weights, -1, planes)[0]
            np.testing.assert_allclose(policy[0], expected, rtol=1e-3, atol=1e-3)

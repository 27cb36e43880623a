"""Line nets of given weights: the same bits again, the paths as told, bad weights refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.encoding import N_PLANES, encode
from engine.evaluator._lines import PATHS, LineNet, paths
from engine.rules._board import EMPTY, Board
from tests.helpers.lines import (
    WAYS,
    Array,
    assert_agrees,
    build,
    evaluate,
    random_planes,
    random_weights,
    with_bytes,
)


@pytest.fixture(scope="module")
def weights() -> dict[str, Array]:
    return random_weights(7, 32, 3, 16, 16, 32)


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("pw_levels", lambda a: a.astype(np.int16), "not int8"),
        ("pw_levels", lambda a: a[:, :-1], "shape"),
        ("pw_levels", lambda a: np.full_like(a, 17), "add up to 272 in a sum, above 258"),
        ("pw_levels", lambda a: np.full_like(a, -17), "add up to 272 in a sum, above 258"),
        ("pw_levels_step", lambda a: a[:1], "shape"),
        ("pw_levels_bias", None, "lack"),
        ("pw_levels_bias", lambda a: a * np.float32(np.nan), "not finite"),
        ("pw_unit", lambda a: a * 0, "not above 0"),
        ("pw_levels", None, "lack 'pw_levels'"),
        ("head_levels", None, "lack 'head_levels'"),
        ("head_levels", lambda a: a[:, 1:], "shape"),
        ("head_levels", lambda a: np.full_like(a, 17), "add up to 272 in a sum, above 258"),
        ("head_levels_step", None, "lack"),
        ("head_unit", lambda a: a[1:], "shape"),
    ],
)
def test_bad_8_bit_weights_are_refused(
    weights: dict[str, Array], key: str, change: Any, message: str
) -> None:
    bad = with_bytes(weights)
    if change is None:
        del bad[key]
    else:
        bad[key] = change(bad[key])
    with pytest.raises(ValueError, match=message):
        LineNet(bad, 1)


@pytest.mark.parametrize("way", WAYS)
def test_real_positions_and_a_change_of_size(weights: dict[str, Array], way: str) -> None:
    net = build(weights, 2, **WAYS[way])
    generator = np.random.default_rng(3)
    for side, rule in [(20, 0), (15, 4), (5, 1), (15, 8), (22, 0), (15, 0)]:
        board = Board(side, side, rule)
        for point in generator.permutation(side * side)[: side * 2]:
            if board.winner == EMPTY:
                board.place(int(point))
        assert_agrees(net, weights, 2, encode(board))


@pytest.mark.parametrize("way", WAYS)
def test_a_position_gives_the_same_bits_alone_in_a_batch_and_again(
    weights: dict[str, Array], way: str
) -> None:
    net = build(weights, 1, **WAYS[way])
    planes = np.stack([random_planes(seed, 15, 15) for seed in range(4)])
    first, again = evaluate(net, planes), evaluate(net, planes)
    evaluate(net, random_planes(9, 19, 7)[None])
    alone = evaluate(net, planes[2:3].copy())
    other = evaluate(build(weights, 1, **WAYS[way]), planes)
    for i in range(2):
        assert np.array_equal(first[i], again[i])
        assert np.array_equal(first[i], other[i])
        assert np.array_equal(first[i][2:3], alone[i])


def test_the_paths_are_chosen_as_told(weights: dict[str, Array]) -> None:
    has = paths()
    assert has == tuple(path for path in PATHS if path in has) and has[0] == "plain"
    whole = with_bytes(weights)
    for path in has[:2]:
        net = LineNet(weights, 1, path=path)
        assert (net.path, net.bits) == (path, 32 if path == "plain" else 16)
        assert LineNet(whole, 1, path=path).bits == (32 if path == "plain" else 8)
        assert LineNet(whole, 1, path=path, exact=True).bits == 32
    best = LineNet(whole, 1)
    assert (best.path, best.bits) == (has[-1], 8 if len(has) > 1 else 32)
    for unsuited in (
        LineNet(weights, 1),
        LineNet(whole, 1, exact=True),
        LineNet(with_bytes(random_weights(7, 40, 1, 16, 16, 32)), -1),  # channels not in sixteens
        LineNet(with_bytes(random_weights(7, 32, 1, 8, 16, 32)), -1),  # both heads not in sixteens
    ):
        assert unsuited.path == [path for path in has if path != "avx512"][-1]


def test_a_path_that_cannot_be_taken_is_refused(weights: dict[str, Array]) -> None:
    with pytest.raises(ValueError, match=r"this processor can take plain.*, not 'sse'"):
        LineNet(weights, 1, path="sse")
    with pytest.raises(ValueError, match="avx512"):  # not in 8 bits, or no such processor
        LineNet(weights, 1, path="avx512")


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("bias", None, "lack 'bias'"),
        ("codebook", None, "lack 'codebook'"),
        ("codebook", lambda a: a.astype(np.float32), "not int16"),
        ("codebook", lambda a: a[:-1], "shape"),
        ("codebook", lambda a: a[:, :20], "multiple of 8"),
        ("codebook", lambda a: a[:, :8], "multiple of 8"),
        ("codebook_scale", lambda a: np.full(1, a), "shape"),
        ("codebook_scale", lambda a: np.float32(np.inf), "not finite"),
        ("plane_weight", lambda a: a[:19], "shape"),
        ("dw", lambda a: a[:, :8], "shape"),
        ("dw", lambda a: a[:0], "shape"),
        ("dw_bias", lambda a: a[:2], "shape"),
        ("pw", lambda a: a.astype(np.float64), "not float32"),
        ("pool_weight", lambda a: a[:-1], "shape"),
        ("policy_in", lambda a: a[:, :12], "multiple of 8"),
        ("policy_out", lambda a: a * np.float32(np.nan), "not finite"),
        ("value_in", lambda a: a.T, "shape"),
        ("hidden_w", lambda a: a[:, :0], "shape"),
        ("out_w", lambda a: a[:, :2], "shape"),
        ("out_b", lambda a: a[:2], "shape"),
    ],
)
def test_bad_weights_are_refused(weights: dict[str, Array], key: str, change: Any, message: str) -> None:
    bad = dict(weights)
    if change is None:
        del bad[key]
    else:
        bad[key] = change(bad[key])
    with pytest.raises(ValueError, match=message):
        LineNet(bad, 1)


@pytest.mark.parametrize("pooled", [-2, 3, 1.5, None])
def test_a_pooled_block_that_is_not_there_is_refused(weights: dict[str, Array], pooled: Any) -> None:
    with pytest.raises(ValueError, match="pooled"):
        LineNet(weights, pooled)


def test_bad_arrays_are_refused(weights: dict[str, Array]) -> None:
    net = LineNet(weights, 1)
    planes = random_planes(1, 15, 15)[None]
    policy, wdl = np.zeros((1, 225), np.float32), np.zeros((1, 3), np.float32)
    bad: list[tuple[Any, Any, Any]] = [
        (planes[:, : N_PLANES - 1].copy(), policy, wdl),
        (planes[:, :, :4].copy(), policy, wdl),
        (np.zeros((1, N_PLANES, 15, 23), np.float32), np.zeros((1, 345), np.float32), wdl),
        (planes.astype(np.float64), policy, wdl),
        (planes[..., ::-1], policy, wdl),
        (planes, policy[:, :224].copy(), wdl),
        (planes, np.zeros((2, 225), np.float32), wdl),
        (planes, policy, np.zeros((1, 4), np.float32)),
        (planes[0], policy, wdl),
    ]
    for arrays in bad:
        with pytest.raises(ValueError):
            net.evaluate(*arrays)


def test_planes_that_no_position_has_stay_inside_the_table():
    weights = random_weights(5, 16, 1, 8, 8, 8)
    planes = np.ones((1, N_PLANES, 15, 15), dtype=np.float32)  # a stone of both colours in every cell
    fast, plain = (evaluate(build(weights, -1, **WAYS[name]), planes) for name in ("exact", "plain"))
    np.testing.assert_allclose(fast[0], plain[0], atol=1e-3)
    np.testing.assert_allclose(fast[1], plain[1], atol=1e-4)

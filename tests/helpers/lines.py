"""What the tests of line nets share: weights, planes, the ways to compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from engine.encoding import N_PLANES
from engine.evaluator._lines import LineNet, paths
from tests.reference.lines import IDS, evaluate_lines

Array = npt.NDArray[Any]
VECTOR_PATHS = ["neon", "neon-dot"] if "neon" in paths() else ["avx2", "avxvnni", "avx512"]
"""Paths on vectors of this kind of processor; the first has all loops."""
WAYS: dict[str, dict[str, Any]] = {
    "rounded": {"path": VECTOR_PATHS[0]},
    "exact": {"path": VECTOR_PATHS[0], "exact": True},
    "plain": {"path": "plain"},
}


def build(weights: dict[str, Array], pooled: int, *, path: str, **options: Any) -> LineNet:
    """Build a net on a path, or skip the test."""
    if path not in paths():
        pytest.skip(f"this processor has no {path}")
    return LineNet(weights, pooled, path=path, **options)


def random_weights(
    seed: int, channels: int, blocks: int, policy: int, value: int, hidden: int, top: int = 2000
) -> dict[str, Array]:
    """Weights that keep activations near one; codebook entries lie below `top`."""
    generator = np.random.default_rng(seed)

    def normal(*shape: int, scale: float) -> Array:
        return generator.normal(0, scale, shape).astype(np.float32)

    return {
        "codebook": generator.integers(
            -top, top, (IDS * (IDS + 1) // 2, channels), dtype=np.int16, endpoint=True
        ),
        "codebook_scale": np.float32(0.5 / top),
        "plane_weight": normal(N_PLANES, channels, scale=0.3),
        "bias": normal(channels, scale=0.2),
        "dw": normal(blocks, 9, channels, scale=0.3),
        "dw_bias": normal(blocks, channels, scale=0.2),
        "pw": normal(blocks, channels, channels, scale=channels**-0.5),
        "pw_bias": normal(blocks, channels, scale=0.2),
        "pool_weight": normal(3 * channels, channels, scale=0.3 * channels**-0.5),
        "pool_bias": normal(channels, scale=0.2),
        "policy_in": normal(channels, policy, scale=channels**-0.5),
        "policy_bias": normal(policy, scale=0.2),
        "policy_out": normal(policy, scale=policy**-0.5),
        "value_in": normal(channels, value, scale=channels**-0.5),
        "value_bias": normal(value, scale=0.2),
        "hidden_w": normal(3 * value, hidden, scale=0.5 * value**-0.5),
        "hidden_b": normal(hidden, scale=0.2),
        "out_w": normal(hidden, 3, scale=hidden**-0.5),
        "out_b": normal(3, scale=0.2),
    }


def random_planes(seed: int, width: int, height: int) -> Array:
    """Planes [23, H, W] of no real position: stones everywhere, edges included, obstacles, random shapes."""
    generator = np.random.default_rng(seed)
    planes = np.zeros((N_PLANES, height, width), dtype=np.float32)
    cells = generator.choice(4, (height, width), p=[0.6, 0.18, 0.18, 0.04])
    planes[0] = cells != 3
    planes[1] = cells == 1
    planes[2] = cells == 2
    planes[3:16] = generator.random((13, height, width)) < 0.1
    planes[16:] = generator.integers(0, 2, (7, 1, 1))
    return planes


def evaluate(net: LineNet, planes: Array) -> tuple[Array, Array]:
    batch, _, height, width = planes.shape
    policy = np.full((batch, height * width), np.nan, dtype=np.float32)
    wdl = np.full((batch, 3), np.nan, dtype=np.float32)
    net.evaluate(planes, policy, wdl)
    return policy, wdl


def assert_agrees(net: LineNet, weights: dict[str, Array], pooled: int, planes: Array) -> None:
    policy, wdl = evaluate(net, planes[None])
    expected_policy, expected_wdl = evaluate_lines(weights, pooled, planes, net.margin, net.closed)
    np.testing.assert_allclose(policy[0], expected_policy, rtol=0, atol=1e-3)
    np.testing.assert_allclose(wdl[0], expected_wdl, rtol=0, atol=2e-4)


def with_bytes(weights: dict[str, Array]) -> dict[str, Array]:
    """Add pointwise products in 8 bits, whose sums are as large as they may become, and of another net.

    Another one, so that a kernel that takes the floats instead is found out.
    """
    generator = np.random.default_rng(4)
    blocks, _, channels = weights["dw"].shape
    heads = len(weights["policy_out"]) + len(weights["value_bias"])
    out = dict(weights)
    for key, shape in (("pw", (blocks, channels, channels)), ("head", (channels, heads))):
        levels = generator.normal(0, 30, shape)
        lanes = levels.reshape(*shape[:-2], channels // 4, 2, 2, shape[-1])
        load = np.maximum(*(np.maximum(sign * lanes, 0).sum((-4, -2)) for sign in (1, -1)))
        levels = np.trunc(levels * np.minimum(258 / load.max(-2 if load.ndim > 2 else 0, keepdims=True), 4))
        outputs = (*shape[:-2], shape[-1])
        out[f"{key}_levels"] = np.clip(levels, -128, 127).astype(np.int8)
        step = generator.uniform(0.5, 2, outputs) * 0.02 / channels**0.5 / 15
        out[f"{key}_levels_step"] = step.astype(np.float32)
        out[f"{key}_levels_bias"] = generator.normal(0, 0.2, outputs).astype(np.float32)
        out[f"{key}_unit"] = generator.uniform(0.01, 0.03, shape[:-1]).astype(np.float32)
    return out

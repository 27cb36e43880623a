"""The line net in plain numpy: the naive twin of `engine.evaluator._lines`.

Slow and simple: lines are read cell by cell, convolutions are sums of shifted arrays, all in float64. Shape
letters as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Weights = Mapping[str, Array]

IDS = 364
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))
EDGE = 3
TOP_LEVEL = 127


def digits_of(planes: Array) -> Array:
    """Return [H, W]: 0 empty, 1 own, 2 opponent, 3 obstacle."""
    return np.where(planes[0] == 0, EDGE, planes[1] + 2 * planes[2]).astype(int)


def side_id(digits: Array, x: int, y: int, dx: int, dy: int) -> int:
    """Number the (at most five) cells that follow (x, y) up to the first edge."""
    height, width = digits.shape
    seen: list[int] = []
    for j in range(1, 6):
        at_x, at_y = x + j * dx, y + j * dy
        if not (0 <= at_x < width and 0 <= at_y < height) or digits[at_y, at_x] == EDGE:
            break
        seen.append(int(digits[at_y, at_x]))
    return int((3 ** len(seen) - 1) // 2 + sum(digit * 3**j for j, digit in enumerate(seen)))


def codebook_sum(codebook: Array, digits: Array) -> Array:
    """Return the sum of the four codebook rows of each cell, int64 [H, W, C]."""
    height, width = digits.shape
    out = np.zeros((height, width, codebook.shape[1]), dtype=np.int64)
    for y in range(height):
        for x in range(width):
            for dx, dy in DIRECTIONS:
                left, right = side_id(digits, x, y, -dx, -dy), side_id(digits, x, y, dx, dy)
                high, low = max(left, right), min(left, right)
                out[y, x] += codebook[high * (high + 1) // 2 + low]
    return out


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def depthwise(x: Array, taps: Array) -> Array:
    """Correlate each channel of [H, W, C] with its 3x3 taps [9, C]; zeros lie outside."""
    height, width, _ = x.shape
    wide = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    return np.asarray(
        sum(wide[j // 3 : j // 3 + height, j % 3 : j % 3 + width] * taps[j] for j in range(9))
    )


def pool(x: Array) -> Array:
    """Return mean, mean scaled by the size of the board, and maximum, [3C]."""
    height, width, _ = x.shape
    mean = x.mean(axis=(0, 1))
    return np.concatenate([mean, mean * (height * width / 225 - 1), x.max(axis=(0, 1))])


def judge_lines(weights: Weights, pooled: int, planes: Array) -> tuple[Array, Array]:
    """Judge one position.

    Args:
        weights: as for `engine.evaluator._lines.LineNet`; the levels are used where they are there.
        pooled: the block with global pooling, or -1.
        planes: [20, H, W].

    Returns:
        Policy logits [H * W] and WDL [3], float64.
    """
    w = {key: np.asarray(value, dtype=np.float64) for key, value in weights.items() if key != "codebook"}
    planes = np.asarray(planes, dtype=np.float64)
    x = codebook_sum(weights["codebook"], digits_of(planes)) * w["codebook_scale"]
    x = relu(x + planes.transpose(1, 2, 0) @ w["plane_weight"] + w["bias"])
    for i in range(len(w["dw"])):
        y = depthwise(x, w["dw"][i]) + w["dw_bias"][i]
        if i == pooled:
            y += pool(x) @ w["pool_weight"] + w["pool_bias"]
        if "pw_levels" in w:
            levels = np.minimum(np.rint(relu(y) / w["pw_unit"][i]), TOP_LEVEL)
            x = relu(x + levels @ w["pw_levels"][i] * w["pw_levels_step"][i] + w["pw_levels_bias"][i])
        else:
            x = relu(x + relu(y) @ w["pw"][i] + w["pw_bias"][i])
    if "head_levels" in w:
        heads = np.minimum(np.rint(x / w["head_unit"]), TOP_LEVEL) @ w["head_levels"] * w["head_levels_step"]
        heads = relu(heads + w["head_levels_bias"])
    else:
        both = [x @ w[f"{name}_in"] + w[f"{name}_bias"] for name in ("policy", "value")]
        heads = relu(np.concatenate(both, axis=2))
    width = len(w["policy_out"])
    policy, v = heads[..., :width] @ w["policy_out"], heads[..., width:]
    hidden = relu(pool(v) @ w["hidden_w"] + w["hidden_b"])
    out = hidden @ w["out_w"] + w["out_b"]
    power = np.exp(out - out.max())
    return policy.reshape(-1), power / power.sum()

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
FEW_STONES = 5


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


def window(planes: Array, margin: int, closed: bool = False) -> Array | None:
    """Return the cells that are computed one by one, bool [H, W]; None: all."""
    stones = (planes[1] + planes[2]) > 0
    height, width = stones.shape
    inside = np.zeros((height, width), bool)
    if closed and not stones.any():
        return None
    if not closed and (margin == 0 or not (planes[0] > 0).all() or stones.sum() < FEW_STONES):
        return None
    for y in range(height):
        near = np.nonzero(stones[max(0, y - margin) : y + margin + 1].any(axis=0))[0]
        if len(near):
            inside[y, max(0, near[0] - margin) : near[-1] + margin + 1] = True
    return inside if closed or (inside.any() and 8 * inside.sum() <= 7 * height * width) else None


def blank(planes: Array) -> Array:
    """Return the planes of an empty board of that size under that rule."""
    out = np.zeros_like(planes)
    out[0] = 1
    out[16:] = planes[16:]
    return out


class Layers:
    """What cells hold: `x` [N + 1, H, W, C] before each block and at the end, `heads` [H, W, P + V].

    And what one holds that sees neither stones nor edges: `cell` [N + 1, C], `cell_heads` [P + V]. Cells not
    `inside` are those of `far`, moved by as much as that cell is, or zero. `usual`: pooling adds what it
    usually does.
    """

    def __init__(
        self, w: Weights, book: Array, pooled: int, planes: Array, inside: Array | None = None,
        far: Layers | None = None, usual: bool = False
    ) -> None:  # fmt: skip
        wide = blank(np.broadcast_to(planes[:, :1, :1], (len(planes), 11, 11)))
        x = self._first(w, book, planes)
        cell = self._first(w, book, wide)[5, 5]
        self.x, self.cell = [], []
        for i in range(len(w["dw"]) + 1):
            if inside is not None:
                beyond = 0 if far is None else relu(far.x[i] + cell - far.cell[i])
                x = np.where(inside[..., None], x, beyond)
            self.x.append(x)
            self.cell.append(cell)
            if i == len(w["dw"]):
                break
            bias = w["dw_bias"][i]
            if i == pooled and usual:
                bias = bias + w["pool_usual"]
            elif i == pooled:
                bias = bias + pool(x) @ w["pool_weight"] + w["pool_bias"]
            cell = self._point(w, i, cell, cell * w["dw"][i].sum(axis=0) + bias)
            x = self._point(w, i, x, depthwise(x, w["dw"][i]) + bias)
        self.heads, self.cell_heads = self._heads(w, x), self._heads(w, cell)

    @staticmethod
    def _first(w: Weights, book: Array, planes: Array) -> Array:
        x = codebook_sum(book, digits_of(planes)) * w["codebook_scale"]
        return relu(x + planes.transpose(1, 2, 0) @ w["plane_weight"] + w["bias"])

    @staticmethod
    def _point(w: Weights, i: int, x: Array, y: Array) -> Array:
        if "pw_levels" in w:
            levels = np.minimum(np.rint(relu(y) / w["pw_unit"][i]), TOP_LEVEL)
            return relu(x + levels @ w["pw_levels"][i] * w["pw_levels_step"][i] + w["pw_levels_bias"][i])
        return relu(x + relu(y) @ w["pw"][i] + w["pw_bias"][i])

    @staticmethod
    def _heads(w: Weights, x: Array) -> Array:
        if "head_levels" in w:
            levels = np.minimum(np.rint(x / w["head_unit"]), TOP_LEVEL)
            return relu(levels @ w["head_levels"] * w["head_levels_step"] + w["head_levels_bias"])
        both = [x @ w[f"{name}_in"] + w[f"{name}_bias"] for name in ("policy", "value")]
        return relu(np.concatenate(both, axis=-1))


def evaluate_lines(
    weights: Weights, pooled: int, planes: Array, margin: int = 0, closed: bool = False
) -> tuple[Array, Array]:
    """Evaluate one position.

    Args:
        weights: as for `engine.evaluator._lines.LineNet`; the levels are used where they are there.
        pooled: the block with global pooling, or -1.
        planes: [23, H, W].
        margin, closed: as there.

    Returns:
        Policy logits [H * W] and WDL [3], float64.
    """
    w = {key: np.asarray(value, dtype=np.float64) for key, value in weights.items() if key != "codebook"}
    planes = np.asarray(planes, dtype=np.float64)
    book = weights["codebook"]
    inside = window(planes, margin, closed)
    usual = "pool_usual" in w
    far = None if inside is None or closed else Layers(w, book, pooled, blank(planes), usual=usual)
    here = Layers(w, book, pooled, planes, inside, far)
    width = len(w["policy_out"])
    policy, v = here.heads[..., :width] @ w["policy_out"], here.heads[..., width:]
    if far is not None and inside is not None:
        there = far.heads[..., :width] @ w["policy_out"]
        moved = (here.cell_heads - far.cell_heads)[:width] @ w["policy_out"]
        policy = np.where(inside, policy, there + moved)
        v = np.where(inside[..., None], v, relu(far.heads + here.cell_heads - far.cell_heads)[..., width:])
    hidden = relu(pool(v) @ w["hidden_w"] + w["hidden_b"])
    out = hidden @ w["out_w"] + w["out_b"]
    power = np.exp(out - out.max())
    return policy.reshape(-1), power / power.sum()

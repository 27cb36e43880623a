"""Line nets: read from .onnx files like other nets, but computed by the compiled kernel.

The file holds the whole graph, which onnxruntime can run, and the weights as outputs of their own (names
with `WEIGHT_PREFIX`). From these the table of all lines is made once (`codebook`): a row for each pair of
sides that a line can have around a cell. `training.net.line_stem` says what the net is.

Shapes: `S` = 364 sides of a line, `E` hidden units, `D` trunk channels.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.encoding import FEATURE_VERSION, PLANES_OF, widen_weights
from engine.errors import NetError
from engine.evaluator._backend import LineNetBackend
from engine.evaluator._lines import LineNet
from engine.evaluator.base import LINE_NET_COST, Keys, Planes, Policy, Wdl
from engine.evaluator.onnx import OnnxEvaluator, describe_file

WEIGHT_PREFIX = "weights."
"""Begins the names of the outputs that are weights."""

KIND = "lines"
"""Metadata `kind` of such a net."""

_TABLE_LIMIT = 8_000.0  # derived: four rows are added in 16 bits
_TABLE_STEP = 4  # rows at a time; 1,500 pairs fill 0.7 MB (derived: the second-level cache)
_TABLE_INPUTS = {"sides": ("S", "E"), "middle": ("E", "E"), "middle_bias": ("E",), "out": ("E", "D")}
_SIDES = 364  # derived: up to five cells, each empty, own or the opponent's, then perhaps the edge
_MAX_HIDDEN = 512  # E (derived: four times what ships; bounds the time to load)
_MAX_CHANNELS = 96  # D, as in `LineNet`

Array = npt.NDArray[np.float32]


class LineEvaluator:
    """A line net. See `engine.evaluator.base.Evaluator` for the attributes."""

    max_batch: int | None = None
    cost = LINE_NET_COST

    def __init__(
        self, source: OnnxEvaluator, *, margin: int | None = None, path: str | None = None
    ) -> None:
        """Take over a net that onnxruntime has loaded.

        Args:
            source: the net as onnxruntime has read it.
            margin: see `LineNet`; 0 computes the whole board; None: what the file says, or else 0. A closed
                net has that of its file.
            path: see `LineNet`; None: the fastest.

        Raises:
            NetError: weights are missing, do not fit together or are no numbers; or metadata are bad; or this
                processor or this net cannot take that path.
        """
        self.path, self.metadata = source.path, source.metadata
        self.name, self.feature_version = source.name, source.feature_version
        self.rules, self.min_side, self.max_side = source.rules, source.min_side, source.max_side
        weights: dict[str, Any] = source.constants(WEIGHT_PREFIX)
        try:
            if source.feature_version != FEATURE_VERSION:
                weights["plane_weight"] = _widened(weights.get("plane_weight"), source.feature_version)
            weights["codebook"], weights["codebook_scale"] = _whole_codebook(_table_inputs(weights))
            closed = _is_closed(self.metadata)
            if margin is None or closed:
                margin = _number(self.metadata, "margin", "0")
            self.line_net = LineNet(
                weights, _number(self.metadata, "pooled"), margin=margin, closed=closed, path=path
            )
            self.backend = LineNetBackend(self.line_net)
        except ValueError as error:
            raise NetError(f"{self.path}: not the weights of a line net: {error}") from error
        self._policy = np.empty((0, 0), np.float32)
        self._wdl = np.empty((0, 3), np.float32)

    def describe(self) -> dict[str, str]:
        """Return metadata, file size and checksum of the net, as text for users."""
        return describe_file(self.path, self.metadata)

    def evaluate(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        """See `engine.evaluator.base.Evaluator.evaluate`."""
        batch, _, height, width = planes.shape
        if self._policy.shape != (batch, height * width):
            self._policy = np.empty((batch, height * width), np.float32)
            self._wdl = np.empty((batch, 3), np.float32)
        self.line_net.evaluate(planes, self._policy, self._wdl)
        return self._policy, self._wdl


def _widened(weights: Array | None, version: int) -> Array:
    """Return the weights of planes of an older version as today's.

    Raises:
        ValueError: they are missing, or not as many as that version has planes.
    """
    if weights is None or weights.ndim != 2 or len(weights) != len(PLANES_OF[version]):
        raise ValueError(f"'plane_weight' is missing, or not for {len(PLANES_OF[version])} planes")
    return widen_weights(weights, version)


def _number(metadata: dict[str, str], key: str, default: str = "") -> int:
    text = metadata.get(key, default)
    if not re.fullmatch(r"-?[0-9]{1,4}", text):
        raise ValueError(f"the metadata {key}={text[:60]!a} are no number")
    return int(text)


def _is_closed(metadata: dict[str, str]) -> bool:
    """Return whether what is beyond the margin is off the board for a net."""
    beyond = metadata.get("beyond", "empty")
    if beyond not in ("empty", "off"):
        raise ValueError(f"the metadata beyond={beyond[:60]!a} are neither empty nor off")
    return beyond == "off"


def _table_inputs(weights: dict[str, Any]) -> list[Array]:
    """Take what the table is made from out of the weights, checked.

    Raises:
        ValueError: an array is missing, or has another type or shape, or is not finite.
    """
    sizes = {"S": _SIDES}
    limits = {"E": _MAX_HIDDEN, "D": _MAX_CHANNELS}
    arrays = []
    for name, shape in _TABLE_INPUTS.items():
        if name not in weights:
            raise ValueError(f"weights lack '{name}'")
        array = weights.pop(name)
        if array.dtype != np.float32 or array.ndim != len(shape):
            raise ValueError(f"'{name}' is {array.dtype} {list(array.shape)}, not float32 {list(shape)}")
        for letter, have in zip(shape, array.shape, strict=True):
            if sizes.setdefault(letter, have) != have or not 1 <= have <= limits.get(letter, have):
                raise ValueError(f"'{name}' has shape {list(array.shape)}, not {list(shape)}, {letter} = "
                                 f"{sizes[letter]}, at most {limits.get(letter, _SIDES)}")  # fmt: skip
        if not np.isfinite(array).all():
            raise ValueError(f"'{name}' is not finite")
        arrays.append(array)
    return arrays


def _whole_codebook(inputs: list[Array]) -> tuple[npt.NDArray[np.int16], np.float32]:
    """Return the codebook in 16 bits and what a step of it is worth.

    Raises:
        ValueError: the rows are too large for floats.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        table = codebook(*inputs)
        scale = np.float32(max(float(table.max()), -float(table.min()), 1e-6) / _TABLE_LIMIT)
    if not (np.isfinite(table.max()) and np.isfinite(table.min()) and np.isfinite(scale)):
        raise ValueError("the rows of the table of lines are too large")
    table /= scale
    return np.rint(table, out=table).astype(np.int16), scale


def codebook(sides: Array, middle: Array, middle_bias: Array, out: Array) -> Array:
    """Return the rows of all pairs of sides, float32 [S * (S + 1) / 2, D].

    A pair in either order has one row: that of `h` and `l`, `l` not above `h`, has index h * (h + 1) / 2 + l.

    Args:
        sides: vectors of the sides, float32 [S, E].
        middle, middle_bias: of the dense layer between, float32 [E, E] and [E].
        out: of the last one, float32 [E, D].
    """
    count = len(sides)
    table = np.empty((count * (count + 1) // 2, out.shape[1]), np.float32)
    # Reused buffers: fresh memory for each step costs more than the arithmetic.
    pair, between = (np.empty((_TABLE_STEP * count, len(middle)), np.float32) for _ in range(2))
    rows = np.empty((_TABLE_STEP * count, out.shape[1]), np.float32)
    for i in range(0, count, _TABLE_STEP):
        end = min(i + _TABLE_STEP, count)
        n = (end - i) * end
        first, second, found = pair[:n], between[:n], rows[:n]
        np.add(sides[i:end, None], sides[None, :end], out=first.reshape(end - i, end, -1))
        np.maximum(first, 0, out=first)
        np.matmul(first, middle, out=second)
        second += middle_bias
        np.maximum(second, 0, out=second)
        np.matmul(second, out, out=found)
        for high in range(i, end):
            begin, at = high * (high + 1) // 2, (high - i) * end
            table[begin : begin + high + 1] = found[at : at + high + 1]
    return table

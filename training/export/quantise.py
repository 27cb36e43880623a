"""Numbers of an int8 net: ranges of activations, rounded weights. And those of a line net.

Activations get the range with the least mean square error. Weights are not rounded one by one: after each
column of a convolution's matrix the columns that follow, the bias last of all, are moved so that the outputs
on real positions stay where they were, as far as they can. That is the method of "GPTQ"
(https://arxiv.org/abs/2210.17323). Rounding to nearest shifted win - loss by nearly three times as much on
the net of the first self-play run, mostly in the stem, where planes that are 1 everywhere add up their
errors.

The 1x1 convolutions of a line net are products of 8 bits as well, in the engine's kernel. There, activations
have a range a channel, which costs the depthwise parts nothing, and go from 0 to 127. It holds all that was
seen: what is rare and large in a line net is what decides, a win that it knows, and ranges of least square
error cut it off (of a net of run r17, fitted on 512 positions, 24 of 5,120 others had win - loss shifted by
0.3 to 1.2; with whole ranges none by more than 0.07). Weights are so small that many products add up in 16
bits without a carry. And the kernel wants to know what pooling usually adds.

Shapes: `B` batch, `C` input planes or channels, `H` `W` board, `O` output channels, `K` = C x kernel area.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from training.net.network import Network
from training.net.window import cells_near_stones

Array = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float64]

WEIGHT_LEVELS = 63
"""7 bits: 2 * 255 * 63 fits int16, where AVX2 adds pairs of products (derived)."""
STEM_LEVELS = 127
"""The stem sees 0 and 1 only, so that 8 bits cannot overflow (derived)."""
ACTIVATION_LEVELS = 127
"""Of a line net's activations: 7 bits without sign leave room for sums of products (derived)."""
LOAD = 32767 // ACTIVATION_LEVELS
"""What the weights of one sign in one 16-bit sum may add up to (derived)."""
_ROWS = 20_000  # points that a line net's products are fitted to
_BINS = 4096
_COLUMNS = 3_000  # points a batch that a convolution's statistics are taken from
_DAMPING = 0.01  # tuned: as in the paper


@dataclass(frozen=True, slots=True)
class Range:
    """Scale and zero point of a uint8 activation."""

    scale: float
    zero: int

    @staticmethod
    def of(low: float, high: float) -> Range:
        """Return the range that covers low..high and has an exact 0."""
        low, high = min(low, 0.0), max(high, 1e-3)
        scale = (high - low) / 255
        return Range(scale, round(-low / scale))

    def apply(self, x: Tensor) -> Tensor:
        """Return what is left of an activation after uint8."""
        return (torch.clamp(torch.round(x / self.scale) + self.zero, 0, 255) - self.zero) * self.scale


@dataclass(frozen=True, slots=True)
class Rounded:
    """A convolution in integers.

    Attributes:
        levels: int8 [O, C, k, k].
        scale: float32 [O]; weight = levels * scale.
        bias: float32 [O], moved by what the rounding of the weights does on average.
    """

    levels: npt.NDArray[np.int8]
    scale: Array
    bias: Array


@dataclass(frozen=True, slots=True)
class Quantisation:
    """Ranges of all activations and rounded convolutions of one net, by the names of `graph.build`."""

    ranges: Mapping[str, Range]
    convolutions: Mapping[str, Rounded]


@dataclass(frozen=True, slots=True)
class Levels:
    """A product of a line net in 8 bits; one array more in front for those of all blocks.

    Attributes:
        levels: weights, int8 [in, out].
        step: what one level of weight times one level of input is worth, float32 [out].
        bias: moved by what the rounding does on average, float32 [out].
        unit: what one level of input is worth, float32 [in].
    """

    levels: npt.NDArray[np.int8]
    step: Array
    bias: Array
    unit: Array


@dataclass(frozen=True, slots=True)
class LineLevels:
    """The pointwise products of a line net in 8 bits: those of the blocks, and of both heads side by side."""

    blocks: Levels
    heads: Levels


def convolutions(model: Network) -> dict[str, tuple[torch.nn.Conv2d, Array, Array, str]]:
    """Return each convolution that runs in integers: its module, folded weight and bias, its input's name."""
    last = f"trunk{len(model.blocks)}"
    assert isinstance(model.stem, torch.nn.Conv2d)
    out = {"stem": (model.stem, as_numpy(model.stem.weight), as_numpy(model.stem.bias), "input")}
    for i, block in enumerate(model.residual):
        weight, bias = map(as_numpy, block.first.folded())
        out[f"b{i}.first"] = (block.first.conv, weight, bias, f"trunk{i}")
        weight, bias = map(as_numpy, block.second.folded())
        out[f"b{i}.second"] = (block.second.conv, weight, bias, f"b{i}.middle")
    for name, layer in (("policy_in", model.policy_in), ("value_in", model.value_in)):
        out[name] = (layer, as_numpy(layer.weight), as_numpy(layer.bias), last)
    return out


def as_numpy(tensor: Tensor | None) -> Array:
    """Return the values of a tensor that is there, float32."""
    assert tensor is not None
    values: Array = tensor.detach().float().cpu().numpy()
    return values


class _Histogram:
    """Values of one activation over all batches."""

    def __init__(self) -> None:
        self.low = self.high = 0.0
        self._values: list[Array] = []

    def add(self, value: Tensor) -> None:
        flat = value.detach().float().flatten()
        self.low, self.high = min(self.low, float(flat.min())), max(self.high, float(flat.max()))
        step = max(1, flat.numel() // 50_000)
        self._values.append(flat[::step].numpy().copy())

    def best(self) -> Range:
        """Return the range with the least mean square error; the tails may be cut off."""
        values = np.concatenate(self._values)
        counts, edges = np.histogram(values, bins=_BINS, range=(self.low, max(self.high, self.low + 1e-3)))
        middle = (edges[:-1] + edges[1:]) / 2
        best, error = Range.of(self.low, self.high), np.inf
        for share in np.linspace(0.4, 1.0, 61):
            r = Range.of(self.low * share, self.high * share)
            level = np.clip(np.rint(middle / r.scale) + r.zero, 0, 255)
            e = float((counts * ((level - r.zero) * r.scale - middle) ** 2).sum())
            if e < error:
                best, error = r, e
        return best


class _Moments:
    """Sums of products of a convolution's inputs [K + 1, K + 1]; the last input is the bias's constant 1."""

    def __init__(self, kernel: int, range_: Range) -> None:
        self._kernel, self._range = kernel, range_
        self.sums: Matrix | None = None

    def add(self, x: Tensor) -> None:
        columns = F.unfold(self._range.apply(x.detach().float()), self._kernel, padding=self._kernel // 2)
        n_points = columns.shape[0] * columns.shape[2]
        # An odd step, so that all rows and columns of boards come by.
        chosen = torch.arange(0, n_points, max(1, n_points // _COLUMNS) | 1)
        flat = columns.transpose(1, 2).reshape(n_points, -1)[chosen].numpy()
        flat = np.hstack([flat, np.ones((len(flat), 1), np.float32)])
        product = (flat.T @ flat).astype(np.float64)
        self.sums = product if self.sums is None else self.sums + product


def round_convolution(
    weight: Array | Matrix, bias: Array, moments: Matrix, levels: int, scale: Matrix | None = None
) -> Rounded:
    """Round a convolution so that its outputs change least on the inputs that `moments` describe.

    Args:
        weight: float32 or float64 [O, C, k, k].
        bias: float32 [O].
        moments: sums of products of its inputs and a constant 1, [K + 1, K + 1].
        levels: weights become whole numbers from -levels to levels, times a scale an output channel.
        scale: that scale, float64 [O]; None: the largest weight becomes `levels`.
    """
    outputs = len(weight)
    if scale is None:
        scale = np.maximum(np.abs(weight).max(axis=(1, 2, 3)), 1e-6).astype(np.float64) / levels
    k = moments.shape[0] - 1
    # Inputs with the most energy first, while most columns are left to make up for them; the bias last.
    order = np.append(np.argsort(-np.diag(moments)[:k], kind="stable"), k)
    left = np.concatenate([weight.reshape(outputs, k), bias[:, None]], axis=1).astype(np.float64)[:, order]
    damped = moments[np.ix_(order, order)].copy()
    damped[np.arange(k), np.arange(k)] += max(_DAMPING * float(np.diag(damped)[:k].mean()), 1e-9)
    damped[k, k] += 1e-9
    factor = np.linalg.cholesky(np.linalg.inv(damped)).T  # upper triangle
    rounded = np.empty((outputs, k))
    for j in range(k):
        rounded[:, j] = np.clip(np.rint(left[:, j] / scale), -levels, levels)
        error = (left[:, j] - rounded[:, j] * scale) / factor[j, j]
        left[:, j + 1 :] -= error[:, None] * factor[j, j + 1 :]
    whole = np.empty_like(rounded)
    whole[:, order[:k]] = rounded
    return Rounded(
        whole.reshape(weight.shape).astype(np.int8), scale.astype(np.float32), left[:, k].astype(np.float32)
    )


def lane_load(levels: Matrix) -> Matrix:
    """Return what the weights of one sign add up to at most in a 16-bit sum of the kernel, float64 [O].

    Args:
        levels: whole numbers [O, C]. One sum holds inputs 0, 1, 4, 5, 8 ..., another one 2, 3, 6, 7, 10 ...
    """
    pairs = levels.reshape(len(levels), -1, 2, 2)
    loads = [np.maximum(sign * pairs, 0).sum(axis=(1, 3)).max(axis=1) for sign in (1, -1)]
    most: Matrix = np.maximum(*loads)
    return most


def round_product(weight: Array, bias: Array, values: Array, top: Array) -> Levels:
    """Return a product in 8 bits whose outputs change least on the inputs it is given.

    Args:
        weight: float32 [O, C].
        bias: float32 [O].
        values: inputs, none negative, float32 [n, C].
        top: the largest input of each channel that must not be cut off, float32 [C].
    """
    unit = (np.maximum(top, 1e-3) / ACTIVATION_LEVELS).astype(np.float32)
    levels = np.minimum(np.rint(values / unit), ACTIVATION_LEVELS).astype(np.float64)
    scaled = weight.astype(np.float64) * unit
    # What rounding takes away on average, the bias gives back.
    bias = bias + (weight * (values.mean(axis=0) - levels.mean(axis=0) * unit)).sum(axis=1)
    inputs = np.hstack([levels, np.ones((len(levels), 1))])
    moments = inputs.T @ inputs
    scale = np.maximum(lane_load(scaled) / LOAD, np.abs(scaled).max(axis=1) / ACTIVATION_LEVELS)
    scale = np.maximum(scale, 1e-9)
    while True:
        rounded = round_convolution(scaled[:, :, None, None], bias, moments, ACTIVATION_LEVELS, scale)
        whole = rounded.levels[:, :, 0, 0]
        load = lane_load(whole.astype(np.float64))
        if (load <= LOAD).all():
            return Levels(np.ascontiguousarray(whole.T), rounded.scale, rounded.bias, unit)
        scale = np.where(load > LOAD, scale * np.maximum(load / LOAD, 1.002), scale)


def calibrate_lines(model: Network, batches: Sequence[Array]) -> LineLevels:
    """Return the pointwise products of a line net in 8 bits.

    Args:
        model: the net, on the CPU, in eval mode.
        batches: planes float32 [B, C, H, W] of real positions, one array a board size.

    Raises:
        ValueError: no positions.
    """
    if not batches:
        raise ValueError("no positions to calibrate on")
    blocks = model.residual
    seen: list[list[Array]] = [[] for _ in range(len(blocks) + 1)]
    tops: list[list[Array]] = [[] for _ in range(len(blocks) + 1)]
    judged: list[Tensor] = []

    def watch(k: int) -> Callable[[object, tuple[Tensor, ...]], None]:
        def look(_: object, inputs: tuple[Tensor, ...]) -> None:
            values = inputs[0].permute(0, 2, 3, 1)[judged[-1]].numpy()
            tops[k].append(values.max(axis=0))
            # An odd step, so that all rows and columns of boards come by.
            seen[k].append(values[:: max(1, len(values) * len(batches) // _ROWS) | 1].copy())

        return look

    layers = [block.second for block in blocks] + [model.policy_in]
    handles = [layer.register_forward_pre_hook(watch(k)) for k, layer in enumerate(layers)]
    handles.append(model.register_forward_pre_hook(lambda m, i: judged.append(_judged(model, i[0]))))
    _run(model, batches, handles)
    heads = (model.policy_in, model.value_in)
    products = [
        *(tuple(as_numpy(a) for a in block.second.folded()) for block in blocks),
        (
            np.concatenate([as_numpy(head.weight) for head in heads]),
            np.concatenate([as_numpy(head.bias) for head in heads]),
        ),
    ]
    found = []
    for (weight, bias), chunks, top in zip(products, seen, tops, strict=True):
        values = np.concatenate(chunks)
        found.append(round_product(weight[:, :, 0, 0], bias, values, np.max(top, axis=0)))
    c = model.config.channels
    empty = Levels(np.zeros((0, c, c), np.int8), *(np.zeros((0, c), np.float32) for _ in range(3)))
    parts = ([getattr(a, part) for a in found[:-1]] for part in ("levels", "step", "bias", "unit"))
    return LineLevels(Levels(*map(np.stack, parts)) if blocks else empty, found[-1])


def _judged(model: Network, planes: Tensor) -> Tensor:
    """Return the cells that a net judges, bool [B, H, W]."""
    if model.config.margin:
        return cells_near_stones(planes, model.config.margin)[:, 0]
    return torch.ones_like(planes[:, 0], dtype=torch.bool)


def usual_pool(model: Network, batches: Sequence[Array]) -> Array | None:
    """Return what pooling adds to its block, float32 [C], the mean over real positions; None: no pooling.

    Args:
        model: the net, on the CPU, in eval mode.
        batches: planes float32 [B, C, H, W] of real positions, one array a board size.

    Raises:
        ValueError: no positions.
    """
    if not batches:
        raise ValueError("no positions to take a mean of")
    seen: list[Array] = []
    pools = [block.pool for block in model.residual if block.pool is not None]
    handles = [pool.register_forward_hook(lambda m, i, o: seen.append(o.numpy())) for pool in pools]
    _run(model, batches, handles)
    return np.concatenate(seen).mean(axis=0) if seen else None


def calibrate(model: Network, batches: Sequence[Array]) -> Quantisation:
    """Return the numbers of the int8 twin of a net.

    Args:
        model: the net, on the CPU, in eval mode.
        batches: planes float32 [B, C, H, W] of real positions, one array a board size.

    Raises:
        ValueError: no positions.
    """
    if not batches:
        raise ValueError("no positions to calibrate on")
    seen: dict[str, _Histogram] = {}

    def note(name: str, value: Tensor) -> None:
        seen.setdefault(name, _Histogram()).add(value)

    handles = [
        model.stem.register_forward_hook(lambda m, i, o: note("trunk0", F.relu(o))),
        model.policy_out.register_forward_pre_hook(lambda m, i: note("policy_hidden", i[0])),
        model.value_in.register_forward_hook(lambda m, i, o: note("value_board", F.relu(o))),
    ]
    for k, block in enumerate(model.residual):
        handles += [
            block.register_forward_hook(lambda m, i, o, k=k: note(f"trunk{k + 1}", o)),
            block.second.register_forward_pre_hook(lambda m, i, k=k: note(f"b{k}.middle", i[0])),
            block.second.register_forward_hook(lambda m, i, o, k=k: note(f"b{k}.branch", o)),
        ]
        if block.pool is not None:
            handles += [
                block.first.register_forward_hook(lambda m, i, o, k=k: note(f"b{k}.before_pool", o)),
                block.pool.register_forward_hook(lambda m, i, o, k=k: note(f"b{k}.pool_bias", o)),
            ]
    _run(model, batches, handles)
    ranges = {"input": Range(1.0, 0), **{name: histogram.best() for name, histogram in seen.items()}}
    layers = convolutions(model)
    moments = {
        name: _Moments(layer.kernel_size[0], ranges[source]) for name, (layer, _, _, source) in layers.items()
    }

    def watch(name: str) -> Callable[[object, tuple[Tensor, ...]], None]:
        return lambda m, i: moments[name].add(i[0])

    _run(model, batches, [v[0].register_forward_pre_hook(watch(name)) for name, v in layers.items()])
    rounded = {}
    for name, (_, weight, bias, _) in layers.items():
        sums = moments[name].sums
        assert sums is not None
        levels = STEM_LEVELS if name == "stem" else WEIGHT_LEVELS
        rounded[name] = round_convolution(weight, bias, sums, levels)
    return Quantisation(ranges, rounded)


def _run(
    model: Network, batches: Sequence[Array], handles: Sequence[torch.utils.hooks.RemovableHandle]
) -> None:
    try:
        with torch.inference_mode():
            for planes in batches:
                model(torch.from_numpy(planes))
    finally:
        for handle in handles:
            handle.remove()

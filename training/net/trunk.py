"""Training and evaluation of a line net in few passes over the board, where the processor allows.

The same arithmetic as the modules of `training.net.network` do one by one, gradients included, up to
rounding: the stem, blocks of a depthwise 3x3 and a 1x1 convolution with BatchNorm, the 1x1 convolutions of
the heads. One pass (`_fused`) does everything for which the statistics of the batch need not be known, one
position after the other, and what is cheap is computed again on the way back rather than kept. Sums over a
batch are in double precision.

Shapes: `B` batch, `C` channels of the trunk, `P` planes, `H` `W` board, `A` = H*W, `K` rows of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from training.net.line_stem import SIDES, side_of_code
from training.net.window import cells_near_stones, cut_around
from training.settings.schema import NetConfig

try:
    from training.net import _fused
except ImportError:  # a checkout that was not compiled since: `able` says no, the modules do it
    _fused = None  # type: ignore[assignment]

REFERENCE_AREA = 225.0  # derived: 15x15, where the scaled mean of a pooled board is 0

_Floats = npt.NDArray[np.float32]
_Doubles = npt.NDArray[np.float64]


class Spare:
    """Memory of earlier batches. What the system hands out it hands out empty, a page at a time, which for
    tensors of this size takes as long as a pass over them.
    """

    def __init__(self) -> None:
        self._free: list[_Floats] = []

    def __deepcopy__(self, memo: object) -> Spare:
        return Spare()

    def __reduce__(self) -> tuple[type[Spare], tuple[()]]:
        return Spare, ()

    def take(self, shape: tuple[int, ...]) -> _Floats:
        """Return float32 of a shape, with anything in it."""
        n = int(np.prod(shape))
        flat = self._free.pop() if self._free else None
        if flat is None or flat.size < n:
            flat = np.empty(n, np.float32)
        return flat[:n].reshape(shape)

    def give(self, *arrays: _Floats) -> None:
        """Return a buffer of `take` that is free again."""
        for array in arrays:
            base = array
            while isinstance(base.base, np.ndarray):
                base = base.base
            self._free.append(base)


@dataclass(slots=True)
class _Norm:
    """A normalisation y = scale z + shift of one batch, and how to go back through it; double [C]."""

    scale: _Doubles
    shift: _Doubles
    mean: _Doubles
    per_deviation: _Doubles
    fixed: bool  # statistics that are those of no batch
    cells: int

    def back(self, found: _Doubles) -> tuple[_Floats, _Floats, _Floats]:
        """Return `back` of the passes, and the gradients of weight and bias.

        Args:
            found: [2, C] sums of dy and dy (z - mean).
        """
        total, along = found
        out = np.zeros((3, len(total)))
        out[0] = self.scale
        if not self.fixed:
            out[1] = -self.scale * self.per_deviation**2 * along / self.cells
            out[2] = -self.scale * total / self.cells - out[1] * self.mean
        return _single(out), _single(self.per_deviation * along), _single(total)


def _single(x: npt.NDArray[Any]) -> _Floats:
    return np.ascontiguousarray(x, np.float32)


def _sum(found: _Floats) -> _Doubles:
    with np.errstate(invalid="ignore"):  # of weights that a rate has spoilt, which the learner says itself
        total: _Doubles = found.sum(axis=1, dtype=np.float64)
    return total


def _array(tensor: Tensor) -> _Floats:
    array: _Floats = tensor.detach().numpy()
    return array


def _normalise(norm: nn.BatchNorm2d, found: _Floats, cells: int) -> _Norm:
    """Return the normalisation by the moments of each position, and count them in the running statistics."""
    assert norm.running_mean is not None and norm.running_var is not None
    if norm.training:
        assert norm.num_batches_tracked is not None and norm.momentum is not None
        means, squares = found.astype(np.float64)
        mean = means.mean(axis=0)
        variance = squares.sum(axis=0) / cells + np.square(means - mean).mean(axis=0)
        norm.running_mean.lerp_(torch.from_numpy(_single(mean)), norm.momentum)
        unbiased = variance * (cells / max(cells - 1, 1))
        norm.running_var.lerp_(torch.from_numpy(_single(unbiased)), norm.momentum)
        norm.num_batches_tracked.add_(1)
    else:
        mean = _array(norm.running_mean).astype(np.float64)
        variance = _array(norm.running_var).astype(np.float64)
    per_deviation = 1 / np.sqrt(variance + norm.eps)
    scale = _array(norm.weight) * per_deviation
    return _Norm(scale, _array(norm.bias) - mean * scale, mean, per_deviation, not norm.training, cells)


@dataclass(slots=True)
class _Step:
    """Activations of a block for the backward pass, of one batch."""

    x: _Floats
    u: _Floats
    v: _Floats
    first: _Norm
    second: _Norm
    shift: _Floats  # [B, C] before the relu
    pooled: _Floats | None  # [B, 3 C]


def _features(found: _Floats, area: int) -> _Floats:
    """Return what `network.pool` does, [B, 3 C], of the sum and the largest of each channel [2, B, C]."""
    mean = found[0] / np.float32(area)
    return np.concatenate([mean, mean * np.float32(area / REFERENCE_AREA - 1), found[1]], axis=1)


def _features_back(gradient: _Floats, area: int) -> tuple[_Floats, _Floats]:
    """Return the gradient that goes to each cell and the one for the largest, [B, C], of `_features`."""
    mean, scaled, top = np.split(gradient, 3, axis=1)
    return _single((mean + scaled * (area / REFERENCE_AREA - 1)) / area), _single(top)


def _pool_back(
    block: Any, step: _Step, total: _Floats, area: int
) -> tuple[dict[str, _Floats], list[_Floats]]:
    """Go back through the pooled board, if the block has one.

    Args:
        block: of the net.
        step: what it remembers.
        total: [B, C] the gradient of what it gave.
        area: cells of a board.

    Returns:
        What `_fused.depthwise_back` adds to the gradient of the block's input; gradients of weight and bias.
    """
    if step.pooled is None:
        return {}, []
    features = _array(torch.from_numpy(total) @ block.pool.weight)
    every, at_top = _features_back(features, area)
    # By torch, which is told how many threads there are; numpy's would wait for each other.
    weight = _array(torch.from_numpy(total).T @ torch.from_numpy(step.pooled))
    into = {"top": _single(np.split(step.pooled, 3, axis=1)[2]), "every": every, "at_top": at_top}
    return into, [weight, total.sum(0)]


class _Ahead:
    """What the pass that makes the input of a block does of this block, as long as that is in the cache.

    Attributes:
        u: the depthwise convolution of the input.
        found: its moments.
        pooled: [2, B, C] sum and largest of the input's channels, where the block pools.
    """

    def __init__(self, block: Any, shape: tuple[int, ...], spare: Spare) -> None:
        self.u = spare.take(shape)
        self.found = np.empty((2, shape[0], shape[3]), np.float32)
        self.pooled = None if block.pool is None else np.empty_like(self.found)
        self._w = _single(_array(block.first.conv.weight).reshape(shape[3], 9).T)

    def given(self) -> dict[str, _Floats | None]:
        """Return what the passes take."""
        return {"w": self._w, "u": self.u, "found": self.found, "pooled": self.pooled}


def _heads(net: Any) -> tuple[_Floats, _Floats, _Floats]:
    """Return weights [np + nv, C] and bias of both 1x1 convolutions as one, and [3, np] of the policies."""
    both = [_array(layer.weight)[:, :, 0, 0] for layer in (net.policy_in, net.value_in)]
    bias = [_array(layer.bias) for layer in (net.policy_in, net.value_in)]
    return np.concatenate(both), np.concatenate(bias), _single(_array(net.policy_out.weight)[:, :, 0, 0])


def _heads_gradients(net: Any, flat: _Doubles) -> list[npt.NDArray[Any]]:
    """Return the gradients of policy_in, value_in and policy_out of what `_fused.heads_back` added up."""
    first, c = net.config.policy_channels, net.config.channels
    n = first + net.config.value_channels
    w, bias, v = np.split(flat, [n * c, n * c + n])
    w = w.reshape(n, c, 1, 1)
    return [w[:first], bias[:first], w[first:], bias[first:], v.reshape(3, first, 1, 1)]


class _Trunk(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, net: Any, table: Tensor, rows: Tensor, planes: Tensor, *parameters: Tensor
    ) -> tuple[Tensor, Tensor]:
        stem, spare = net.stem, net.spare
        boards, places, p = _array(table), rows.numpy(), _array(planes)
        batch, _, height, width = planes.shape
        c, cells = table.shape[1], batch * height * width
        shape = (batch, height, width, c)
        found = np.empty((2, batch, c), np.float32)
        near = sizes = cut = None
        if net.config.margin:
            cells_near = cells_near_stones(planes, net.config.margin)[:, 0].numpy()
            near = cells_near.reshape(batch, -1)
            if not net.stem.norm.training:  # the statistics of a batch are those of whole boards
                cut = cut_around(cells_near)
                near, sizes = cut.near, cut.sizes
                places, p = cut.rows(places), cut.planes(p)
        summed = spare.take(shape)
        _fused.lines(boards, places, p, summed, found, sizes)
        stem_norm = _normalise(stem.norm, found, cells)
        bias = _single(stem_norm.shift + _array(stem.planes.bias))
        x = spare.take(shape)
        plane_weights = _single(_array(stem.planes.weight).reshape(c, -1).T)
        blocks = net.residual
        ahead = _Ahead(blocks[0], shape, spare)
        scale = _single(stem_norm.scale)
        _fused.stem(summed, p, scale, bias, plane_weights, x, near=near, sizes=sizes, **ahead.given())
        steps = []
        for i, block in enumerate(blocks, 1):
            u, v = ahead.u, spare.take(shape)
            first = _normalise(block.first.norm, ahead.found, cells)
            shift, pooled = np.broadcast_to(first.shift, (batch, c)), None
            if ahead.pooled is not None:
                pooled = _features(ahead.pooled, height * width)
                shift = shift + _array(block.pool(torch.from_numpy(pooled)))
            shift32 = _single(shift)
            w = _single(_array(block.second.conv.weight).reshape(c, c).T)
            _fused.pointwise(u, _single(first.scale), shift32, w, v, found, sizes)
            second = _normalise(block.second.norm, found, cells)
            steps.append(_Step(x, u, v, first, second, shift32, pooled))
            out = spare.take(shape)
            given: dict[str, _Floats | None] = {}
            if i < len(blocks):
                ahead = _Ahead(blocks[i], shape, spare)
                given = ahead.given()
            scale, after = _single(second.scale), _single(second.shift)
            _fused.residual(x, v, scale, after, out, near=near, sizes=sizes, **given)
            x = out
        if cut is not None:  # the heads look at whole boards
            x = spare.take(shape)
            cut.put(out, x)
            spare.give(out)
        w, bias, v = _heads(net)
        hidden = spare.take((batch, height, width, len(w)))
        logits = np.empty((batch, 3, height * width), np.float32)
        found = np.empty((2, batch, net.config.value_channels), np.float32)
        _fused.heads(x, _single(w.T), bias, v, hidden, logits, found)
        if not any(ctx.needs_input_grad):  # no backward pass
            spare.give(summed, x, hidden, *(a for s in steps for a in (s.x, s.u, s.v)))
            return torch.from_numpy(logits), torch.from_numpy(_features(found, height * width))
        ctx.net, ctx.steps, ctx.stem_norm = net, steps, stem_norm
        ctx.cut, ctx.inputs = cut, (places, p)
        ctx.kept, ctx.top = (summed, x, hidden), found[1]
        ctx.save_for_backward(table, rows, planes, *parameters)
        return torch.from_numpy(logits), torch.from_numpy(_features(found, height * width))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, dlogits: Tensor, dfeatures: Tensor) -> tuple[Tensor | None, ...]:
        net, steps, spare = ctx.net, ctx.steps, ctx.net.spare
        summed, last, hidden = ctx.kept
        table, *_ = ctx.saved_tensors
        (places, p), cut = ctx.inputs, ctx.cut
        sizes = None if cut is None else cut.sizes
        shape, c = last.shape, last.shape[3]
        g, dy = spare.take(shape), spare.take(shape)
        found = np.empty((2, shape[0], c), np.float32)
        # z and mean of the normalisation whose sum each x is the relu of
        ends = [(summed, ctx.stem_norm), *((step.v, step.second) for step in steps)]
        z, norm = ends[-1]
        if cut is not None:
            z = spare.take(shape)
            cut.put(ends[-1][0], z)
        w, bias, v = _heads(net)
        dheads = np.zeros(w.size + bias.size + v.size)
        every, at_top = _features_back(_array(dfeatures), shape[1] * shape[2])
        _fused.heads_back(
            _array(dlogits.contiguous()), every, at_top, ctx.top, hidden, last, z, _single(norm.mean), w, v,
            g, found, dheads,
        )  # fmt: skip
        if cut is not None:
            cut.take(g, z)
            spare.give(g)
            g = z
        gradients: list[list[npt.NDArray[Any]]] = [_heads_gradients(net, dheads)]
        for block, step, (z, norm) in zip(net.residual[::-1], steps[::-1], ends[-2::-1], strict=True):
            back, weight2, bias2 = step.second.back(_sum(found))
            dw2 = np.zeros((c, c))
            w = _single(_array(block.second.conv.weight).reshape(c, c))
            scale, mean = _single(step.first.scale), _single(step.first.mean)
            _fused.pointwise_back(g, step.v, back, step.u, scale, step.shift, mean, w, dy, found, dw2, sizes)
            into, pool = _pool_back(block, step, found[0], shape[1] * shape[2])
            back, weight1, bias1 = step.first.back(_sum(found))
            dw1 = np.zeros((9, c))
            w = _single(_array(block.first.conv.weight).reshape(c, 9).T)
            mean = _single(norm.mean)
            _fused.depthwise_back(dy, step.u, back, step.x, w, z, mean, g, found, dw1, sizes=sizes, **into)
            before = [dw1.T.reshape(c, 1, 3, 3), weight1, bias1]
            gradients.append([*before, *pool, dw2[:, :, None, None], weight2, bias2])
        back, weight, bias = ctx.stem_norm.back(_sum(found))
        dtable, dw = np.zeros(table.shape, np.float32), np.zeros((p.shape[1], c))
        _fused.stem_back(g, summed, back, places, p, dtable, dw, sizes)
        gradients.append([weight, bias, dw.T[:, :, None, None], bias])
        spare.give(g, dy, *ctx.kept, *(a for s in steps for a in (s.x, s.u, s.v)))
        ctx.steps = ctx.kept = ctx.inputs = None
        flat = [torch.from_numpy(_single(a)) for part in gradients[::-1] for a in part]
        return None, torch.from_numpy(dtable), None, None, *flat


def able(config: NetConfig) -> bool:
    """Return whether this processor has the passes for such a net."""
    widths = (config.channels, config.policy_channels, config.value_channels)
    there = _fused is not None and config.traits.kernel and config.blocks > 0
    return there and all(map(_fused.able, widths))


def parameters_of(net: Any) -> list[Tensor]:
    """Return the weights of the trunk behind the table, in the order of the gradients."""
    out = [net.stem.norm.weight, net.stem.norm.bias, net.stem.planes.weight, net.stem.planes.bias]
    for block in net.residual:
        out += [block.first.conv.weight, block.first.norm.weight, block.first.norm.bias]
        if block.pool is not None:
            out += [block.pool.weight, block.pool.bias]
        out += [block.second.conv.weight, block.second.norm.weight, block.second.norm.bias]
    heads = [net.policy_in.weight, net.policy_in.bias, net.value_in.weight, net.value_in.bias]
    return [*out, *heads, net.policy_out.weight]


def run(net: Any, planes: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits [B, 3, A] and the pooled value channels [B, 3 nv] of planes float32 [B, P, H, W]."""
    batch, _, height, width = planes.shape
    planes = planes.contiguous()
    rows, pairs = np.empty((batch, height * width, 4), np.int32), np.empty(SIDES * SIDES, np.int32)
    found = _fused.places(_array(planes), side_of_code().astype(np.int32), SIDES, rows, pairs)
    unique = torch.from_numpy(pairs[:found].astype(np.int64))
    table = net.stem.table(unique // SIDES, unique % SIDES)
    logits, features = _Trunk.apply(  # type: ignore[no-untyped-call]
        net, table.contiguous(), torch.from_numpy(rows), planes, *parameters_of(net)
    )
    return logits, features

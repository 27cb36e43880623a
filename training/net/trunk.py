"""Learning of a line net's trunk in few passes over the board, where the processor allows.

The same arithmetic as the modules of `training.net.network` do one by one, gradients included, up to rounding:
stem, then blocks of a depthwise 3x3 and a 1x1 convolution with BatchNorm. One pass does everything that the
statistics of a batch do not have to be known for, one position after the other, and what is cheap is
computed again on the way back rather than kept.

Shapes: `B` batch, `C` channels of the trunk, `P` planes, `H` `W` board, `A` = H*W, `K` rows of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from training.net import _fused

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
        """Take back what `take` returned and nobody looks at any more."""
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
    """What one batch's block has to remember."""

    x: _Floats
    u: _Floats
    v: _Floats
    first: _Norm
    second: _Norm
    shift: _Floats  # [B, C] before the relu
    pooled: _Floats | None  # [B, 3 C]


def _pool(x: _Floats) -> _Floats:
    """Return what `network.pool` does of x [B, H, W, C] >= 0."""
    batch, height, width, c = x.shape
    found = np.empty((2, batch, c), np.float32)
    _fused.pool(x, found)
    mean, top = found[0] / np.float32(height * width), found[1]
    return np.concatenate([mean, mean * np.float32(height * width / REFERENCE_AREA - 1), top], axis=1)


def _pool_back(block: Any, step: _Step, total: _Floats, g: _Floats) -> list[_Floats]:
    """Go back through the pooled board: add to g, return the gradients of weight and bias.

    Args:
        total: [B, C] the gradient of what it gave.
    """
    assert step.pooled is not None
    area, c = g.shape[1] * g.shape[2], g.shape[3]
    features = total @ _array(block.pool.weight)
    every = features[:, :c] + features[:, c : 2 * c] * np.float32(area / REFERENCE_AREA - 1)
    top, at_top = _single(step.pooled[:, 2 * c :]), _single(features[:, 2 * c :])
    _fused.pool_back(step.x, top, every / np.float32(area), at_top, g)
    return [total.T @ step.pooled, total.sum(0)]


class _Trunk(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, net: Any, table: Tensor, rows: Tensor, planes: Tensor, *parameters: Tensor
    ) -> Tensor:
        stem, spare = net.stem, net.spare
        boards, places, p = _array(table), rows.numpy(), _array(planes)
        batch, _, height, width = planes.shape
        c, cells = table.shape[1], batch * height * width
        shape = (batch, height, width, c)
        found = np.empty((2, batch, c), np.float32)
        summed = spare.take(shape)
        _fused.lines(boards, places, p, summed, found)
        stem_norm = _normalise(stem.norm, found, cells)
        bias = _single(stem_norm.shift + _array(stem.planes.bias))
        x = spare.take(shape)
        plane_weights = _single(_array(stem.planes.weight).reshape(c, -1).T)
        _fused.stem(summed, p, _single(stem_norm.scale), bias, plane_weights, x)
        steps, last = [], torch.empty(shape)
        for i, block in enumerate(net.residual):
            u, v = spare.take(shape), spare.take(shape)
            w = _single(_array(block.first.conv.weight).reshape(c, 9).T)
            _fused.depthwise(x, w, u, found)
            first = _normalise(block.first.norm, found, cells)
            shift, pooled = np.broadcast_to(first.shift, (batch, c)), None
            if block.pool is not None:
                pooled = _pool(x)
                shift = shift + (pooled @ _array(block.pool.weight).T + _array(block.pool.bias))
            shift32 = _single(shift)
            w = _single(_array(block.second.conv.weight).reshape(c, c).T)
            _fused.pointwise(u, _single(first.scale), shift32, w, v, found)
            second = _normalise(block.second.norm, found, cells)
            steps.append(_Step(x, u, v, first, second, shift32, pooled))
            out = last.numpy() if i == len(net.residual) - 1 else spare.take(shape)
            _fused.residual(x, v, _single(second.scale), _single(second.shift), out)
            x = out
        ctx.net, ctx.steps, ctx.summed, ctx.stem_norm = net, steps, summed, stem_norm
        ctx.save_for_backward(table, rows, planes, last, *parameters)
        return last

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        net, steps, spare = ctx.net, ctx.steps, ctx.net.spare
        table, rows, planes, last, *_ = ctx.saved_tensors
        shape, c = tuple(last.shape), last.shape[3]
        g, dy = spare.take(shape), spare.take(shape)
        found = np.empty((2, shape[0], c), np.float32)
        # z and mean of the normalisation whose sum each x is the relu of
        ends = [(ctx.summed, ctx.stem_norm), *((step.v, step.second) for step in steps)]
        z, norm = ends[-1]
        _fused.enter(_array(gradient.contiguous()), _array(last), z, _single(norm.mean), g, found)
        gradients: list[list[npt.NDArray[Any]]] = []
        for block, step, (z, norm) in zip(net.residual[::-1], steps[::-1], ends[-2::-1], strict=True):
            back, weight2, bias2 = step.second.back(_sum(found))
            dw2 = np.zeros((c, c))
            w = _single(_array(block.second.conv.weight).reshape(c, c))
            scale, mean = _single(step.first.scale), _single(step.first.mean)
            _fused.pointwise_back(g, step.v, back, step.u, scale, step.shift, mean, w, dy, found, dw2)
            pool = [] if step.pooled is None else _pool_back(block, step, found[0], g)
            back, weight1, bias1 = step.first.back(_sum(found))
            dw1 = np.zeros((9, c))
            w = _single(_array(block.first.conv.weight).reshape(c, 9).T)
            _fused.depthwise_back(
                dy, step.u, back, step.x, w, z, _single(norm.mean), g, found, dw1
            )
            gradients.append([dw1.T.reshape(c, 1, 3, 3), weight1, bias1, *pool, dw2[:, :, None, None], weight2, bias2])
        back, weight, bias = ctx.stem_norm.back(_sum(found))
        dtable, dw = np.zeros(table.shape, np.float32), np.zeros((planes.shape[1], c))
        _fused.stem_back(g, ctx.summed, back, rows.numpy(), _array(planes), dtable, dw)
        gradients.append([weight, bias, dw.T[:, :, None, None], bias])
        spare.give(g, dy, ctx.summed, *(a for s in steps for a in (s.x, s.u, s.v)))
        ctx.steps = ctx.summed = None
        flat = [torch.from_numpy(_single(a)) for part in gradients[::-1] for a in part]
        return None, torch.from_numpy(dtable), None, None, *flat


def able(channels: int) -> bool:
    """Return whether this processor has the passes for so many channels."""
    return _fused.able(channels)


def parameters_of(net: Any) -> list[Tensor]:
    """Return the weights of the trunk behind the table, in the order of the gradients."""
    out = [net.stem.norm.weight, net.stem.norm.bias, net.stem.planes.weight, net.stem.planes.bias]
    for block in net.residual:
        out += [block.first.conv.weight, block.first.norm.weight, block.first.norm.bias]
        if block.pool is not None:
            out += [block.pool.weight, block.pool.bias]
        out += [block.second.conv.weight, block.second.norm.weight, block.second.norm.bias]
    return out


def learn_trunk(net: Any, planes: Tensor) -> Tensor:
    """Return the trunk's float32 [B, H, W, C] of planes float32 [B, P, H, W], ready for `backward`."""
    table, rows = net.stem.table_of(planes)
    rows = rows.view(planes.shape[0], -1, 4).to(torch.int32)
    out: Tensor = _Trunk.apply(net, table.contiguous(), rows, planes.contiguous(), *parameters_of(net))
    return out

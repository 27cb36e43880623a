"""The net: a residual tower that is fully convolutional, so that one net plays every board and rule.

Convolutions inside the blocks are followed by BatchNorm, which the export folds into them. (Standardised
weights, which need no statistics, learned more slowly: after 400 batches of 128 bootstrap positions a
2x32 net explained 0.10 of the results against 0.16, at one seed.) Everything that is not a training step runs
in `eval` mode. Activations after each block are non-negative, which suits uint8 quantisation.

Shapes: `B` batch, `C` planes, `H` `W` board, `A` = H*W, `D` trunk channels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.encoding import N_PLANES
from training.net import trunk
from training.net.line_stem import LineStem
from training.net.window import cells_near_stones
from training.settings.schema import NetConfig


class Heads(NamedTuple):
    """Outputs, all float32 logits.

    policy, soft, reply: [B, A] move to play, flattened target, the opponent's answer.
    wdl: [B, 3] win, draw, loss for the side to move.
    """

    policy: Tensor
    soft: Tensor
    reply: Tensor
    wdl: Tensor


class NormConv(nn.Module):
    """Convolution, 3x3 by default, followed by BatchNorm."""

    def __init__(self, channels: int, gain: float, kernel: int = 3, groups: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=groups, bias=False)
        # tuned: statistics of about the last 50 batches, so that several board sizes are in them
        self.norm = nn.BatchNorm2d(channels, momentum=0.02)
        nn.init.kaiming_normal_(self.conv.weight, nonlinearity="relu")
        nn.init.constant_(self.norm.weight, gain)

    def folded(self) -> tuple[Tensor, Tensor]:
        """Return weights and bias of the one convolution that both are in `eval` mode."""
        mean, variance = self.norm.running_mean, self.norm.running_var
        assert mean is not None and variance is not None
        scale = self.norm.weight * torch.rsqrt(variance + self.norm.eps)
        return self.conv.weight * scale[:, None, None, None], self.norm.bias - mean * scale

    def forward(self, x: Tensor) -> Tensor:
        """Apply convolution and normalisation to x, float [B, C, H, W]."""
        padding, groups = self.conv.padding, self.conv.groups
        dense = groups > 1 and x.is_cuda  # as a full matrix, mostly zeros: what a GPU multiplies fastest
        if self.norm.training or not (torch.is_grad_enabled() or x.dtype == torch.bfloat16):
            y = F.conv2d(x, whole(self.conv.weight), padding=padding) if dense else self.conv(x)
            normalised: Tensor = self.norm(y)
            return normalised
        # Folded, constant statistics (`freeze_norm`, a teacher's) cost no pass over the board. Where exports
        # look on, in float32 without gradients, each module is called.
        weight, bias = self.folded()
        if dense:
            weight, groups = whole(weight), 1
        return F.conv2d(x, weight, bias, padding=padding, groups=groups)


def whole(weight: Tensor) -> Tensor:
    """Return depthwise weights [D, 1, K, K] as those of a full convolution, [D, D, K, K]."""
    return torch.diag_embed(weight[:, 0].permute(1, 2, 0)).permute(2, 3, 0, 1)


def pool(x: Tensor, mask: Tensor | None) -> Tensor:
    """Return mean, mean x (area / 225 - 1) and maximum over the board of x >= 0: [B, D, H, W] to [B, 3 D].

    The second one tells the board size without any plane for it. Cells outside `mask` must be 0 in x.
    """
    x = x.float()
    if mask is None:
        area = x.new_full((x.shape[0], 1), float(x.shape[2] * x.shape[3]))
    else:
        area = mask.float().sum(dim=(2, 3))
    mean = x.sum(dim=(2, 3)) / area
    return torch.cat([mean, mean * (area / trunk.REFERENCE_AREA - 1), x.amax(dim=(2, 3))], dim=1)


class Block(nn.Module):
    """x = relu(x + conv(relu(conv(x)))), optionally with a bias from the pooled board in the middle.

    A light one has a depthwise 3x3 convolution and a 1x1 one instead of two full ones.
    """

    def __init__(self, channels: int, blocks: int, pooled: bool, light: bool = False) -> None:
        super().__init__()
        self.first = NormConv(channels, math.sqrt(2), groups=channels if light else 1)
        # Small enough that the variance of the trunk grows by a constant over all blocks.
        self.second = NormConv(channels, 1 / math.sqrt(blocks), kernel=1 if light else 3)
        self.pool = nn.Linear(3 * channels, channels) if pooled else None

    def forward(self, x: Tensor, mask: Tensor | None, near: Tensor | None = None) -> Tensor:
        """Apply the residual block to x, float [B, C, H, W].

        Args:
            mask: float [B, 1, H, W], 1 on cells of the board; None: on all.
            near: float [B, 1, H, W], 1 on cells within the margin of stones; None: on all.
        """
        y = self.first(x)
        if self.pool is not None:
            y = y + self.pool(pool(x, mask))[:, :, None, None]
        y = F.relu(y, inplace=True)
        if mask is not None:
            y = y * mask
        x = F.relu(x + self.second(y), inplace=True)
        x = x if near is None else x * near
        return x if mask is None else x * mask


class Network(nn.Module):
    """Planes in, `Heads` out."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.config = config
        c = config.channels
        lines, light = config.traits.line_stem, config.traits.light
        self.stem = LineStem(c, config.line_hidden) if lines else nn.Conv2d(N_PLANES, c, 5, padding=2)
        self.blocks = nn.ModuleList(
            Block(c, config.blocks, i == config.pooled, light) for i in range(config.blocks)
        )
        self.policy_in = nn.Conv2d(c, config.policy_channels, 1)
        # policy, soft, reply; a bias would be the same for all points and change no softmax
        self.policy_out = nn.Conv2d(config.policy_channels, 3, 1, bias=False)
        self.value_in = nn.Conv2d(c, config.value_channels, 1)
        self.value_hidden = nn.Linear(3 * config.value_channels, config.value_hidden)
        self.value_out = nn.Linear(config.value_hidden, 3)
        self.spare = trunk.Spare()
        if isinstance(self.stem, nn.Conv2d):
            # Few of the input planes are non-zero anywhere, so the usual fan-in would start too quiet.
            nn.init.normal_(self.stem.weight, std=2.0 / math.sqrt(5 * 25))
            assert self.stem.bias is not None
            nn.init.zeros_(self.stem.bias)
        for layer in (self.policy_in, self.value_in, self.value_hidden):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
        outputs: list[tuple[nn.Conv2d | nn.Linear, float]] = [(self.policy_out, 0.01), (self.value_out, 0.1)]
        outputs += [(block.pool, 0.01) for block in self.residual if block.pool is not None]
        for output, std in outputs:
            nn.init.normal_(output.weight, std=std)
            if output.bias is not None:
                nn.init.zeros_(output.bias)

    @property
    def residual(self) -> list[Block]:
        """The residual blocks, in the order that a position passes them."""
        return [block for block in self.blocks if isinstance(block, Block)]

    def learns_fused(self, planes: Tensor) -> bool:
        """Return whether this is a training step of a line net that the passes of `training.net.trunk` do."""
        if not self.training or not torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"):
            return False
        if planes.device.type != "cpu" or planes.dtype != torch.float32 or planes.requires_grad:
            return False
        return trunk.able(self.config)

    def forward(self, planes: Tensor, mask: Tensor | None = None) -> Heads:
        """Judge a batch.

        Args:
            planes: float [B, C, H, W] of `engine.encoding`.
            mask: [B, 1, H, W], 1 on the board, when smaller boards are padded with zeros to a common size;
                None when all positions fill H x W. `planes[:, :1]` is such a mask (obstacles then count as
                off the board; without a mask the net sees them in that plane only).

        Returns:
            Logits; those outside the mask are -inf-like (-1e9) for the policies.

        Raises:
            ValueError: a mask in training mode: padding would enter the statistics of the normalisation.
        """
        if mask is not None and self.training:
            raise ValueError("training takes batches of one board size; masks are for eval mode")
        if mask is None and self.learns_fused(planes):
            return self.by_passes(planes)
        x = F.relu(self.stem(planes))
        kind = x.device.type
        if kind in ("cpu", "cuda") and torch.is_autocast_enabled(kind):
            x = x.to(torch.get_autocast_dtype(kind))  # what a normalised sum of lines is not by itself
        if mask is not None:
            mask = mask.to(x.dtype)
            x = x * mask
        near = None
        if self.config.margin:
            near = cells_near_stones(planes, self.config.margin).to(x.dtype)
            x = x * near
        for block in self.blocks:
            x = block(x, mask, near)
        policies = self.policy_out(F.relu(self.policy_in(x))).float().flatten(2)
        if mask is not None:
            policies = policies.masked_fill(mask.flatten(2) == 0, -1e9)
        value = F.relu(self.value_in(x))
        if mask is not None:
            value = value * mask
        hidden = F.relu(self.value_hidden(pool(value, mask)))
        return Heads(policies[:, 0], policies[:, 1], policies[:, 2], self.value_out(hidden).float())

    def by_passes(self, planes: Tensor) -> Heads:
        """Judge a batch as `forward` does, by the passes of `training.net.trunk`.

        Args:
            planes: float32 [B, C, H, W] on the CPU; `trunk.able` has said yes to the shape of the net.
        """
        policies, pooled = trunk.run(self, planes)
        wdl = self.value_out(F.relu(self.value_hidden(pooled)))
        return Heads(policies[:, 0], policies[:, 1], policies[:, 2], wdl)


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Split parameters for AdamW: convolution and dense weights decay, gains and biases do not."""
    weights = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": weights, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]


def choose_device(name: str) -> torch.device:
    """Return the device for `auto`, `cpu` or `cuda`.

    Raises:
        ValueError: a GPU was asked for by name and there is none.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device {name!r} was asked for, but torch finds no CUDA GPU here")
    return torch.device(name)


def computes_in_bf16(device: torch.device) -> bool:
    """Return whether a device has bfloat16 arithmetic of its own rather than an emulation of it."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    able = torch.cpu.get_capabilities()
    return any(able.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))

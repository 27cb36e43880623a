"""A deeper or wider net that computes what a smaller one computes, to continue from there.

A line net can also grow into a line tower: the light blocks' convolutions become full 3x3 ones that are 0
wherever the light ones had no weight.

New residual blocks begin as the identity: the gain of their last normalisation is 0, the idea of "Net2Net"
(https://arxiv.org/abs/1511.05641) in the form that residual nets allow. New channels, of the same paper too,
begin as copies of old ones, statistics of the normalisation included; what reads both of a pair splits its
old weight between them at random, so that they drift apart as soon as they learn. New hidden units, of what
fills a line net's table and of the value, begin as those of a new net whose outputs are not used yet.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.net.network import Block, Network
from training.settings.schema import NetConfig

_WIDTHS = ("channels", "line_hidden", "value_hidden")


def placement(old: NetConfig, new: NetConfig) -> list[int]:
    """Return for each block of the old net its index in the new one, spread evenly, pooled to pooled.

    Raises:
        ValueError: the new net is not the old one with more blocks, channels or hidden units, or with
            another margin.
    """
    may_differ = {"blocks", "pool_block", "margin", *_WIDTHS}
    was, will = dataclasses.asdict(old), dataclasses.asdict(new)
    if new.kind in old.traits.grows_into:
        may_differ.add("kind")
    if any(was[name] != will[name] for name in was.keys() - may_differ):
        raise ValueError(
            "only the margin and the numbers of blocks, channels and hidden units may differ, and a line net "
            f"may become a line tower: {old}, {new}"
        )
    for name in _WIDTHS:
        if will[name] < was[name]:
            raise ValueError(f"{name}={will[name]} has no place for the {was[name]} of before")
    before, after = old.pooled, old.blocks - 1 - old.pooled
    if (old.pooled < 0) != (new.pooled < 0):
        raise ValueError("either both nets have a block with pooling or none has")
    if old.pooled < 0:
        before, after = old.blocks, 0
    room_before = new.blocks if new.pooled < 0 else new.pooled
    room_after = 0 if new.pooled < 0 else new.blocks - 1 - new.pooled
    if before > room_before or after > room_after:
        raise ValueError(f"{new.blocks} blocks have no place for the {old.blocks} of the old net")
    places = [i * room_before // before for i in range(before)] if before else []
    if old.pooled >= 0:
        places.append(new.pooled)
        places += [new.pooled + 1 + i * room_after // after for i in range(after)] if after else []
    return places


class _Widening:
    """Where the channels of a wider trunk come from.

    Args:
        old: channels before, D.
        new: channels after, E.
        seed: of the choice and of the split of weights.
    """

    def __init__(self, old: int, new: int, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)
        extra = torch.cat([torch.randperm(old, generator=self._generator) for _ in range(new // old)])
        self._source = torch.cat([torch.arange(old), extra[: new - old]])  # [E] of each new channel
        self._old = old

    def outputs(self, tensor: Tensor) -> Tensor:
        """Return [D, ...] with a copy of its row for each new channel, [E, ...]."""
        return tensor[self._source]

    def inputs(self, weight: Tensor, groups: int = 1) -> Tensor:
        """Return [O, groups * D, ...] with the weight of each old channel split among its copies.

        Args:
            weight: of a convolution or a dense layer that reads the trunk.
            groups: how often the channels stand side by side in what it reads.
        """
        size = (weight.shape[0], groups, len(self._source))
        share = 0.05 + torch.rand(size, generator=self._generator)
        total = torch.zeros(size[0], groups, self._old).index_add_(2, self._source, share)
        share = (share / total[:, :, self._source]).flatten(1)
        channels = (torch.arange(groups)[:, None] * self._old + self._source).flatten()
        return weight[:, channels] * share.view(*share.shape, *([1] * (weight.ndim - 2)))


_MAKES = ("stem.out.", "stem.norm.", "stem.planes.", "stem.weight", "stem.bias")
_READS = ("policy_in.weight", "value_in.weight")


def _widened(name: str, tensor: Tensor, widening: _Widening, light: bool) -> Tensor:
    """Return one entry of a net's state for a wider trunk."""
    if tensor.ndim == 0:
        return tensor
    if name.startswith("blocks."):
        tensor = widening.outputs(tensor)
        if name.endswith("pool.weight"):
            return widening.inputs(tensor, 3)
        if name.endswith("second.conv.weight") or (name.endswith("first.conv.weight") and not light):
            return widening.inputs(tensor)
        return tensor
    if name.startswith(_MAKES):
        return widening.outputs(tensor)
    return widening.inputs(tensor) if name in _READS else tensor


_HIDDEN = ("stem.side_", "stem.middle.", "stem.out.", "value_hidden.", "value_out.")
"""Layers that make hidden units or read them."""


def _with_hidden(name: str, tensor: Tensor, fresh: Tensor) -> Tensor:
    """Return an entry of a state with the hidden units of a new net, which the old ones do not read."""
    if not name.startswith(_HIDDEN):
        return tensor
    grown = fresh.clone()
    if tensor.ndim == 2:
        grown[: len(tensor), tensor.shape[1] :] = 0
        grown[: len(tensor), : tensor.shape[1]] = tensor
    else:
        grown[: len(tensor)] = tensor
    return grown


def _full(name: str, tensor: Tensor) -> Tensor:
    """Return an entry of a light block's state for a block of full 3x3 convolutions."""
    if name.endswith("first.conv.weight"):  # [D, 1, 3, 3]
        full = torch.zeros(len(tensor), len(tensor), 3, 3)
        each = torch.arange(len(tensor))
        full[each, each] = tensor[:, 0]
        return full
    return functional.pad(tensor, [1] * 4) if name.endswith("second.conv.weight") else tensor


@torch.no_grad()
def grow(old: Network, config: NetConfig, seed: int = 0) -> Network:
    """Return a net of another depth and width with the function of `old`; of the same shape a copy.

    Args:
        old: a net.
        config: of the new one.
        seed: of the channels that are copied and of how weights are split.

    Raises:
        ValueError: see `placement`.
    """
    places = placement(old.config, config)
    new = Network(config)
    state = dict(old.state_dict())
    light = old.config.traits.light
    if config.channels > old.config.channels:
        widening = _Widening(old.config.channels, config.channels, seed)
        state = {k: _widened(k, v, widening, light) for k, v in state.items()}
    if light and not config.traits.light:
        state = {k: _full(k, v) for k, v in state.items()}
    fresh = new.state_dict()
    rest = {k: _with_hidden(k, v, fresh[k]) for k, v in state.items() if not k.startswith("blocks.")}
    missing, unexpected = new.load_state_dict(rest, strict=False)
    assert not unexpected and all(name.startswith("blocks.") for name in missing)
    for i, block in enumerate(new.blocks):
        assert isinstance(block, Block)
        if i in places:
            start = f"blocks.{places.index(i)}."
            block.load_state_dict({k[len(start) :]: v for k, v in state.items() if k.startswith(start)})
        else:
            nn.init.zeros_(block.second.norm.weight)
    return new.train(old.training)

"""A deeper net that computes what a shallower one computes, to go on from there.

New residual blocks begin as the identity: the gain of their last normalisation is 0, the idea of "Net2Net"
(https://arxiv.org/abs/1511.05641) in the form that residual nets allow.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import nn

from training.net.network import Block, Network
from training.settings.schema import NetConfig


def placement(old: NetConfig, new: NetConfig) -> list[int]:
    """Return for each block of the old net its index in the new one, spread evenly, pooled to pooled.

    Raises:
        ValueError: the new net is not the old one with more blocks.
    """
    if dataclasses.replace(old, blocks=0, pool_block=None) != dataclasses.replace(
        new, blocks=0, pool_block=None
    ):
        raise ValueError(f"only the number of blocks may differ between {old} and {new}")
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


@torch.no_grad()
def grow(old: Network, config: NetConfig) -> Network:
    """Return a net of another depth with the function of `old`; at the same depth a copy.

    Raises:
        ValueError: see `placement`.
    """
    places = placement(old.config, config)
    new = Network(config)
    state = {k: v for k, v in old.state_dict().items() if not k.startswith("blocks.")}
    missing, unexpected = new.load_state_dict(state, strict=False)
    assert not unexpected and all(name.startswith("blocks.") for name in missing)
    for i, block in enumerate(new.blocks):
        assert isinstance(block, Block)
        if i in places:
            block.load_state_dict(old.blocks[places.index(i)].state_dict())
        else:
            nn.init.zeros_(block.second.norm.weight)
    return new.train(old.training)

"""A grown net computes what the small one did, and its new blocks and channels can learn."""

from __future__ import annotations

import pytest
import torch

from tests.unit.training_games import random_planes
from training.net.grow import grow, placement
from training.net.network import Network
from training.settings.schema import NetConfig

SMALL = {"channels": 16, "policy_channels": 8, "value_channels": 8, "value_hidden": 16}


@pytest.fixture
def net():
    torch.manual_seed(3)
    net = Network(NetConfig(blocks=2, **SMALL))
    with torch.no_grad():  # heads that are not almost zero
        for parameter in net.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    planes = torch.from_numpy(random_planes(8, 9))
    net.train()(planes)  # statistics that are not those of a new net
    return net.eval(), planes


@pytest.mark.parametrize("blocks", [2, 3, 4, 7])
def test_a_grown_net_computes_the_same(net, blocks):
    old, planes = net
    new = grow(old, NetConfig(blocks=blocks, **SMALL))
    with torch.no_grad():
        for before, after in zip(old(planes), new(planes), strict=True):
            assert torch.allclose(before, after, atol=1e-5)
            assert before.abs().max() > 0.01


def test_new_blocks_learn(net):
    old, planes = net
    new = grow(old, NetConfig(blocks=4, **SMALL)).train()
    new(planes).wdl.square().sum().backward()
    fresh = new.blocks[1].second.norm.weight
    assert torch.equal(fresh, torch.zeros_like(fresh)) and fresh.grad.abs().max() > 0


@pytest.mark.parametrize("channels", [17, 24, 32, 40])
def test_a_wider_net_computes_the_same(net, channels):
    old, planes = net
    new = grow(old, NetConfig(blocks=3, **{**SMALL, "channels": channels}))
    with torch.no_grad():
        for before, after in zip(old(planes), new(planes), strict=True):
            assert torch.allclose(before, after, atol=1e-4)


def test_copies_of_a_channel_drift_apart(net):
    old, planes = net
    new = grow(old, NetConfig(blocks=2, **{**SMALL, "channels": 32})).train()
    new(planes).wdl.square().sum().backward()
    gradient = new.stem.weight.grad.flatten(1)
    for row in range(16, 32):
        twin = (new.stem.weight[:16] == new.stem.weight[row]).flatten(1).all(1).nonzero().item()
        assert not torch.allclose(gradient[row], gradient[twin], rtol=0.01)


def test_blocks_are_spread_and_pooling_stays_pooling():
    assert placement(NetConfig(blocks=2), NetConfig(blocks=4)) == [0, 2]
    assert placement(NetConfig(blocks=3), NetConfig(blocks=7)) == [0, 3, 4]
    for wrong in (NetConfig(blocks=1), NetConfig(channels=32), NetConfig(blocks=4, pool_block=-1)):
        with pytest.raises(ValueError):
            placement(NetConfig(blocks=2), wrong)

"""A grown net computes what the small one did, and its new blocks and channels can learn."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.helpers.training_games import random_planes
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


@pytest.mark.parametrize("kind", ["tower", "lines"])
def test_a_net_with_more_hidden_units_computes_the_same_and_they_learn(kind):
    torch.manual_seed(4)
    config = NetConfig(kind=kind, blocks=2, line_hidden=24, **SMALL)
    old, planes = Network(config), torch.from_numpy(random_planes(8, 9))
    with torch.no_grad():
        for parameter in old.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    old.train()(planes)
    new = grow(old.eval(), replace(config, line_hidden=40, value_hidden=24, channels=24))
    with torch.no_grad():
        for before, after in zip(old(planes), new(planes), strict=True):
            assert torch.allclose(before, after, atol=1e-4)
    new.train()
    heads = new(planes)
    (heads.wdl.square().sum() + heads.policy.square().sum()).backward()
    assert new.value_out.weight.grad[:, 16:].abs().max() > 0
    if kind == "lines":
        assert new.stem.out.weight.grad[:, 24:].abs().max() > 0


@pytest.mark.parametrize("channels", [16, 24])
def test_a_line_net_becomes_a_line_tower_that_computes_the_same_and_its_new_weights_learn(channels):
    torch.manual_seed(5)
    config = NetConfig(kind="lines", blocks=2, line_hidden=24, **SMALL)
    old, planes = Network(config), torch.from_numpy(random_planes(8, 9))
    with torch.no_grad():
        for parameter in old.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    old.train()(planes)
    new = grow(old.eval(), replace(config, kind="line-tower", blocks=3, channels=channels))
    with torch.no_grad():
        for before, after in zip(old(planes), new(planes), strict=True):
            assert torch.allclose(before, after, atol=1e-4)
            assert before.abs().max() > 0.01
    heads = new.train()(planes)
    (heads.wdl.square().sum() + heads.policy.square().sum()).backward()
    weight = new.blocks[0].first.conv.weight
    between = ~torch.eye(channels, dtype=torch.bool)
    assert weight.shape == (channels, channels, 3, 3) and not weight[between].any()
    assert weight.grad[between].abs().max() > 0
    with pytest.raises(ValueError, match="may become a line tower"):
        grow(new, config)


def test_blocks_are_spread_and_pooling_stays_pooling():
    assert placement(NetConfig(blocks=2), NetConfig(blocks=4)) == [0, 2]
    assert placement(NetConfig(blocks=3), NetConfig(blocks=7)) == [0, 3, 4]
    fewer = NetConfig(line_hidden=64), NetConfig(value_hidden=32), NetConfig(channels=32), NetConfig(blocks=1)
    for wrong in (*fewer, NetConfig(blocks=4, pool_block=-1), NetConfig(policy_channels=64)):
        with pytest.raises(ValueError):
            placement(NetConfig(blocks=2), wrong)

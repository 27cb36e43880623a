"""Muon for the matrices of a net, AdamW for the rest, as one optimizer."""

import copy
from dataclasses import replace

import pytest
import torch

from tests.helpers.learner import CONFIG, learner_at, same_weights
from training.learn import optimizer
from training.learn.learner import Learner
from training.learn.optimizer import KINDS, Muon, MuonAndAdamW, kind_of, make_optimizer, matrices
from training.net.network import Network
from training.settings.schema import LearnerConfig, NetConfig
from training.settings.values import ConfigError

SHAPES = [
    NetConfig(kind=kind, blocks=2, channels=16, policy_channels=8, value_channels=8, value_hidden=16)
    for kind in ("lines", "tower", "line-tower")
]


def with_gradients(net: Network, seed: int = 1) -> Network:
    generator = torch.Generator().manual_seed(seed)
    for p in net.parameters():
        drawn = torch.randn(p.shape, generator=generator)
        p.grad = torch.empty_like(p).copy_(drawn)  # lies in memory as the weight does
    return net


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.kind)
def test_every_weight_is_moved_by_one_of_the_two(shape):
    net = with_gradients(Network(shape))
    optimizer = MuonAndAdamW(net, lr=0.01, weight_decay=0.0)
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    optimizer.step()
    inside = {id(p) for p in matrices(net)}
    for name, p in net.named_parameters():
        moved = p.detach() - before[name]
        # AdamW's first step has the size of the rate for every weight, Muon's has it for no two alike.
        adamw = torch.allclose(moved.abs(), torch.full_like(moved, 0.01), rtol=1e-3)
        assert adamw is (id(p) not in inside), name
        assert moved.abs().max() > 0, name


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.kind)
def test_a_step_of_a_matrix_is_orthogonal_and_of_adamws_size(shape):
    net = with_gradients(Network(shape))
    before = [p.detach().clone() for p in matrices(net)]
    MuonAndAdamW(net, lr=0.01, weight_decay=0.0).step()
    for p, old in zip(matrices(net), before, strict=True):
        step = (p.detach() - old).flatten(1)
        stretch = torch.linalg.svdvals(step) / (0.01 * 0.2 * max(step.shape) ** 0.5)
        assert stretch.quantile(0.1) > 0.4 and stretch.max() < 1.4, p.shape  # of a gradient a tenth is 0.1


def test_muon_is_torchs_and_goes_on_from_what_that_has_kept(monkeypatch):
    monkeypatch.setattr(optimizer, "computes_in", lambda device: torch.bfloat16)  # as torch's does
    generator = torch.Generator().manual_seed(5)
    shapes = [(16, 16), (16, 16), (8, 24), (24, 8), (24, 8)]
    mine = [torch.nn.Parameter(torch.randn(shape, generator=generator) / 10) for shape in shapes]
    others = [torch.nn.Parameter(p.detach().clone()) for p in mine]
    known = torch.optim.Muon(others, lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    muon = Muon(mine, lr=0.01, weight_decay=0.1)
    for turn in range(6):
        for p, other in zip(mine, others, strict=True):
            p.grad = torch.randn(p.shape, generator=generator)
            other.grad = p.grad.clone()
        if turn == 3:
            muon = Muon(mine, lr=0.01, weight_decay=0.1)
            muon.load_state_dict(copy.deepcopy(known.state_dict()))
        muon.step()
        known.step()
        for p, other in zip(mine, others, strict=True):
            torch.testing.assert_close(p, other, rtol=1e-3, atol=1e-4)  # products in bfloat16, in any order


def test_how_a_weight_lies_in_memory_makes_no_difference():
    plain = with_gradients(Network(SHAPES[1]))
    last = with_gradients(copy.deepcopy(plain).to(memory_format=torch.channels_last))
    assert not last.blocks[0].first.conv.weight.is_contiguous()
    for net in (plain, last):
        MuonAndAdamW(net, lr=0.01, weight_decay=0.1).step()
    for a, b in zip(plain.parameters(), last.parameters(), strict=True):
        assert torch.allclose(a, b, atol=2e-4)  # Muon computes in bfloat16, and sums in another order


@pytest.mark.parametrize(("first", "then"), [KINDS, KINDS[::-1]])
def test_a_run_that_changes_its_optimizer_goes_on_and_says_so(tmp_path, first, then):
    learner = learner_at(tmp_path, replace(CONFIG, optimizer=first))
    learner.step(2)
    learner.save()
    said: list[str] = []
    again = Learner(replace(CONFIG, optimizer=then), tmp_path, "cpu", said.append)
    assert again.load() and again.batches == 2
    assert len(said) == 1 and "another optimizer" in said[0] and then in said[0]
    assert same_weights(learner.model, again.model)
    again.dataset.refresh()
    again.step(2)
    again.save()
    assert kind_of(again.optimizer.state_dict()) == then
    quiet = Learner(replace(CONFIG, optimizer=then), tmp_path, "cpu", said.append)
    assert quiet.load() and len(said) == 1


def test_the_rate_reaches_both():
    net = with_gradients(Network(SHAPES[0]))
    optimizer = make_optimizer("muon", net, 0.01, 0.0)
    assert len(optimizer.param_groups) == 3
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    before = copy.deepcopy(net)
    optimizer.step()
    assert same_weights(net, before)
    optimizer.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_an_unknown_optimizer_is_refused():
    with pytest.raises(ConfigError, match="adamw or muon, not 'sgd'"):
        LearnerConfig(optimizer="sgd")

"""The net: no size in it, masks, no state that differs between training and inference."""

import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from engine.encoding import N_PLANES
from tests.helpers.training_games import random_planes
from tests.reference.lines import window
from training.net.network import Network, choose_device, computes_in_bf16, parameter_groups, pool
from training.net.window import cells_near_stones
from training.settings.schema import NetConfig

SMALL = NetConfig(blocks=2, channels=16, policy_channels=8, value_channels=8, value_hidden=16)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)
    torch.manual_seed(5)


def lively(config: NetConfig = SMALL) -> Network:
    """A net whose heads answer something."""
    model = Network(config)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.1)
        for name, buffer in model.named_buffers():
            if "running" in name:
                buffer.copy_(torch.rand_like(buffer) + 0.5)
    return model.eval()


@pytest.mark.parametrize(("width", "height"), [(5, 5), (9, 9), (20, 20), (22, 7)])
def test_one_net_takes_every_size(width, height):
    heads = lively()(torch.from_numpy(random_planes(1, 3, width, height)))
    for logits in (heads.policy, heads.soft, heads.reply):
        assert logits.shape == (3, width * height)
    assert heads.wdl.shape == (3, 3)
    assert all(t.dtype == torch.float32 for t in heads)


def test_padding_with_a_mask_changes_nothing():
    model = lively()
    planes = torch.from_numpy(random_planes(2, 4, 9, 7))
    padded = torch.zeros(4, N_PLANES, 12, 13)
    padded[:, :, :7, :9] = planes
    with torch.no_grad():
        alone, inside = model(planes), model(padded, padded[:, :1])
    for a, flat in zip(alone[:3], inside[:3], strict=True):
        b = flat.reshape(4, 12, 13)
        torch.testing.assert_close(a.reshape(4, 7, 9), b[:, :7, :9], rtol=1e-4, atol=1e-4)
        assert (b[:, 7:] < -1e8).all()
        assert (b[:, :, 9:] < -1e8).all()
    torch.testing.assert_close(alone.wdl, inside.wdl, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("margin", [1, 2, 5])
@pytest.mark.parametrize(("width", "height"), [(15, 15), (22, 7), (5, 9)])
def test_cells_near_stones_are_those_of_the_kernels_window(width, height, margin):
    planes = random_planes(4, 12, width, height, most=6)
    near = cells_near_stones(torch.from_numpy(planes), margin)
    assert near.shape == (12, 1, height, width) and near.dtype == torch.bool
    for found, position in zip(near[:, 0].numpy(), planes, strict=True):
        want = window(position, margin, closed=True)
        np.testing.assert_array_equal(found, True if want is None else want)


def test_a_net_with_a_margin_knows_nothing_of_the_board_beyond():
    """A plane that is set there changes nothing; one that is set on the margin does."""
    model = lively(dataclasses.replace(SMALL, kind="lines", margin=2))
    planes = torch.zeros(3, N_PLANES, 15, 15)
    planes[:, 0] = 1
    planes[:, 1, 7, 5:8] = 1
    planes[1, 5, 7, 10] = 1  # three cells from the last stone
    planes[2, 5, 7, 9] = 1
    with torch.no_grad():
        alone, beyond, within = zip(*model(planes), strict=True)
    for a, b, c in zip(alone, beyond, within, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
        assert (a - c).abs().max() > 1e-5


def test_one_batch_may_mix_sizes():
    model = lively()
    small, large = (torch.from_numpy(random_planes(s, 1, s)) for s in (6, 10))
    mixed = torch.zeros(2, N_PLANES, 10, 10)
    mixed[0, :, :6, :6], mixed[1] = small[0], large[0]
    with torch.no_grad():
        together = model(mixed, mixed[:, :1]).wdl
        torch.testing.assert_close(
            together, torch.cat([model(small).wdl, model(large).wdl]), rtol=1e-4, atol=1e-4
        )


def test_inference_depends_neither_on_batch_mates_nor_on_earlier_calls():
    model = lively()
    planes = torch.from_numpy(random_planes(3, 6))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        together = model(planes)
        single = model(planes[2:3])
    torch.testing.assert_close(single.wdl, together.wdl[2:3], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(single.policy, together.policy[2:3], rtol=1e-4, atol=1e-5)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_folding_gives_the_same_convolution():
    conv = lively().blocks[0].first
    x = torch.rand(2, 16, 6, 5)
    with torch.no_grad():
        weight, bias = conv.folded()
        torch.testing.assert_close(F.conv2d(x, weight, bias, padding=1), conv(x), rtol=1e-4, atol=1e-5)
        conv.train()(x)
        assert not torch.equal(conv.folded()[1], bias)  # statistics move in training, and only there


def test_learning_with_constant_statistics_is_folded_and_means_the_same():
    block = lively().blocks[0]
    x = torch.randn(3, 16, 7, 7)
    with torch.no_grad():
        plain = block.first.norm(block.first.conv(x))
    folded = block.first(x)
    torch.testing.assert_close(folded, plain)
    parameters = list(block.first.parameters())
    seed = torch.randn_like(plain)
    expected = torch.autograd.grad(block.first.norm(block.first.conv(x)), parameters, seed)
    torch.testing.assert_close(torch.autograd.grad(folded, parameters, seed), expected, rtol=1e-4, atol=1e-4)


def test_masks_are_refused_in_training():
    planes = torch.from_numpy(random_planes(2, 2))
    with pytest.raises(ValueError, match="one board size"):
        Network(SMALL).train()(planes, planes[:, :1])


def test_pooling_tells_the_size_of_the_board():
    ones = [pool(torch.ones(1, 2, s, s), None) for s in (9, 15, 20)]
    assert [round(float(p[0, 2]), 3) for p in ones] == [-0.64, 0.0, 0.778]
    assert all(float(p[0, 0]) == 1 and float(p[0, 4]) == 1 for p in ones)


def test_activations_keep_their_size_over_many_blocks():
    model = Network(NetConfig(blocks=12, channels=16))
    x = torch.relu(model.stem(torch.from_numpy(random_planes(4, 8, 15))))
    before = x.square().mean().item()
    for block in model.blocks:
        x = block(x, None)
    assert 0.3 < x.square().mean().item() / before < 10


def test_the_whole_board_reaches_every_point_through_the_pooled_block():
    """A change in one corner moves logits that are out of reach of the convolutions."""
    planes = torch.from_numpy(random_planes(5, 1, 20))
    other = planes.clone()
    other[:, 1, 0, 0], other[:, 2, 0, 0] = 1 - other[:, 1, 0, 0], 0
    with torch.no_grad():
        moved = [
            bool((m(planes).policy[0, -100:] != m(other).policy[0, -100:]).any().item())
            for m in (lively(), lively(NetConfig(blocks=2, channels=16, pool_block=-1)))
        ]
    assert moved == [True, False]


def test_gains_and_biases_do_not_decay():
    decayed, plain = parameter_groups(Network(SMALL), 0.1)
    assert decayed["weight_decay"] == 0.1
    assert plain["weight_decay"] == 0.0
    assert all(p.ndim <= 1 for p in plain["params"])


def test_a_missing_gpu_asked_for_by_name_is_an_error():
    if torch.cuda.is_available():
        assert choose_device("auto").type == "cuda"
    else:
        assert choose_device("auto").type == "cpu"
        with pytest.raises(ValueError, match="no CUDA GPU"):
            choose_device("cuda")


def test_bf16_channels_last_agrees_with_fp32():
    model = lively()
    planes = torch.from_numpy(random_planes(6, 16, 15))
    with torch.no_grad():
        exact = torch.softmax(model(planes).wdl, 1)
        model.to(memory_format=torch.channels_last)
        with torch.autocast("cpu", torch.bfloat16):
            heads = model(planes.contiguous(memory_format=torch.channels_last))
    assert heads.policy.dtype == torch.float32
    assert np.abs(torch.softmax(heads.wdl, 1).numpy() - exact.numpy()).max() < 0.03


def test_bf16_is_left_to_processors_that_compute_in_it(monkeypatch):
    cpu = torch.device("cpu")
    for able, expected in (
        ({"avx2": True}, False),
        ({"avx512_bf16": True}, True),
        ({"amx_bf16": True}, True),
    ):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda able=able: able)
        assert computes_in_bf16(cpu) is expected

"""The fused passes of a line net that learns: the same as the modules one by one, up to rounding."""

import copy
import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from engine.encoding import N_PLANES
from tests.helpers.learner import learner_at
from tests.helpers.training_games import random_planes
from training.learn.learner import Learner
from training.net import _fused, trunk
from training.net.line_stem import SIDES, side_of_code
from training.net.network import Heads, Network
from training.net.window import cut_around
from training.settings.schema import LearnerConfig, NetConfig

NET = NetConfig(
    kind="lines", blocks=3, channels=32, line_hidden=24, policy_channels=16, value_channels=32, value_hidden=8
)

pytestmark = pytest.mark.skipif(not _fused.able(16), reason="this processor or build lacks the fused passes")


@pytest.fixture(autouse=True, params=_fused.paths())
def path(request):
    torch.set_num_threads(1)
    torch.manual_seed(5)
    _fused.use(request.param)
    yield request.param
    _fused.use()


def lively(config: NetConfig = NET, frozen: bool = False) -> Network:
    model = Network(config).train()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.05)
        for name, buffer in model.named_buffers():
            if "running" in name:
                buffer.copy_(torch.rand_like(buffer) + 0.5)
    for module in model.modules():
        if frozen and isinstance(module, nn.BatchNorm2d):
            module.eval()
    return model


def learn(model: Network, planes: torch.Tensor) -> Heads:
    heads = model(planes)
    generator = torch.Generator().manual_seed(1)
    loss = sum((t * torch.randn(t.shape, generator=generator)).sum() for t in heads)
    loss.backward()
    return heads


def by_modules(model: Network, planes: torch.Tensor, patches: pytest.MonkeyPatch) -> tuple[Network, Heads]:
    """A copy of the net after it went through its modules one by one, in double precision."""
    twin = copy.deepcopy(model).double()
    with patches.context() as patch:
        patch.setattr(torch.Tensor, "float", lambda self: self)
        assert not twin.learns_fused(planes.double())
        return twin, learn(twin, planes.double())


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize(
    ("width", "height", "batch", "channels", "margin"),
    [
        (15, 15, 5, 64, 0), (9, 9, 3, 32, 0), (20, 20, 2, 48, 0), (7, 5, 1, 16, 0), (1, 3, 4, 16, 0),
        (22, 1, 2, 16, 0), (15, 15, 5, 64, 1), (20, 20, 2, 32, 2), (7, 5, 1, 16, 1),
    ],
)  # fmt: skip
def test_the_passes_compute_what_the_modules_do(width, height, batch, channels, margin, frozen, monkeypatch):
    model = lively(dataclasses.replace(NET, channels=channels, margin=margin), frozen)
    most = 4 if margin else None
    boards = random_planes(1, batch, max(width, 5), max(height, 5), most)[:, :, :height, :width]
    planes = torch.from_numpy(np.ascontiguousarray(boards))
    assert model.learns_fused(planes)
    twin, exact = by_modules(model, planes, monkeypatch)
    fused = learn(model, planes)
    for a, b in zip(fused, exact, strict=True):
        assert a.dtype == torch.float32
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-4 * b.abs().max().item())
    for (name, a), b in zip(model.named_parameters(), twin.parameters(), strict=True):
        assert a.grad is not None and b.grad is not None, name
        assert (a.grad.double() - b.grad).norm() <= 2e-3 * b.grad.norm() + 1e-5, name
    for (name, a), b in zip(model.named_buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(a.double(), b.double(), rtol=1e-5, atol=1e-6, msg=name)
    if not frozen:
        assert int(model.stem.norm.num_batches_tracked) == 1


def test_every_width_of_vectors_finds_the_same_bits(path):
    if path == _fused.paths()[0]:
        pytest.skip("the others are compared with this one")
    planes = torch.from_numpy(random_planes(3, 5, 15))
    model = lively()
    twin = copy.deepcopy(model)
    learn(model, planes)
    _fused.use(_fused.paths()[0])
    learn(twin, planes)
    for (name, a), b in zip(model.named_parameters(), twin.named_parameters(), strict=True):
        assert torch.equal(a.grad, b[1].grad), name
    for (name, a), b in zip(model.named_buffers(), twin.named_buffers(), strict=True):
        assert torch.equal(a, b[1]), name


def test_vectors_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="no passes for 'avx1024'"):
        _fused.use("avx1024")
    assert _fused.able(16)


def test_statistics_far_from_zero_lose_no_digits(monkeypatch):
    model = lively()
    with torch.no_grad():
        model.stem.planes.bias.fill_(300.0)  # channels that hardly vary, far from 0
    planes = torch.from_numpy(random_planes(2, 6, 15))
    twin, _ = by_modules(model, planes, monkeypatch)
    learn(model, planes)
    for name in ("running_mean", "running_var"):
        a, b = (getattr(net.residual[0].first.norm, name).double() for net in (model, twin))
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_equal_largest_cells_share_what_the_pooled_board_gives(monkeypatch):
    planes = torch.zeros(2, N_PLANES, 9, 9)  # an empty board, where most cells are equal
    planes[:, 0] = 1
    model = lively(frozen=True)
    twin, _ = by_modules(model, planes, monkeypatch)
    learn(model, planes)
    for (name, a), b in zip(model.named_parameters(), twin.parameters(), strict=True):
        assert (a.grad.double() - b.grad).norm() <= 1e-4 * b.grad.norm() + 1e-5, name


@pytest.mark.parametrize(
    "change",
    [
        {"channels": 24},
        {"policy_channels": 8},
        {"value_channels": 40},
        {"blocks": 0},
        {"kind": "tower"},
    ],
)
def test_other_nets_learn_by_their_modules(change):
    model = lively(dataclasses.replace(NET, **change))
    planes = torch.from_numpy(random_planes(1, 2, 9))
    assert not model.learns_fused(planes)
    learn(model, planes)
    assert all(p.grad is not None for p in model.parameters())


def test_what_is_no_training_step_goes_by_the_modules():
    model, planes = lively(), torch.from_numpy(random_planes(1, 2, 9))
    assert model.learns_fused(planes)
    assert not model.learns_fused(planes.double())
    with torch.no_grad():
        assert not model.learns_fused(planes)
    with torch.autocast("cpu", torch.bfloat16):
        assert not model.learns_fused(planes)
    assert not model.eval().learns_fused(planes)


def test_two_forwards_before_a_backward_keep_apart():
    first, second = (torch.from_numpy(random_planes(seed, 3, 9)) for seed in (1, 2))
    model = lively(frozen=True)  # statistics that no forward moves
    expected = []
    for planes in (first, second):
        twin = copy.deepcopy(model)
        learn(twin, planes)
        expected.append([p.grad for p in twin.parameters()])
    for _ in range(3):  # once with memory that was used before
        model.zero_grad()
        a, b = model(first), model(second)
        generator = torch.Generator().manual_seed(1)
        sum((t * torch.randn(t.shape, generator=generator)).sum() for t in a).backward()
        for p, grad in zip(model.parameters(), expected[0], strict=True):
            assert torch.equal(p.grad, grad)
        model.zero_grad()
        generator = torch.Generator().manual_seed(1)
        sum((t * torch.randn(t.shape, generator=generator)).sum() for t in b).backward()
        for p, grad in zip(model.parameters(), expected[1], strict=True):
            assert torch.equal(p.grad, grad)


def test_the_learner_learns_the_same(tmp_path, monkeypatch):
    config = LearnerConfig(net=NET, batch=16, warmup=5, window_min=100, seed=3, lr=1e-3)
    fused = learner_at(tmp_path, config)
    ours = [fused.step() for _ in range(4)]
    monkeypatch.setattr(trunk, "able", lambda config: False)
    plain = learner_at(tmp_path, dataclasses.replace(config, bf16=False))
    theirs = [plain.step() for _ in range(4)]
    for a, b in zip(ours, theirs, strict=True):
        # Channels that hardly vary are divided by next to nothing.
        assert a.pop("grad_norm") == pytest.approx(b.pop("grad_norm"), rel=0.03)
        assert a == pytest.approx(b, rel=2e-3, abs=1e-3)


def test_the_learner_prefers_the_passes_to_bfloat16(tmp_path, monkeypatch):
    monkeypatch.setattr("training.learn.learner.computes_in_bf16", lambda device: True)
    config = LearnerConfig(net=NET)
    assert Learner(config, tmp_path, "cpu").computes_in == torch.float32
    assert Learner(dataclasses.replace(config, bf16=True), tmp_path, "cpu").computes_in == torch.bfloat16
    tower = dataclasses.replace(NET, kind="tower")
    assert Learner(dataclasses.replace(config, net=tower), tmp_path, "cpu").computes_in == torch.bfloat16


def test_passes_over_a_part_leave_the_rest_alone():
    """Three rows of four cells, two of which are not near stones, and two cells of one column."""
    near = np.zeros((2, 9, 9), bool)
    near[0, 2:5, 3:7] = near[1, 0:2, 8:9] = True
    near[0, 3, 4:6] = False
    cut = cut_around(near)
    assert cut.boxes.tolist() == [[2, 5, 3, 7], [0, 2, 8, 9]]
    assert cut.sizes.tolist() == [[3, 4], [2, 1]]
    boards = np.random.default_rng(1).random((2, 9, 9, 16), np.float32) + 1
    parts, out, again = (np.full_like(boards, 7) for _ in range(3))
    cut.take(boards, parts)
    zero = np.zeros(16, np.float32)
    _fused.residual(parts, parts, zero, zero, out, near=cut.near, sizes=cut.sizes)
    assert (out[0].reshape(81, 16)[12:] == 7).all() and (out[1].reshape(81, 16)[2:] == 7).all()
    cut.put(out, again)
    np.testing.assert_array_equal(again, boards * near[..., None])


def test_the_passes_refuse_what_does_not_fit():
    x, w, c = np.zeros((2, 9, 9, 16), np.float32), np.zeros((9, 16), np.float32), np.zeros(16, np.float32)
    found = np.zeros((2, 2, 16), np.float32)

    def residual(out, *ahead):
        _fused.residual(x, x, c, c, out, *ahead)

    residual(x.copy(), w, x.copy(), found, found.copy())
    with pytest.raises(ValueError, match="cells of another shape"):
        residual(x[:1].copy())
    with pytest.raises(ValueError, match="cells of another shape"):
        residual(x.copy(), w, x[:1].copy(), found)
    with pytest.raises(ValueError, match="matrix"):
        residual(x.copy(), w[:8], x.copy(), found)
    with pytest.raises(ValueError, match="sums"):
        residual(x.copy(), w, x.copy(), found[:, :1].copy())
    with pytest.raises(ValueError, match="sums"):
        residual(x.copy(), None, None, None, found[:, :1].copy())
    with pytest.raises(ValueError, match="cells near stones"):
        _fused.residual(x, x, c, c, x.copy(), near=np.ones((2, 80), bool))
    for sizes in ([[1, 9]], [[9, 9], [0, 9]], [[9, 9], [9, 10]]):
        with pytest.raises(ValueError, match=r"sizes of another shape|no part of a board"):
            _fused.residual(x, x, c, c, x.copy(), sizes=np.array(sizes, np.int32))
    with pytest.raises(ValueError, match="channels"):
        _fused.residual(*[np.zeros((1, 3, 3, 8), np.float32)] * 2, c[:8], c[:8], x)
    table, planes = np.zeros((5, 16), np.float32), np.zeros((2, N_PLANES, 9, 9), np.float32)
    rows = np.full((2, 81, 4), 5, np.int32)
    with pytest.raises(ValueError, match="a row that the table does not have"):
        _fused.lines(table, rows, planes, x, found)


@pytest.mark.parametrize(("width", "height"), [(15, 15), (5, 7), (22, 1)])
def test_lines_are_found_as_the_stem_finds_them(width, height):
    boards = random_planes(4, 6, max(width, 5), max(height, 5))[:, :, :height, :width].copy()
    boards[0, 0, 0, :2] = 0  # obstacles
    boards[0, 1:3, 0, :2] = 0
    stem = lively().stem
    table, place = stem.table_of(torch.from_numpy(boards))
    rows, pairs = np.empty((6, width * height, 4), np.int32), np.empty(SIDES * SIDES, np.int32)
    found = _fused.places(boards, side_of_code().astype(np.int32), SIDES, rows, pairs)
    assert found == len(table)
    assert (rows.reshape(place.shape) == place.numpy()).all()
    unique = torch.from_numpy(pairs[:found].astype(np.int64))
    assert torch.equal(stem.table(unique // SIDES, unique % SIDES), table)


def test_spare_memory_is_used_again_and_not_copied():
    spare = trunk.Spare()
    big = spare.take((4, 5))
    spare.give(big)
    small = spare.take((3, 3))
    assert np.shares_memory(big, small)
    assert not np.shares_memory(small, spare.take((3, 3)))
    spare.give(small)
    assert not np.shares_memory(small, copy.deepcopy(spare).take((3, 3)))

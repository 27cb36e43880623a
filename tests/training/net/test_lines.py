"""Line nets: sides and rows of lines, the table, export to file and kernel, learning."""

import dataclasses

import numpy as np
import onnx
import pytest
import torch

from engine.encoding import encode
from engine.errors import NetError
from engine.evaluator.lines import WEIGHT_PREFIX, LineEvaluator, codebook
from engine.evaluator.make import load_net
from engine.evaluator.onnx import OnnxEvaluator
from engine.rules._board import Board
from tests.helpers.training_games import random_planes
from tests.reference.lines import digits_of, side_id
from training.export.export import MARGIN, ExportError, Tolerances, export_net
from training.export.graph import line_weights
from training.export.quantise import LOAD, Levels, calibrate_lines, lane_load, round_product, usual_pool
from training.net.grow import grow
from training.net.line_stem import DIRECTIONS, EDGE, REACH, SIDES, LineStem, side_digits, side_of_code
from training.net.network import Network, pool
from training.settings.schema import NetConfig
from training.settings.values import ConfigError

CONFIG = NetConfig(
    kind="lines", blocks=2, channels=16, line_hidden=24, policy_channels=8, value_channels=8, value_hidden=16
)
POSITIONS = [random_planes(seed, 8, side) for seed, side in ((1, 9), (2, 15), (3, 9), (4, 12))]


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def model() -> Network:
    torch.manual_seed(3)
    net = Network(CONFIG).train()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(torch.randn_like(p) * 0.05)
        net.policy_out.weight.mul_(8)
        for planes in POSITIONS * 20:  # statistics of the normalisation
            net(torch.from_numpy(planes))
    return net.eval()


def test_every_side_has_a_number_and_edges_end_it():
    digits, sides = side_digits(), side_of_code()
    assert digits.shape == (SIDES, REACH)
    assert len({tuple(row) for row in digits.tolist()}) == SIDES
    powers = 4 ** np.arange(REACH)
    assert (sides[digits.astype(int) @ powers] == np.arange(SIDES)).all()
    stone_behind_the_edge = np.array([1, EDGE, 2, 0, 1]) @ powers
    assert digits[sides[stone_behind_the_edge]].tolist() == [1, EDGE, EDGE, EDGE, EDGE]


@pytest.mark.parametrize(("width", "height"), [(5, 5), (9, 6), (15, 15)])
def test_rows_are_those_of_a_walk_along_each_line(width, height):
    planes = random_planes(8, 3, width, height)
    rows = LineStem(8, 8).rows(torch.from_numpy(planes)).numpy()
    for position, found in zip(planes, rows, strict=True):
        digits = digits_of(position)
        for y in range(height):
            for x in range(width):
                want = [
                    side_id(digits, x, y, -dx, -dy) * SIDES + side_id(digits, x, y, dx, dy)
                    for dx, dy in DIRECTIONS
                ]
                assert found[y, x].tolist() == want


def test_the_table_has_a_row_a_pair_and_is_what_forward_adds_up(model):
    weights = line_weights(model)
    half = codebook(weights["sides"], weights["middle"], weights["middle_bias"], weights["out"])
    high, low = np.tril_indices(SIDES)
    assert len(half) == len(high)
    square = np.empty((SIDES, SIDES, half.shape[1]), np.float32)
    square[high, low] = square[low, high] = half
    table = square.reshape(SIDES * SIDES, -1)
    planes = torch.from_numpy(POSITIONS[1])
    with torch.no_grad():
        want = model.stem(planes).numpy()
        rows = model.stem.rows(planes).numpy()
    points = np.einsum("bkyx,kd->byxd", POSITIONS[1], weights["plane_weight"]) + weights["bias"]
    found = np.maximum(table[rows].sum(axis=3) + points, 0).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(found, want, atol=1e-4)


def test_a_mirrored_board_has_mirrored_lines(model):
    """Diagonals change places, so only the sum over lines is compared."""
    planes = POSITIONS[1]
    with torch.no_grad():
        straight = model.stem(torch.from_numpy(planes))
        mirrored = model.stem(torch.from_numpy(np.ascontiguousarray(planes[..., ::-1])))
    torch.testing.assert_close(mirrored.flip(3), straight, rtol=1e-4, atol=1e-4)


def test_file_and_kernel_compute_what_torch_computes(model, tmp_path):
    exported = export_net(model, tmp_path, "lines", calibration=POSITIONS)
    assert exported.int8 is None
    assert exported.fastest == exported.fp32
    assert {p.name for p in tmp_path.iterdir()} == {"lines.fp32.onnx", "lines.md"}
    assert "table of lines" in exported.card.read_text()
    file = OnnxEvaluator(exported.fp32)
    kernel = LineEvaluator(file, margin=0)
    assert kernel.name == exported.net_id
    assert kernel.describe()["kind"] == "lines"
    for width, height in ((5, 5), (15, 15), (22, 22), (9, 13)):
        planes = random_planes(width, 4, width, height)
        keys = np.zeros(4, np.uint64)
        with torch.no_grad():
            heads = model(torch.from_numpy(planes))
        want = torch.softmax(heads.wdl, 1).numpy()
        policy, wdl = file.evaluate(planes, keys)
        np.testing.assert_allclose(policy, heads.policy.numpy(), atol=1e-3)
        np.testing.assert_allclose(wdl, want, atol=1e-4)
        # Random stones are not what the kernel's levels were made for: the tails of activations are cut off.
        policy, wdl = kernel.evaluate(planes, keys)
        assert np.abs(policy - heads.policy.numpy()).mean() < 0.05
        assert np.abs(wdl - want).mean() < 0.01


def test_file_and_kernel_of_a_net_with_a_margin_are_torch_too(model, tmp_path):
    closed = Network(dataclasses.replace(CONFIG, margin=2)).eval()
    closed.load_state_dict(model.state_dict())
    boards = [random_planes(seed, 8, side, most=6) for seed, side in ((1, 9), (2, 15), (3, 20), (4, 12))]
    exported = export_net(closed, tmp_path, "closed", calibration=boards)
    assert not any(name.startswith("window") for name in exported.differences)
    assert "sees 2 cells around stones" in exported.card.read_text()
    file = OnnxEvaluator(exported.fp32)
    kernel = load_net(exported.fp32)
    assert isinstance(kernel, LineEvaluator)
    assert (kernel.line_net.margin, kernel.line_net.closed) == (2, True)
    for width, height in ((5, 5), (15, 15), (22, 22), (9, 13)):
        planes = random_planes(width, 4, width, height, most=5)
        planes[0, 1:] = 0  # no stones at all
        keys = np.zeros(4, np.uint64)
        with torch.no_grad():
            heads = closed(torch.from_numpy(planes))
            whole = model(torch.from_numpy(planes))
        want = torch.softmax(heads.wdl, 1).numpy()
        assert np.abs(want - torch.softmax(whole.wdl, 1).numpy())[1:].max() > 1e-3
        policy, wdl = file.evaluate(planes, keys)
        np.testing.assert_allclose(policy, heads.policy.numpy(), atol=1e-3)
        np.testing.assert_allclose(wdl, want, atol=1e-4)
        policy, wdl = kernel.evaluate(planes, keys)
        assert np.abs(policy - heads.policy.numpy()).mean() < 0.05
        assert np.abs(wdl - want).mean() < 0.01


def test_levels_fit_the_kernel_and_keep_the_mean(model):
    found = calibrate_lines(model, POSITIONS)
    blocks, channels = len(model.blocks), model.config.channels
    assert found.blocks.levels.shape == (blocks, channels, channels)
    layers = [(b.second, *b.second.folded()) for b in model.blocks]
    heads = model.policy_in, model.value_in
    weight, bias = (torch.cat([getattr(head, part) for head in heads]) for part in ("weight", "bias"))
    layers.append((model.policy_in, weight, bias))
    names = [field.name for field in dataclasses.fields(Levels)]
    for k, (layer, weight, bias) in enumerate(layers):
        levels = found.heads
        if k < blocks:
            levels = Levels(*(getattr(found.blocks, name)[k] for name in names))
        load = lane_load(levels.levels.T.astype(float))
        assert load.max() <= LOAD
        assert ((load > LOAD / 2) | (np.abs(levels.levels).max(axis=0) > 63)).all()  # nothing is given away
        seen: list[torch.Tensor] = []
        handle = layer.register_forward_pre_hook(lambda m, i, seen=seen: seen.append(i[0]))
        with torch.no_grad():
            for planes in POSITIONS:
                model(torch.from_numpy(planes))
        handle.remove()
        x = np.concatenate([a.permute(0, 2, 3, 1).flatten(0, 2).numpy() for a in seen])
        want = x @ weight.detach().numpy()[:, :, 0, 0].T + bias.detach().numpy()
        got = np.minimum(np.rint(x / levels.unit), 127) @ levels.levels * levels.step + levels.bias
        assert np.abs((got - want).mean(axis=0)).max() < 0.01 * want.std()
        assert np.abs(got - want).mean() < 0.05 * want.std()
    with pytest.raises(ValueError, match="no positions"):
        calibrate_lines(model, [])


def test_what_is_rare_and_large_is_not_cut_off():
    rng = np.random.default_rng(5)
    values = rng.random((4000, 8), np.float32)
    rare = values[:1].copy()
    rare[0, 3] = 60.0  # ranges of least square error end far below, since no row of `values` is like this
    weight = rng.normal(size=(8, 8)).astype(np.float32)
    found = round_product(weight, np.zeros(8, np.float32), values, np.maximum(values.max(axis=0), rare[0]))
    levels = np.rint(rare / found.unit)
    assert levels.max() == 127
    there = levels @ found.levels * found.step + found.bias
    wanted = rare @ weight.T
    assert np.abs(there - wanted).max() < 0.05 * np.abs(wanted).max()


def test_a_net_that_does_not_bear_8_bits_keeps_16(model, tmp_path):
    eight = export_net(model, tmp_path, "eight", calibration=POSITIONS)
    kernel = load_net(eight.fp32)
    assert isinstance(kernel, LineEvaluator)
    if kernel.line_net.path == "plain":
        pytest.skip("no AVX2 here")
    limit = eight.differences["int8_utility"] / 2
    sixteen = export_net(
        model, tmp_path, "sixteen", calibration=POSITIONS, tolerances=Tolerances(int8_utility=limit)
    )
    assert sixteen.differences["int8_utility"] < limit / 5
    for exported, bits in ((eight, 8), (sixteen, 16)):
        assert f"kernel, {bits} bits" in exported.card.read_text()
        net = load_net(exported.fp32)
        assert isinstance(net, LineEvaluator)
        assert net.line_net.bits == bits


def test_a_window_is_permitted_only_where_it_changes_little(model, tmp_path):
    board = Board(20)
    for point in (210, 211, 190, 191, 230):  # as many as a window needs
        board.place(point)
    planes, keys = encode(board)[None], np.zeros(1, np.uint64)
    wide, narrow = (
        export_net(
            model, tmp_path, name, calibration=[*POSITIONS, planes],
            tolerances=Tolerances(window_policy_kl=limit, window_utility=limit),
        )
        for name, limit in (("wide", 1.0), ("narrow", 0.0))
    )  # fmt: skip
    assert wide.differences["window_utility"] > 0
    assert "window_utility" not in narrow.differences
    found = {}
    for exported, margin in ((wide, MARGIN), (narrow, 0)):
        net = load_net(exported.fp32)
        assert isinstance(net, LineEvaluator)
        assert net.line_net.margin == margin
        assert ("cells around stones" in exported.card.read_text()) == (margin > 0)
        found[margin] = net
    whole = LineEvaluator(OnnxEvaluator(wide.fp32), margin=0).evaluate(planes, keys)
    for all_of_it, other, window in zip(
        whole, found[0].evaluate(planes, keys), found[MARGIN].evaluate(planes, keys), strict=True
    ):
        np.testing.assert_array_equal(all_of_it, other)
        assert (all_of_it != window).any()


def test_what_pooling_usually_adds_is_a_mean_over_positions(model):
    bias = usual_pool(model, POSITIONS)
    assert bias is not None
    block = model.blocks[model.config.pooled]
    assert block.pool is not None
    with torch.no_grad():
        sums = [block.pool(pool(_before(model, torch.from_numpy(planes)), None)) for planes in POSITIONS]
    np.testing.assert_allclose(bias, torch.cat(sums).mean(0).numpy(), atol=1e-5)
    with pytest.raises(ValueError, match="no positions"):
        usual_pool(model, [])


def _before(model, x):
    """Return what goes into the block that pools."""
    x = torch.relu(model.stem(x))
    for block in model.blocks[: model.config.pooled]:
        x = block(x, None)
    return x


def test_an_export_that_the_kernel_does_not_repeat_is_refused(model, tmp_path):
    with pytest.raises(ExportError, match="int8_utility"):
        export_net(model, tmp_path, "n", calibration=POSITIONS, tolerances=Tolerances(int8_utility=-1.0))
    assert not list(tmp_path.iterdir())


def test_a_line_net_without_its_weights_is_refused(model, tmp_path):
    exported = export_net(model, tmp_path, "n", calibration=POSITIONS)
    file = onnx.load(exported.fp32)
    outputs = [o for o in file.graph.output if o.name != f"{WEIGHT_PREFIX}middle"]
    del file.graph.output[:]
    file.graph.output.extend(outputs)
    onnx.save(file, tmp_path / "short.onnx")
    with pytest.raises(NetError, match=r"not the weights of a line net.*middle"):
        load_net(tmp_path / "short.onnx")


def test_a_few_positions_are_learned_by_heart():
    torch.manual_seed(1)
    net = Network(CONFIG).train()
    board = Board(9)
    planes = []
    for point in (40, 41, 31, 49, 22, 30, 13, 50):
        board.place(point)
        planes.append(encode(board).copy())
    batch = torch.from_numpy(np.stack(planes))
    want = torch.arange(8) * 7
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
    for _ in range(120):
        optimizer.zero_grad()
        heads = net(batch)
        loss = torch.nn.functional.cross_entropy(heads.policy, want)
        loss = loss + torch.nn.functional.cross_entropy(heads.wdl, want % 3)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    heads = net(batch)
    assert (heads.policy.argmax(1) == want).all()
    assert (heads.wdl.argmax(1) == want % 3).all()


@pytest.mark.parametrize("channels", [1, 2])
def test_a_grown_line_net_computes_the_same(model, channels):
    larger = grow(model, dataclasses.replace(CONFIG, blocks=4, channels=channels * CONFIG.channels))
    planes = torch.from_numpy(POSITIONS[0])
    with torch.no_grad():
        torch.testing.assert_close(larger(planes).policy, model(planes).policy)
        torch.testing.assert_close(larger(planes).wdl, model(planes).wdl)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ConfigError, match="'circles'"):
        NetConfig(kind="circles")

"""Exported nets: what the files say, that they compute what the net computes, and refusal."""

import contextlib
from dataclasses import replace

import numpy as np
import onnx
import pytest
import torch

from engine.encoding import FEATURE_VERSION
from engine.evaluator.make import load_net
from engine.evaluator.onnx import OnnxEvaluator
from tests.helpers.training_games import random_planes
from training.export.card import Origin
from training.export.export import ExportError, Tolerances, compare, export_net, weights_digest
from training.export.graph import build
from training.export.quantise import STEM_LEVELS, WEIGHT_LEVELS, Range, calibrate, round_convolution
from training.net.network import Network
from training.settings.schema import NetConfig

CONFIG = NetConfig(blocks=2, channels=16, policy_channels=8, value_channels=8, value_hidden=16)
ORIGIN = Origin(
    training_steps=7, games=3, positions=90, description="A test.", created="2026-01-02", sizes=(9, 15)
)


@pytest.fixture(scope="module")
def model() -> Network:
    torch.set_num_threads(1)
    torch.manual_seed(11)
    net = Network(CONFIG)
    with torch.no_grad():
        for p in net.parameters():
            p.add_(torch.randn_like(p) * 0.05)
        for name, buffer in net.named_buffers():
            if "running" in name:
                buffer.add_(torch.rand_like(buffer) * 0.3)
        net.policy_out.weight.mul_(8)
        net.value_out.weight.mul_(2)
    return net.eval()


POSITIONS = [random_planes(seed, 16, side) for seed, side in ((1, 9), (2, 15), (3, 9), (4, 12))]


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    return export_net(model, tmp_path_factory.mktemp("nets"), "tiny", calibration=POSITIONS, origin=ORIGIN)


def test_files_follow_the_contract(exported):
    for precision, path in (("fp32", exported.fp32), ("int8", exported.int8)):
        assert path.name == f"tiny.{precision}.onnx"
        file = onnx.load(path)
        onnx.checker.check_model(file, full_check=True)
        assert {p.key: p.value for p in file.metadata_props} == {
            "tengen_format": "1", "feature_version": str(FEATURE_VERSION), "net_id": exported.net_id,
            "precision": precision,
            "kind": "tower", "pooled": "1", "blocks": "2", "channels": "16", "rules": "0,1,4,8,9",
            "sizes": "9-15", "training_steps": "7", "games": "3", "created": "2026-01-02",
            "description": "A test.",
        }  # fmt: skip
    assert exported.int8.stat().st_size < exported.fp32.stat().st_size / 2
    card = exported.card.read_text()
    assert exported.net_id in card
    assert "9 to 15 a side" in card
    assert {p.suffix for p in exported.fp32.parent.iterdir()} == {".onnx", ".md"}


def test_training_heads_are_not_in_the_files(exported):
    file = onnx.load(exported.fp32)
    assert [o.name for o in file.graph.output] == ["policy", "wdl"]
    weight = {i.name: list(i.dims) for i in file.graph.initializer}["policy_out.weight"]
    assert weight == [8, 1]


@pytest.mark.parametrize(("width", "height"), [(5, 5), (15, 15), (9, 13), (22, 22)])
def test_fp32_file_computes_what_torch_computes(model, exported, width, height):
    planes = random_planes(9, 3, width, height)
    policy, wdl = OnnxEvaluator(exported.fp32).evaluate(planes, np.zeros(3, np.uint64))
    with torch.inference_mode():
        heads = model(torch.from_numpy(planes))
    np.testing.assert_allclose(policy, heads.policy.numpy(), atol=1e-4)
    np.testing.assert_allclose(wdl, torch.softmax(heads.wdl, 1).numpy(), atol=1e-5)


def test_int8_file_is_close(exported):
    d = exported.differences
    assert 0 < d["int8_policy_kl"] < 0.01
    assert 0 < d["int8_utility"] < 0.03


def test_int8_is_static_qdq_with_unsigned_activations_and_seven_bit_weights(exported):
    graph = onnx.load(exported.int8).graph
    values = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
    zeros = [values[n.input[2]] for n in graph.node if n.op_type == "QuantizeLinear"]
    assert zeros
    assert all(z.dtype == np.uint8 for z in zeros)
    levels = {name: v for name, v in values.items() if name.endswith("weight.levels")}
    assert len(levels) == 7  # stem, four in blocks, the inputs of both heads
    for name, v in levels.items():
        most = STEM_LEVELS if name.startswith("stem") else WEIGHT_LEVELS
        assert v.dtype == np.int8 and most - 10 < np.abs(v.astype(int)).max() <= most
    last = next(n for n in graph.node if n.output[0] == "policy_column")
    assert values[last.input[1]].dtype == np.float32
    convolutions = [n for n in graph.node if n.op_type == "Conv"]
    made_by = {n.output[0]: n.op_type for n in graph.node}
    assert all(made_by[n.input[0]] == "DequantizeLinear" for n in convolutions)


def test_every_convolution_and_addition_runs_in_integers(model, exported, tmp_path):
    """onnxruntime has to fuse the whole tower; a pair in the wrong place costs more than int8 gains."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(exported.int8.read_bytes(), options, providers=["CPUExecutionProvider"])
    kinds = [n.op_type for n in onnx.load(options.optimized_model_filepath).graph.node]
    assert kinds.count("QLinearConv") == 7
    assert kinds.count("QLinearAdd") == 3
    assert "Conv" not in kinds
    assert "Relu" not in kinds


def test_calibration_names_every_activation_and_leaves_no_hooks(model):
    quantisation = calibrate(model, POSITIONS[:1])
    build(model, {}, quantisation)
    ranges = quantisation.ranges
    assert ranges["input"] == Range(1.0, 0)
    assert ranges["trunk1"].zero == 0
    assert 0 < ranges["b0.branch"].zero < 255
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    with pytest.raises(ValueError, match="no positions"):
        calibrate(model, [])


def test_rounding_keeps_the_outputs_better_than_rounding_to_nearest():
    """On inputs that go together, as a plane that is 1 everywhere does with others."""
    rng = np.random.default_rng(4)
    weight, bias = rng.normal(size=(8, 6, 3, 3)).astype(np.float32), rng.normal(size=8).astype(np.float32)
    x = (rng.random((2000, 54)) < 0.2).astype(np.float64)
    x[:, ::6] = 1
    x[:, 1::6] = x[:, 2::6]
    inputs = np.hstack([x, np.ones((len(x), 1))])
    exact = x @ weight.reshape(8, -1).T + bias
    rounded = round_convolution(weight, bias, inputs.T @ inputs, 20)
    assert rounded.levels.dtype == np.int8 and np.abs(rounded.levels.astype(int)).max() <= 20

    def error(levels, new_bias) -> float:
        out = x @ (levels * rounded.scale[:, None, None, None]).reshape(8, -1).T + new_bias
        return float(np.abs(out - exact).mean())

    nearest = np.rint(weight / rounded.scale[:, None, None, None])
    assert error(rounded.levels, rounded.bias) < 0.5 * error(nearest, bias)


@pytest.mark.parametrize(
    "name", ["fp32_logit", "fp32_wdl", "int8_policy_kl", "int8_utility", "int8_utility_worst"]
)
def test_an_export_outside_its_tolerances_is_refused_and_leaves_nothing(model, tmp_path, name):
    strict = replace(Tolerances(), **{name: 0.0})
    with pytest.raises(ExportError, match=name):
        export_net(model, tmp_path, "tiny", calibration=POSITIONS, tolerances=strict)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_export_keeps_the_net_that_was_there(model, tmp_path):
    first = export_net(model, tmp_path, "tiny", calibration=POSITIONS)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    broken = Network(CONFIG)
    with torch.no_grad():
        broken.value_out.bias[0] = float("nan")
    with pytest.raises(Exception, match=r"not finite|refused"):
        export_net(broken, tmp_path, "tiny", calibration=POSITIONS)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    assert weights_digest(model) in first.net_id


def test_wrong_weights_are_found(model, exported):
    other = Network(CONFIG)
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        other.blocks[0].second.norm.running_mean[3] += 0.2
    assert weights_digest(other) != weights_digest(model)
    d = compare(other.eval(), exported.fp32, exported.int8, POSITIONS[:1])
    assert d["fp32_logit"] > Tolerances().fp32_logit


def test_exporting_changes_nothing_about_the_net(model, tmp_path):
    model.train()
    before = weights_digest(model)
    with contextlib.suppress(ExportError):
        export_net(model, tmp_path, "tiny", calibration=POSITIONS)
    assert model.training
    assert weights_digest(model) == before
    model.eval()


def test_a_line_tower_is_exported_for_onnxruntime_in_one_file(tmp_path):
    torch.manual_seed(12)
    net = Network(replace(CONFIG, kind="line-tower", line_hidden=24)).eval()
    exported = export_net(net, tmp_path, "deep", calibration=POSITIONS, origin=ORIGIN)
    assert exported.int8 is None and {p.suffix for p in tmp_path.iterdir()} == {".onnx", ".md"}
    assert set(exported.differences) == {"fp32_logit", "fp32_wdl"}
    card = exported.card.read_text()
    assert "table of lines, 2 blocks" in card and "int8" not in card and "kernel" not in card
    with torch.no_grad():
        heads = net(torch.from_numpy(POSITIONS[0]))
    policy, wdl = load_net(exported.fp32).evaluate(POSITIONS[0], np.zeros(16, np.uint64))
    assert np.abs(heads.policy.numpy() - policy).max() < 1e-4
    assert np.abs(torch.softmax(heads.wdl, 1).numpy() - wdl).max() < 1e-5

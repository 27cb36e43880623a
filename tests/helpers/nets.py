"""Tiny random nets in the format of the shipped ones, for tests of everything that reads a net."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from engine.encoding import FEATURE_VERSION, N_PLANES, widen_weights

METADATA = {
    "tengen_format": "1",
    "feature_version": str(FEATURE_VERSION),
    "net_id": "random-1x8",
    "precision": "fp32",
    "blocks": "1",
    "channels": "8",
    "rules": "0,1,4,8,9",
    "sizes": "5-22",
    "training_steps": "0",
    "games": "0",
}


def write_net(
    path: Path,
    *,
    seed: int = 1,
    planes: int = N_PLANES,
    shape: tuple[int | str, int | str, int | str] = ("B", "H", "W"),
    outputs: tuple[str, str] = ("policy", "wdl"),
    scale: float = 1.0,
    **metadata: str | None,
) -> Path:
    """Write a net with random weights; a metadata value of None leaves the key out."""
    generator = np.random.default_rng(seed)

    def weight(name: str, *size: int) -> onnx.TensorProto:
        values = (scale * generator.normal(0, 0.3, size)).astype(np.float32)
        return numpy_helper.from_array(values, name)

    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["planes", "w1"], ["c1"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["c1"], ["h"]),
            helper.make_node("Conv", ["h", "wp"], ["cp"]),
            helper.make_node("Flatten", ["cp"], [outputs[0]]),
            helper.make_node("GlobalAveragePool", ["h"], ["pooled"]),
            helper.make_node("Flatten", ["pooled"], ["flat"]),
            helper.make_node("MatMul", ["flat", "wv"], [outputs[1]]),
        ],
        "net",
        [helper.make_tensor_value_info("planes", TensorProto.FLOAT, [shape[0], planes, shape[1], shape[2]])],
        [
            helper.make_tensor_value_info(outputs[0], TensorProto.FLOAT, ["B", "A"]),
            helper.make_tensor_value_info(outputs[1], TensorProto.FLOAT, ["B", 3]),
        ],
        [weight("w1", 8, planes, 3, 3), weight("wp", 1, 8, 1, 1), weight("wv", 8, 3)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    values = {**METADATA, **metadata}
    helper.set_model_props(model, {k: v for k, v in values.items() if v is not None})
    path.write_bytes(model.SerializeToString())
    return path


def line_weights(seed: int = 1, channels: int = 16, hidden: int = 8) -> dict[str, np.ndarray]:
    """Return the weights of a small line net as its file holds them, with what the table is made from."""
    from tests.helpers.lines import random_weights

    generator = np.random.default_rng(seed)
    weights = random_weights(seed, channels, 1, 8, 8, 8)
    for key in ("codebook", "codebook_scale"):
        del weights[key]
    shapes = {"sides": (364, hidden), "middle": (hidden, hidden), "middle_bias": (hidden,)}
    for key, shape in (shapes | {"out": (hidden, channels)}).items():
        weights[key] = generator.normal(0, 0.5, shape).astype(np.float32)
    return weights


def widen_net(path: Path, wide: Path, version: int = 1) -> Path:
    """Write a net of `write_net` for older planes once more, for those of today; the new ones weigh 0."""
    model = onnx.load(path)
    weight = next(tensor for tensor in model.graph.initializer if tensor.name == "w1")
    values = widen_weights(numpy_helper.to_array(weight), version, axis=1)
    weight.CopyFrom(numpy_helper.from_array(values, "w1"))
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = N_PLANES
    helper.set_model_props(model, METADATA)
    wide.write_bytes(model.SerializeToString())
    return wide


def write_line_net(
    path: Path, weights: dict[str, np.ndarray], *, planes: int = N_PLANES, **metadata: str | None
) -> Path:
    """Write a line net: the weights, and a graph that answers zeros, which the kernel does not look at."""
    nodes = [
        helper.make_node("ReduceSum", ["planes", "axes"], ["sum"], keepdims=0),
        helper.make_node("Flatten", ["sum"], ["policy"]),
        helper.make_node("ReduceMax", ["policy"], ["top"], axes=[1]),
        helper.make_node("Concat", ["top", "top", "top"], ["wdl"], axis=1),
    ]
    tensors = [numpy_helper.from_array(np.array([1], np.int64), "axes")]
    outputs = [
        helper.make_tensor_value_info("policy", TensorProto.FLOAT, ["B", "A"]),
        helper.make_tensor_value_info("wdl", TensorProto.FLOAT, ["B", 3]),
    ]
    for key, value in weights.items():
        name = f"weights.{key}"
        tensors.append(numpy_helper.from_array(np.asarray(value), f"{name}.value"))
        nodes.append(helper.make_node("Identity", [f"{name}.value"], [name]))
        kind = helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype)
        outputs.append(helper.make_tensor_value_info(name, kind, np.asarray(value).shape))
    taken = helper.make_tensor_value_info("planes", TensorProto.FLOAT, ["B", planes, "H", "W"])
    graph = helper.make_graph(nodes, "net", [taken], outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    values = {**METADATA, "kind": "lines", "pooled": "0", "margin": "3", **metadata}
    helper.set_model_props(model, {k: v for k, v in values.items() if v is not None})
    path.write_bytes(model.SerializeToString())
    return path

"""Tiny random nets in the format of the shipped ones, for tests of everything that reads a net."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from engine.encoding import FEATURE_VERSION, N_PLANES

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

"""Writes a trained net as an ONNX graph, node by node, in fp32 or int8.

Written by hand rather than traced, so that every node is there for a reason: weights are folded, and in int8
each QuantizeLinear / DequantizeLinear pair stands where onnxruntime can fuse it. The scheme is static QDQ:
uint8 activations, int8 weights a channel in 7 bits (so that AVX2 machines do not saturate; 8 in the stem),
int32 biases.
A ReLU in front of a quantisation to uint8 with zero point 0 is that quantisation itself, so the int8 graph
has none. The stem sees planes of 0 and 1, which scale 1 keeps exactly.

Shapes: `B` batch, `H` `W` board, `D` trunk channels.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from engine.encoding import N_PLANES
from training.network import REFERENCE_AREA, Network
from training.quantise import Quantisation

OPSET = 21  # derived: the newest that every onnxruntime >= 1.20 reads
IR_VERSION = 10

Array = npt.NDArray[np.float32]


class _Graph:
    """Nodes and initialisers under construction. A tensor is its name."""

    def __init__(self, quantisation: Quantisation | None) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initialisers: list[onnx.TensorProto] = []
        self.quantisation = quantisation

    def constant(self, name: str, value: npt.NDArray[np.generic]) -> str:
        self.initialisers.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def quantised(self, tensor: str, name: str, relu: bool = False) -> str:
        """Pass an activation through uint8 (int8 graph) or a ReLU where one belongs (fp32 graph)."""
        if self.quantisation is None:
            return self.node("Relu", [tensor], name) if relu else tensor
        r = self.quantisation.ranges[name]
        assert r.zero == 0 or not relu
        scale = self.constant(f"{name}.scale", np.float32(r.scale))
        zero = self.constant(f"{name}.zero", np.uint8(r.zero))
        q = self.node("QuantizeLinear", [tensor, scale, zero], f"{name}.q")
        return self.node("DequantizeLinear", [q, scale, zero], name)

    def convolution(self, x: str, name: str, weight: Array, bias: Array, x_range: str) -> str:
        """Add a same-padded convolution; `x_range` names the range of its input for int8."""
        pad = weight.shape[2] // 2
        if self.quantisation is None:
            w, b = self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)
        else:
            rounded = self.quantisation.convolutions[name]
            w = self._dequantised(f"{name}.weight", rounded.levels, rounded.scale)
            input_scale = np.float32(self.quantisation.ranges[x_range].scale)
            bias_scale = (rounded.scale * input_scale).astype(np.float32)
            levels = np.rint(rounded.bias / bias_scale).astype(np.int32)
            b = self._dequantised(f"{name}.bias", levels, bias_scale)
        return self.node(
            "Conv", [x, w, b], f"{name}.conv", kernel_shape=list(weight.shape[2:]), pads=[pad] * 4
        )

    def _dequantised(self, name: str, levels: npt.NDArray[np.generic], scale: Array) -> str:
        zero = self.constant(f"{name}.zero", np.zeros(len(scale), levels.dtype))
        inputs = [self.constant(f"{name}.levels", levels), self.constant(f"{name}.scale", scale), zero]
        return self.node("DequantizeLinear", inputs, name, axis=0)

    def dense(self, x: str, name: str, weight: Array, bias: Array) -> str:
        """Add x @ weight.T + bias."""
        w, b = self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)
        return self.node("Gemm", [x, w, b], name, transB=1)

    def pooled(self, x: str, name: str) -> str:
        """Add mean, sum and maximum over the board, [B, 3 D]. See `_pool_weights`."""
        axes = self.constant(f"{name}.axes", np.array([2, 3], np.int64))
        kinds = ("Mean", "Sum", "Max")
        parts = [self.node(f"Reduce{k}", [x, axes], f"{name}.pool_{k.lower()}", keepdims=0) for k in kinds]
        return self.node("Concat", parts, f"{name}.pool", axis=1)


def _pool_weights(weight: Array) -> Array:
    """Fold the scaled mean, mean * (area / 225 - 1), into weights for mean and sum."""
    mean, scaled, peak = np.split(weight, 3, axis=1)
    return np.concatenate([mean - scaled, scaled / np.float32(REFERENCE_AREA), peak], axis=1)


def _numpy(tensor: object) -> Array:
    return tensor.detach().float().cpu().numpy()  # type: ignore[attr-defined,no-any-return]


def build(model: Network, metadata: Mapping[str, str], quantisation: Quantisation | None) -> onnx.ModelProto:
    """Return the ONNX model of a net.

    Args:
        model: the net; its state is read, not changed.
        metadata: metadata properties of the file.
        quantisation: None for fp32; for int8 what `quantise.calibrate` found.
    """
    g = _Graph(quantisation)
    x = g.quantised("planes", "input")
    x = g.convolution(x, "stem", _numpy(model.stem.weight), _numpy(model.stem.bias), "input")
    x = g.quantised(x, "trunk0", relu=True)
    for i, block in enumerate(model.blocks):
        y = g.convolution(x, f"b{i}.first", *map(_numpy, block.first.folded()), f"trunk{i}")
        if block.pool is not None:
            y = g.quantised(y, f"b{i}.before_pool")
            bias = g.dense(
                g.pooled(x, f"b{i}"),
                f"b{i}.bias",
                _pool_weights(_numpy(block.pool.weight)),
                _numpy(block.pool.bias),
            )
            shape = g.constant(f"b{i}.shape", np.array([0, -1, 1, 1], np.int64))
            bias = g.quantised(g.node("Reshape", [bias, shape], f"b{i}.column"), f"b{i}.pool_bias")
            y = g.node("Add", [y, bias], f"b{i}.biased")
        y = g.quantised(y, f"b{i}.middle", relu=True)
        y = g.convolution(y, f"b{i}.second", *map(_numpy, block.second.folded()), f"b{i}.middle")
        y = g.quantised(y, f"b{i}.branch")
        x = g.quantised(g.node("Add", [x, y], f"b{i}.sum"), f"trunk{i + 1}", relu=True)
    last = f"trunk{len(model.blocks)}"
    p = g.convolution(x, "policy_in", _numpy(model.policy_in.weight), _numpy(model.policy_in.bias), last)
    p = g.quantised(p, "policy_hidden", relu=True)
    # The last, fp32 1x1 convolution as a product with one column: no change of layout for a single channel.
    p = g.node("Transpose", [p], "policy_rows", perm=[0, 2, 3, 1])
    column = g.constant("policy_out.weight", _numpy(model.policy_out.weight)[0].reshape(-1, 1))
    p = g.node("MatMul", [p, column], "policy_column")
    g.node("Reshape", [p, g.constant("flat", np.array([0, -1], np.int64))], "policy")
    v = g.convolution(x, "value_in", _numpy(model.value_in.weight), _numpy(model.value_in.bias), last)
    v = g.pooled(g.quantised(v, "value_board", relu=True), "value")
    v = g.dense(
        v, "value_hidden", _pool_weights(_numpy(model.value_hidden.weight)), _numpy(model.value_hidden.bias)
    )
    v = g.node("Relu", [v], "value_hidden.relu")
    g.dense(v, "wdl", _numpy(model.value_out.weight), _numpy(model.value_out.bias))
    graph = helper.make_graph(
        g.nodes,
        "tengen",
        [helper.make_tensor_value_info("planes", TensorProto.FLOAT, ["B", N_PLANES, "H", "W"])],
        [
            helper.make_tensor_value_info("policy", TensorProto.FLOAT, ["B", "A"]),
            helper.make_tensor_value_info("wdl", TensorProto.FLOAT, ["B", 3]),
        ],
        g.initialisers,
    )
    model_proto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="tengen"
    )
    model_proto.ir_version = IR_VERSION
    helper.set_model_props(model_proto, dict(metadata))
    onnx.checker.check_model(model_proto, full_check=True)
    return model_proto

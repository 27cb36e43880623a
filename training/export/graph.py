"""Writes a trained net as an ONNX graph, node by node, in fp32 or int8.

Written by hand rather than traced, so that every node is there for a reason: weights are folded, and in int8
each QuantizeLinear / DequantizeLinear pair is where onnxruntime can fuse it. The scheme is static QDQ:
uint8 activations, int8 weights a channel in 7 bits (so that AVX2 machines do not saturate; 8 in the stem),
int32 biases.
A ReLU in front of a quantisation to uint8 with zero point 0 is that quantisation itself, so the int8 graph
has none. The stem sees planes of 0 and 1, which scale 1 keeps exactly.

Shapes: `B` batch, `H` `W` board, `D` trunk channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from engine.encoding import N_PLANES
from engine.evaluator.lines import WEIGHT_PREFIX
from training.export.quantise import LineLevels, Quantisation, as_numpy
from training.net.line_stem import DIRECTIONS, EDGE, REACH, LineStem, side_of_code
from training.net.network import Block, Network
from training.net.trunk import REFERENCE_AREA

OPSET = 21  # derived: the newest that every onnxruntime >= 1.20 reads
IR_VERSION = 10

Array = npt.NDArray[np.float32]


class _Graph:
    """Nodes and initialisers under construction. A tensor is its name."""

    def __init__(self, quantisation: Quantisation | None) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initialisers: list[onnx.TensorProto] = []
        self.quantisation = quantisation

    def constant(self, name: str, value: npt.NDArray[np.generic] | np.generic) -> str:
        self.initialisers.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
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

    def convolution(
        self, x: str, name: str, weight: Array, bias: Array, x_range: str, group: int = 1
    ) -> str:
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
            "Conv", [x, w, b], f"{name}.conv", kernel_shape=list(weight.shape[2:]), pads=[pad] * 4,
            group=group,
        )

    def _dequantised(self, name: str, levels: npt.NDArray[np.generic], scale: Array) -> str:
        zero = self.constant(f"{name}.zero", np.zeros(len(scale), levels.dtype))
        inputs = [self.constant(f"{name}.levels", levels), self.constant(f"{name}.scale", scale), zero]
        return self.node("DequantizeLinear", inputs, name, axis=0)

    def dense(self, x: str, name: str, weight: Array, bias: Array) -> str:
        """Add x @ weight.T + bias."""
        w, b = self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)
        return self.node("Gemm", [x, w, b], name, transB=1)

    def within(self, x: str, near: str | None) -> str:
        """Clear the cells that are not near stones, if the net does not look at these."""
        return x if near is None else self.node("Mul", [x, near], f"{x}.within")

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


def _near_stones(g: _Graph, margin: int) -> str:
    """Add which cells are near stones, float [B, 1, H, W]; see `training.net.window`."""
    both = np.zeros((1, N_PLANES, 1, 1), np.float32)
    both[0, 1:3] = 1
    stones = g.node("Conv", ["planes", g.constant("stones.weight", both)], "stones")
    side, pads = [2 * margin + 1] * 2, [margin] * 4
    near = g.node("MaxPool", [stones], "near", kernel_shape=side, pads=pads)
    axis, zero = g.constant("near.axis", np.int64(3)), g.constant("near.zero", np.float32(0))
    halves = []
    for name, backwards in (("behind", 0), ("ahead", 1)):
        count = g.node("CumSum", [near, axis], f"near.{name}", reverse=backwards)
        halves.append(g.node("Greater", [count, zero], f"near.{name}.some"))
    board = g.constant("near.board", np.array([2, 3], np.int64))
    any_stone = g.node("ReduceMax", [stones, board], "stones.any", keepdims=1)
    none = g.node("Equal", [any_stone, zero], "stones.none")
    cells = g.node("Or", [g.node("And", halves, "near.span"), none], "near.cells")
    return g.node("Cast", [cells], "near.factor", to=TensorProto.FLOAT)


def _line_stem(g: _Graph, stem: LineStem) -> str:
    """Add the first layer of a line net, from the planes."""
    taps = np.zeros((2 * len(DIRECTIONS), 1, 2 * REACH + 1, 2 * REACH + 1), np.float32)
    for i, (dx, dy) in enumerate(DIRECTIONS):
        for k in range(REACH):
            for side, sign in enumerate((-1, 1)):
                taps[2 * i + side, 0, REACH + sign * dy * (k + 1), REACH + sign * dx * (k + 1)] = 4**k
    # own + 2 x the opponent's + 3 x (1 - usable), the edge around it, then base 4 along each half of a line
    digit = np.zeros((1, N_PLANES, 1, 1), np.float32)
    digit[0, :3, 0, 0] = -EDGE, 1, 2
    digits = g.node("Conv", ["planes", g.constant("digits.weight", digit),
                             g.constant("digits.bias", np.array([EDGE], np.float32))], "digits")  # fmt: skip
    pads = g.constant("edge.pads", np.array([0, 0, REACH, REACH, 0, 0, REACH, REACH], np.int64))
    board = g.node("Pad", [digits, pads, g.constant("edge", np.float32(EDGE))], "board")
    codes = g.node("Conv", [board, g.constant("codes.weight", taps)], "codes")
    codes = g.node("Cast", [codes], "codes.int", to=TensorProto.INT64)
    sides = g.node("Gather", [g.constant("sides.of_code", side_of_code()), codes], "sides", axis=0)
    vectors = g.constant("lines.sides", as_numpy(stem.sides()))
    rows = g.node("Gather", [vectors, sides], "sides.rows", axis=0)
    # [B, 2 x 4, H, W, E] -> [B, 4, 2, H, W, E], summed over the two halves
    shape = np.array([0, len(DIRECTIONS), 2, -1, stem.middle.in_features], np.int64)
    rows = g.node("Reshape", [rows, g.constant("halves.shape", shape)], "halves")
    axis = g.constant("halves.axis", np.array([2], np.int64))
    rows = g.node("ReduceSum", [rows, axis], "pairs", keepdims=0)
    rows = g.node("Relu", [rows], "pairs.relu")
    rows = g.node("MatMul", [rows, g.constant("lines.middle", as_numpy(stem.middle.weight).T)], "middle")
    rows = g.node("Add", [rows, g.constant("lines.middle_bias", as_numpy(stem.middle.bias))], "middle.biased")
    rows = g.node("Relu", [rows], "middle.relu")
    rows = g.node("MatMul", [rows, g.constant("lines.out", _line_out(stem))], "lines")
    axis = g.constant("lines.axis", np.array([1], np.int64))
    x = g.node("ReduceSum", [rows, axis], "lines.sum", keepdims=0)
    x = g.node("Transpose", [x], "lines.columns", perm=[0, 2, 1])
    weight = g.constant("plane_weight", as_numpy(stem.planes.weight))
    bias = g.constant("bias", as_numpy(stem.folded()[1]))
    planes = g.node("Conv", ["planes", weight, bias], "points")
    x = g.node("Reshape", [x, g.node("Shape", [planes], "points.shape")], "lines.board")
    return g.node("Relu", [g.node("Add", [x, planes], "stem.sum")], "trunk0")


def _line_out(stem: LineStem) -> Array:
    """Return the last layer of the table [E, D] with the normalisation folded in."""
    return as_numpy(stem.out.weight * stem.folded()[0][:, None]).T


def line_weights(model: Network) -> dict[str, Array]:
    """Return the weights of a line net as the engine's kernel takes them (`engine.evaluator.lines`)."""
    stem = model.stem
    assert isinstance(stem, LineStem)
    folded = [(b.first.folded(), b.second.folded()) for b in model.residual]
    c = model.config.channels

    def stacked(arrays: list[Array], *shape: int) -> Array:
        return np.stack(arrays) if arrays else np.zeros((0, *shape), np.float32)

    out = {
        "sides": as_numpy(stem.sides()),
        "middle": as_numpy(stem.middle.weight).T,
        "middle_bias": as_numpy(stem.middle.bias),
        "out": _line_out(stem),
        "plane_weight": as_numpy(stem.planes.weight)[:, :, 0, 0].T,
        "bias": as_numpy(stem.folded()[1]),
        "dw": stacked([as_numpy(first[0]).reshape(c, 9).T for first, _ in folded], 9, c),
        "dw_bias": stacked([as_numpy(first[1]) for first, _ in folded], c),
        "pw": stacked([as_numpy(second[0])[:, :, 0, 0].T for _, second in folded], c, c),
        "pw_bias": stacked([as_numpy(second[1]) for _, second in folded], c),
        "policy_in": as_numpy(model.policy_in.weight)[:, :, 0, 0].T,
        "policy_bias": as_numpy(model.policy_in.bias),
        "policy_out": as_numpy(model.policy_out.weight)[0, :, 0, 0],
        "value_in": as_numpy(model.value_in.weight)[:, :, 0, 0].T,
        "value_bias": as_numpy(model.value_in.bias),
        "hidden_w": as_numpy(model.value_hidden.weight).T,
        "hidden_b": as_numpy(model.value_hidden.bias),
        "out_w": as_numpy(model.value_out.weight).T,
        "out_b": as_numpy(model.value_out.bias),
    }
    pooled = [b.pool for b in model.residual if b.pool is not None]
    out["pool_weight"] = as_numpy(pooled[0].weight).T if pooled else np.zeros((3 * c, c), np.float32)
    out["pool_bias"] = as_numpy(pooled[0].bias) if pooled else np.zeros(c, np.float32)
    return {name: np.ascontiguousarray(value) for name, value in out.items()}


def _block(g: _Graph, i: int, block: Block, x: str) -> str:
    """Add a residual block to the graph; return the name of its output."""
    weight, bias = map(as_numpy, block.first.folded())
    y = g.convolution(x, f"b{i}.first", weight, bias, f"trunk{i}", block.first.conv.groups)
    if block.pool is not None:
        y = g.quantised(y, f"b{i}.before_pool")
        column = g.dense(
            g.pooled(x, f"b{i}"),
            f"b{i}.bias",
            _pool_weights(as_numpy(block.pool.weight)),
            as_numpy(block.pool.bias),
        )
        shape = g.constant(f"b{i}.shape", np.array([0, -1, 1, 1], np.int64))
        column = g.quantised(g.node("Reshape", [column, shape], f"b{i}.column"), f"b{i}.pool_bias")
        y = g.node("Add", [y, column], f"b{i}.biased")
    y = g.quantised(y, f"b{i}.middle", relu=True)
    weight, bias = map(as_numpy, block.second.folded())
    y = g.convolution(y, f"b{i}.second", weight, bias, f"b{i}.middle")
    y = g.quantised(y, f"b{i}.branch")
    return g.quantised(g.node("Add", [x, y], f"b{i}.sum"), f"trunk{i + 1}", relu=True)


def _kernel_weights(
    model: Network, levels: LineLevels | None, usual: Array | None
) -> dict[str, npt.NDArray[Any]]:
    """Return what the kernel of line nets reads from the file, by name."""
    weights: dict[str, npt.NDArray[Any]] = {**line_weights(model)}
    if usual is not None:
        weights["pool_usual"] = usual
    if levels is not None:
        for key, product in (("pw", levels.blocks), ("head", levels.heads)):
            weights |= {
                f"{key}_levels": product.levels,
                f"{key}_levels_step": product.step,
                f"{key}_levels_bias": product.bias,
                f"{key}_unit": product.unit,
            }
    return weights


def build(
    model: Network,
    metadata: Mapping[str, str],
    quantisation: Quantisation | None,
    levels: LineLevels | None = None,
    usual: Array | None = None,
) -> onnx.ModelProto:
    """Return the ONNX model of a net.

    Args:
        model: the net; its state is read, not changed.
        metadata: metadata properties of the file.
        quantisation: None for fp32; for int8 what `quantise.calibrate` found.
        levels: for a line net what `quantise.calibrate_lines` found; None: its kernel takes 16 bits.
        usual: for a line net what `quantise.usual_pool` found, or None.
    """
    g = _Graph(quantisation)
    if isinstance(model.stem, LineStem):
        x = _line_stem(g, model.stem)
    else:
        x = g.quantised("planes", "input")
        x = g.convolution(x, "stem", as_numpy(model.stem.weight), as_numpy(model.stem.bias), "input")
        x = g.quantised(x, "trunk0", relu=True)
    near = _near_stones(g, model.config.margin) if model.config.margin else None
    x = g.within(x, near)
    for i, block in enumerate(model.residual):
        x = g.within(_block(g, i, block, x), near)
    last = f"trunk{len(model.blocks)}"
    p = g.convolution(x, "policy_in", as_numpy(model.policy_in.weight), as_numpy(model.policy_in.bias), last)
    p = g.quantised(p, "policy_hidden", relu=True)
    # The last, fp32 1x1 convolution as a product with one column: no change of layout for a single channel.
    p = g.node("Transpose", [p], "policy_rows", perm=[0, 2, 3, 1])
    column = g.constant("policy_out.weight", as_numpy(model.policy_out.weight)[0].reshape(-1, 1))
    p = g.node("MatMul", [p, column], "policy_column")
    g.node("Reshape", [p, g.constant("flat", np.array([0, -1], np.int64))], "policy")
    v = g.convolution(x, "value_in", as_numpy(model.value_in.weight), as_numpy(model.value_in.bias), last)
    v = g.pooled(g.quantised(v, "value_board", relu=True), "value")
    hidden = model.value_hidden
    v = g.dense(v, "value_hidden", _pool_weights(as_numpy(hidden.weight)), as_numpy(hidden.bias))
    v = g.node("Relu", [v], "value_hidden.relu")
    g.dense(v, "wdl", as_numpy(model.value_out.weight), as_numpy(model.value_out.bias))
    outputs = [
        helper.make_tensor_value_info("policy", TensorProto.FLOAT, ["B", "A"]),
        helper.make_tensor_value_info("wdl", TensorProto.FLOAT, ["B", 3]),
    ]
    if model.config.traits.kernel:
        for name, value in _kernel_weights(model, levels, usual).items():
            g.node("Identity", [g.constant(f"{WEIGHT_PREFIX}{name}.value", value)], f"{WEIGHT_PREFIX}{name}")
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            outputs.append(
                helper.make_tensor_value_info(f"{WEIGHT_PREFIX}{name}", kind, list(value.shape))
            )
    graph = helper.make_graph(
        g.nodes,
        "tengen",
        [helper.make_tensor_value_info("planes", TensorProto.FLOAT, ["B", N_PLANES, "H", "W"])],
        outputs,
        g.initialisers,
    )
    model_proto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="tengen"
    )
    model_proto.ir_version = IR_VERSION
    helper.set_model_props(model_proto, dict(metadata))
    onnx.checker.check_model(model_proto, full_check=True)
    return model_proto

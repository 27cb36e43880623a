"""What was made for the planes of version 1 goes on: nets, shards, weights; a run of it does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.encoding import FEATURE_VERSION, N_PLANES, PLANES_OF, widen_weights
from engine.errors import NetError
from engine.evaluator.base import Evaluator
from engine.evaluator.check import batch_of, check_evaluator
from engine.evaluator.lines import LineEvaluator
from engine.evaluator.make import load_net
from engine.evaluator.onnx import OnnxEvaluator
from engine.rules._board import Board
from engine.rules.rule import NET_RULES
from tests.helpers.nets import line_weights, widen_net, write_line_net, write_net
from tests.helpers.search import put

OLD = list(PLANES_OF[1])
NEW = [plane for plane in range(N_PLANES) if plane not in OLD]
"""Planes of today that version 1 did not have."""


def old_net(path: Path) -> Path:
    return write_net(path, planes=len(OLD), feature_version="1")


def old_line_net(path: Path, weights: dict[str, np.ndarray]) -> Path:
    weights = {**weights, "plane_weight": weights["plane_weight"][OLD]}
    return write_line_net(path, weights, planes=len(OLD), feature_version="1")


def answers(evaluator: Evaluator) -> list[np.ndarray]:
    """Return what it says of positions with and without a win by fours to stop."""
    boards = [put(Board(15, 15, rule), "6,7 3,3 5,7 11,3 7,7") for rule in NET_RULES]
    boards += [put(Board(15, 15, 4), "7,7 8,8 6,8"), Board(15, 15, 0)]
    planes, keys = batch_of(boards)
    assert planes[:5, NEW].any(axis=(2, 3)).all() and not planes[5:, NEW].any()
    return [np.array(array) for array in evaluator.evaluate(planes, keys)]


def test_planes_of_version_1_are_those_of_today_without_the_new_ones() -> None:
    assert NEW == [14, 15, 22] and len(OLD) == 20
    weights = np.arange(1, 41, dtype=np.float32).reshape(2, 20)
    wide = widen_weights(weights, 1, axis=1)
    assert wide.dtype == np.float32 and not wide[:, NEW].any()
    np.testing.assert_array_equal(wide[:, OLD], weights)
    np.testing.assert_array_equal(widen_weights(weights.T, 1), wide.T)


def test_a_net_of_version_1_judges_as_with_zeros_for_the_new_planes(tmp_path: Path) -> None:
    old = load_net(old_net(tmp_path / "old.onnx"))
    wide = load_net(widen_net(tmp_path / "old.onnx", tmp_path / "wide.onnx"))
    assert isinstance(old, OnnxEvaluator) and isinstance(wide, OnnxEvaluator)
    assert (old.feature_version, wide.feature_version) == (1, FEATURE_VERSION)
    for one, other in zip(answers(old), answers(wide), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    check_evaluator(old, quick=True)


def test_a_line_net_of_version_1_judges_as_with_zeros_for_the_new_planes(tmp_path: Path) -> None:
    weights = line_weights()
    old = load_net(old_line_net(tmp_path / "old.onnx", weights))
    weights["plane_weight"][NEW] = 0
    wide = load_net(write_line_net(tmp_path / "wide.onnx", weights))
    assert isinstance(old, LineEvaluator) and isinstance(wide, LineEvaluator)
    assert (old.feature_version, wide.feature_version) == (1, FEATURE_VERSION)
    for one, other in zip(answers(old), answers(wide), strict=True):
        np.testing.assert_array_equal(one, other)
    assert any(np.ptp(array, axis=0).max() > 0.01 for array in answers(old)), "it says the same of everything"
    check_evaluator(old, quick=True)


@pytest.mark.parametrize(
    ("version", "planes"), [("1", N_PLANES), (str(FEATURE_VERSION), len(OLD)), ("0", len(OLD))]
)
def test_a_net_with_another_number_of_planes_than_its_version_is_refused(
    tmp_path: Path, version: str, planes: int
) -> None:
    path = write_net(tmp_path / "odd.onnx", planes=planes, feature_version=version)
    with pytest.raises(NetError, match=r"odd\.onnx (does not take `planes`|was made for feature version 0)"):
        load_net(path)


def test_a_line_net_that_lacks_a_plane_is_refused(tmp_path: Path) -> None:
    weights = line_weights()
    weights["plane_weight"] = weights["plane_weight"][:19]
    path = write_line_net(tmp_path / "odd.onnx", weights, planes=len(OLD), feature_version="1")
    with pytest.raises(NetError, match=r"odd\.onnx"):
        load_net(path)

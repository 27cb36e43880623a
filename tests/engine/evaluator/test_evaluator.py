import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.config import EngineConfig
from engine.encoding import FEATURE_VERSION, N_PLANES, encode
from engine.errors import NetError
from engine.evaluator.base import PYTHON_COST
from engine.evaluator.cache import CachedEvaluator
from engine.evaluator.check import batch_of, canary_boards, check_evaluator, difference
from engine.evaluator.make import make_evaluator, net_path
from engine.evaluator.onnx import OnnxEvaluator
from engine.evaluator.symmetry import SymmetricEvaluator
from engine.rules._board import Board
from engine.rules.geometry import symmetries, symmetry_permutation
from engine.rules.rule import NET_RULES
from tests.helpers.nets import write_net


class Counting:
    """Answers from the planes alone; counts what it is asked."""

    name = "counting"
    feature_version = FEATURE_VERSION
    max_batch = None
    min_side, max_side = 5, 22
    rules = NET_RULES
    backend = None
    cost = PYTHON_COST

    def __init__(self, fault=None):
        self.asked = 0
        self.fault = fault

    def evaluate(self, planes, keys):
        batch, _, height, width = planes.shape
        self.asked += batch
        policy = (planes[:, 1] * 2 - planes[:, 2] + 0.25 * planes[:, 11]).reshape(batch, height * width)
        wdl = np.tile(np.array([0.5, 0.3, 0.2], np.float32), (batch, 1))
        if self.fault is not None:
            policy, wdl = self.fault(policy, wdl)
        return policy.astype(np.float32), wdl


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    return OnnxEvaluator(write_net(tmp_path_factory.mktemp("nets") / "random.onnx"))


def test_a_net_answers_on_every_size_and_rectangle(net):
    for width, height in [(5, 5), (15, 15), (22, 22), (20, 20), (7, 11), (22, 5)]:
        planes, keys = batch_of(canary_boards(width, height, 3))
        policy, wdl = net.evaluate(planes, keys)
        assert policy.shape == (3, width * height) and policy.dtype == np.float32
        assert wdl.shape == (3, 3) and wdl.dtype == np.float32
        np.testing.assert_allclose(wdl.sum(axis=1), 1, atol=1e-6)


def test_wdl_logits_become_chances_without_overflow(tmp_path):
    net = OnnxEvaluator(write_net(tmp_path / "huge.onnx", scale=1e4))
    _, wdl = net.evaluate(*batch_of(canary_boards(15, 15)))
    assert np.isfinite(wdl).all()
    np.testing.assert_allclose(wdl.sum(axis=1), 1, atol=1e-6)


def test_a_good_net_passes_its_canaries(net):
    check_evaluator(net)
    check_evaluator(net, quick=True)
    assert difference(net, net) == (0.0, 0.0)


def test_difference_sees_another_net(net, tmp_path):
    other = OnnxEvaluator(write_net(tmp_path / "other.onnx", seed=2))
    policy_gap, wdl_gap = difference(net, other)
    assert policy_gap > 0.01 and wdl_gap > 0.01


def bad_nan(policy, wdl):
    return policy * np.float32("nan"), wdl


def bad_sum(policy, wdl):
    return policy, wdl * np.float32(0.5)


def bad_shape(policy, wdl):
    return policy[:, 1:], wdl


def bad_neighbour(policy, wdl):
    return policy, wdl if len(wdl) == 1 else wdl[:, ::-1].copy()


@pytest.mark.parametrize("fault", [bad_nan, bad_sum, bad_shape, bad_neighbour])
def test_canaries_refuse_impossible_answers(fault):
    with pytest.raises(NetError, match="counting"):
        check_evaluator(Counting(fault))


def test_missing_file_names_path_and_way_out(tmp_path):
    with pytest.raises(NetError, match=r"nowhere\.onnx.*--net uniform"):
        net_path(str(tmp_path / "nowhere.onnx"))
    with pytest.raises(NetError, match=r"gone\.onnx.*--net uniform"):
        OnnxEvaluator(tmp_path / "gone.onnx")


def test_missing_default_names_path_and_way_out(tmp_path):
    with pytest.raises(NetError, match=r"default\.txt is missing.*--net uniform"):
        net_path("default", tmp_path)
    (tmp_path / "default.txt").write_text("lost.int8.onnx\n")
    with pytest.raises(NetError, match=r"lost\.int8\.onnx.*--net uniform"):
        net_path("default", tmp_path)


def test_default_and_short_names_are_found(tmp_path):
    path = write_net(tmp_path / "small.int8.onnx")
    (tmp_path / "default.txt").write_text("small.int8.onnx\n")
    assert net_path("default", tmp_path) == path
    assert net_path("small", tmp_path) == path
    assert net_path("small.int8.onnx", tmp_path) == path


def test_truncated_empty_and_foreign_files_are_refused(tmp_path):
    whole = write_net(tmp_path / "whole.onnx").read_bytes()
    for name, content in [("cut", whole[: len(whole) // 2]), ("empty", b""), ("text", b"hello " * 100)]:
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(content)
        with pytest.raises(NetError, match=f"{name}.onnx"):
            OnnxEvaluator(path)


@pytest.mark.parametrize("name", [b"\x12\x01W", b"\x06planes", b"\x03wdl"])
def test_a_net_whose_names_are_no_text_is_refused(tmp_path, name):
    path = write_net(tmp_path / "names.onnx")
    whole = path.read_bytes()
    assert name in whole
    path.write_bytes(whole.replace(name, name[:-1] + b"\x80"))
    with pytest.raises(NetError, match="damaged"):
        OnnxEvaluator(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tengen_format": None}, "not a net of Tengen"),
        ({"tengen_format": "2"}, "format 2"),
        ({"feature_version": "999"}, "feature version 999"),
        ({"feature_version": None}, "feature version none"),
        ({"planes": 7}, "does not take"),
        ({"outputs": ("p", "v")}, "does not give"),
        ({"shape": ("B", 15, 15)}, "bound to the shape"),
        ({"shape": (1, "H", "W")}, "bound to the shape"),
    ],
)
def test_foreign_nets_are_refused(tmp_path, change, message):
    path = write_net(tmp_path / "foreign.onnx", **change)
    with pytest.raises(NetError, match=message):
        OnnxEvaluator(path)


def test_path_outside_ascii(tmp_path):
    folder = tmp_path / "Ünï çødé 碁"
    folder.mkdir()
    OnnxEvaluator(write_net(folder / "n.onnx"))


def test_a_damaged_net_writes_nothing_to_stderr(tmp_path):
    path = tmp_path / "bad.onnx"
    path.write_bytes(write_net(tmp_path / "good.onnx").read_bytes()[:-200])
    code = (
        "import sys\nfrom engine.errors import NetError\nfrom engine.evaluator.onnx import OnnxEvaluator\n"
        "try:\n    OnnxEvaluator(sys.argv[1])\nexcept NetError:\n    print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "refused\n" and done.stderr == ""


def test_a_session_starts_no_threads(net):
    if not Path("/proc/self/task").is_dir():
        pytest.skip("needs /proc")
    code = (
        "import sys, os, onnxruntime\nfrom engine.evaluator.onnx import OnnxEvaluator\n"
        "from engine.evaluator.check import check_evaluator\n"
        "before = len(os.listdir('/proc/self/task'))\n"  # importing onnxruntime starts an idle one
        "check_evaluator(OnnxEvaluator(sys.argv[1]))\nprint(len(os.listdir('/proc/self/task')) - before)\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(net.path)],
        capture_output=True, text=True, timeout=60, check=True, env=environment,
    )  # fmt: skip
    assert done.stdout == "0\n"


def test_cache_gives_the_same_answers_and_asks_once(net):
    inner = Counting()
    cached = CachedEvaluator(inner, 1 << 20)
    planes, keys = batch_of(canary_boards(15, 15))
    expected = [a.copy() for a in inner.evaluate(planes, keys)]
    inner.asked = 0
    for i in (0, 1, 2, 3, 0, 2):
        policy, wdl = cached.evaluate(planes[i : i + 1], keys[i : i + 1])
        np.testing.assert_array_equal(policy[0], expected[0][i])
        np.testing.assert_array_equal(wdl[0], expected[1][i])
    assert inner.asked == 4
    assert (cached.hits, cached.misses) == (2, 4)


class Reusing(Counting):
    """Writes every answer into the same two arrays, as a net may."""

    def __init__(self):
        super().__init__()
        self.policy, self.wdl = np.zeros((1, 225), np.float32), np.zeros((1, 3), np.float32)

    def evaluate(self, planes, keys):
        self.policy[:], self.wdl[:] = super().evaluate(planes, keys)
        return self.policy, self.wdl


def test_cache_keeps_answers_that_the_net_overwrites():
    cached = CachedEvaluator(Reusing(), 1 << 20)
    planes, keys = batch_of(canary_boards(15, 15))
    first = cached.evaluate(planes[1:2], keys[1:2])[0].copy()
    second = cached.evaluate(planes[2:3], keys[2:3])[0].copy()
    assert (first != second).any()
    np.testing.assert_array_equal(cached.evaluate(planes[1:2], keys[1:2])[0], first)


def test_cache_mixes_hits_and_misses_in_a_batch():
    inner = Counting()
    cached = CachedEvaluator(inner, 1 << 20)
    planes, keys = batch_of(canary_boards(15, 15))
    expected = inner.evaluate(planes, keys)
    cached.evaluate(planes[1:2], keys[1:2])
    inner.asked = 0
    for _ in range(2):
        policy, wdl = cached.evaluate(planes, keys)
        np.testing.assert_array_equal(policy, expected[0])
        np.testing.assert_array_equal(wdl, expected[1])
    assert inner.asked == 3
    cached.clear()
    cached.evaluate(planes, keys)
    assert inner.asked == 7


def test_cache_is_bounded_and_keeps_what_is_used():
    inner = Counting()
    limit = 100_000
    cached = CachedEvaluator(inner, limit)
    planes, _ = batch_of([Board(15)])
    favourite = np.array([7], np.uint64)
    cached.evaluate(planes, favourite)
    for key in range(1000, 1500):
        cached.evaluate(planes, np.array([key], np.uint64))
        cached.evaluate(planes, favourite)
    assert inner.asked == 501
    assert len(cached) * (15 * 15 * 4 + 12) <= limit


def test_cache_entries_take_no_more_than_counted():
    import psutil

    gc.collect()
    inner = Counting()
    limit = 16 << 20
    cached = CachedEvaluator(inner, limit)
    planes, _ = batch_of([Board(20)])
    before = psutil.Process().memory_info().rss
    for key in range(30_000):
        cached.evaluate(planes, np.array([key], np.uint64))
    assert psutil.Process().memory_info().rss - before < limit * 1.3


def asymmetric_boards(width, height):
    boards = []
    for first in (0, 1, width + 2):
        board = Board(width, height, 4)
        for point in (first, width * 2 + 3, width * 3 + 1, 4):
            board.place(point)
        boards.append(board)
    return boards


@pytest.mark.parametrize(("width", "height"), [(7, 7), (9, 6)])
def test_symmetry_turns_the_policy_back(width, height):
    inner = Counting()  # equivariant, so every orientation has to give the same answer
    symmetric = SymmetricEvaluator(inner, seed=3)
    planes, keys = batch_of(asymmetric_boards(width, height))
    expected, _ = inner.evaluate(planes, keys)
    for _ in range(20):
        policy, _ = symmetric.evaluate(planes, keys)
        np.testing.assert_array_equal(policy, expected)


def test_symmetry_shows_all_orientations_and_repeats_by_seed():
    class Seeing(Counting):
        def __init__(self):
            super().__init__()
            self.seen = []

        def evaluate(self, planes, keys):
            self.seen.append(planes[0].tobytes())
            return super().evaluate(planes, keys)

    planes, keys = batch_of(asymmetric_boards(7, 7)[:1])
    seen = []
    for _ in range(2):
        inner = Seeing()
        symmetric = SymmetricEvaluator(inner, seed=5)
        for _ in range(100):
            symmetric.evaluate(planes, keys)
        seen.append(inner.seen)
    assert seen[0] == seen[1]
    flat = planes[0].reshape(N_PLANES, -1)
    turned = {flat[:, symmetry_permutation(7, 7, s)].tobytes() for s in symmetries(7, 7)}
    assert set(seen[0]) == turned and len(turned) == 8


def test_make_evaluator_builds_the_decorators(tmp_path):
    path = write_net(tmp_path / "n.onnx")
    config = EngineConfig(net=str(path), symmetry=True, cache_mib=1)
    evaluator = make_evaluator(config, seed=1)
    assert isinstance(evaluator, CachedEvaluator) and isinstance(evaluator.inner, SymmetricEvaluator)
    assert evaluator.name == "random-1x8"
    assert isinstance(make_evaluator(config, 1, decorate=False), OnnxEvaluator)


def test_planes_of_a_board_fit_the_net(net):
    policy, _ = net.evaluate(encode(Board(6, 8))[None], np.zeros(1, np.uint64))
    assert policy.shape == (1, 48)

"""Files of line nets: all is checked before the kernel sees it, and every refusal names the file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import ConfigError, NetError
from engine.evaluator import onnx
from engine.evaluator._lines import paths
from engine.evaluator.check import batch_of, check_evaluator, quick_boards
from engine.evaluator.lines import LineEvaluator
from engine.evaluator.make import load_net
from engine.memory import private_bytes
from engine.resources import Resources
from engine.timing.clock import SystemClock
from tests.helpers.nets import line_weights, write_line_net, write_net
from tests.reference.lines import window


def load(path: Path) -> Any:
    """Load a file in which a warning would be an error: it would reach a manager's window."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load_net(path)


def test_a_small_line_net_is_read(tmp_path: Path) -> None:
    net = load(write_line_net(tmp_path / "small.onnx", line_weights()))
    assert isinstance(net, LineEvaluator)
    assert (net.line_net.channels, net.line_net.blocks, net.line_net.margin) == (16, 1, 3)
    check_evaluator(net, quick=True)


@pytest.mark.parametrize("path", ["plain", "avx2", "avxvnni", "avx512", "neon", "neon-dot"])
def test_the_path_is_taken_or_refused(tmp_path: Path, path: str) -> None:
    file = write_line_net(tmp_path / "small.onnx", line_weights())
    if path in paths() and path != "avx512":
        net = load_net(file, path)
        assert isinstance(net, LineEvaluator) and net.line_net.path == path
    else:
        with pytest.raises((ConfigError, NetError), match=path):
            load_net(file, path)


@pytest.mark.parametrize("kind", ["linez", "", "Lines", "x" * 5000, "a\nb"])
@pytest.mark.parametrize("lines", [True, False])
def test_an_unknown_kind_of_net_is_refused(tmp_path: Path, kind: str, lines: bool) -> None:
    file = tmp_path / "net.onnx"
    write_line_net(file, line_weights(), kind=kind) if lines else write_net(file, kind=kind)
    with pytest.raises(NetError, match=r"net\.onnx: unknown kind of net: .*known: lines, tower") as refusal:
        load(file)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 600


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rules", "0,x"),
        ("rules", ""),
        ("rules", "0,2"),
        ("rules", "-1"),
        ("rules", "9" * 5000),
        ("sizes", "five"),
        ("sizes", "9-"),
        ("sizes", "20-9"),
        ("sizes", "4-20"),
        ("sizes", "5-23"),
        ("sizes", "5-22-22"),
        ("net_id", "two\nlines"),
        ("net_id", "n" * 101),
    ],
)
def test_bad_metadata_name_the_file_and_the_value(tmp_path: Path, key: str, value: str) -> None:
    if (key, value) == ("sizes", "9-"):
        assert load(write_net(tmp_path / "net.onnx", sizes=value)).max_side == 9
        return
    with pytest.raises(NetError, match=rf"net\.onnx: bad metadata {key}=") as refusal:
        load(write_net(tmp_path / "net.onnx", **{key: value}))
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 600


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pooled", None),
        ("pooled", "x"),
        ("pooled", "1"),
        ("pooled", "-2"),
        ("margin", "1e9"),
        ("margin", "-1"),
        ("beyond", "nothing"),
    ],
)
def test_bad_metadata_of_a_line_net_are_refused(tmp_path: Path, key: str, value: str | None) -> None:
    file = write_line_net(tmp_path / "net.onnx", line_weights(), **{key: value})
    with pytest.raises(NetError, match=rf"net\.onnx: not the weights of a line net: .*{key}"):
        load(file)


def test_a_closed_line_net_has_a_margin_whatever_is_asked(tmp_path: Path) -> None:
    file = write_line_net(tmp_path / "net.onnx", line_weights(), beyond="off")
    net = LineEvaluator(onnx.OnnxEvaluator(file), margin=0)
    assert net.line_net.closed and net.line_net.margin == 3
    file = write_line_net(tmp_path / "none.onnx", line_weights(), beyond="off", margin=None)
    with pytest.raises(NetError, match=r"none\.onnx: not the weights of a line net: .*margin"):
        load(file)


def test_metadata_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = write_net(tmp_path / "net.onnx", net_id="ABCDEFGH")
    file.write_bytes(file.read_bytes().replace(b"ABCDEFGH", b"ABCD\x80FGH"))
    with pytest.raises(NetError, match=r"net\.onnx is damaged"):
        load(file)


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("sides", None, "weights lack 'sides'"),
        ("sides", lambda a: a[:-1], "'sides' has shape"),
        ("sides", lambda a: np.zeros((3000, 8), np.float32), "'sides' has shape"),
        ("sides", lambda a: a.astype(np.float64), "'sides' is float64"),
        ("sides", lambda a: a * np.float32(np.nan), "'sides' is not finite"),
        ("sides", lambda a: a * np.float32(1e38), "too large"),
        ("middle", lambda a: a[:, :-1], "'middle' has shape"),
        ("middle_bias", lambda a: a[:1], "'middle_bias' has shape"),
        ("out", lambda a: a[:-1], "'out' has shape"),
        ("out", lambda a: np.zeros((8, 3000), np.float32), "'out' has shape"),
        ("out", lambda a: a[:, :8], "must be a multiple of 8 from 16"),
        ("dw", lambda a: np.zeros((33, 9, 16), np.float32), "N .in 'dw'. must be"),
        ("bias", lambda a: a[:-1], "'bias' has shape"),
        ("plane_weight", lambda a: a + np.float32(3e38), "too large"),
        ("out_b", lambda a: a * np.float32(np.inf), "'out_b' is not finite"),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, key: str, change: Any, message: str) -> None:
    weights = line_weights()
    if change is None:
        del weights[key]
    else:
        weights[key] = np.ascontiguousarray(change(weights[key]))
    with pytest.raises(NetError, match=rf"net\.onnx: not the weights of a line net: .*{message}"):
        load(write_line_net(tmp_path / "net.onnx", weights))


def test_more_weights_than_any_net_has_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_line_net(tmp_path / "net.onnx", line_weights())
    monkeypatch.setattr(onnx, "MAX_NUMBERS", 3000)
    with pytest.raises(NetError, match=r"net\.onnx has \d+ weights; 3000 are"):
        load(file)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "huge.onnx"
    with file.open("wb") as out:
        out.truncate(onnx.MAX_NET_BYTES + 1)
    before = private_bytes()
    with pytest.raises(NetError, match=r"huge\.onnx is too large"):
        load(file)
    after = private_bytes()
    assert before is None or after is None or after - before < onnx.MAX_NET_BYTES // 4


def test_every_cut_of_a_file_is_one_clear_error(tmp_path: Path) -> None:
    whole = write_line_net(tmp_path / "whole.onnx", line_weights()).read_bytes()
    file = tmp_path / "cut.onnx"
    for length in range(0, len(whole), max(1, len(whole) // 60)):
        file.write_bytes(whole[:length])
        with pytest.raises(NetError, match=r"cut\.onnx"):
            load(file)


def test_a_graph_that_cannot_be_run_is_an_error_of_the_net(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    write_line_net(file, line_weights(), kind="tower", pooled=None)
    file.write_bytes(file.read_bytes().replace(b"ReduceSum", b"ReduceMax"))  # axes became an attribute in 13
    with pytest.raises(NetError, match=r"net\.onnx"):
        check_evaluator(load(file))


def test_a_damaged_graph_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = write_net(tmp_path / "net.onnx")
    file.write_bytes(file.read_bytes().replace(b"Flatten", b"Fl\x80tten"))
    with pytest.raises(NetError, match=r"net\.onnx is damaged"):
        load(file)
    assert capfd.readouterr() == ("", "")


def test_logits_that_are_not_finite_are_refused_in_silence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    net = load(write_net(tmp_path / "net.onnx", scale=3e38))
    with pytest.raises(NetError, match="not finite"):
        check_evaluator(net, quick=True)
    assert capfd.readouterr() == ("", "")


def test_the_canaries_of_a_start_try_the_window_on_two_sizes() -> None:
    boards = quick_boards()
    planes = [batch_of([board])[0][0] for board in boards]
    assert window(planes[0], 3) is None
    assert all(window(p, 3) is not None and p[1:3].sum() >= 5 for p in planes[1:])
    assert len({board.width for board in boards}) > 1 and len({board.rule for board in boards}) > 1


def test_a_line_net_that_fails_only_beside_the_window_is_refused_at_the_start(tmp_path: Path) -> None:
    """`pool_usual` counts for empty boards, which lie beyond a window, and for nothing else."""
    weights = line_weights() | {"pool_usual": np.full(16, 3e38, np.float32)}
    weights["pw"] = np.abs(weights["pw"]) * np.float32(100)
    net = load(write_line_net(tmp_path / "net.onnx", weights))
    with pytest.raises(NetError, match="not finite"):
        check_evaluator(net, quick=True)


def test_no_memory_is_kept_for_a_cache_that_a_line_net_has_not(tmp_path: Path) -> None:
    file = write_line_net(tmp_path / "net.onnx", line_weights())
    sizes = []
    for mib in (0, 100, 0):
        config = EngineConfig(net=str(file), cache_mib=mib, memory_bytes=1 << 30)
        sizes.append(Resources(config, 1, SystemClock()).search.tree.memory_bytes)
    assert abs(sizes[1] - sizes[2]) < 20 << 20


def test_a_setting_that_names_no_path_is_refused(tmp_path: Path) -> None:
    file = write_line_net(tmp_path / "net.onnx", line_weights())
    engine = Engine(EngineConfig(net=str(file), lines="sse"))
    with pytest.raises(ConfigError, match="lines must be one of plain"):
        engine.warm_up()

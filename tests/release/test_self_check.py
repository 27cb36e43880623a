"""`--self-check`, from source."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.commands import selfcheck, usual
from engine.commands.usual import Machine
from engine.config import EngineConfig
from engine.evaluator._lines import PATHS
from tests.protocol.process import REPOSITORY

NAMES = ["kernel", "net", "speed", "clock", "move", "memory"]


def self_check(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "protocol", "--self-check", *arguments],
        cwd=REPOSITORY, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_every_part_gets_a_line_and_the_whole_a_verdict() -> None:
    done = self_check()
    head, *lines, verdict = done.stdout.splitlines()
    assert head.startswith("Tengen ") and [line.split()[1] for line in lines] == NAMES
    bad = [line.split()[1] for line in lines if not line.startswith("ok ")]
    assert set(bad) <= {"move", "speed"}, done.stdout  # a very busy machine may spoil these two
    assert done.returncode == bool(bad)
    assert verdict.startswith("Verdict: do not play" if bad else "Verdict: everything works")


def test_a_spoilt_net_is_told_in_one_line_and_changes_the_verdict(tmp_path: Path) -> None:
    spoilt = tmp_path / "spoilt.onnx"
    spoilt.write_bytes(b"no net at all")
    done = self_check("--net", str(spoilt))
    assert done.returncode == 1 and "Traceback" not in done.stdout + done.stderr
    bad = [line for line in done.stdout.splitlines() if line.startswith("BAD")]
    assert bad and "spoilt.onnx is damaged or no net" in bad[0]
    assert "look at net" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["--set", "bogus=1"], ["--config", "/no/such/file.toml"]])
def test_bad_settings_are_refused_before_any_check(arguments: list[str]) -> None:
    done = self_check(*arguments)
    assert done.returncode == 2 and done.stderr.startswith("pbrain-tengen: ")
    assert "kernel" not in done.stdout


def test_a_check_that_breaks_is_a_bad_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks() -> str:
        try:
            raise OSError("lib.so: file too short")
        except OSError as cause:
            raise ImportError("a page\nof advice") from cause

    monkeypatch.setattr(selfcheck, "kernel", breaks)
    monkeypatch.setattr(selfcheck, "clock", lambda: "ticks")
    monkeypatch.setattr(selfcheck, "memory", lambda config: "this process has run other tests")
    said: list[str] = []
    assert selfcheck.run(EngineConfig(net="uniform"), said.append) == 1
    assert said[0] == "BAD  kernel  lib.so: file too short"
    assert said[-1].endswith("look at kernel above.")


def test_a_wrong_fact_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selfcheck, "_facts", lambda: iter([("water is wet", True), ("2 + 2 = 5", False)]))
    with pytest.raises(Exception, match="2 \\+ 2 = 5"):
        selfcheck.kernel()


def test_memory_that_the_system_refuses_is_bad() -> None:
    with pytest.raises(Exception, match="refuses"):
        selfcheck.memory(EngineConfig(memory_bytes=1 << 62))
    with pytest.raises(Exception, match="before it thinks"):
        selfcheck.memory(EngineConfig(memory_bytes=1 << 20))


def test_every_path_of_line_nets_has_a_name() -> None:
    assert tuple(usual.VECTORS) == PATHS[1:]
    assert set(usual.USUAL) <= set(PATHS)
    assert all(low < high for low, high in usual.USUAL.values())


def net_on(path: str, channels: int = 64) -> Any:
    return SimpleNamespace(path=path, bits=8, channels=channels, blocks=4, margin=2)


@pytest.mark.parametrize(
    ("path", "rate", "machine", "said"),
    [
        ("avx2", 25_000, None, "the net runs on AVX2, in 8 bits; usual are 24,000 to 41,000"),
        ("avx2", 12_000, Machine(3.4, 2, None), "slow: other programs want the processor (3.4 on 2 cores)"),
        ("avx512", 12_000, Machine(0.5, 2, 0.4), "slow: the processor runs at 40 % of its highest frequency"),
        ("avxvnni", 12_000, Machine(None, 2, 1.0), "slow: an old or a throttled processor"),
        ("neon-dot", 9_000, None, "NEON with dot product, in 8 bits; no usual rate of it is known"),
    ],
)
def test_a_rate_is_held_against_what_is_usual(
    path: str, rate: float, machine: Machine | None, said: str
) -> None:
    def here() -> Machine:
        assert machine is not None, "asked although the rate is usual"
        return machine

    assert said in usual.describe(net_on(path), rate, here)


def test_plain_c_and_other_shapes_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usual, "paths", lambda: ("plain",))
    assert "fourteen times slower than with AVX2 or NEON" in usual.describe(net_on("plain"), 1700)
    monkeypatch.setattr(usual, "paths", lambda: ("plain", "avx2"))
    assert "because the settings say so; AVX2 is" in usual.describe(net_on("plain"), 1700)
    assert "no rate is known for a net of this shape" in usual.describe(net_on("avx2", channels=32), 9)


def test_the_frequency_is_read_where_the_system_has_it(tmp_path: Path) -> None:
    assert usual._frequency(tmp_path) is None
    (tmp_path / "scaling_cur_freq").write_text("800000\n")
    (tmp_path / "cpuinfo_max_freq").write_text("3200000\n")
    assert usual._frequency(tmp_path) == 0.25
    (tmp_path / "cpuinfo_max_freq").write_text("?\n")
    assert usual._frequency(tmp_path) is None

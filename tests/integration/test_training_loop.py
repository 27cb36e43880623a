"""The whole loop: it learns, repeats itself, survives kills, refuses bad input.

Where nothing is killed it runs in this process (`tests.integration.local_workers`).

TENGEN_LONG=1 trains six times as long in the first test.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from engine.evaluator.check import canary_batches
from engine.evaluator.onnx import OnnxEvaluator
from tests.integration.local_workers import train
from tests.integration.stand_in_gpu import pretend
from training.data.records import SelfPlayRecord
from training.data.shards import list_shards, read_shard
from training.learn.checkpoint import list_checkpoints
from training.match import main as match_main
from training.ship import main as ship_main

LENGTH = 6 if os.environ.get("TENGEN_LONG") == "1" else 1
SHORT = ["--set", "cycle_positions=400", "--set", "learner.window_min=150", "--set", "precision=fp32"]
"""Exports in 8 bits take longest of all; `test_the_loop_learns_from_zero` has them."""
SEED = ["--set", "seed=3"]
QUICK = ["--preset", "smoke", "--minutes", "0", "--device", "cpu"]


def command(run_dir: Path, *arguments: str, module: str = "tests.integration.local_workers") -> list[str]:
    return [sys.executable, "-m", module, "--run-dir", str(run_dir), *arguments]


def events(run_dir: Path, kind: str) -> list[dict[str, object]]:
    lines = (run_dir / "log.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def games(run_dir: Path) -> list[SelfPlayRecord]:
    return [game for path in list_shards(run_dir / "records") for game in read_shard(path)]


def seeds(run_dir: Path) -> list[int]:
    return [game.seed for game in games(run_dir)]


def wait_for(condition, process: subprocess.Popen[str], timeout_s: float = 120) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline_s
        time.sleep(0.1)


LINES = [
    word
    for line in ("kind=lines", "blocks=2", "channels=16", "line_hidden=32")
    for word in ("--set", f"learner.net.{line}")
]


@pytest.fixture(scope="module")
def a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four cycles, made once; the last is played with a net that has learned (with this seed)."""
    run_dir = tmp_path_factory.mktemp("runs") / "first"
    done = train(run_dir, *QUICK, *SHORT, *SEED, "--set", "total_positions=1400")
    assert done.returncode == 0, done.stderr
    return run_dir


def promoted_as_on_a_gpu(run_dir: Path, parts: int) -> None:
    starts = events(run_dir, "start")
    assert [start["device"] for start in starts] == ["cpu"] * parts
    nets = {event["net"] for event in events(run_dir, "export")}
    assert len(nets) > 1 and all(str(net).endswith(".pt") for net in nets)
    assert any(game.net_id.startswith("c0") for game in games(run_dir))
    assert events(run_dir, "match")
    assert (run_dir / "best.pt").exists() and (run_dir / "best.fp32.onnx").exists()


FEW = [
    "games=12", "cycle_positions=250", "play.simulations=4", "learner.window_min=80", "precision=fp32",
    "evaluation.pairs=3",
]  # fmt: skip
GPU = [*QUICK, *(word for setting in FEW for word in ("--set", setting))]
"""With the processor in place of the GPU, which takes long over bfloat16."""


def test_the_loop_of_a_gpu_learns_goes_on_and_promotes(tmp_path, monkeypatch):
    """First in processes, since nets travel between them, then in this one."""
    on_gpu = [sys.executable, "-m", "tests.integration.stand_in_gpu", "--run-dir", str(tmp_path)]
    settings = [*GPU, "--set", "learner.net.kind=tower", "--workers", "1", "--set", "total_positions=700"]
    done = subprocess.run([*on_gpu, *settings], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    pretend(monkeypatch.setattr)
    again = train(tmp_path, *GPU, "--set", "total_positions=1400")
    assert again.returncode == 0, again.stderr
    promoted_as_on_a_gpu(tmp_path, 2)


def test_the_loop_of_a_gpu_takes_a_line_net(tmp_path, monkeypatch):
    pretend(monkeypatch.setattr)
    done = train(tmp_path, *GPU, *LINES, "--set", "total_positions=1000")
    assert done.returncode == 0, done.stderr
    promoted_as_on_a_gpu(tmp_path, 1)


def test_a_line_net_goes_through_the_loop(tmp_path, capsys):
    done = train(tmp_path, *QUICK, *SHORT, *LINES, "--set", "precision=int8", "--set", "total_positions=1600")
    assert done.returncode == 0, done.stderr
    learned = events(tmp_path, "learn")
    assert learned[-1]["policy"] < learned[0]["policy"]
    exports = events(tmp_path, "export")
    assert exports[-1]["net"].endswith(".fp32.onnx")
    assert exports[-1]["int8_utility"] < 0.02, "the kernel plays what was learned"
    assert (tmp_path / "best.fp32.onnx").exists() and not (tmp_path / "best.int8.onnx").exists()
    out = tmp_path / "shipped"
    assert ship_main([str(tmp_path), "--name", "tiny", "--out", str(out), "--default"]) == 0
    assert (out / "default.txt").read_text() == "tiny.fp32.onnx\n"
    export = json.loads((tmp_path / "best.json").read_text())["net"]
    again = ["--export", export, "--name", "named", "--strength", "Was measured.", "--out", str(out)]
    assert ship_main([str(tmp_path), *again, "--sizes", "6-21"]) == 0
    nets = [OnnxEvaluator(path) for path in (tmp_path / "best.fp32.onnx", out / "named.fp32.onnx")]
    ids = [net.metadata["net_id"] for net in nets]
    assert ids[0].startswith(export) and ids[1] == ids[0].replace(export, "named")
    assert [(net.min_side, net.max_side) for net in nets] == [(7, 7), (6, 21)]
    planes, keys = next(canary_batches())
    np.testing.assert_array_equal(*(net.evaluate(planes, keys)[0] for net in nets))
    card = (out / "named.md").read_text()
    assert card.startswith("# named\n") and ids[1] in card and ids[0] not in card
    assert "Was measured." in card and "not measured" not in card and "| boards | 6 to 21 a side |" in card
    assert ship_main([str(tmp_path), "--export", "c999999", "--name", "named", "--out", str(out)]) == 1
    assert "no export c999999 there" in capsys.readouterr().err
    (tmp_path / "nets" / f"{export}.md").unlink()
    assert ship_main([str(tmp_path), *again]) == 1
    assert f"{export}.md: missing" in capsys.readouterr().err


def test_the_loop_learns_from_zero(tmp_path):
    done = train(tmp_path, *QUICK, "--set", "seed=2", "--set", f"total_positions={8_000 * LENGTH}")
    assert done.returncode == 0, done.stderr
    against_random = [event for event in events(tmp_path, "match") if event["b"] == "random"]
    assert against_random[0]["a"] == "c000000", "the untrained net is measured first"
    assert against_random[-1]["score"] >= max(0.95, against_random[0]["score"])
    rise = [event for event in events(tmp_path, "match") if event["b"] == "c000000"]
    assert rise[-1]["score"] >= 0.8, "and loses to the trained one"
    learned = events(tmp_path, "learn")
    assert learned[-1]["value"] < learned[0]["value"] and learned[-1]["policy"] < learned[0]["policy"]
    pointer = json.loads((tmp_path / "best.json").read_text())
    assert pointer["net"] != "c000000" and (tmp_path / "best.int8.onnx").stat().st_size > 1000
    assert (tmp_path / "config.json").exists() and not (tmp_path / "tensorboard").exists()
    assert not list((tmp_path / "records").glob("*.journal"))
    assert match_main(
        ["--a", f"engine:net={tmp_path / 'best.int8.onnx'},nodes=1,solver=no", "--b", "random",
         "--games", "4", "--size", "7", "--quiet"]
    ) == 0  # fmt: skip
    out = tmp_path / "shipped"
    arguments = ["--name", "tiny", "--out", str(out), "--strength", "Beats random.", "--default"]
    assert ship_main([str(tmp_path), *arguments]) == 0
    assert (out / "default.txt").read_text() == "tiny.int8.onnx\n"
    assert "Beats random." in (out / "tiny.md").read_text()
    assert ship_main([str(out), *arguments]) == 1, "no run there"
    report = subprocess.run(
        [sys.executable, "-m", "training.report", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert report.returncode == 0, report.stderr
    assert "<svg" in (tmp_path / "report.html").read_text()


def test_a_net_of_another_shape_begins_with_the_records_of_an_older_run(tmp_path, a_run):
    old, new = a_run, tmp_path / "new"
    begin = [*QUICK, *SHORT, "--records", str(old / "records"), "--set", "learner.net.blocks=2"]
    begin += ["--set", "pretrain_samples=2000", "--set", "total_positions=300"]
    done = train(new, *begin)
    assert done.returncode == 0, done.stderr
    imported = [path.name for path in list_shards(new / "records") if "from" in path.name]
    assert len(imported) == len(list_shards(old / "records"))
    first = events(new, "export")[0]
    assert first["cycle"] == 0, "the pretrained net plays the first game"
    assert {g.net_id for p in list_shards(new / "records")[len(imported) :] for g in read_shard(p)} >= {
        first["net_id"]
    }
    assert json.loads((new / "state.json").read_text())["pretrained"]
    assert train(new, *begin, "--set", "total_positions=700").returncode == 0, "and it goes on"
    assert len(events(new, "export")) > 1
    kept = list_checkpoints(new / "checkpoints")[-1]
    deep = [*QUICK, *SHORT, "--records", str(old / "records")]
    deep += ["--weights", f"{old}=2", "--weights", str(kept)]
    deep += ["--device", "cpu", "--set", "learner.net.blocks=3", "--set", "total_positions=300"]
    done = train(tmp_path / "deep", *deep)
    assert done.returncode == 0, done.stderr
    first_game = read_shard(list_shards(tmp_path / "deep" / "records")[len(imported)])[0]
    assert first_game.net_id.startswith("c000000"), "a grown net plays from the first game on"
    assert (tmp_path / "deep" / "checkpoints" / "step-000000000.ckpt").exists(), "a kill does not lose it"
    assert "above 0" in train(tmp_path / "none", *QUICK, "--weights", f"{old}=none").stderr
    assert "no shards" in train(tmp_path / "none", *QUICK, "--records", str(tmp_path)).stderr


def test_same_seed_and_one_worker_repeat_every_game(tmp_path, a_run):
    """Also in a process of its own with a worker of its own."""
    done = subprocess.run(
        command(tmp_path, *QUICK, *SHORT, *SEED, "--set", "total_positions=1400"),
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, second = (list_shards(folder / "records") for folder in (a_run, tmp_path))
    assert len(first) >= 4 and [p.name for p in first] == [p.name for p in second]
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    assert len({net for path in first for net in {game.net_id for game in read_shard(path)}}) > 1


@pytest.mark.posix
def test_a_killed_run_keeps_its_games_and_goes_on(tmp_path):
    arguments = [*QUICK, *SHORT, "--set", "total_positions=30000"]
    process = subprocess.Popen(
        command(tmp_path, *arguments), stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(lambda: (tmp_path / "log.jsonl").exists() and len(events(tmp_path, "export")) >= 2, process)
    journal = tmp_path / "records"
    wait_for(lambda: any(p.stat().st_size > 0 for p in journal.glob("*.journal")), process)
    before = seeds(tmp_path)
    cycle = json.loads((tmp_path / "state.json").read_text())["cycle"]
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = train(tmp_path, "--set", f"total_positions={400 * (cycle + 2)}")
    assert done.returncode == 0, done.stderr
    assert "recovered" in done.stderr and "continuing at cycle" in done.stderr
    after = seeds(tmp_path)
    assert set(before) < set(after) and len(after) == len(set(after)), "nothing lost, nothing twice"
    learned = [event["batches"] for event in events(tmp_path, "learn")]
    assert learned[-1] > learned[0] and max(learned) == learned[-1]
    assert not list(journal.glob("*.journal"))


@pytest.mark.posix
def test_ctrl_c_finishes_cleanly(tmp_path):
    started = command(tmp_path, *QUICK, *SHORT, module="training.selfplay")
    process = subprocess.Popen(started, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: (tmp_path / "log.jsonl").exists() and events(tmp_path, "learn"), process)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 0 and "stopped" in text
    assert not list((tmp_path / "records").glob("*.journal"))
    assert list((tmp_path / "checkpoints").glob("*.ckpt"))
    assert events(tmp_path, "stop")
    for path in (tmp_path / "checkpoints").glob("*.ckpt"):
        path.write_bytes(b"damaged" + path.read_bytes()[7:])
    done = train(tmp_path)
    assert done.returncode == 1 and "no checkpoint" in done.stderr and "Traceback" not in done.stderr


def test_bad_input_is_refused_clearly(tmp_path):
    cases = [
        (["--set", "plya.simulations=3"], "plya"),
        (["--set", "play.simulations=many"], "play.simulations"),
        (["--set", "play.simulations"], "key=value"),
        (["--set", "play=3"], "group of settings"),
        (["--set", "sizes=4"], "5 to 22"),
        (["--set", "rules=2"], "rule"),
        (["--set", "precision=int4"], "precision"),
    ]
    for arguments, words in cases:
        done = train(tmp_path / "x", *arguments)
        assert done.returncode == 2 and words in done.stderr, (arguments, done.stderr)
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "x").exists()


def test_a_run_of_other_features_or_a_missing_gpu_is_refused(tmp_path):
    import torch

    stored = {"preset": "smoke", "feature_version": 999, "config": {}}
    (tmp_path / "config.json").write_text(json.dumps(stored))
    done = train(tmp_path)
    assert done.returncode == 2 and "feature version 999" in done.stderr
    if not torch.cuda.is_available():
        done = train(tmp_path / "y", "--preset", "smoke", "--device", "cuda")
        assert done.returncode == 1 and "cuda" in done.stderr and "Traceback" not in done.stderr
        assert not (tmp_path / "y").exists()

"""What release 0.1.0 wrote still loads and goes on: runs, bundles, nets, recipes, settings."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.integration.local_workers import train
from training import bundle
from training.cluster.version import own_version
from training.data.shards import list_shards, read_shard
from training.learn.checkpoint import list_checkpoints, read_checkpoint
from training.play.evaluators import load_evaluator
from training.run.report import make_report
from training.run.state import read_state
from training.settings.recipes import FOLDER, preset, preset_names, read_recipe
from training.settings.resolve import make_config, read_stored

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SETTINGS = json.loads((HERE / "settings-0.1.json").read_text())
"""Every setting of 0.1.0 and its default."""


@pytest.fixture
def old_run(tmp_path) -> Path:
    """A run of 0.1.0 that SIGKILL ended in its seventh cycle: 7x7, a tower of 1 x 8."""
    run_dir = tmp_path / "run"
    with zipfile.ZipFile(HERE / "run-0.1.zip") as files:
        files.extractall(run_dir)
    return run_dir


def test_an_interrupted_run_goes_on(old_run):
    before = read_state(old_run)
    assert before.cycle == 5 and before.games == 71 and list((old_run / "records").glob("*.journal"))
    assert "Elo over time" in make_report(old_run)
    done = train(old_run, "--set", "total_positions=1600", "--set", "evaluation.pairs=1")
    assert done.returncode == 0, done.stderr
    assert "games that a killed run had finished" in done.stderr and "batches of learning" in done.stderr
    after = read_state(old_run)
    assert after.cycle > 6 and after.games > before.games and after.net > before.net
    newest = read_checkpoint(list_checkpoints(old_run / "checkpoints")[-1])
    assert newest["batches"] > 76 and newest["samples"] > 76 * 64
    assert after.games == sum(len(read_shard(path)) for path in list_shards(old_run / "records"))


def test_the_bundle_that_is_kept_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("training.learn.learner._CALIBRATION_BATCHES", 4)
    (kept,) = sorted((ROOT / "training" / "checkpoints").glob("*.zip"))[-1:]
    run_dir = tmp_path / "run"
    assert bundle.main(["unpack", str(kept), str(run_dir)]) == 0
    for shard in list_shards(run_dir / "records")[:-1]:
        shard.unlink()  # one is enough, and is read sooner
    before = read_state(run_dir)
    changes = ["cycle_positions=100", f"total_positions={before.positions + 100}", "games=4",
               "play.simulations=4", "evaluation.yardsticks=random", "evaluation.pairs=1",
               "evaluation.sizes=9", "evaluation.simulations=1", "sizes=9",
               "learner.reuse=0.01", "self_play_net=latest"]  # fmt: skip
    done = train(run_dir, "--workers", "1", *(word for change in changes for word in ("--set", change)))
    assert done.returncode == 0, done.stderr
    after = read_state(run_dir)
    assert after.cycle == before.cycle + 1 and after.positions > before.positions
    assert after.net.startswith(f"c{after.cycle:06d}")


@pytest.mark.parametrize("file", ["best.int8.onnx", "nets/c000005.int8.onnx"])
def test_old_nets_play(old_run, file):
    evaluator = load_evaluator(str(old_run / file))
    priors, wdl = evaluator.evaluate(np.zeros((2, 23, 7, 7), np.float32), np.zeros(2, np.uint64))[:2]
    assert np.isfinite(priors).all() and np.isfinite(wdl).all()


def test_stored_settings_of_an_old_run_load(old_run):
    source, stored = read_stored(old_run / "config.json")
    config = make_config(stored)
    assert source == "smoke" and config.learner.net.channels == 8 and config.cycle_positions == 250


def test_every_old_setting_is_still_accepted():
    texts = [f"{key}={_text(value)}" for key, value in SETTINGS.items()]
    assert make_config({}, texts) == make_config({})
    nested: dict[str, object] = {}
    for key, value in SETTINGS.items():
        *groups, name = key.split(".")
        table = nested
        for group in groups:
            table = table.setdefault(group, {})
        table[name] = value
    assert make_config(nested) == make_config({})


def _text(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "none" if value is None else str(value)


@pytest.mark.parametrize("name", preset_names())
def test_recipes_load_and_those_behind_them(name):
    assert make_config(preset(name).settings)
    for path in (FOLDER / name).glob("*.toml"):
        assert make_config(read_recipe(path).settings)
    for path in (FOLDER / name).glob("config.json"):
        assert make_config(json.loads(path.read_text())["config"])


def test_workers_of_two_versions_refuse_each_other_in_words():
    ours = own_version()
    for part, words in (("features", "feature version"), ("search", "kernel finds"), ("code", "sources")):
        other = type(ours)(**{**{n: getattr(ours, n) for n in ("features", "search", "code")}, part: 7})
        assert words in ours.differs(other)
    assert not ours.differs(own_version())

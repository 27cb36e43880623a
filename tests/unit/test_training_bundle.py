"""A run in one file: what goes in comes out, and bad ones change nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.unit.test_training_learner import CONFIG, learner_at
from training.bundle import main
from training.data.shards import list_shards, write_shard
from training.learn.learner import Learner
from training.run.bundle import BundleError, pack, unpack


@pytest.fixture
def run(tmp_path):
    """A run of a few batches with many shards."""
    folder = tmp_path / "run"
    learner = learner_at(folder, CONFIG)
    games = next(iter(learner.window._sizes.values())).chunks[0].games
    for i in range(30):
        write_shard(learner.records_dir / f"{i + 1:06d}-00.shard", games)
    learner.refresh()
    learner.step(3)
    learner.save()
    (folder / "config.json").write_text("{}")
    (folder / "state.json").write_text(json.dumps({"cycle": 30}))
    return folder


def test_a_run_goes_on_from_its_bundle(run, tmp_path):
    file, again = tmp_path / "run.zip", tmp_path / "again"
    content = pack(run, file, 10**8)
    assert content["batches"] == 3 and content["shards"] == len(list_shards(run / "records"))
    assert content["bytes"] == file.stat().st_size
    assert unpack(file, again) == 3
    said = []
    here, there = (Learner(CONFIG, folder, "cpu", said.append) for folder in (run, again))
    assert here.load() and there.load()
    assert here.step(2) == there.step(2)
    assert not said


def test_the_newest_records_go_first_where_not_all_fit(run, tmp_path):
    shard = max(path.stat().st_size for path in list_shards(run / "records"))
    everything = pack(run, tmp_path / "all.zip", 10**8)["bytes"]
    limit = everything + 64_000 - 20 * shard
    content = pack(run, tmp_path / "part.zip", limit)
    assert 0 < content["shards"] < 30 and content["bytes"] <= limit
    unpack(tmp_path / "part.zip", tmp_path / "part")
    kept = [path.name for path in list_shards(tmp_path / "part" / "records")]
    assert kept == [path.name for path in list_shards(run / "records")][-content["shards"] :]
    said = []
    learner = Learner(replace(CONFIG), tmp_path / "part", "cpu", said.append)
    assert learner.load() and "shards are not in" in said[0] and len(said) == 1
    learner.step(1)
    with pytest.raises(BundleError, match="too few"):
        pack(run, tmp_path / "none.zip", 1000)
    assert not (tmp_path / "none.zip").exists()


def test_bad_bundles_change_nothing(run, tmp_path, capsys):
    file = tmp_path / "run.zip"
    pack(run, file, 10**8)
    with pytest.raises(BundleError, match="exists"):
        unpack(file, run)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(BundleError, match=r"run\.zip"):
        unpack(file, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    file.write_bytes(b"nothing")
    assert main(["unpack", str(file), str(tmp_path / "new")]) == 1
    assert main(["pack", str(tmp_path), str(tmp_path / "x.zip")]) == 1
    assert capsys.readouterr().err.count("error:") == 2

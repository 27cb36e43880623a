"""A run in one file: what goes in comes out, and bad ones change nothing."""

from __future__ import annotations

import json
import stat
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.learner import CONFIG, learner_at
from tests.helpers.paths import ROOT
from training.bundle import main
from training.data.shards import list_shards, write_shard
from training.learn.averaged import slim
from training.learn.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from training.learn.learner import Learner
from training.run import nets
from training.run.bundle import BundleError, pack, unpack
from training.run.plan import Plan
from training.settings.resolve import store_config
from training.settings.schema import RunConfig


@pytest.fixture
def run(tmp_path):
    """A run of a few batches with many shards."""
    folder = tmp_path / "run"
    learner = learner_at(folder, CONFIG)
    games = next(iter(learner.dataset._sizes.values())).chunks[0].games
    for i in range(30):
        write_shard(learner.records_dir / f"{i + 1:06d}-00.shard", games)
    learner.dataset.refresh()
    learner.step(3)
    learner.save()
    store_config(folder / "config.json", "smoke", RunConfig())
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


def test_a_runs_own_teacher_travels_with_it(run, tmp_path):
    teacher = learner_at(tmp_path / "teacher", CONFIG)
    teacher.step(9)
    state = read_checkpoint(teacher.save())
    write_checkpoint(tmp_path / "kept", 9, slim(state), 1).rename(run / "teacher.ckpt")
    pack(run, tmp_path / "run.zip", 10**8)
    assert unpack(tmp_path / "run.zip", tmp_path / "again") == 3  # batches of the run, not of its teacher
    assert (tmp_path / "again" / "teacher.ckpt").read_bytes() == (run / "teacher.ckpt").read_bytes()
    student = Learner(
        replace(CONFIG, teacher=str(tmp_path / "again" / "teacher.ckpt")), tmp_path / "again", "cpu"
    )
    assert student.load() and "teacher_kl" in student.step(1)
    (run / "teacher.ckpt").write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match=r"teacher\.ckpt"):
        pack(run, tmp_path / "worse.zip", 10**8)
    assert not (tmp_path / "worse.zip").exists()


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
    assert learner.load() and "of these are in" in said[0] and len(said) == 1
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


# --- bundles from strangers


def crafted(good: Path, bad: Path, change: Callable[[zipfile.ZipFile], object], leave: str = "") -> Path:
    """Copy a bundle without one of its files, with something added."""
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(bad, "w") as new:
        for member in old.infolist():
            if member.filename != leave:
                new.writestr(member.filename, old.read(member))
        change(new)
    return bad


def put(name: str, text: str | bytes) -> Callable[[zipfile.ZipFile], object]:
    return lambda file: file.writestr(name, text)


def link(name: str, to: str) -> Callable[[zipfile.ZipFile], object]:
    member = zipfile.ZipInfo(name)
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return lambda file: file.writestr(member, to)


@pytest.mark.parametrize(
    "name",
    [
        "../evil.sh", "records/../../evil.sh", "/tmp/evil.sh", "C:/evil.sh", "records/a/b.shard",
        "records/..shard", "records/000001-00.journal", "checkpoints/step-1.ckpt.damaged",
        "nets/c000001.onnx", "lock", "report.html", "best.sh", "CONFIG.JSON", "records/", "config.json/",
        "records\\..\\x.shard", "config.json\0.sh", "tensorboard/x", "records/" + "x" * 300 + ".shard",
    ],
)  # fmt: skip
def test_a_name_that_no_run_has_is_refused_before_anything_is_written(run, tmp_path, name):
    good, out = tmp_path / "run.zip", tmp_path / "deep" / "out"
    pack(run, good, 10**8)

    def add(file: zipfile.ZipFile) -> None:
        member = zipfile.ZipInfo("x")
        member.filename = member.orig_filename = name
        file.writestr(member, "echo evil")

    bad = crafted(good, tmp_path / "bad.zip", add)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BundleError) as caught:
        unpack(bad, out)
    assert repr(name)[1:60].rstrip("'") in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before and not Path("/tmp/evil.sh").exists()


@pytest.mark.parametrize(
    ("change", "leave", "words"),
    [
        (link("standings.json", "/etc/passwd"), "", "standings.json is a link"),
        pytest.param(
            put("config.json", "{}"), "", "config.json is there twice",
            marks=pytest.mark.filterwarnings("ignore:Duplicate name"),
        ),
        (put("state.json", '{"net": "../../evil.onnx"}'), "state.json", "state.json: net"),
        (put("config.json", "{}"), "config.json", "config.json is damaged"),
        (put("standings.json", '{"best": "../x"}'), "", "standings.json: best"),
        (put("best.json", "[]"), "", "best.json is damaged"),
        (put("log.jsonl", b"\xff"), "", "log.jsonl is no text"),
        (put("records/9.shard", "none"), "", r"records/9.shard: not a shard"),
        (put("checkpoints/step-000000009.ckpt", "x" * 99), "", "step-000000009.ckpt: checksum"),
        (put("teacher.ckpt", "x" * 99), "", "teacher.ckpt: checksum"),
        (put("best.md", bytes(17 << 20)), "", "best.md has 17825792 bytes"),
        (lambda file: None, "state.json", "missing: state.json"),
        (lambda file: None, "checkpoints/step-000000003.ckpt", "missing: a checkpoint"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_refused_before_anything_is_written(
    run, tmp_path, change, leave, words
):
    good = tmp_path / "run.zip"
    pack(run, good, 10**8)
    bad = crafted(good, tmp_path / "bad.zip", change, leave)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BundleError, match=words):
        unpack(bad, tmp_path / "out")
    assert sorted(tmp_path.rglob("*")) == before


def test_the_bundle_that_comes_with_the_program_can_be_unpacked(tmp_path):
    bundles = sorted((ROOT / "training" / "checkpoints").glob("*.zip"))
    assert bundles
    batches = unpack(bundles[-1], tmp_path / "run")  # 0 where a run has begun with another one's weights
    assert (tmp_path / "run" / "checkpoints" / f"step-{batches:09d}.ckpt").exists()
    assert list((tmp_path / "run" / "records").glob("*.shard"))
    assert not list(tmp_path.glob(".*"))


def test_a_damaged_newest_checkpoint_is_passed_over(run, tmp_path):
    learner = Learner(CONFIG, run, "cpu", lambda line: None)
    learner.load()
    learner.step(2)
    newest = learner.save()
    newest.write_bytes(newest.read_bytes()[:-9])
    said = []
    assert pack(run, tmp_path / "run.zip", 10**8, said.append)["batches"] == 3
    assert len(said) == 1 and newest.name in said[0]
    assert unpack(tmp_path / "run.zip", tmp_path / "again") == 3
    plan = Plan(tmp_path / "next", "smoke", RunConfig(), {run: 1.0})
    found = plan.checkpoints(said.append)
    assert [path.name for path in found] == ["step-000000003.ckpt"] and len(said) == 2


def test_the_best_net_travels_with_its_run(run, tmp_path):
    (run / "nets").mkdir()
    (run / "standings.json").write_text('{"best": "c000007"}')
    said = []
    assert pack(run, tmp_path / "lost.zip", 10**8, said.append) and "c000007" in said[0]
    (run / "nets" / "c000007.fp32.onnx").write_text("the net")
    nets.promote(run, "c000007", {"elo": 3.0})
    again = tmp_path / "again"
    pack(run, tmp_path / "run.zip", 10**8)
    unpack(tmp_path / "run.zip", again)
    (again / "nets").mkdir()
    assert nets.restore_best(again, "c000007")
    assert nets.find(again, "c000007", "int8.onnx").read_text() == "the net"
    (run / "best.json").write_text('{"net": "c000009"}')  # a kill between promoting and the standings
    (run / "best.fp32.onnx").write_text("another")
    pack(run, tmp_path / "half.zip", 10**8)
    half = tmp_path / "half"
    unpack(tmp_path / "half.zip", half)
    (half / "nets").mkdir()
    assert nets.restore_best(half, "c000007")
    assert nets.find(half, "c000007", "").read_text() == "the net"
    assert not nets.restore_best(half, "c000008")

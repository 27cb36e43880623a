"""Starts of a run: a refused one changes nothing, one that can do nothing says why, output may be cut off."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.pipes import CLOSED_PIPE_STATUS
from tests.helpers.training_games import random_game
from training import bundle, levels, report, selfplay, sense, ship
from training.data.replay_buffer import ReplayBuffer
from training.data.shards import write_shard
from training.files import console
from training.files.naming import shown_name
from training.loop import Run
from training.run.display import time_text
from training.run.log import RunLog
from training.settings.recipes import preset
from training.settings.resolve import make_config, read_stored, store_config
from training.settings.schema import LearnerConfig

SMALL = ["minutes=60.0", "device=cpu", "workers=1", "learner.net.channels=8", "learner.net.blocks=1"]


@pytest.fixture
def run_dir(tmp_path) -> Path:
    """A run of 50 minutes with a checkpoint and games."""
    folder = tmp_path / "run"
    config = make_config(preset("smoke").settings, SMALL)
    folder.mkdir()
    run = Run(config, folder, lambda: True, _Silent())
    write_shard(folder / "records" / "000001-00.shard", [random_game(i, 7) for i in range(3)])
    store_config(folder / "config.json", "smoke", config)
    run.learner.batches = 1
    run.learner.save()
    run.log.close()
    state = {"cycle": 1, "games": 3, "positions": 90, "elapsed_s": 3000.0, "net": "c000001.fp32.onnx"}
    (folder / "state.json").write_text(json.dumps({**state, "measured": ["c000001"]}))
    return folder


class _Silent:
    def say(self, text: str) -> None:
        """Say nothing."""

    def status(self, **fields: object) -> None:
        """Show nothing."""


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(capsys, *arguments: str) -> str:
    assert selfplay.main([*arguments]) != 0
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("error: ")
    return lines[-1]


@pytest.mark.parametrize(
    "settings",
    [["learner.net.channels=24"], ["learner.net.kind=lines"], ["learner.net.blocks=2"],
     ["learner.net.policy_channels=4", "sizes=9", "rules=4", "seed=9", "learner.batch=32"],
     ["learner.net.value_hidden=9", "evaluation.every_minutes=1"], ["self_play_net=best"],
     ["learner.teacher=none/there", "learner.batch=32"], ["evaluation.sizes=9,40"],
     ["evaluation.sizes="], ["evaluation.pairs=0"]],
)  # fmt: skip
def test_a_refused_start_changes_nothing(run_dir, capsys, settings):
    before = contents(run_dir)
    refused(capsys, "--run-dir", str(run_dir), *(word for s in settings for word in ("--set", s)))
    after = contents(run_dir)
    after.pop("lock", None)
    assert after == before


@pytest.mark.parametrize(
    "arguments",
    [["--set", "pretrain_samples=1000"], ["--weights", "{run}", "--set", "learner.net.channels=4"],
     ["--weights", "{run}", "--records", "{run}/none"], ["--weights", "{run}/none"],
     ["--weights", "{run}/log.jsonl", "--records", "{run}/records"]],
)  # fmt: skip
def test_a_refused_start_of_a_new_run_leaves_no_directory(run_dir, tmp_path, capsys, arguments):
    given = [argument.format(run=run_dir) for argument in arguments]
    refused(capsys, "--run-dir", str(tmp_path / "new"), "--preset", "smoke", *given)
    assert not (tmp_path / "new").exists()


def test_a_bundle_is_no_run_to_begin_with(run_dir, tmp_path, capsys):
    assert bundle.main(["pack", str(run_dir), str(tmp_path / "run.zip")]) == 0
    said = refused(capsys, "--run-dir", str(tmp_path / "new"), "--weights", str(tmp_path / "run.zip"))
    assert "run.zip is a bundle" in said and "training.bundle unpack" in said
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [(sense.main, ["--net", "nope"]), (sense.main, ["--levels", "11"]), (levels.main, ["--net", "nope"]),
     (report.main, ["{run}", "--output", "{run}/none/r.html"]), (ship.main, ["{run}", "--name", "x"])],
)  # fmt: skip
def test_what_other_commands_cannot_do_is_one_line(run_dir, capsys, command, words):
    for shard in (run_dir / "records").iterdir():
        shard.unlink()
    assert command([word.format(run=run_dir) for word in words]) in (1, 2)
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("error: ")


@pytest.mark.parametrize(
    ("length", "way_on"),
    [(["--minutes", "3"], "--more-minutes N"), (["--set", "total_positions=80"], "total_positions=N with")],
)
def test_a_call_that_can_do_nothing_is_an_error_and_changes_nothing(run_dir, capsys, length, way_on):
    before = contents(run_dir)
    said = refused(capsys, "--run-dir", str(run_dir), *length)
    assert "50.0 minutes of training" in said and "nothing to do" in said and way_on in said
    assert contents(run_dir) == before


@pytest.mark.parametrize(("more", "minutes"), [("600", 650.0), ("0.5", 50.5)])
def test_more_minutes_count_from_now_on_and_are_stored_as_an_end(run_dir, monkeypatch, more, minutes):
    monkeypatch.setattr(Run, "run", lambda self: None)
    assert selfplay.main(["--run-dir", str(run_dir), "--more-minutes", more]) == 0
    assert selfplay.main(["--run-dir", str(run_dir)]) == 0, "the plain command keeps the end"
    assert read_stored(run_dir / "config.json")[1]["minutes"] == minutes


@pytest.mark.parametrize("length", ["0", "-3", "nan", "inf"])
def test_more_minutes_are_more_than_none(run_dir, capsys, length):
    assert "--more-minutes must be" in refused(capsys, "--run-dir", str(run_dir), "--more-minutes", length)


def test_lines_about_a_run_that_came_in_a_bundle_have_a_meaning(run_dir, tmp_path, capsys):
    assert bundle.main(["pack", str(run_dir), str(tmp_path / "run.zip")]) == 0
    assert bundle.main(["unpack", str(tmp_path / "run.zip"), str(tmp_path / "more")]) == 0
    said = capsys.readouterr().out
    assert "1 cycles, 3 games and 50.0 minutes" in said and "positions in 1 shards" in said
    lines: list[str] = []
    window = ReplayBuffer(tmp_path / "more" / "records", LearnerConfig(), lines.append)
    sizes = [[7, 7, 100, ["000001-00.shard", "000000-00.shard"]]]
    window.restore({"known": [], "games_seen": 9, "sizes": sizes})
    assert "from 2 shards" in lines[0] and "1 of these are in" in lines[0]


@pytest.mark.parametrize(
    ("seconds", "text"), [(7.0, "7 s"), (300.0, "5 min"), (3599.0, "59 min"), (7500.0, "2 h 05 min")]
)
def test_time_left_is_said_in_units(seconds, text):
    assert time_text(seconds) == text


def test_a_folder_that_the_locale_cannot_spell_is_shown_and_logged(tmp_path):
    folder = tmp_path / b"m\xfcll \xc5\xbe".decode("ascii", "surrogateescape")
    folder.mkdir()
    assert shown_name(folder) == "m�ll ž"
    log = RunLog(folder)
    log.event("play", cycle=1, games=1)
    log.close()
    (folder / "records").mkdir()
    out = subprocess.run(
        [sys.executable, "-m", "training.report", folder], capture_output=True, check=False,
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )  # fmt: skip
    assert out.returncode == 0 and out.stderr == b"", out.stderr
    assert "m�ll ž" in (folder / "report.html").read_text(encoding="utf-8")


def test_output_that_is_cut_off_ends_a_command_in_silence():
    command = [sys.executable, "-m", "training.selfplay", "--show-config"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == CLOSED_PIPE_STATUS


def test_a_closed_pipe_is_no_error_of_a_file():
    class Closed(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            raise BrokenPipeError

    output = console._Output(io.BufferedWriter(Closed(), 1), "utf-8", write_through=True)
    with pytest.raises(SystemExit):
        output.write("a line\n")

"""The commands `arena.match` and `training.match`: one line for what is wrong, settings of both players."""

from __future__ import annotations

import subprocess
import sys

import pytest

from arena import match_runner
from arena.match import with_settings
from tests.helpers.paths import ROOT
from training.match import main
from training.measure.players import PLAYERS


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_net_that_is_missing_is_one_line(concurrency, capsys):
    told = ["--a", "engine:net=/no/such.onnx", "--b", "random", "--nodes", "1", "--games", "2"]
    assert main([*told, "--concurrency", str(concurrency)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: a does not start (engine:net=/no/such.onnx): ") and error.count("\n") == 1


@pytest.mark.posix
@pytest.mark.parametrize("module", ["arena.match", "training.match"])
def test_output_that_nobody_reads_is_no_failure(module):
    told = f"{sys.executable} -m {module} --a random --b random --games 40 --size 5 | head -n 1"
    done = subprocess.run(
        ["sh", "-c", told], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("   1/40") and done.stderr == ""


def test_an_unquoted_blank_is_one_line(capsys, tmp_path):
    program = tmp_path / "my brain"
    program.write_text("")
    assert main(["--a", f"{program} --level 1", "--b", "random", "--games", "2"]) == 2
    error = capsys.readouterr().err
    assert f"quote the path: '{program}' --level 1" in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [(["--sprt", "20"], "not two numbers"), (["--sprt", "20,0"], "ELO0 must be below ELO1"),
     (["--sprt", "0,inf"], "within 1000"), (["--size", "abc"], "no size"), (["--size", "15x"], None)],
)  # fmt: skip
def test_arguments_that_make_no_sense_are_refused(words, why, capsys):
    told = ["--a", "random", "--b", "random", "--games", "2", "--nodes", "1", *words]
    if why is None:
        assert main(told) == 0
        return
    with pytest.raises(SystemExit) as end:
        main(told)
    assert end.value.code == 2 and why in capsys.readouterr().err


@pytest.mark.parametrize("own", [[], ["--no-lock"]])
def test_players_inside_say_that_they_wait_or_do_not_wait(own, monkeypatch, capsys):
    monkeypatch.setattr(match_runner, "pause_while_timed", lambda say: say("pausing: the machine is timed"))
    assert main(["--a", "random", "--b", "random", "--games", "2", "--size", "5", *own]) == 0
    assert ("pausing" in capsys.readouterr().err) == (not own)


def test_settings_of_both_players_go_to_each():
    assert with_settings("engine:nodes=4", ["lines=avx2"], PLAYERS) == "engine:nodes=4,lines=avx2"
    assert with_settings("engine:", ["a=1", "b=2"], PLAYERS) == "engine:a=1,b=2"
    assert with_settings("python -m protocol", ["a=1"], PLAYERS) == "python -m protocol --set a=1"
    with pytest.raises(ValueError, match="--both is for two players of Tengen"):
        with_settings("random", ["lines=avx2"], PLAYERS)

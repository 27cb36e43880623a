"""A round of games and of learning from them: its commands, what stops it, how it goes on."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from training import offline, rounds
from training.data.shards import list_shards, read_shard
from training.rounds import main
from training.settings.round_recipe import read_round_recipe, round_recipe_names
from training.settings.values import ConfigError

RECIPE = """
simulations = 8
opening_simulations = 8
most = 1.0
[learn]
passes = 1
set = ["learner.fast_weight=1", "learner.teacher_share=0.5", "learner.batch=8"]
[games.free]
size = 15
pairs = 1
stones = "4"
[games.small]
size = 9
pairs = 1
stones = "4"
spread = 2
"""
KEPT = Path(__file__).parents[2] / "training" / "checkpoints"
BUNDLE = str(KEPT / "r23-4x64.zip")
CHECKPOINT = str(KEPT / "zero16-4x64.ckpt")


def planned(capsys, *arguments: str) -> list[list[str]]:
    assert main([*arguments, "--show"]) == 0
    return [shlex.split(line) for line in capsys.readouterr().out.splitlines()]


def value_of(command: list[str], option: str) -> list[str]:
    return [command[i + 1] for i, word in enumerate(command) if word == option]


@pytest.mark.parametrize("name", round_recipe_names())
def test_recipes_that_come_with_the_program_are_whole(name):
    recipe = read_round_recipe(name)
    assert recipe.games and recipe.learn.set


def test_steps_are_commands_that_hand_files_on(tmp_path, capsys):
    (tmp_path / "r.toml").write_text(RECIPE)
    run, old = tmp_path / "run", tmp_path / "old"
    (old / "round" / "positions").mkdir(parents=True)
    plan = planned(
        capsys, "--run-dir", str(run), "--weights", str(old), "--recipe", str(tmp_path / "r.toml"), "--also",
        str(old), "--small-teacher", "elsewhere", "--workers", "3", "--net", "mine.onnx",
    )  # fmt: skip
    assert not run.exists()
    modules = [command[2].removeprefix("training.") for command in plan]
    assert modules == ["balance", "match"] * 2 + ["from_games", "offline", "offline"] * 2 + ["offline"]
    for make, play in (plan[0:2], plan[2:4]):
        assert value_of(make, "--out") == value_of(play, "--openings")
        assert value_of(make, "--size") == value_of(play, "--size")
        assert value_of(play, "--games") == ["2"] and value_of(play, "--concurrency") == ["3"]
        assert value_of(play, "--b") == [f"{value_of(play, '--a')[0]},search.c_puct=1.3"]
    assert [value_of(label, "--teacher") for label in (plan[6], plan[9])] == [[str(old)], ["elsewhere"]]
    made = [value_of(encode, "--positions")[0] for encode in (plan[5], plan[8])]
    assert value_of(plan[-1], "--positions") == [str(old / "round" / "positions"), *made]


def test_a_round_is_played_and_learned_and_goes_on_where_it_stopped(tmp_path, capsys, monkeypatch):
    (tmp_path / "r.toml").write_text(RECIPE)
    run = tmp_path / "run"
    recipe = str(tmp_path / "r.toml")
    command = ["--run-dir", str(run), "--weights", BUNDLE, "--recipe", recipe, "--workers", "1"]
    monkeypatch.setitem(rounds._MAINS, "training.offline", lambda arguments: 1)
    assert main(command) == 1
    done = json.loads((run / "round" / "steps.json").read_text())["steps"]
    assert [step.split()[0] for step in done][-1] == "training.from_games"
    assert "step 7 of 12" in capsys.readouterr().err
    monkeypatch.setitem(rounds._MAINS, "training.offline", offline.main)
    played = (run / "round" / "free.games.jsonl").read_bytes()
    assert main(command) == 0
    said = capsys.readouterr().err
    assert "step 6 of" not in said and "step 7 of 12: python -m training.offline encode" in said
    assert (run / "round" / "free.games.jsonl").read_bytes() == played
    assert (run / "nets" / "run.fp32.onnx").exists()
    games = [game for path in list_shards(run / "round" / "records") for game in read_shard(path)]
    assert games and all(game.width == 15 for game in games)
    assert main(command) == 0 and "step" not in capsys.readouterr().err
    changed = [*command[:-1], "2", "--net", "uniform"]
    assert main(changed) == 2
    assert "was begun otherwise" in capsys.readouterr().err


def test_a_bundle_is_unpacked_and_a_checkpoint_is_taken_as_it_is(tmp_path, capsys):
    (tmp_path / "r.toml").write_text(RECIPE)
    command = ["--run-dir", str(tmp_path / "run"), "--recipe", str(tmp_path / "r.toml"), "--weights"]
    unpack, *others = planned(capsys, *command, BUNDLE)
    assert unpack[2:5] == ["training.bundle", "unpack", BUNDLE]
    assert value_of(others[-1], "--weights") == [unpack[5]]
    plan = planned(capsys, *command, CHECKPOINT)
    assert len(plan) == len(others) and value_of(plan[-1], "--weights") == [CHECKPOINT]


def test_errors_are_one_line(tmp_path, capsys):
    good = ["--run-dir", str(tmp_path / "run"), "--weights", BUNDLE]
    assert main([*good, "--recipe", "none"]) == 2
    assert "none: cannot be read" in capsys.readouterr().err
    assert main([*good, "--also", str(tmp_path)]) == 2
    assert "no round with positions" in capsys.readouterr().err
    assert main([*good, "--workers", "-1"]) == 2
    assert "--workers" in capsys.readouterr().err
    assert main([*good, "--teacher", str(tmp_path / "nowhere")]) == 2
    assert "nowhere is neither" in capsys.readouterr().err
    for teacher in ("--teacher", "--small-teacher"):
        assert main([*good, teacher, BUNDLE]) == 2
        assert f"{teacher} {BUNDLE} is a bundle" in capsys.readouterr().err
    assert main([*good[:3], str(tmp_path / "nowhere")]) == 2
    assert "nowhere is neither a checkpoint nor a run" in capsys.readouterr().err
    assert main([*good, "--net", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('set = ["learner.batches=8"]', "learner.batches"),
        ('preset = "none"', "unknown preset"),
        ("passes = 0", "learn.passes must be above 0"),
        ("[games.no]\nstones = '9'\nspread = 1", "--stones 9"),
        ("[games.no]\nrule = 'none'", "none"),
    ],
)
def test_what_would_stop_a_round_after_hours_is_said_at_once(tmp_path, capsys, wrong, said):
    (tmp_path / "r.toml").write_text(f"[learn]\n{wrong}\n[games.free]\npairs = 1\n")
    command = ["--run-dir", str(tmp_path / "run"), "--weights", BUNDLE, "--recipe", str(tmp_path / "r.toml")]
    assert main(command) == 2 and said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    (tmp_path / "r.toml").write_text("other = 'search.puct=1'\n[games.free]\npairs = 1\n")
    assert main(command) == 2 and "search.puct" in capsys.readouterr().err


def test_weights_that_do_not_fit_are_said_at_once(tmp_path, capsys):
    recipe = tmp_path / "r.toml"
    command = ["--run-dir", str(tmp_path / "run"), "--weights", BUNDLE, "--recipe", str(recipe)]
    recipe.write_text('[learn]\nset = ["learner.net.blocks=3"]\n[games.free]\npairs = 1\n')
    for weights in (BUNDLE, CHECKPOINT):
        assert main([*command[:3], weights, *command[4:]]) == 2
        assert "3 blocks have no place for the 4" in capsys.readouterr().err
    recipe.write_text("[games.free]\npairs = 1\nsize = 22\n")
    assert main(command) == 2 and "cannot label the games free on 22" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("simulations = 3", "no table of games"),
        ("[games]\nfree = 3", "games.free must be a table"),
        ("[games.free]\nsides = 3", "games.free.sides"),
        ("[games.free]\npairs = 0", "games.free.pairs must be at least 1"),
        ("[games.'a/b']\npairs = 1", "make a name"),
        ("simulations = 'x'\n[games.free]\npairs = 1", "simulations must be"),
        ("= 3", "not a TOML file"),
    ],
)
def test_a_bad_recipe_is_an_error_that_names_the_file(tmp_path, text, said):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"bad\.toml") as error:
        read_round_recipe(str(path))
    assert said in str(error.value)

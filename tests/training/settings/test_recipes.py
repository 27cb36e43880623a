"""Settings and recipes: all is known about each setting, files are read or refused by name, runs in order."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT
from training import selfplay
from training.run.plan import Plan, plan_run
from training.settings.field import NOT_TUNED, about, is_setting
from training.settings.recipes import FOLDER, Recipe, earlier, preset, preset_names, read_recipe
from training.settings.resolve import make_config, store_config
from training.settings.round_recipe import ROUNDS
from training.settings.schema import RunConfig, StartConfig
from training.settings.values import ConfigError

STORED = ("zero7-4x64", "zero10-4x64", "zero11-4x64", "zero12-4x64")
"""Nets that shipped, whose runs' own `config.json` is next to the recipe."""
RECIPES = sorted(path for path in FOLDER.rglob("*.toml") if path.parent != ROUNDS)


def every_setting(kind: type, where: str = "") -> Iterator[tuple[str, dataclasses.Field[object]]]:
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(hints[field.name]):
            yield from every_setting(hints[field.name], f"{where}{field.name}.")
        else:
            yield where + field.name, field


@pytest.mark.parametrize(
    ("path", "field"), [*every_setting(RunConfig), *every_setting(StartConfig, "start.")],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_unit_source_and_reader_of_every_setting_are_known(path, field):
    known = about(field)
    if isinstance(field.default, (int, float)) and not isinstance(field.default, bool):
        assert known.unit, path
    assert known.source == NOT_TUNED or known.source.startswith(("tuned: ", "derived: ")), path
    if is_setting(field):
        reader = (ROOT / "training" / known.reader).read_text(encoding="utf-8")
        assert re.search(rf"\.{field.name}\b", reader), f"{known.reader} does not read {path}"
    assert not known.text.endswith(".")


def test_a_run_has_fifty_settings_at_most():
    assert sum(is_setting(field) for _, field in every_setting(RunConfig)) <= 50


def test_settings_of_older_releases_are_reported_once_where_they_differ():
    said: list[str] = []
    settings = {"play": {"tree_bytes": 4 << 20, "gumbel": {"noise": 0.5}}, "learner": {"schedule": "kl"}}
    config = make_config(settings, ["small_sizes=9,11", "evaluation.size=15", "learner.clip=9"], said.append)
    assert config == make_config({})
    assert [line.partition(" ")[0] for line in said] == [
        "small_sizes", "play.gumbel.noise", "learner.clip", "learner.schedule",
    ]  # fmt: skip
    assert said[2].endswith("9 is ignored, 2.0 holds")
    assert make_config({"seed": 3}).learner.seed == 3
    assert make_config({"learner": {"seed": 4}}).learner.seed == 4, "as an older run had it"


def test_help_shows_default_unit_source_and_reader(capsys):
    with pytest.raises(SystemExit):
        selfplay.main(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "batch = 256 positions: in a batch. [not tuned; read by learn/learner.py]" in text
    assert "root_mix = 0.25 share: of the searched root WDL" in text and "[tuned: prototype; read by" in text


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_recipe_can_be_played(path):
    recipe = read_recipe(path)
    make_config(recipe.settings)
    begun = len(recipe.start.weights) + len(recipe.start.records)
    assert len(earlier(recipe)) >= bool(begun)


@pytest.mark.parametrize("name", STORED)
def test_the_recipe_of_a_net_that_shipped_is_that_of_its_run(name):
    stored = json.loads((FOLDER / name / "config.json").read_text(encoding="utf-8"))["config"]
    assert make_config(stored) == make_config(preset(name).settings)


def test_the_runs_behind_the_net_that_ships_come_in_order():
    before = earlier(preset("zero12-4x64"))
    older = ["r1", "r2", "r3", "r5", "r6", "r8", "r11", "r12", "r14", "zero7-4x64"]
    newer = ["v1", "r17", "planes2", "zero10-4x64", "r18", "r18on", "all", "own"]
    assert [recipe.name for recipe in before] == [*older, *newer]
    networks = {recipe.name: make_config(recipe.settings).learner.net for recipe in before}
    last = make_config(preset("zero12-4x64").settings).learner.net
    assert all(networks[name] == last for name in ("r6", "r8", "r14", "zero7-4x64", *newer))
    for recipe in before:
        assert make_config(recipe.settings).minutes or make_config(recipe.settings).total_positions


def test_recipes_are_packed():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    training = ROOT / "training"
    packed = {path for pattern in settings["package-data"]["training"] for path in training.glob(pattern)}
    assert packed >= {*RECIPES, *ROUNDS.glob("*.toml")} and len(RECIPES) > 5
    folders = {".".join(p.parent.relative_to(ROOT).parts) for p in training.rglob("__init__.py")}
    assert folders <= set(settings["packages"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour = 1", "unknown setting 'colour'"),
        ("[learner]\nlearning_rate = 1", "unknown setting 'learner.learning_rate'"),
        ("[learner]\nbatch = 1.5", "learner.batch must be a whole number, not 1.5"),
        ("[learner]\nlr = '0.1'", "learner.lr must be a number, not '0.1'"),
        ("[learner]\nlr = nan", "learner.lr must be a finite number"),
        ("sizes = '15'", "sizes must be a list, each item text, not '15'"),
        ("sizes = [15]", "sizes must be text, not 15"),
        ("[play]\nendings = 1", "play.endings must be true or false, not 1"),
        ("play = 3", "play must be a table of settings"),
        ("start = 3", "start must be a table of settings"),
        ("[start]\nweight = ['a.toml']", "unknown setting 'start.weight'"),
        ("[start]\nweights = ['a.toml=0']", "start.weights 'a.toml=0': the weight must be a number above 0"),
        ("device = 'tpu'", "device must be auto, cpu or cuda"),
        ("seed = ", "not a TOML file"),
    ],
)  # fmt: skip
def test_a_wrong_recipe_is_refused_with_file_and_key(tmp_path, text, message, capsys):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        read_recipe(path)
    assert str(refused.value).startswith(f"{path}: ") and message in str(refused.value)
    assert selfplay.main(["--run-dir", str(tmp_path / "run"), "--config", str(path)]) == 2
    said = capsys.readouterr()
    assert said.err == f"error: {refused.value}\n" and said.out == ""
    assert not (tmp_path / "run").exists()


def test_a_missing_recipe_or_preset_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_recipe(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="unknown preset 'none'"):
        preset("none")


def test_chains_that_cannot_be_played_are_refused(tmp_path):
    (tmp_path / "a.toml").write_text("[start]\nrecords = ['b.toml']")
    (tmp_path / "b.toml").write_text("[start]\nweights = ['a.toml']")
    with pytest.raises(ConfigError, match=r"builds on itself"):
        earlier(read_recipe(tmp_path / "a.toml"))
    (tmp_path / "b.toml").write_text("[start]\nweights = ['other/c.toml', 'c.toml']")
    (tmp_path / "other").mkdir()
    for path in (tmp_path / "c.toml", tmp_path / "other" / "c.toml"):
        path.write_text("seed = 3")
    with pytest.raises(ConfigError, match="is called c too"):
        earlier(read_recipe(tmp_path / "a.toml"))


def test_show_config_takes_a_file_and_changes(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text("seed = 5\n[learner.net]\nblocks = 7\n")
    arguments = ["--run-dir", str(tmp_path / "run"), "--show-config"]
    assert selfplay.main([*arguments, "--config", str(path), "--set", "learner.batch=64"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["seed"], shown["learner"]["net"]["blocks"], shown["learner"]["batch"]) == (5, 7, 64)
    (tmp_path / "run").mkdir()
    store_config(tmp_path / "run" / "config.json", "mine.toml", make_config({"seed": 6}))
    assert selfplay.main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == 6, "a run goes on with what it was started with"
    assert selfplay.main([*arguments, "--config", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == 6
    assert selfplay.main([*arguments, "--preset", "laptop"]) == 2
    assert "was started with mine.toml" in capsys.readouterr().err


@pytest.fixture
def chain(tmp_path: Path) -> Recipe:
    (tmp_path / "first.toml").write_text("total_positions = 10\nminutes = 0")
    (tmp_path / "second.toml").write_text(
        "minutes = 1\npretrain_samples = 5\n"
        "[start]\nweights = ['first.toml=2', 'first.toml=1']\nrecords = ['first.toml']\nrecords_positions = 7"
    )
    (tmp_path / "last.toml").write_text("[start]\nweights = ['second.toml']")
    return read_recipe(tmp_path / "last.toml")


def over(folder: Path, **state: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state.json").write_text(json.dumps(state))


def test_what_a_recipe_builds_on_is_made_first_and_once(tmp_path, chain):
    run, before = tmp_path / "run", tmp_path / "run.before"
    plans = plan_run(chain, run, ["seed=9"], ["workers=3"])
    assert [plan.run_dir for plan in plans] == [before / "first", before / "second", run]
    assert [plan.config.seed for plan in plans] == [1, 1, 9]
    assert [plan.config.workers for plan in plans] == [3, 3, 3]
    assert plans[1].weights == {before / "first": 3.0} and plans[1].records == [before / "first" / "records"]
    assert plans[1].records_positions == 7 and plans[2].weights == {before / "second": 1.0}
    with pytest.raises(ConfigError, match="nothing to begin with"):
        plans[1].checkpoints()
    over(before / "first", positions=10)
    over(before / "second", elapsed_s=70.0, pretrained=False)
    assert [plan.run_dir.name for plan in plan_run(chain, run)] == ["second", "run"]
    over(before / "second", elapsed_s=70.0, pretrained=True)
    assert [plan.run_dir.name for plan in plan_run(chain, run)] == ["run"]


class Killed(Exception):
    """Stands for a kill."""


def test_what_a_run_begins_with_is_not_lost_by_a_kill_before_its_first_checkpoint(
    tmp_path, chain, monkeypatch, capsys
):
    begun_with = []

    class KilledRun:
        def __init__(self, config, run_dir, stopped, display, weights, backend, records):
            begun_with.append(weights)

        def run(self):
            raise Killed

    monkeypatch.setattr("training.loop.Run", KilledRun)
    monkeypatch.setattr(Plan, "checkpoints", lambda plan, report=print: dict(plan.weights))
    run = ["--run-dir", str(tmp_path / "run"), "--device", "cpu"]
    recipe = ["--config", str(chain.path)]
    with pytest.raises(Killed):
        selfplay.main([*run, *recipe])
    assert begun_with == [{}], "the first run of the chain"
    assert selfplay.main(run) == 2, "with the settings of another recipe"
    assert "run.before has runs that a recipe builds on" in capsys.readouterr().err
    for name in ("first", "second"):
        over(tmp_path / "run.before" / name, positions=10, elapsed_s=70.0, pretrained=True)
    second = {tmp_path / "run.before" / "second": 1.0}
    for _ in range(2):
        with pytest.raises(Killed):
            selfplay.main([*run, *recipe])
        assert begun_with.pop() == second
        assert selfplay.main(run) == 2
        assert "give --config as when it was started" in capsys.readouterr().err
    checkpoint = tmp_path / "run" / "checkpoints" / "step-000000001.ckpt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(b"")
    with pytest.raises(Killed):
        selfplay.main(run)
    assert begun_with.pop() == {}, "the checkpoint holds it"

    elsewhere = [*run[:1], str(tmp_path / "other"), *run[2:], "--preset", "smoke"]
    with pytest.raises(Killed):
        selfplay.main([*elsewhere, "--weights", str(tmp_path / "run")])
    assert selfplay.main(elsewhere) == 2
    assert "give --weights as when it was started" in capsys.readouterr().err
    with pytest.raises(Killed):
        selfplay.main([*elsewhere, "--weights", str(tmp_path / "run")])
    assert begun_with.pop() == {tmp_path / "run": 1.0}


def test_a_run_with_a_checkpoint_needs_no_earlier_ones(tmp_path, chain):
    checkpoint = tmp_path / "run" / "checkpoints" / "step-000000001.ckpt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(b"")
    (plan,) = plan_run(chain, tmp_path / "run")
    assert plan.weights == {} and plan.records == [] and plan.checkpoints() == {}


def test_presets_are_the_recipes_of_the_folder():
    assert set(preset_names()) >= {"smoke", "laptop", "gpu", "zero7-4x64"}

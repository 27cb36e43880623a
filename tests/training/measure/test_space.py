"""Ranges of settings that a survey draws from, and bad input."""

import pytest

from engine.config import EngineConfig
from engine.search.params import SearchParams
from tests.helpers.paths import ROOT
from training.measure.space import Setting, SpaceError, read_space
from training.survey import main

ROOT_SPACE = """
"search.c_puct" = { low = 0.4, high = 2.5, log = true }
"search.policy_temperature" = { low = 0.8, high = 2.0 }
"""


def space(tmp_path, text=ROOT_SPACE):
    file = tmp_path / "space.toml"
    file.write_text(text)
    return file


def test_a_setting_knows_its_range():
    plain = Setting("a", 1.0, 3.0, 2.0)
    assert plain.part(2.0) == 0.5 and plain.value(0.25) == 1.5
    assert plain.value(7) == 3 and plain.value(-1) == 1
    ratio = Setting("a", 1.0, 100.0, 10.0, log=True)
    assert ratio.part(10) == pytest.approx(0.5) and ratio.value(0.5) == pytest.approx(10)
    assert Setting("a", 4, 9, 5.0, whole=True).value(0.47) == 6


def test_a_space_begins_with_the_defaults_of_the_brain(tmp_path):
    more = '"clock.moves_to_go" = { low = 5, high = 40 }\n"overhead_ms" = { low = 1, high = 90 }\n'
    found = {s.name: s for s in read_space(space(tmp_path, ROOT_SPACE + more))}
    assert found["search.policy_temperature"].start == SearchParams().policy_temperature
    assert found["search.c_puct"].log
    assert found["clock.moves_to_go"].start == EngineConfig().clock_params().moves_to_go
    assert found["overhead_ms"].whole and not found["clock.moves_to_go"].whole


def test_the_space_of_the_docs_is_one():

    assert len(read_space(ROOT / "docs" / "tuning" / "search.toml")) >= 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = [", "space.toml"),
        ('"search.c_puct" = { low = 0.4, high = 2.5 }', "at least two"),
        (ROOT_SPACE + '"search.nothing" = { low = 0, high = 1 }', "search.nothing"),
        (ROOT_SPACE + '"search.__class__" = { low = 0, high = 1 }', "no setting"),
        (ROOT_SPACE + '"search.transpositions" = { low = 0, high = 1 }', "no setting that is a number"),
        (ROOT_SPACE + '"search.fpu_reduction" = { low = 0.5, high = 1 }', "outside"),
        (ROOT_SPACE + '"search.fpu_reduction" = { low = 1, high = 0 }', "low below high"),
        (ROOT_SPACE + '"search.fpu_reduction" = { low = nan, high = 1 }', "numbers"),
        (ROOT_SPACE + '"search.fpu_reduction" = { low = -1, high = 1, log = true }', "log"),
        (ROOT_SPACE + '"search.fpu_reduction" = { low = 0, high = 1, step = 1 }', "needs"),
        (ROOT_SPACE + '"search.minimax_weight" = { low = 0, high = 5 }', "minimax_weight"),
    ],
)
def test_a_bad_space_is_one_line(tmp_path, capsys, text, words):
    file = space(tmp_path, text)
    with pytest.raises((SpaceError, ValueError), match=words):
        read_space(file)
    given = ["--space", str(file), "--openings", "none", "--nodes", "9", "--run-dir", str(tmp_path / "run")]
    assert main(given) == 2
    assert "space.toml" in capsys.readouterr().err


@pytest.fixture
def openings(tmp_path):
    file = tmp_path / "openings.txt"
    file.write_text("".join(f"0,0, {x},{y}\n" for x in range(1, 5) for y in range(5)))
    return file


def test_bad_arguments_are_one_line(tmp_path, openings, capsys):
    given = ["--space", str(space(tmp_path)), "--openings", str(openings), "--run-dir", str(tmp_path / "run")]
    assert main(given) == 2 and "--nodes" in capsys.readouterr().err
    assert main([*given, "--nodes", "9", "--games", "0"]) == 2 and "at least 1" in capsys.readouterr().err

"""Settings fitted together: ranges, bad input, what the optimiser finds, and runs that go on."""

import json
import random

import pytest

from arena.match_config import MatchConfig
from engine.config import EngineConfig
from engine.search.params import SearchParams
from training.measure import tuning
from training.measure.tuning import JOURNAL, Setting, TuningConfig, TuningError, limits_of, read_space, tune
from training.tune import main

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
    from pathlib import Path

    assert len(read_space(Path(__file__).parents[2] / "docs" / "tuning" / "search.toml")) >= 6


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
        (ROOT_SPACE + '"search.minimax_share" = { low = 0, high = 5 }', "minimax_share"),
    ],
)
def test_a_bad_space_is_one_line(tmp_path, capsys, text, words):
    file = space(tmp_path, text)
    with pytest.raises((TuningError, ValueError), match=words):
        read_space(file)
    given = ["--space", str(file), "--openings", "none", "--nodes", "9", "--run-dir", str(tmp_path / "run")]
    assert main(given) == 2
    assert "space.toml" in capsys.readouterr().err


@pytest.fixture
def openings(tmp_path):
    file = tmp_path / "openings.txt"
    file.write_text("".join(f"0,0, {x},{y}\n" for x in range(1, 5) for y in range(5)))
    return file


def config(openings, **changes):
    settings = (Setting("search.c_puct", 0.4, 2.5, 1.1), Setting("search.policy_temperature", 0.8, 2.0, 1.3))
    limits = limits_of(None, 20, 1 << 26)
    match = MatchConfig("engine:", "engine:", limits, width=9, height=9, openings=openings)
    return TuningConfig(**{"settings": settings, "match": match, "pairs": 4, "seed": 3, **changes})


@pytest.fixture
def played(monkeypatch):
    """Games that are won the more often the nearer a candidate is to (2.0, 1.0); every game is counted."""
    count = []

    def play(config, parts, candidate, index, opening):
        values = [s.value(part) for s, part in zip(config.settings, parts, strict=True)]
        chance = 0.95 - 0.4 * abs(values[0] - 2.0) - 0.9 * abs(values[1] - 1.0)
        count.append((candidate, index, opening))
        return candidate, index, float(random.Random(f"{parts} {index}").random() < chance)

    monkeypatch.setattr(tuning, "play_candidate", play)
    return count


def test_the_fit_goes_where_games_are_won(tmp_path, openings, played):
    generations = list(tune(config(openings, pairs=16), tmp_path / "run", 4000))
    c_puct, temperature = generations[-1].mean
    assert c_puct == pytest.approx(2.0, abs=0.3) and temperature == pytest.approx(1.0, abs=0.2)
    assert len(played) == sum(2 * 16 * len(g.candidates) for g in generations) >= 4000
    first = [opening for candidate, index, opening in played if candidate == 0 and index % 2 == 0][:4]
    assert len(set(first)) == 4, "a pair has an opening of its own"


def test_a_stopped_run_goes_on_with_the_same_candidates(tmp_path, openings, played, monkeypatch):
    whole = list(tune(config(openings), tmp_path / "whole", 200))
    games = len(played)
    play, played[:] = tuning.play_candidate, []

    def stops(*arguments):
        if len(played) == 61:
            raise KeyboardInterrupt
        return play(*arguments)

    monkeypatch.setattr(tuning, "play_candidate", stops)
    with pytest.raises(KeyboardInterrupt):
        list(tune(config(openings), tmp_path / "parts", 200))
    monkeypatch.setattr(tuning, "play_candidate", play)
    with open(tmp_path / "parts" / JOURNAL, "ab") as file:
        file.write(b"[1, 2")  # cut short by a full disk
    parts = list(tune(config(openings), tmp_path / "parts", 200))
    assert [(g.candidates, g.mean) for g in parts] == [(g.candidates, g.mean) for g in whole]
    assert [g.pairs for g in parts] == [g.pairs for g in whole]
    lines = (tmp_path / "parts" / JOURNAL).read_text().splitlines()
    assert len(lines) == 1 + games and len(played) < games + 3


def test_another_run_and_a_damaged_journal_are_refused(tmp_path, openings, played):
    list(tune(config(openings), tmp_path / "run", 20))
    with pytest.raises(TuningError, match="other settings"):
        list(tune(config(openings, seed=4), tmp_path / "run", 20))
    journal = tmp_path / "run" / JOURNAL
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join([lines[0], "[0, 0, 0, 9]", *lines[2:], ""]))
    with pytest.raises(TuningError, match=r"games\.jsonl:2"):
        list(tune(config(openings), tmp_path / "run", 20))


def test_candidates_play_real_games(tmp_path, openings):
    (generation,) = tune(config(openings, pairs=1, population=4), tmp_path / "run", 8)
    head, *lines = map(json.loads, (tmp_path / "run" / JOURNAL).read_text().splitlines())
    assert head["pairs"] == 1 and len(lines) == 8 and len(generation.candidates) == 4
    assert all(0 <= generation.estimate(i).score <= 1 for i in range(4))


def test_bad_arguments_are_one_line(tmp_path, openings, capsys):
    given = ["--space", str(space(tmp_path)), "--openings", str(openings), "--run-dir", str(tmp_path / "run")]
    assert main(given) == 2 and "--nodes" in capsys.readouterr().err
    assert main([*given, "--nodes", "9", "--pairs", "0"]) == 2 and "at least 1" in capsys.readouterr().err
    assert main([*given, "--nodes", "9", "--pairs", "30"]) == 2 and "30 pairs" in capsys.readouterr().err

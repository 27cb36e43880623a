"""Settings looked around by games: what a fit sees, bad input, runs that go on."""

import json
import random

import numpy as np
import pytest

from arena.match_config import MatchConfig
from training.measure import survey as module
from training.measure.space import JOURNAL, Setting, SpaceConfig, SpaceError, limits_of
from training.measure.survey import ELO_PER_SCORE, PRIOR_ELO, fit, parts_of, read, survey
from training.survey import main


@pytest.fixture
def openings(tmp_path):
    file = tmp_path / "openings.txt"
    file.write_text("".join(f"0,0, {x},{y}\n" for x in range(1, 5) for y in range(5)))
    return file


def config(openings, **changes):
    settings = (Setting("search.c_puct", 0.4, 2.4, 0.9), Setting("search.policy_temperature", 0.8, 2.0, 1.4))
    limits = limits_of(None, 20, 1 << 26)
    match = MatchConfig("engine:", "engine:", limits, width=9, height=9, openings=openings)
    return SpaceConfig(**{"settings": settings, "match": match, "pairs": 1, "seed": 3, **changes})


@pytest.fixture
def played(monkeypatch):
    """Games whose results are drawn; every one is counted."""
    count = []

    def play(config, parts, candidate, index, opening):
        count.append((candidate, index, opening))
        return candidate, index, float(random.Random(f"{parts} {index}").random() < parts[0])

    monkeypatch.setattr(module, "play_candidate", play)
    return count


def test_a_fit_finds_the_hill_and_what_does_nothing(openings):
    """A hill of 0.05 at c_puct 1.4, level at the default of 0.9; the other setting does nothing."""
    given, generator = config(openings), np.random.default_rng(1)
    start = np.array([s.part(s.start) for s in given.settings])
    parts = generator.random((20_000, 2))
    values = np.array([given.settings[0].value(part) for part in parts[:, 0]])
    chance = 0.5 + 0.05 * (1 - ((values - 1.4) / 0.5) ** 2)
    found = fit(given, parts - start, generator.binomial(2, chance) / 2, start)
    hill, flat = found.effects
    assert found.games == 40_000 and hill.best == pytest.approx(1.4, abs=0.15)
    assert hill.low[2] > 0 and hill.elo[2] == pytest.approx(0.05 * ELO_PER_SCORE, abs=8)
    assert hill.values == (0.4, 0.9, 1.4, 1.9, 2.4) and hill.elo[1] == 0 == hill.low[1] == hill.high[1]
    assert all(low <= 0 <= high for low, high in zip(flat.low, flat.high, strict=True))
    assert 0 < found.low <= found.elo <= found.high


def test_an_interval_holds_the_truth_as_often_as_it_says():
    """Slopes drawn from what the fit expects, games from the slopes."""
    settings = (Setting("a", 0, 1, 0.5), Setting("b", 0, 1, 0.5))
    given = SpaceConfig(settings, MatchConfig("engine:", "engine:", limits_of(None, 1, 1 << 26)))
    generator = np.random.default_rng(5)
    inside = 0
    for _ in range(100):
        slope = generator.normal(0, PRIOR_ELO / ELO_PER_SCORE, 2)
        x = generator.random((500, 2)) - 0.5
        scores = np.clip(0.5 + x @ slope + generator.normal(0, 0.3, 500), 0, 1)
        effect = fit(given, x, scores, np.array([0.5, 0.5])).effects[0]
        inside += effect.low[-1] <= ELO_PER_SCORE * slope[0] * 0.5 <= effect.high[-1]
    assert 88 <= inside <= 99


def test_pairs_differ_and_are_always_the_same(openings):
    given = config(openings)
    assert parts_of(given, 3) == parts_of(given, 3) != parts_of(given, 4)
    assert parts_of(given, 3) != parts_of(config(openings, seed=4), 3)
    assert all(0 <= part < 1 for pair in range(50) for part in parts_of(given, pair))


def test_a_stopped_survey_goes_on(tmp_path, openings, played, monkeypatch):
    given, play = config(openings), module.play_candidate

    def stops(*arguments):
        if len(played) == 33:
            raise KeyboardInterrupt
        return play(*arguments)

    monkeypatch.setattr(module, "play_candidate", stops)
    with pytest.raises(KeyboardInterrupt):
        list(survey(given, tmp_path / "parts", 100))
    monkeypatch.setattr(module, "play_candidate", play)
    assert read(given, tmp_path / "parts").games in (32, 34), "a pair that is not finished does not count"
    list(survey(given, tmp_path / "parts", 100))
    list(survey(given, tmp_path / "whole", 100))
    assert read(given, tmp_path / "parts") == read(given, tmp_path / "whole")
    assert [opening for pair, index, opening in played if (pair, index) == (21, 0)] == [played[2][2]] * 2


def test_bad_input_is_one_line(tmp_path, openings, capsys, played):
    space = tmp_path / "space.toml"
    space.write_text('"search.c_puct" = { low = 0.4, high = 2.5 }\n"search.seed" = { low = 0, high = 9 }\n')
    run = str(tmp_path / "run")
    given = ["--space", str(space), "--openings", str(openings), "--run-dir", run, "--size", "9"]
    assert main([*given, "--nodes", "20", "--games", "1"]) == 2
    assert "no finished pair" in capsys.readouterr().err
    assert main([*given, "--nodes", "20", "--games", "40"]) == 0
    assert "40 games" in capsys.readouterr().out
    assert main([*given, "--nodes", "21", "--games", "40"]) == 2
    assert "other settings" in capsys.readouterr().err
    assert main([*given, "--games", "40"]) == 2
    assert "--turn-ms" in capsys.readouterr().err
    assert main([*given[:3], "none.txt", *given[4:], "--nodes", "20"]) == 2
    with pytest.raises(SpaceError, match="other settings"):
        read(config(openings), tmp_path / "run")


def test_pairs_play_real_games(tmp_path, openings):
    assert list(survey(config(openings), tmp_path, 4)) == [1, 2, 3, 4]
    head, *lines = map(json.loads, (tmp_path / JOURNAL).read_text().splitlines())
    assert sorted(line[:3] for line in lines) == [[0, pair, index] for pair in (0, 1) for index in (0, 1)]
    assert "settings" in head and read(config(openings), tmp_path).games == 4

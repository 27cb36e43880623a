import itertools
import json
from random import Random

import numpy as np
import pytest

from engine import ConfigError, Engine, EngineConfig, SearchLimits
from engine.choice import first_sight
from engine.evaluator.uniform import UniformEvaluator
from engine.levels import GOVERNED, LEVELS, Level, level
from engine.rules._board import Board
from engine.rules.geometry import parse_moves
from training.levels import main
from training.measure.levels import report, schedule, suggest

BLOCK = "a1h8a3i8a5j8g8k8"  # black has to play l8


@pytest.mark.parametrize("number", range(1, 11))
def test_every_level_resolves(number):
    config = EngineConfig.from_mapping({"level": str(number), "seed": "7"}).resolved()
    assert {name: getattr(config, name) for name in GOVERNED} == {
        name: getattr(level(number), name) for name in GOVERNED
    }
    assert config.level is None and config.seed == 7
    assert config.resolved() is config


def test_the_top_level_is_the_plain_engine():
    assert EngineConfig(level=10).resolved() == EngineConfig()


def test_the_table_never_weakens_upwards():
    for low, high in itertools.pairwise(LEVELS):
        assert (high.simulations or 10**9) >= (low.simulations or 10**9)
        assert high.temperature <= low.temperature and high.mistakes <= low.mistakes
        assert high.solver >= low.solver


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": "0"}, "from 1 to 10"),
        ({"level": "11"}, "from 1 to 10"),
        ({"level": "high"}, "level needs int"),
        ({"level": "3", "simulations": "9"}, "leave out simulations or level"),
        ({"level": "3", "solver": "no"}, "leave out solver or level"),
        ({"mistakes": "2"}, "mistakes must be from 0 to 1"),
    ],
)
def test_bad_levels_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        EngineConfig.from_mapping(settings)


def moves_of(engine, count=40):
    engine.new_game(15, 15, 0)
    for point in parse_moves(BLOCK, 15, 15):
        engine.play(point)
    return [engine.think(SearchLimits(), engine.clock.now_s()) for _ in range(count)]


def test_mistakes_overlook_a_block():
    block = parse_moves("l8", 15, 15)[0]

    def make(mistakes):
        settings = EngineConfig(net="uniform", seed=1, simulations=1, solver=False, mistakes=mistakes)
        return Engine(settings.replace(memory_bytes=200 << 20))

    assert {r.point for r in moves_of(make(0.0))} == {block}
    half = [r.stop_reason == "forced block" for r in moves_of(make(0.5))]
    assert 8 <= sum(half) <= 32
    assert len({r.point for r in moves_of(make(1.0))}) > 10  # even priors: any point near the stones


def test_first_sight_draws_legal_moves_by_priors():
    class Judge(UniformEvaluator):
        def evaluate(self, planes, keys):
            logits, wdl = super().evaluate(planes, keys)
            logits[0, :] = -50
            logits[0, [0, 1, 16, 100]] = np.log([0.2, 0.8, 100, 100])  # taken, far from the stones
            return logits, wdl

    board = Board(15, 15, 0)
    board.place(16)
    generator = Random(1)
    drawn = [first_sight(board, Judge(), 1.0, generator).point for _ in range(1000)]
    assert sum(drawn) / 1000 == pytest.approx(0.8, abs=0.05)
    warm = [first_sight(board, Judge(), 2.0, generator).point for _ in range(1000)]
    assert sum(warm) / 1000 == pytest.approx(2 / 3, abs=0.05)


def test_everybody_meets_and_neighbours_most():
    assert sorted(schedule(3, 8, 2)) == [(0, 1, 8), (0, 2, 2), (1, 2, 8)]
    assert sorted(schedule(3, 8, 0)) == [(0, 1, 8), (1, 2, 8)]


def test_suggested_levels_interpolate():
    measured = [
        Level(1, 1.0, 0.5, False), Level(4, 0.5, 0.1, False),
        Level(16, 0.0, 0.0, True), Level(None, 0.0, 0.0, True),
    ]  # fmt: skip
    table = suggest(measured, [0, 100, 500, 600], top_simulations=64)
    assert table[0] == measured[0] and table[-1] == measured[-1]
    assert table[1] == Level(6, 0.38, 0.075, False)  # 200: a quarter of the way from the second to the third
    assert table[2] == Level(11, 0.12, 0.025, True)  # 400: three quarters
    flat = suggest(measured, [0, 300, 200, 300], top_simulations=64)
    assert len(flat) == 4 and flat[1].simulations == 2


def test_the_measurement_runs_and_prints_a_table_it_reads(tmp_path, capsys):
    table, saved = tmp_path / "levels.json", tmp_path / "next.json"
    rows = [[1, 1.0, 0.9, False], [20, 0.0, 0.0, True], [None, 0.0, 0.0, True]]
    table.write_text(json.dumps([dict(zip(GOVERNED, row, strict=True)) for row in rows]))
    options = [
        "--net",
        "uniform",
        "--size",
        "9",
        "--top-simulations",
        "40",
        "--games",
        "2",
        "--far-games",
        "0",
    ]
    assert main([*options, "--table", str(table), "--save-table", str(saved)]) == 0
    text = capsys.readouterr().out
    assert "level 2 against 1: score" in text and "suggested for even steps" in text
    assert len(json.loads(saved.read_text())) == 3
    assert main([*options, "--table", str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err


def test_the_report_puts_levels_on_one_scale():
    from training.measure.elo import estimate

    even, won = estimate([[0.5, 0.5]] * 50), estimate([[1.0, 0.5]] * 50)
    text, _ = report(LEVELS[:3], {(0, 1): won, (1, 2): won, (0, 2): even}, 100)
    assert text.splitlines()[1].split()[5] == "0"
    assert "score 0.750" in text

import itertools
import json
from random import Random

import numpy as np
import pytest

from engine import ConfigError, Engine, EngineConfig, SearchLimits
from engine.choice import perceived_board
from engine.evaluator.make import make_evaluator
from engine.evaluator.uniform import UniformEvaluator
from engine.levels import LEVEL_FIELDS, LEVELS, Level, level
from engine.rules._board import Board
from engine.rules.geometry import parse_moves
from training.levels import main
from training.measure.levels import report, schedule, suggest
from training.sense import is_far, measure

BLOCK = "a1h8a3i8a5j8g8k8"  # black has to play l8
DISTANT_BLOCK = "g8h8a3i8a5j8c1k8c3a1"  # the same, seen from the corner


@pytest.mark.parametrize("number", range(1, 11))
def test_every_level_resolves(number):
    config = EngineConfig.from_mapping({"level": str(number), "seed": "7"}).resolved()
    assert {name: getattr(config, name) for name in LEVEL_FIELDS} == {
        name: getattr(level(number), name) for name in LEVEL_FIELDS
    }
    assert config.level is None and config.seed == 7
    assert config.resolved() is config


def test_the_top_level_is_the_plain_engine():
    assert EngineConfig(level=10).resolved() == EngineConfig()


def test_the_table_never_weakens_upwards():
    for low, high in itertools.pairwise(LEVELS):
        assert (high.simulations or 10**9) >= (low.simulations or 10**9)
        assert high.temperature <= low.temperature and high.blindness <= low.blindness
        assert high.solver >= low.solver


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": "0"}, "from 1 to 10"),
        ({"level": "11"}, "from 1 to 10"),
        ({"level": "high"}, "level needs int"),
        ({"level": "3", "simulations": "9"}, "leave out simulations or level"),
        ({"level": "3", "solver": "no"}, "leave out solver or level"),
        ({"blindness": "2"}, "blindness must be from 0 to 1"),
    ],
)
def test_bad_levels_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        EngineConfig.from_mapping(settings)


def board_of(moves):
    board = Board(15, 15, 0)
    for point in parse_moves(moves, 15, 15):
        board.place(point)
    return board


def moves_of(engine, count=40, moves=BLOCK):
    engine.new_game(15, 15, 0)
    for point in parse_moves(moves, 15, 15):
        engine.play(point)
    return [engine.think(SearchLimits(), engine.clock.now_s()) for _ in range(count)]


def uniform_engine(**settings):
    return Engine(
        EngineConfig(net="uniform", seed=1, simulations=1, solver=False, memory_bytes=200 << 20, **settings)
    )


def test_oversight_overlooks_a_block_and_mostly_a_distant_one():
    block = parse_moves("l8", 15, 15)[0]
    assert {r.point for r in moves_of(uniform_engine())} == {block}
    near = sum(r.point == block for r in moves_of(uniform_engine(blindness=0.7), 200))
    far = sum(r.point == block for r in moves_of(uniform_engine(blindness=0.7), 200, moves=DISTANT_BLOCK))
    assert 80 <= near <= 180 and 2 <= far <= 60  # by chances 0.60 and 0.09


def test_with_all_stones_in_sight_nothing_is_overlooked():
    board = board_of(BLOCK)
    assert perceived_board(board, 0.0, Random(1)) is board
    few = board_of("h8i9")
    assert perceived_board(few, 1.0, Random(1)) is few


def test_the_last_two_stones_and_obstacles_are_always_seen():
    board = Board.from_stones(15, 15, 0, [(0, 3), (1, 0), (2, 1), (220, 0), (224, 1)])
    board.set_to_move(1)
    for seed in range(20):
        mind = perceived_board(board, 1.0, Random(seed))
        assert mind.stones() == [(0, 3), (220, 0), (224, 1)] and mind.to_move == 1
    assert len(board.stones()) == 5


@pytest.mark.parametrize(("rule", "seed"), [(0, 1), (4, 2)])
def test_who_overlooks_everything_still_plays_legal_moves(rule, seed):
    engine = uniform_engine(blindness=1.0, temperature=2.0)
    engine.new_game(9, 9, rule)
    while engine.board.winner == 2 and engine.board.legal_points():
        point = engine.think(SearchLimits(), engine.clock.now_s()).point
        assert point in engine.board.legal_points()
        engine.play(point)


def test_moves_are_drawn_near_the_stones_and_no_worse_than_a_plan():
    class Scripted(UniformEvaluator):
        backend = None

        def evaluate(self, planes, keys):
            logits, wdl = super().evaluate(planes, keys)
            logits[0, :] = -50
            logits[0, [0, 1, 16, 17, 100]] = np.log([0.2, 0.8, 100, 0.001, 100])  # taken; far from the stones
            return logits, wdl

    settings = EngineConfig(net="uniform", seed=1, simulations=1, solver=False, temperature=1.0)
    engine = Engine(settings.replace(search={"policy_temperature": "1"}), evaluator=Scripted())
    engine.play(16)
    drawn = []
    for _ in range(400):
        engine.clear_tree()
        drawn.append(engine.think(SearchLimits(), engine.clock.now_s()).point)
    assert set(drawn) == {0, 1}
    assert sum(drawn) / len(drawn) == pytest.approx(0.8, abs=0.07)


@pytest.fixture(scope="module")
def shipped():
    return make_evaluator(EngineConfig(), 0)


@pytest.mark.parametrize("number", range(1, 11))
def test_no_level_plays_far_from_all_stones(shipped, number):
    engine = Engine(EngineConfig(level=number, seed=number), evaluator=shipped)
    count = measure(engine, games=1, answers=16, limits=SearchLimits(max_nodes=40), seed=number)
    assert (count.answers, count.games) == (16, 1) and count.stones > 5
    assert (count.far_answers, count.far) == (0, 0), count.worst


@pytest.mark.parametrize("simulations", [1, 2, 4, 8])
@pytest.mark.parametrize("side", [9, 15, 20])
def test_a_handful_of_simulations_answers_a_first_stone_beside_it(shipped, simulations, side):
    engine = Engine(EngineConfig(simulations=simulations, seed=1), evaluator=shipped)
    for offset in ((0, 0), (-2, 1), (2, 2)):
        x, y = side // 2 + offset[0], side // 2 + offset[1]
        engine.new_game(side, side, 0)
        engine.play(y * side + x)
        point = engine.think(SearchLimits(), engine.clock.now_s()).point
        assert max(abs(point % side - x), abs(point // side - y)) <= 2


def test_a_far_stone_is_noticed():
    board = board_of("h8")
    assert not is_far(Board(15, 15, 0), 0)
    assert [is_far(board, parse_moves(m, 15, 15)[0]) for m in ("h9", "k11", "l8", "a1")] == [
        False,
        False,
        True,
        True,
    ]


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
    table.write_text(json.dumps([dict(zip(LEVEL_FIELDS, row, strict=True)) for row in rows]))
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
    from arena.elo import estimate

    even, won = estimate([[0.5, 0.5]] * 50), estimate([[1.0, 0.5]] * 50)
    text, _ = report(LEVELS[:3], {(0, 1): won, (1, 2): won, (0, 2): even}, 100)
    assert text.splitlines()[1].split()[5] == "0"
    assert "score 0.750" in text

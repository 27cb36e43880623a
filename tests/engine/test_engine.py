import dataclasses
import random
import threading

import pytest

from engine import Engine, EngineConfig, Rule, SearchLimits
from engine import engine as engine_module
from engine.choice import answer_first_stone, draw_move
from engine.control import MoveControl
from engine.fallback import result_of
from engine.rules._board import Board
from engine.search.result import MoveStats
from tests.helpers.engine import EMPTY, NODES, Slow, make, setup, think
from tests.helpers.nets import write_net

NEXT_TO_IT = Board.from_stones(15, 15, 0, [(16, 0)])
"""A stone next to the points of `candidates`."""


class ManualClock:
    """Time that passes when somebody says so."""

    def __init__(self):
        self.time_s = 100.0

    def now_s(self):
        return self.time_s

    def process_started_s(self):
        return 99.0


# --- limits -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [SearchLimits(5000), SearchLimits(100), SearchLimits(0), SearchLimits(-1), SearchLimits(1),
     SearchLimits(5000, time_left_ms=60_000), SearchLimits(5000, time_left_ms=50),
     SearchLimits(5000, time_left_ms=-7),
     SearchLimits(None, 20_000)],
)  # fmt: skip
@pytest.mark.parametrize("seconds", [0.0003, 0.02])
def test_the_hard_limit_holds_with_a_slow_net(limits, seconds):
    clock = ManualClock()
    evaluator = Slow(clock, seconds)
    engine = Engine(EngineConfig(seed=1), clock=clock, evaluator=evaluator)
    setup(engine, "h8i9")
    arrival_s = clock.now_s()
    engine.think(limits, arrival_s)
    allowed_s = min(x for x in (limits.turn_ms, limits.time_left_ms, limits.match_ms) if x is not None) / 1000
    used_s = clock.now_s() - arrival_s
    assert used_s <= max(0.65 * allowed_s, allowed_s - 0.08, 0.01) + seconds + 1e-6
    assert evaluator.asked >= 1


@pytest.mark.parametrize(
    ("turn_ms", "gap_s", "undisturbed_s", "behind_s"),
    [(400, 0.06, 0.31, (0.25, 0.305)), (100, 0.25, 0.05, (0.05, 0.0775 - 0.0194 + 0.0004))],
)
def test_a_slow_step_is_expected_again(turn_ms, gap_s, undisturbed_s, behind_s):
    """Another gap would still end before the watchdog answers; but a long one takes no short turn away."""
    clock = ManualClock()
    evaluator = Slow(clock, 0.0003)
    engine = Engine(EngineConfig(seed=1), clock=clock, evaluator=evaluator)
    setup(engine, "h8i9")
    used_s = []
    for slow in (False, True, False):
        evaluator.seconds = gap_s if slow else 0.0003
        arrival_s = clock.now_s()
        engine.nbest(1, SearchLimits(max_nodes=1) if slow else SearchLimits(turn_ms), arrival_s)
        used_s.append(clock.now_s() - arrival_s)
    assert used_s[0] > undisturbed_s
    assert behind_s[0] < used_s[2] < behind_s[1]


def test_time_before_the_search_counts():
    clock = ManualClock()
    engine = Engine(EngineConfig(seed=1), clock=clock, evaluator=Slow(clock, 0.001))
    setup(engine, "h8i9")
    arrival_s = clock.now_s() - 3.0  # as after a slow start of the process
    engine.think(SearchLimits(5000), arrival_s)
    assert clock.now_s() - arrival_s <= 5.0


def test_node_and_depth_limits():
    engine = make()
    setup(engine, "h8i9")
    assert think(engine, SearchLimits(max_nodes=123)).simulations == pytest.approx(123, abs=2)
    assert think(engine, SearchLimits(60_000, max_depth=2)).stop_reason == "depth limit"


def run_in_thread(engine, limits, stop=None):
    results = []

    def work():
        results.append(engine.think(limits, engine.clock.now_s(), stop=stop))

    thread = threading.Thread(target=work)
    thread.start()
    return thread, results


def wait_for_best(engine, thread):
    while engine.best_so_far() is None and thread.is_alive():
        thread.join(0.001)
    return engine.best_so_far()


@pytest.mark.parametrize("net", ["uniform", "onnx"])
@pytest.mark.parametrize("way", ["stop", "event", "relimit"])
def test_a_running_search_answers_when_told(net, way, tmp_path):
    engine = make(net if net == "uniform" else str(write_net(tmp_path / "n.onnx")))
    setup(engine, "h8i9")
    event = threading.Event()
    thread, results = run_in_thread(engine, SearchLimits(), event)
    best = wait_for_best(engine, thread)
    assert best is not None and engine.board.cell(best) == EMPTY
    if way == "stop":
        engine.stop()
    elif way == "event":
        event.set()
    else:
        engine.relimit(SearchLimits(0))
    thread.join(10)
    assert not thread.is_alive() and engine.board.cell(results[0].point) == EMPTY


@pytest.mark.parametrize(("immediate_since_s", "due_s"), [(None, 101.96), (100.2, 100.28), (101.95, 101.96)])
def test_a_watchdog_answers_before_the_limit_and_soon_after_it_was_hurried(immediate_since_s, due_s):
    engine = make("uniform", overhead_ms=80)
    limits = SearchLimits(2000)
    asked = engine.answer_by_s(limits, 100.0, 100.0, ply=0, points=225, immediate_since_s=immediate_since_s)
    assert asked == pytest.approx(due_s)


def test_a_question_that_begins_late_still_gets_a_moment():
    engine = make("uniform")
    assert engine.answer_by_s(SearchLimits(2000), 100.0, 107.0, ply=0, points=225) == pytest.approx(107.08)
    assert engine.answer_by_s(SearchLimits(), 100.0, 107.0, ply=0, points=225) == float("inf")


def test_thinking_and_other_threads_read_one_board_that_never_changes():
    engine = make("uniform", simulations=50)
    setup(engine, "h8i9")
    before, stones = engine.board, engine.board.stones()
    engine.think(SearchLimits(), 0.0)
    assert engine.board is before and before.stones() == stones
    engine.play(0)
    engine.take_back(stones[0][0])
    assert engine.board is not before and before.stones() == stones and before.to_move == 0


def test_the_value_of_the_last_search_is_expected_where_the_game_goes_on(monkeypatch):
    expected = []

    class Noting(MoveControl):
        def __init__(self, *args, **options):
            expected.append(options["last_q"])
            super().__init__(*args, **options)

    monkeypatch.setattr(engine_module, "MoveControl", Noting)
    engine = make("uniform")
    setup(engine, "h8i9")
    first = engine.think(NODES, 0.0)
    engine.think(NODES, 0.0)  # the same position again
    second = engine.think(NODES, 0.0)
    engine.play(second.point)
    engine.think(NODES, 0.0)  # pondering
    reply = engine.board.legal_points()[-1]
    engine.play(reply)
    third = engine.think(NODES, 0.0)
    engine.play(third.point)
    engine.play(engine.board.legal_points()[-1])
    engine.take_back(second.point)  # another game
    engine.think(NODES, 0.0)
    assert first.simulations > 0
    assert expected == [None, None, None, None, second.q, None]


def test_a_stop_that_comes_too_early_counts():
    engine = make()
    setup(engine, "h8i9")
    event = threading.Event()
    event.set()
    thread, results = run_in_thread(engine, SearchLimits(), event)
    thread.join(10)
    assert results and engine.board.cell(results[0].point) == EMPTY


def test_stop_while_idle_does_not_touch_the_next_search():
    engine = make()
    setup(engine, "h8i9")
    engine.stop()
    engine.relimit(SearchLimits(0))
    assert think(engine).simulations >= 60


def test_progress_is_reported(tmp_path):
    engine = make(str(write_net(tmp_path / "n.onnx")))
    setup(engine, "h8i9")
    reports = []
    think(engine, SearchLimits(1500), on_info=reports.append)
    assert reports
    assert all(r.stop_reason == "" and r.candidates for r in reports)
    assert [r.simulations for r in reports] == sorted(r.simulations for r in reports)


# --- tree ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["play", "set_position", "restart"])
def test_the_tree_is_kept_for_what_follows(way):
    engine = make("hashed")
    setup(engine, "h8i9")
    limits = SearchLimits(max_nodes=3000)
    first = think(engine, limits)
    line = first.pv[:2]
    assert first.point == line[0]
    stones = engine.board.stones()
    if way == "play":
        for point in line:
            engine.play(point)
    else:
        if way == "restart":
            engine.new_game(15, 15, Rule.FREESTYLE)
        engine.set_position([*stones, (line[0], 0), (line[1], 1)])
    second = think(engine, limits)
    assert second.visits > second.simulations
    engine.clear_tree()
    assert think(engine, limits).visits <= limits.max_nodes + 2


def test_the_tree_is_not_kept_for_another_position():
    engine = make("hashed")
    setup(engine, "h8i9")
    think(engine, SearchLimits(max_nodes=500))
    for change in (lambda: engine.set_rule(Rule.STANDARD), lambda: setup(engine, "a1b2c3d4")):
        change()
        result = think(engine, SearchLimits(max_nodes=100))
        assert result.visits <= 102


def test_equal_seeds_play_equal_games(tmp_path):
    path = str(write_net(tmp_path / "n.onnx"))
    games = []
    for _ in range(2):
        engine = Engine(EngineConfig(net=path, seed=7, symmetry=True, temperature=1.0))
        setup(engine, "h8i9")
        game = []
        for _ in range(6):
            result = think(engine, SearchLimits(max_nodes=50))
            game.append((result.point, result.visits, result.wdl))
            engine.play(result.point)
        games.append(game)
    assert games[0] == games[1]


# --- strength, memory ---------------------------------------------------------------------------------------


def candidates(*visits, proven=None):
    return tuple(
        MoveStats(i, n, 1 / len(visits), 0.0, (0.0, 1.0, 0.0), proven if i == 0 else None, None, (i,))
        for i, n in enumerate(visits)
    )


def with_candidates(moves):
    return dataclasses.replace(result_of(0, ""), candidates=moves)


def test_temperature_draws_by_visits():
    generator = random.Random(1)
    result = with_candidates(candidates(60, 30, 10, 0))
    drawn = [draw_move(NEXT_TO_IT, result, 1.0, generator).point for _ in range(2000)]
    assert drawn.count(0) / 2000 == pytest.approx(0.6, abs=0.05)
    assert drawn.count(2) / 2000 == pytest.approx(0.1, abs=0.03)
    assert drawn.count(3) == 0
    assert {draw_move(NEXT_TO_IT, result, 0.0, generator).point for _ in range(50)} == {0}
    cold = [draw_move(NEXT_TO_IT, result, 0.1, generator).point for _ in range(500)]
    assert cold.count(0) > 490


def test_temperature_avoids_lost_moves_and_keeps_wins():
    generator = random.Random(1)
    lost = with_candidates(candidates(90, 5, 5, proven="loss"))
    assert 0 not in {draw_move(NEXT_TO_IT, lost, 1.0, generator).point for _ in range(200)}
    won = result_of(0, "", proven="win", distance=3)
    assert draw_move(NEXT_TO_IT, won, 1.0, generator) is won


def test_a_single_stone_is_answered_beside_it_or_near_the_centre():
    def answer(stones, *moves):
        board = Board.from_stones(15, 15, 0, stones)
        listed = tuple(
            MoveStats(point, visits, prior, 0.0, (0.4, 0.2, 0.4), None, None, ())
            for point, visits, prior in moves
        )
        result = dataclasses.replace(result_of(moves[0][0], "nodes"), candidates=listed)
        return answer_first_stone(board, result).point

    corner, beside, near, centre = 0, 7 * 15 + 6, 9 * 15 + 9, 7 * 15 + 7
    single = [(centre, 0)]
    assert answer(single, (corner, 3, 0.1), (beside, 1, 0.1), (near, 1, 0.2)) == near
    assert answer(single, (corner, 3, 0.1), (near, 1, 0.2), (beside, 2, 0.1)) == beside
    assert answer(single, (beside, 1, 0.1), (near, 9, 0.1)) == beside, "a sensible choice stays"
    assert answer(single, (corner, 3, 0.1), (14, 1, 0.1)) == corner, "there is no better one"
    assert answer([(corner, 0)], (centre, 1, 0.1), (2, 9, 0.1)) == centre
    assert answer([(corner, 0)], (2, 1, 0.1), (centre, 9, 0.1)) == 2
    assert answer([*single, (beside, 1)], (corner, 3, 0.1), (near, 1, 0.2)) == corner


def test_no_simulations_play_the_first_choice_of_the_net(tmp_path):
    engine = make(str(write_net(tmp_path / "n.onnx", scale=5.0)), simulations=0, solver=False)
    setup(engine, "h8i9")
    result = think(engine, SearchLimits(60_000))
    assert result.evaluations == 1
    assert result.candidates[0].prior == max(m.prior for m in result.candidates)
    assert result.point == result.candidates[0].point


def test_simulations_limit_weakens():
    engine = make(simulations=10)
    setup(engine, "h8i9")
    assert think(engine, SearchLimits(60_000)).simulations <= 11

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from engine import Engine, EngineConfig, NetError, PositionError, Rule, SearchLimits
from engine import engine as engine_module
from engine.choice import draw_move
from engine.control import MoveControl
from engine.evaluator.base import PYTHON_COST
from engine.fallback import fallback_point, immediate_result, result_of
from engine.memory import MIN_TREE_BYTES, private_bytes, tree_bytes
from engine.rules._board import Board
from engine.rules.geometry import parse_moves
from engine.search.result import MoveStats
from tests.unit.nets import write_net

ROOT = Path(__file__).resolve().parents[2]
EMPTY = 2
NODES = SearchLimits(max_nodes=60)
WIN = "h8a1i8a3j8a5k8a7"  # black wins at g8 or l8
BLOCK = "a1h8a3i8a5j8g8k8"  # black has to play l8
BESIDE = Board.from_stones(15, 15, 0, [(16, 0)])
"""A stone beside the points of `candidates`."""


class ManualClock:
    """Time that passes when somebody says so."""

    def __init__(self):
        self.time_s = 100.0

    def now_s(self):
        return self.time_s

    def process_started_s(self):
        return 99.0


class Slow:
    """Uniform in Python; each call takes time on a manual clock, and may fail."""

    name = "slow"
    feature_version = 1
    max_batch = None
    min_side, max_side = 5, 22
    rules = (0, 1, 4, 8, 9)
    judge = None
    cost = PYTHON_COST

    def __init__(self, clock=None, seconds=0.0):
        self.clock = clock
        self.seconds = seconds
        self.asked = 0
        self.fail = False

    def evaluate(self, planes, keys):
        self.asked += 1
        if self.fail:
            raise RuntimeError("out of order")
        if self.clock:
            self.clock.time_s += self.seconds
        batch, _, height, width = planes.shape
        wdl = np.tile(np.array([0.3, 0.4, 0.3], np.float32), (batch, 1))
        return np.zeros((batch, height * width), np.float32), wdl


def make(net="uniform", **settings):
    return Engine(EngineConfig(net=net, seed=1, memory_bytes=200 << 20, **settings))


def setup(engine, moves, width=15, height=15, rule=Rule.FREESTYLE):
    engine.new_game(width, height, rule)
    for point in parse_moves(moves, width, height):
        engine.play(point)


def think(engine, limits=NODES, **more):
    return engine.think(limits, engine.clock.now_s(), **more)


# --- position -----------------------------------------------------------------------------------------------


def test_stones_are_put_and_taken_back():
    engine = make()
    engine.new_game(9, 7, Rule.STANDARD)
    for point in (3, 4, 5):
        engine.play(point)
    assert engine.board.stones() == [(3, 0), (4, 1), (5, 0)]
    engine.take_back(4)  # not the last
    assert engine.board.stones() == [(3, 0), (5, 0)]
    assert engine.board.to_move == 1
    engine.take_back(5)
    assert engine.board.to_move == 0 and engine.board.rule == Rule.STANDARD


@pytest.mark.parametrize("point", [3, -1, 63, 10**9])
def test_impossible_moves_change_nothing(point):
    engine = make()
    engine.new_game(9, 7, Rule.FREESTYLE)
    engine.play(3)
    before = engine.board.hash
    with pytest.raises(PositionError):
        engine.play(point)
    assert engine.board.hash == before
    if point != 3:
        with pytest.raises(PositionError):
            engine.take_back(point)


@pytest.mark.parametrize(
    "stones", [[(3, 0), (3, 1)], [(999, 0)], [(-1, 0)], [(3, 2)], [(3, 7)], [(3, 3), (3, 0)]]
)
def test_impossible_positions_change_nothing(stones):
    engine = make()
    setup(engine, "h8i9")
    before = engine.board.hash
    with pytest.raises(PositionError):
        engine.set_position(stones)
    assert engine.board.hash == before


def test_sizes_out_of_range_are_refused():
    for size in ((4, 15), (15, 23), (0, 0), (-1, 15)):
        with pytest.raises(PositionError):
            make().new_game(*size, Rule.FREESTYLE)


def test_set_position_with_obstacles_and_side():
    engine = make()
    engine.set_position([(0, 0), (1, 3), (2, 1)], to_move=1)
    assert engine.board.cell(1) == 3 and engine.board.to_move == 1
    engine.set_position([])
    assert engine.board.ply == 0


def test_rule_changes_keep_the_stones():
    engine = make()
    setup(engine, "h8h9i7i9h10i6i11i12")
    assert engine.forbidden_points() == []
    engine.set_rule(Rule.RENJU)
    assert engine.board.ply == 8
    assert parse_moves("g9", 15, 15)[0] in engine.forbidden_points()


# --- answers ------------------------------------------------------------------------------------------------


def crowded(width, height, rule, generator, stones):
    board = Board(width, height, rule)
    points = list(range(width * height))
    generator.shuffle(points)
    for point in points[:stones]:
        if generator.random() < 0.05:
            board.block(point)
        else:
            board.place(point, generator.randrange(2))
    board.set_to_move(generator.randrange(2))
    return board


@pytest.mark.parametrize("rule", list(Rule))
def test_every_position_with_a_free_cell_gets_a_legal_answer(rule):
    generator = random.Random(int(rule))
    engine = make()
    for size in ((5, 5), (15, 15), (7, 11), (22, 22)):
        engine.new_game(*size, rule)
        points = size[0] * size[1]
        for stones in (1, points // 3, points // 2, points - 3, points - 1):
            board = crowded(*size, rule, generator, stones)
            engine.set_position(board.stones(), board.to_move)
            result = think(engine, SearchLimits(max_nodes=20))
            assert board.cell(result.point) == EMPTY
            legal = board.legal_points()
            assert not legal or result.point in legal
            assert sum(result.wdl) == pytest.approx(1, abs=1e-4)
            fallback = engine.fallback_point()
            assert board.cell(fallback) == EMPTY and (not legal or fallback in legal)


def test_full_board_is_an_error_and_no_crash():
    engine = make()
    engine.new_game(5, 5, Rule.STANDARD)
    generator = random.Random(3)
    board = crowded(5, 5, Rule.STANDARD, generator, 25)
    engine.set_position(board.stones(), 0)
    with pytest.raises(PositionError, match="full"):
        think(engine)
    assert engine.fallback_point() is None


def test_finished_game_still_gets_a_move():
    engine = make()
    setup(engine, WIN + "l8")
    assert engine.board.cell(think(engine).point) == EMPTY


@pytest.mark.parametrize(("moves", "expected"), [(WIN, ("g8", "l8")), (BLOCK, ("l8",)), ("", ("h8",))])
def test_certain_moves_need_no_net(moves, expected, tmp_path):
    engine = make(net=str(tmp_path / "missing.onnx"))
    setup(engine, moves)
    assert think(engine).point in [parse_moves(m, 15, 15)[0] for m in expected]


def test_caro_blocks_are_left_to_the_search():
    board = Board(15, 15, Rule.CARO)
    for point in parse_moves("h8f8g8f9i8f7j8l8", 15, 15):
        board.place(point)
    assert immediate_result(board) is None
    engine = make()
    engine.new_game(15, 15, Rule.CARO)
    engine.set_position(board.stones())
    point = think(engine, SearchLimits(max_nodes=400)).point
    assert point in parse_moves("f5f6f10f11", 15, 15)  # k8 would be a blocked five


@pytest.mark.parametrize(
    ("rule", "moves", "good", "bad"),
    [
        (0, "h8h9i8i9j8j9k8k9", "g8l8", ""),
        (1, "h8h9i8i9j8j9k8k9", "g8l8", ""),
        (4, "h8h9i8i9j8j9k8k9", "g8l8", ""),
        (8, "h8h9i8i9j8j9k8k9", "g8l8", ""),
        (9, "h8h9i8i9j8j9k8k9", "g8l8", ""),
        (1, "h8h9i8h10g8h11j13h12g14h14i15", "f8j8", "h13"),
        (4, "h8h9i7i9h10i6i11i12", "", "g9"),
    ],
)
def test_positions_of_the_official_tester(rule, moves, good, bad):
    engine = make()
    setup(engine, moves, rule=Rule(rule))
    point = think(engine, SearchLimits(max_nodes=400)).point
    assert not good or point in parse_moves(good, 15, 15)
    assert point not in parse_moves(bad, 15, 15)


def test_a_forced_block_is_not_played_at_once_where_black_may_not():
    stones = [(point, 0) for point in parse_moves("h5h6h7h9h10m8", 15, 15)]
    stones += [(point, 1) for point in parse_moves("i8j8k8l8", 15, 15)]
    for rule, at_once in ((Rule.FREESTYLE, "own five"), (Rule.STANDARD, "forced block"), (Rule.RENJU, None)):
        board = Board.from_stones(15, 15, rule, stones)
        board.set_to_move(0)
        found = immediate_result(board)
        assert (found.stop_reason if found else None) == at_once


@pytest.mark.parametrize(("width", "height"), [(15, 15), (20, 15), (5, 22), (8, 6)])
def test_an_empty_board_is_begun_in_its_middle(width, height):
    point = immediate_result(Board(width, height)).point
    assert (point % width, point // width) == (width // 2, height // 2)


def test_fallback_wins_before_it_blocks():
    board = Board(15, 15)
    for point in parse_moves("h8a1i8a2j8a3k8a4", 15, 15):
        board.place(point)
    wins = set(parse_moves("g8l8", 15, 15))
    assert fallback_point(board) in wins and immediate_result(board).point in wins
    board.place(224)  # black leaves it; white has a five of its own, and black threatens two
    assert fallback_point(board) == parse_moves("a5", 15, 15)[0]


def test_fallback_blocks_and_prefers_near_points():
    board = Board(15, 15)
    for point in parse_moves(BLOCK, 15, 15):
        board.place(point)
    assert fallback_point(board) == parse_moves("l8", 15, 15)[0]
    board = Board(15, 15)
    board.place(0)
    assert fallback_point(board) in (1, 15, 16)


def test_missing_net_is_a_clear_error(tmp_path):
    engine = make(net=str(tmp_path / "missing.onnx"))
    with pytest.raises(NetError, match=r"missing\.onnx.*--net uniform"):
        engine.warm_up()


def test_failing_search_is_logged_and_survived():
    log = []
    evaluator = Slow()
    engine = Engine(EngineConfig(seed=1), evaluator=evaluator, log=log.append)
    setup(engine, "h8")
    evaluator.fail = True
    result = think(engine)
    assert engine.board.cell(result.point) == EMPTY and result.stop_reason == "failure"
    assert len(log) == 1 and "out of order" in log[0]
    evaluator.fail = False
    assert think(engine).simulations >= 60


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


def test_a_slow_step_is_expected_again():
    clock = ManualClock()
    evaluator = Slow(clock, 0.0003)
    engine = Engine(EngineConfig(seed=1), clock=clock, evaluator=evaluator)
    setup(engine, "h8i9")
    used_s = []
    for slow in (False, True, False):
        evaluator.seconds = 0.04 if slow else 0.0003
        arrival_s = clock.now_s()
        engine.nbest(1, SearchLimits(max_nodes=1) if slow else SearchLimits(100), arrival_s)
        used_s.append(clock.now_s() - arrival_s)
    assert used_s[0] > 0.05  # undisturbed, most of the turn is used
    assert used_s[2] < 0.045  # another gap would still end before the watchdog answers


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


@pytest.mark.parametrize(("hurried_s", "due_s"), [(None, 101.96), (100.2, 100.28), (101.95, 101.96)])
def test_a_watchdog_answers_before_the_limit_and_soon_after_it_was_hurried(hurried_s, due_s):
    engine = make("uniform", overhead_ms=80)
    asked = engine.answer_by_s(SearchLimits(2000), 100.0, 100.0, ply=0, points=225, hurried_s=hurried_s)
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
    reply = engine.board.legal_points()[-1]
    engine.play(reply)
    third = engine.think(NODES, 0.0)
    engine.play(third.point)
    engine.play(engine.board.legal_points()[-1])
    engine.take_back(reply)  # another game
    engine.think(NODES, 0.0)
    assert first.simulations > 0
    assert expected == [None, None, None, second.q, None]


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


# --- swap2 --------------------------------------------------------------------------------------------------


def test_swap2_offers_three_stones(tmp_path):
    engine = Engine(EngineConfig(net=str(write_net(tmp_path / "n.onnx")), seed=2))
    before = engine.board.hash
    answer = engine.swap2([], SearchLimits(1000), engine.clock.now_s())
    assert len(set(answer)) == 3 and all(0 <= p < 225 for p in answer)
    assert engine.board.hash == before


@pytest.mark.parametrize("count", [3, 5])
def test_swap2_takes_the_better_side(count):
    engine = make()
    far = parse_moves("a1o1a15o15", 15, 15)
    black = parse_moves("h8i8j8", 15, 15)  # an open three for black, white to move
    stones = [black[0], far[0], black[1]] if count == 3 else [black[0], far[0], black[1], far[3], black[2]]
    answer = engine.swap2(stones, SearchLimits(max_nodes=2000), engine.clock.now_s())
    if count == 5:
        assert answer == "SWAP" or answer[0] not in stones
    else:
        assert answer == "SWAP" or (len(answer) == 1 and answer[0] not in stones)


def test_swap2_swaps_into_a_won_position():
    class BlackIsBetter(Slow):
        def evaluate(self, planes, keys):
            policy, _ = super().evaluate(planes, keys)
            own_black = planes[:, 14, 0, 0]
            win = 0.2 + 0.6 * own_black
            return policy, np.stack([win, np.zeros_like(win), 1 - win], axis=1).astype(np.float32)

    engine = Engine(EngineConfig(seed=1), evaluator=BlackIsBetter())
    stones = parse_moves("h8i9k3", 15, 15)
    assert engine.swap2(stones, NODES, engine.clock.now_s()) == "SWAP"


@pytest.mark.parametrize("stones", [[1], [1, 2], [1, 2, 3, 4], [1, 1, 2], [1, 2, 999], list(range(6))])
def test_swap2_refuses_other_questions(stones):
    engine = make()
    with pytest.raises(PositionError):
        engine.swap2(stones, NODES, engine.clock.now_s())


# --- strength, memory ---------------------------------------------------------------------------------------


def candidates(*visits, proven=None):
    return tuple(
        MoveStats(i, n, 1 / len(visits), 0.0, (0.0, 1.0, 0.0), proven if i == 0 else None, None, (i,))
        for i, n in enumerate(visits)
    )


def with_candidates(moves):
    import dataclasses

    return dataclasses.replace(result_of(0, ""), candidates=moves)


def test_temperature_draws_by_visits():
    generator = random.Random(1)
    result = with_candidates(candidates(60, 30, 10, 0))
    drawn = [draw_move(BESIDE, result, 1.0, generator).point for _ in range(2000)]
    assert drawn.count(0) / 2000 == pytest.approx(0.6, abs=0.05)
    assert drawn.count(2) / 2000 == pytest.approx(0.1, abs=0.03)
    assert drawn.count(3) == 0
    assert {draw_move(BESIDE, result, 0.0, generator).point for _ in range(50)} == {0}
    cold = [draw_move(BESIDE, result, 0.1, generator).point for _ in range(500)]
    assert cold.count(0) > 490


def test_temperature_avoids_lost_moves_and_keeps_wins():
    generator = random.Random(1)
    lost = with_candidates(candidates(90, 5, 5, proven="loss"))
    assert 0 not in {draw_move(BESIDE, lost, 1.0, generator).point for _ in range(200)}
    won = result_of(0, "", proven="win", distance=3)
    assert draw_move(BESIDE, won, 1.0, generator) is won


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


def test_tree_bytes_follow_the_limit():
    limit = 350 << 20
    held, cache = 60 << 20, 24 << 20
    assert held + cache + tree_bytes(limit, held, cache) <= 300 << 20
    assert tree_bytes(limit, held, cache) > 150 << 20
    assert tree_bytes(10 << 20, held, cache) == MIN_TREE_BYTES
    assert tree_bytes(None, held, cache) == tree_bytes(0, held, cache) > 1 << 30


def test_private_memory_is_known_and_sees_an_allocation():
    before = private_bytes()
    block = bytearray(os.urandom(1 << 20) * 32)
    after = private_bytes()
    assert before and after and after - before > 24 << 20
    del block


@pytest.mark.parametrize("limit_mib", [96, 160, 350] if os.environ.get("TENGEN_LONG") else [96])
def test_a_search_stays_within_its_memory(limit_mib):
    """The smallest limit is reached before 300,000 simulations; the others want the long run."""
    code = (
        "import sys\nfrom engine import Engine, EngineConfig, Rule, SearchLimits\n"
        "from engine.memory import private_bytes\n"
        "e = Engine(EngineConfig(net='hashed', seed=1, cache_mib=8)); e.new_game(20, 20, Rule.FREESTYLE)\n"
        "e.set_memory(int(sys.argv[1])); e.set_position([(190, 0), (211, 1)]); e.warm_up()\n"
        "r = e.think(SearchLimits(max_nodes=int(sys.argv[2]), turn_ms=20_000), e.clock.now_s())\n"
        "print(private_bytes(), r.simulations)\n"
    )
    limit = limit_mib << 20
    done = subprocess.run(
        [sys.executable, "-c", code, str(limit), str(350_000 if limit_mib < 100 else 2_000_000)],
        capture_output=True, text=True, timeout=100, check=True, cwd=ROOT,
    )  # fmt: skip
    used, simulations = map(int, done.stdout.split())
    assert used <= 0.86 * limit
    assert simulations > 20_000


def test_importing_the_facade_stays_lean():
    code = (
        "import sys, engine.engine\n"
        "print([m for m in ('onnxruntime', 'torch', 'onnx', 'tomllib', 'argparse') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


def test_many_games_in_one_process_do_not_grow():
    code = (
        "import random\nfrom engine import Engine, EngineConfig, Rule, SearchLimits\n"
        "from engine.memory import private_bytes\n"
        "g = random.Random(1)\n"
        "e = Engine(EngineConfig(net='hashed', seed=1, memory_bytes=64 << 20)); e.warm_up()\n"
        "def game():\n"
        "    side = g.choice((15, 20))\n"
        "    e.new_game(side, side, g.choice(list(Rule)))\n"
        "    for _ in range(10):\n"
        "        e.play(e.think(SearchLimits(max_nodes=300), e.clock.now_s()).point)\n"
        "used = []\n"
        "for i in range(60):\n"
        "    game()\n"
        "    used.append(private_bytes())\n"
        "print(max(used[:20]), max(used[20:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True, cwd=ROOT
    )
    early, late = map(int, done.stdout.split())
    assert late - early < 1 << 20

"""Positions that an engine is given, and the answers that need no search: certain moves, fallback, swap2."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from engine import Engine, EngineConfig, NetError, PositionError, Rule, SearchLimits
from engine.fallback import fallback_point, immediate_result
from engine.opening import SWAP2_OFFER_NODES, SWAP2_OFFERS
from engine.rules._board import Board
from engine.rules.geometry import parse_moves
from tests.helpers.engine import BLOCK, EMPTY, NODES, WIN, Slow, make, setup, think
from tests.helpers.nets import write_net

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


# --- swap2 --------------------------------------------------------------------------------------------------


def test_swap2_offers_three_stones(tmp_path):
    engine = Engine(EngineConfig(net=str(write_net(tmp_path / "n.onnx")), seed=2))
    before = engine.board.hash
    answer = engine.swap2([], SearchLimits(1000), engine.clock.now_s())
    assert len(set(answer)) == 3 and all(0 <= p < 225 for p in answer)
    assert engine.board.hash == before


def test_an_offer_of_swap2_keeps_its_searches_short_where_limits_change(monkeypatch):
    engine = make()
    searched = []

    def choose(position, control, on_info):
        engine.relimit(SearchLimits(turn_ms=60_000))
        searched.append((control.budget.soft_s, control._max_nodes))
        return SimpleNamespace(q=0.5)

    monkeypatch.setattr(engine, "_choose", choose)
    engine.swap2([], SearchLimits(turn_ms=2000), engine.clock.now_s())
    assert len(searched) == SWAP2_OFFERS and {nodes for _, nodes in searched} == {SWAP2_OFFER_NODES}
    assert searched[0][0] < 0.5 and searched[1][0] > 1.5, "from the next search on"
    assert engine._offer_limits is None


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
            own_black = planes[:, 16, 0, 0]
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

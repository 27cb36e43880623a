"""The stopper of a move: deadlines, limits, requests, and when it may stop early."""

from __future__ import annotations

import math
import threading

import pytest

from engine.control import MoveControl
from engine.evaluator.hashed import HashedEvaluator
from engine.rules._board import Board
from engine.search.mcts import Search
from engine.search.params import SearchParams
from engine.search.stoppers import SearchState
from engine.timing.budget import Budget, SearchLimits, plan
from engine.timing.params import ClockParams
from tests.helpers.search import MIB, FakeClock, PythonHashed, put

TURN = SearchLimits(turn_ms=1000)
MATCH = SearchLimits(turn_ms=1000, time_left_ms=17_000)
ENDLESS = Budget(math.inf, math.inf, math.inf)


def control(limits: SearchLimits = TURN, **options) -> MoveControl:
    return MoveControl(10.0, plan(limits, 20, 225, 100), limits, **options)


def state(**fields) -> SearchState:
    usual = {"started_s": 10.0, "now_s": 10.1, "simulations": 100, "updated_at": 100, "best_point": 3}
    return SearchState(**{**usual, **fields})


CLEAR = {"best_visits": 4000, "second_visits": 10, "simulations": 4100, "now_s": 10.45}


@pytest.mark.parametrize(
    ("limits", "fields", "reason"),
    [
        (TURN, {}, None),
        (TURN, {"now_s": 10.95}, "deadline"),
        (TURN, {"proven": "draw"}, "proven draw"),
        (TURN, {"memory_full": True}, "memory"),
        (TURN, {"single_move": True}, "single move"),
        (SearchLimits(max_nodes=100), {}, "node limit"),
        (SearchLimits(max_nodes=101), {}, None),
        (SearchLimits(max_depth=4), {"pv_length": 4}, "depth limit"),
        (SearchLimits(max_depth=4), {"pv_length": 3}, None),
        (TURN, CLEAR, None),
        (MATCH, CLEAR, None),
        (SearchLimits(max_nodes=200), {"best_visits": 95}, None),
        (SearchLimits(max_nodes=190), {"best_visits": 95}, "unreachable"),
        (SearchLimits(max_nodes=200), {"best_visits": 95, "simulations": 120}, None),  # until the next look
    ],
)
def test_answers_by_state(limits, fields, reason) -> None:
    assert control(limits).should_stop(state(**fields)) == reason


@pytest.mark.parametrize(
    ("fields", "reason"), [({}, "unreachable"), ({"second_visits": 3000}, None), ({"simulations": 31}, None)]
)
def test_an_early_end_where_it_is_asked_for(fields, reason) -> None:
    limits = SearchLimits(turn_ms=1000, time_left_ms=10_000)
    early = control(limits, params=ClockParams(early_end=True))
    assert early.should_stop(state(**{**CLEAR, **fields})) == reason


def test_nothing_ends_early_where_all_candidates_are_wanted() -> None:
    for fields in (CLEAR, {"single_move": True}):
        params = ClockParams(early_end=True)
        assert control(MATCH, early=False, params=params).should_stop(state(**fields)) is None


def test_deadline_holds_on_a_clock_moved_by_hand() -> None:
    for evaluator in (HashedEvaluator(1), PythonHashed(1)):
        clock = FakeClock(0.001)
        search = Search(SearchParams(), 32 * MIB, now_s=clock)
        begun_s = clock.time_s
        stopper = MoveControl(begun_s, Budget(0.5, 0.5, 9.0), SearchLimits(), early=False)
        result = search.search(put(Board(9, 9, 0), "4,4"), evaluator, [stopper])
        assert result.stop_reason == "deadline"
        assert begun_s + 0.5 <= clock.time_s < begun_s + 0.55
        assert result.simulations > 10


def test_deadline_in_the_past_still_gives_a_move() -> None:
    board = put(Board(15, 15, 0), "7,7")
    result = Search().search(board, PythonHashed(1), [MoveControl(-9.0, Budget(0, 0, 0), SearchLimits())])
    assert result.simulations == 1
    assert board.cell(result.point) == 2
    assert result.candidates[0].prior == max(c.prior for c in result.candidates)


def test_stop_from_another_thread_ends_the_search() -> None:
    stopper = MoveControl(0.0, ENDLESS, SearchLimits())
    begun = threading.Event()

    class Begun:
        def should_stop(self, state: SearchState) -> str | None:
            begun.set()
            return None

    def ask() -> None:
        begun.wait(60)
        stopper.stop()

    thread = threading.Thread(target=ask)
    thread.start()
    search = Search(SearchParams(), 8 * MIB)
    result = search.search(Board(15, 15, 0), HashedEvaluator(1), [stopper, Begun()])
    thread.join()
    assert result.stop_reason == "stopped"

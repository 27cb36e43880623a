import math
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.timing.budget import UNLIMITED_MS, Budget, SearchLimits, plan, time_left_s
from engine.timing.clock import SystemClock, process_age_s
from engine.timing.pace import Pace

OVERHEAD_MS = 150
whole = st.one_of(
    st.none(), st.integers(-(2**31), 2**33), st.integers(-5, 300), st.sampled_from([0, 1, 2**31 - 1])
)


@given(
    turn=whole, match=whole, left=whole, increment=st.integers(-100, 10**6),
    ply=st.integers(0, 484), overhead=st.integers(0, 2000),
)  # fmt: skip
def test_deadlines_are_ordered_and_inside_every_limit(turn, match, left, increment, ply, overhead):
    limits = SearchLimits(turn, match, left, increment)
    budget = plan(limits, ply, 484, overhead)
    assert 0 < budget.soft_s <= budget.hard_s <= budget.answer_s
    allowed = min(math.inf if turn is None else turn / 1000, time_left_s(limits))
    if allowed > 0:
        assert math.isinf(allowed) or budget.answer_s <= allowed
        if overhead and not math.isinf(allowed):
            assert budget.hard_s <= max(0.65 * allowed, allowed - overhead / 1000) + 1e-9
    else:
        assert budget.hard_s <= 0.02 and budget.answer_s <= 0.1


def test_no_limit_at_all():
    assert plan(SearchLimits(), 0, 225, OVERHEAD_MS) == Budget(math.inf, math.inf, math.inf)
    unlimited = SearchLimits(None, 0, UNLIMITED_MS)
    assert plan(unlimited, 0, 225, OVERHEAD_MS).hard_s == math.inf


@pytest.mark.parametrize("limits", [SearchLimits(0), SearchLimits(-5), SearchLimits(5000, time_left_ms=-1)])
def test_at_once(limits):
    assert plan(limits, 10, 225, OVERHEAD_MS).hard_s <= 0.02


def test_without_a_match_limit_the_turn_is_used():
    budget = plan(SearchLimits(5000, 0, UNLIMITED_MS), 0, 400, OVERHEAD_MS)
    assert budget.soft_s == budget.hard_s == pytest.approx(4.85)
    budget = plan(SearchLimits(100), 0, 225, OVERHEAD_MS)
    assert 0.05 <= budget.soft_s == budget.hard_s <= 0.07


def test_match_limit_counts_only_without_time_left():
    assert time_left_s(SearchLimits(match_ms=7000)) == 7
    assert time_left_s(SearchLimits(match_ms=7000, time_left_ms=3000)) == 3
    assert time_left_s(SearchLimits(match_ms=0)) == math.inf


@pytest.mark.parametrize(
    ("turn_ms", "match_ms", "side"),
    [(5000, 120_000, 20), (5000, 100_000, 20), (30_000, 180_000, 15), (300_000, 1_000_000, 20),
     (7_200_000, 7_200_000, 15), (1000, 10_000, 15), (5000, 5000, 15)],
)  # fmt: skip
@pytest.mark.parametrize("stretched", [False, True])
def test_a_game_that_fills_the_board_never_runs_dry(turn_ms, match_ms, side, stretched):
    left_ms, ply = float(match_ms), 0
    lost_outside_ms = 20
    while ply < side * side:
        budget = plan(SearchLimits(turn_ms, match_ms, int(left_ms)), ply, side * side, OVERHEAD_MS)
        used_ms = 1000 * (budget.hard_s if stretched else budget.soft_s) + lost_outside_ms
        assert used_ms < turn_ms
        left_ms -= used_ms
        assert left_ms > 0, f"dry at ply {ply}"
        ply += 2


@pytest.mark.parametrize(
    ("turn_ms", "match_ms", "least"),
    [(5000, 120_000, 0.7), (30_000, 180_000, 0.5), (300_000, 1_000_000, 0.5)],
)
def test_a_usual_game_uses_its_time(turn_ms, match_ms, least):
    left_ms, ply = match_ms, 0
    while ply < 50:
        budget = plan(SearchLimits(turn_ms, match_ms, left_ms), ply, 400, OVERHEAD_MS)
        left_ms -= int(1000 * budget.soft_s)
        ply += 2
    assert match_ms - left_ms > least * match_ms


def test_increment_is_used():
    without = plan(SearchLimits(None, time_left_ms=10_000), 40, 225, OVERHEAD_MS)
    with_it = plan(SearchLimits(None, time_left_ms=10_000, increment_ms=2000), 40, 225, OVERHEAD_MS)
    assert with_it.soft_s > without.soft_s + 1


def settled(pace):
    for i in range(100):
        pace.update(0.05 * i, 112, 0.1, 0.1)
    return pace


def test_settled_search_stops_early_and_unsettled_goes_on():
    budget = Budget(5.0, 12.0, 12.2)
    calm = settled(Pace(budget))
    torn = Pace(budget)
    for i in range(100):
        torn.update(0.05 * i, 112 + (i // 10) % 2, 0.1, 0.95)
    assert calm.deadline_s() < 0.8 * budget.soft_s
    assert torn.deadline_s() > 1.3 * budget.soft_s
    assert torn.deadline_s() <= budget.hard_s


def test_falling_value_gets_more_time():
    budget = Budget(5.0, 12.0, 12.2)
    falling, steady = Pace(budget, last_q=0.3), Pace(budget, last_q=0.3)
    for i in range(50):
        falling.update(0.05 * i, 112, 0.3 - 0.01 * i, 0.5)
        steady.update(0.05 * i, 112, 0.3, 0.5)
    assert falling.deadline_s() > steady.deadline_s() + 1


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1, 1), st.floats(0, 3)), max_size=50))
def test_deadline_stays_within_the_budget(updates):
    budget = Budget(2.0, 3.0, 3.1)
    pace = Pace(budget)
    for i, (best, q, visit_ratio) in enumerate(updates):
        pace.update(0.1 * i, best, q, visit_ratio)
        assert 0.5 * budget.soft_s <= pace.deadline_s() <= budget.hard_s


def test_nothing_is_saved_where_nothing_can_be_saved():
    assert settled(Pace(Budget(5.0, 5.0, 5.1))).deadline_s() == 5.0


def test_process_age_counts_from_creation():
    code = (
        "import time\nfrom engine.timing.clock import process_age_s\n"
        "print(process_age_s(), time.clock_gettime(time.CLOCK_MONOTONIC))"
    )
    before = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    age_s, at_s = map(float, done.stdout.split())
    created_s = at_s - age_s
    assert before - 0.03 <= created_s <= at_s  # creation is told in ticks of 10 ms


def test_process_start_is_fixed_and_in_the_past():
    clock = SystemClock()
    first = clock.process_started_s()
    assert 0 <= clock.now_s() - first < 24 * 3600
    assert clock.process_started_s() == first
    assert process_age_s() >= 0


@pytest.mark.parametrize("ply", [0, 20, 60, 200])
def test_a_part_of_every_increment_is_saved(ply):
    plain = plan(SearchLimits(time_left_ms=60_000), ply, 225, OVERHEAD_MS)
    paid = plan(SearchLimits(time_left_ms=60_000, increment_ms=1000), ply, 225, OVERHEAD_MS)
    assert 0.5 <= paid.soft_s - plain.soft_s <= 0.8

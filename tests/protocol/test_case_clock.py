"""Conformance cases 10 and 11: limits on time, and a process that is stopped and continued.

Upper bounds on time take the best of several tries and forgive a late answer what brain and listener waited
for a core at the end, lower bounds take all of the time, so that a busy machine fails neither.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from arena.records import GameSetup
from arena.series import series_limits
from tests.protocol.referee import referee
from tests.protocol.talk import MOVE, Talk, board_of_moves, brain_command, cells

pytestmark = [pytest.mark.posix, pytest.mark.alone]

TRIES = 4
AT_ONCE_MS = 150.0
"""What `timeout_turn 0` may take (conformance case 10: about 100 to 200 ms)."""
POSITION = cells("h8i9j8i7k9i10g7k8")


def soonest_ms(measure: Callable[[], float], limit_ms: float) -> float:
    """Return the best of up to TRIES measurements, the first one within the limit if any is."""
    best_ms = float("inf")
    for _ in range(TRIES):
        best_ms = min(best_ms, measure())
        if best_ms <= limit_ms:
            break
    return best_ms


def at_once_ms(talk: Talk, *lines: str) -> float:
    """Return how long a question takes that is to be answered at once."""
    return talk.timed_move(*lines, *board_of_moves(POSITION), limit_ms=AT_ONCE_MS)[1]


def test_case_10_turn_limit_zero_answers_at_once(talk: Talk) -> None:
    talk.say("INFO timeout_turn 0")
    for size in (15, 20):
        talk.ok(f"START {size}")
        best_ms = soonest_ms(lambda: at_once_ms(talk), AT_ONCE_MS)
        assert best_ms <= AT_ONCE_MS


@pytest.mark.parametrize("left", [-2147483648, -1, 0, 50])
def test_case_10_no_time_left_answers_at_once(talk: Talk, left: int) -> None:
    talk.say("INFO timeout_turn 30000", "INFO timeout_match 100000")

    def measure() -> float:
        return at_once_ms(talk, f"INFO time_left {left}")

    assert soonest_ms(measure, AT_ONCE_MS) <= AT_ONCE_MS


@pytest.mark.parametrize("turn_ms", [1, 20, 50, 100, 300, 1000])
def test_case_10_turn_limit_holds(talk: Talk, turn_ms: int) -> None:
    talk.say(f"INFO timeout_turn {turn_ms}", "INFO timeout_match 0", "INFO time_left 2147483647")
    limit_ms = max(turn_ms, AT_ONCE_MS) if turn_ms < 50 else turn_ms

    def measure() -> float:
        return talk.timed_move(*board_of_moves(POSITION), limit_ms=limit_ms)[1]

    assert soonest_ms(measure, limit_ms) <= limit_ms


def test_case_10_time_is_used_where_it_is_given(talk: Talk) -> None:
    """A match limit of 0 and a time left of 2^31 - 1 mean no limit, not none left."""
    talk.say("INFO timeout_turn 1000", "INFO timeout_match 0", "INFO time_left 2147483647")
    talk.timed_move("BOARD", "7,7,2", "DONE")
    assert talk.wall_ms >= 200


@pytest.mark.parametrize(
    "lines",
    [
        ("INFO timeout_match 0", "INFO time_left 0"),
        ("INFO time_left -1", "INFO timeout_match -1"),
        ("INFO time_left 0",),
    ],
)
def test_case_10_no_match_clock_is_no_limit(talk: Talk, lines: tuple[str, ...]) -> None:
    """Several managers say by zeros that there is no match clock; the turn limit counts alone."""
    talk.say("INFO timeout_turn 600", *lines)
    talk.timed_move("BOARD", "7,7,2", "DONE")
    assert talk.wall_ms >= 150


def test_case_10_little_time_left_for_the_match(talk: Talk) -> None:
    talk.say("INFO timeout_turn 30000", "INFO timeout_match 180000")

    def measure() -> float:
        return talk.timed_move("INFO time_left 1500", *board_of_moves(POSITION), limit_ms=700.0)[1]

    assert soonest_ms(measure, 700.0) <= 700.0


@pytest.mark.parametrize("line", ["INFO timeout_turn 0", "STOP", "YXSTOP", "yxstop"])
def test_case_10_told_to_move_while_thinking(talk: Talk, line: str) -> None:
    def measure() -> float:
        talk.say("INFO timeout_turn 60000", "INFO time_left 2147483647")
        talk.say("BOARD", "7,7,2", "DONE")
        assert talk.ask("ABOUT").startswith("name=")
        time.sleep(0.05)  # some thinking to interrupt
        return talk.timed_move(line, limit_ms=AT_ONCE_MS)[1]

    assert soonest_ms(measure, AT_ONCE_MS) <= AT_ONCE_MS


@pytest.mark.parametrize("line", ["STOP", "YXSTOP"])
def test_case_10_stop_while_idle_is_silent(talk: Talk, line: str) -> None:
    talk.say(line)
    talk.quiet()
    talk.move("BEGIN")
    talk.say(line, line)
    talk.quiet()
    talk.say("INFO timeout_turn 200")
    talk.timed_move("TURN 0,0")
    assert talk.wall_ms >= 40, "a stop before the question must not stop it"


def test_case_10_new_limits_while_thinking_count(talk: Talk) -> None:
    talk.say("INFO timeout_turn 60000", "INFO time_left 2147483647", "BOARD", "7,7,2", "DONE")
    assert talk.ask("ABOUT").startswith("name=")
    _, elapsed_ms = talk.timed_move("INFO timeout_turn 300", limit_ms=2000.0)
    assert elapsed_ms <= 2000


def frozen_start(frozen_s: float, turn_ms: int) -> float:
    """Play one move as the judge does, the process frozen after START for a while; return its time in ms."""
    with Talk(net=None) as talk:
        lines = ["START 20", f"INFO timeout_turn {turn_ms}", "INFO timeout_match 120000", "INFO rule 0"]
        talk.say(*lines, "INFO max_memory 367001600", "INFO game_type 1", "INFO folder .", end=b"\r\n")
        talk.brain.suspend()
        time.sleep(frozen_s)
        start_s = time.monotonic()
        talk.brain.resume()
        talk.say("INFO time_left 120000", *board_of_moves(POSITION), end=b"\r\n")
        assert talk.next_line() == "OK"
        assert MOVE.fullmatch(talk.next_line() or "")
        elapsed_ms = (talk.brain.chunks[-1][0] - start_s) * 1000
        elapsed_ms -= talk.brain.queued_ms() + talk.brain.heard_late_ms()
        talk.end()
        return elapsed_ms


@pytest.mark.parametrize("frozen_s", [0.0, 0.5, 1.5])
def test_case_11_first_move_with_a_frozen_process(frozen_s: float) -> None:
    assert soonest_ms(lambda: frozen_start(frozen_s, 1000), 1000.0) <= 1000.0


def test_case_11_first_move_comes_soon_even_without_time() -> None:
    """The start-up is all that it may cost; the judge gives 5 s and more."""
    assert soonest_ms(lambda: frozen_start(0.0, 0), 1000.0) <= 1000.0


def test_case_11_a_stop_between_moves_does_not_count(talk: Talk) -> None:
    """The brain must neither lose that time nor think that it has been used."""
    quiet = cells("d4l12d12l4h2")
    talk.say("INFO timeout_turn 500", "INFO timeout_match 20000", "INFO time_left 20000")
    talk.move(*board_of_moves(quiet))
    for _ in range(2):
        talk.brain.suspend()
        time.sleep(1.0)
        talk.brain.resume()
        _, elapsed_ms = talk.timed_move("INFO time_left 19000", *board_of_moves(quiet), limit_ms=500.0)
        assert talk.wall_ms >= 100 and elapsed_ms <= 500


def test_case_11_on_one_core() -> None:
    """All of it on one core, as the league does it."""
    core = min(os.sched_getaffinity(0))
    brain = " ".join(brain_command())
    setup = GameSetup(0, 15, 15, 0, (7 * 15 + 7, 8 * 15 + 8, 8 * 15 + 7))
    limits = series_limits(300, tolerance_ms=10_000)
    (record,) = referee("judge", [f"taskset -c {core} {brain}", "tactical"], [setup], limits)
    assert [i for i in record.incidents if i.kind != "time"] == []
    over_ms = [t.overshoot_ms - t.queued_ms for t in record.times if t.player == 0 and not t.cold]
    assert sorted(over_ms)[len(over_ms) // 2] <= 0


def test_suspension_is_what_the_kernel_says(talk: Talk) -> None:
    """The referee's stop really stops: no output while the process is stopped."""
    talk.say("INFO timeout_turn 100", "INFO time_left 2147483647")
    talk.brain.suspend()
    talk.say("BOARD", "7,7,2", "DONE")
    assert talk.next_line(0.4) is None
    os.kill(talk.brain.process.pid, signal.SIGCONT)
    assert MOVE.fullmatch(talk.next_line() or "")

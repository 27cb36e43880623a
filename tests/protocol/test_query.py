"""Commands that come while the brain thinks, and the watchdog."""

import pytest

from tests.helpers.protocol_fakes import H8, started


@pytest.mark.parametrize("line", ["START 15", "START 99", "RESTART", "TAKEBACK 7,7", "BOARD\n1,1,2\nDONE",
                                  "SWAP2BOARD\nDONE", "YXBOARD\nDONE"])
def test_a_cancelled_search_prints_nothing(line: str) -> None:
    talk = started()
    talk.say("TURN 7,7")
    old = talk.query
    talk.say(line)
    assert talk.worker.cancelled >= 1
    from protocol.query import Outcome

    talk.conversation.finished(Outcome(old.token, (0,)))
    assert talk.take() == []


def test_about_and_garbage_are_answered_while_thinking_without_disturbing() -> None:
    talk = started()
    talk.say("BEGIN")
    assert talk.say("ABOUT")[0].startswith('name="Tengen"')
    assert talk.say("FOO BAR") == ["UNKNOWN command FOO BAR"]
    assert talk.say("INFO nonsense 3\nINFO\nINFO timeout_turn\nINFO timeout_turn x") == []
    assert talk.worker.relimits == [] and talk.worker.cancelled == 0
    assert talk.answer(0) == ["0,0"]


def test_turn_while_thinking_waits_and_everything_is_answered_in_order() -> None:
    talk = started()
    assert talk.say("BEGIN\nTURN 7,7\nTURN 99,9\nINFO timeout_turn 7\nTURN 8,8") == []
    assert talk.answer(0) == ["0,0"] and talk.query.stones[-1] == (H8, 1)
    assert talk.query.limits.turn_ms != 7
    lines = talk.answer(1)
    assert lines == ["1,0", "ERROR 99,9 is off the board"] and talk.query.limits.turn_ms == 7
    assert talk.answer(2) == ["2,0"]
    assert not talk.conversation.thinking


def test_a_new_start_drops_what_waits() -> None:
    talk = started()
    talk.say("BEGIN\nTURN 7,7")
    assert talk.say("START 15") == ["OK"]
    assert not talk.conversation.thinking
    talk.say("BEGIN")
    assert talk.query.stones == ()


@pytest.mark.parametrize("line", ["STOP", "YXSTOP", "INFO timeout_turn 0"])
def test_stop_hurries_a_search_and_is_silent_when_idle(line: str) -> None:
    talk = started()
    assert talk.say(line) == [] and talk.worker.hurried == 0
    talk.say("BEGIN")
    assert talk.say(line) == [] and talk.worker.hurried == 1
    assert talk.answer(0) == ["0,0"] and talk.say(line) == []


def test_limits_told_while_thinking_reach_the_search() -> None:
    talk = started()
    talk.say("INFO timeout_turn 5000\nBEGIN")
    talk.worker.now += 2.0
    talk.say("INFO timeout_turn 9000\nINFO time_left 50000")
    assert talk.worker.relimits[0].turn_ms == 9000
    assert talk.worker.relimits[1].time_left_ms == 52000  # as of the arrival of the question
    assert talk.query.limits == talk.worker.relimits[1]


# --- watchdog -----------------------------------------------------------------------------------------------


def test_the_watchdog_answers_once_and_the_late_result_is_dropped() -> None:
    talk = started()
    talk.say("TURN 7,7")
    talk.worker.due, talk.worker.best = 105.0, 3
    assert talk.conversation.watch() == 105.0 and talk.take() == []
    talk.worker.now = 105.1
    talk.conversation.watch()
    assert talk.take() == ["3,0"] and talk.worker.hurried == 1 and talk.logged
    assert talk.answer(4) == []
    talk.worker.due = float("inf")
    talk.say("TURN 8,8")
    assert talk.query.stones == ((H8, 0), (3, 1), (8 * 15 + 8, 0))


@pytest.mark.parametrize("best", [None, H8, 400])
def test_the_watchdog_finds_a_legal_move_itself(best: int | None) -> None:
    talk = started()
    talk.say("TURN 7,7")
    talk.worker.due, talk.worker.best = 0.0, best
    talk.conversation.watch()
    (answer,) = talk.take()
    assert answer != "7,7" and max(map(int, answer.split(","))) < 15


def test_the_watchdog_of_swap2() -> None:
    talk = started()
    talk.worker.due, talk.worker.best = 0.0, 3
    talk.say("SWAP2BOARD\nDONE")
    talk.conversation.watch()
    assert talk.take() == ["0,0 2,1 2,4"]
    talk.say("SWAP2BOARD\n1,1\n2,2\n3,3\nDONE")
    talk.conversation.watch()
    assert talk.take() == ["SWAP"]

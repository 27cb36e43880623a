"""AlphaGomoku's additions to the protocol: answered, or refused once with their lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.search.result import MoveStats
from tests.helpers.protocol_fakes import Talk, move, result

REFUSED = (
    "SWAP1STBOARD", "PROBOARD", "LONGPROBOARD", "SWAP5STEP1", "SWAP5STEP3", "RIFSTEP1", "RIFSTEP4",
    "YAMAGUCHISTEP2 3", "SOOSYRVSTEP2 8", "SOOSYRVSTEP6 3", "TARAGUCHISTEP4 1", "SAKATASTEP3",
    "TARANNIKOVSTEP2", "LIANHUANSTEP1",
)  # fmt: skip
THREE_THREE = "7,7,1\n7,8,2\n8,6,1\n8,8,2\n7,9,1\n8,5,2\n8,10,1\n8,11,2\n"


def started() -> Talk:
    talk = Talk()
    assert talk.say("START 15") == ["OK"]
    return talk


def valued(point: int, q: float) -> MoveStats:
    return replace(move(point, 9), q=q)


def test_protocol_version_comes_after_the_answer_that_is_due() -> None:
    assert Talk().say("PROTOCOLVERSION") == ["1,0"]
    talk = started()
    assert talk.say("BEGIN\nprotocolversion") == []
    assert talk.answer(112) == ["7,7", "1,0"]


def test_yixin_board_would_take_the_version_for_a_move() -> None:
    talk = Talk()
    talk.say("yxshowinfo")
    assert talk.say("PROTOCOLVERSION") == []


def test_clear_hash_is_silent_and_clears() -> None:
    talk = started()
    assert talk.say("CLEARHASH") == []
    talk.say("BEGIN")
    assert talk.query.clear_tree


@pytest.mark.parametrize(("command", "turn_ms"), [("PONDER", None), ("ponder 250", 250), ("PONDER -1", None)])
def test_ponder_searches_without_an_answer_until_it_is_stopped(command: str, turn_ms: int | None) -> None:
    talk = started()
    talk.say("INFO timeout_turn 3000")
    assert talk.say(command) == [] and not talk.conversation.thinking
    assert talk.query.kind == "ponder" and talk.query.limits.turn_ms == turn_ms
    assert talk.answer(5) == []
    before = talk.worker.cancelled
    assert talk.say("STOP") == [] and talk.worker.cancelled == before + 1
    talk.say("TURN 7,7")
    assert talk.answer(0) == ["0,0"]


def test_ponder_while_a_move_is_due_begins_after_it() -> None:
    talk = started()
    talk.say("BEGIN\nPONDER")
    assert talk.query.kind == "move" and talk.answer(112) == ["7,7"]
    assert talk.query.kind == "ponder" and talk.query.stones == ((112, 0),)


@pytest.mark.parametrize("line", ["PONDER soon", "PONDER 1 2", "BALANCE\nDONE", "BALANCE 3\n7,7,2\nDONE",
                                  "BALANCE x\nDONE", "SWAPBOARD\n7,7\nDONE",
                                  "SWAPBOARD\n7,7\n7,99\n1,1\nDONE"])
def test_senseless_ones_are_one_error(line: str) -> None:
    (answer,) = started().say(line)
    assert answer.startswith("ERROR ")


@pytest.mark.parametrize("line", ["PONDER", "SHOWFORBID\n7,7,1\nDONE", "SWAPBOARD\nDONE",
                                  "BALANCE 1\n7,7,2\nDONE"])
def test_one_error_before_start(line: str) -> None:
    (answer,) = Talk().say(line)
    assert answer.startswith("ERROR ") and "before START" in answer


def test_show_forbid_is_about_its_own_lines() -> None:
    talk = started()
    talk.say("INFO rule 4\nTURN 0,0")
    assert talk.say(f"SHOWFORBID\n{THREE_THREE}DONE") == ["FORBID 6,8"]
    assert talk.say("SHOWFORBID\n7,7,1\n8,8,2\nDONE") == ["FORBID"]
    assert talk.answer(5) == ["5,0"]
    talk.say("TURN 1,1")
    assert talk.query.stones == ((0, 0), (5, 1), (16, 0))


def test_show_forbid_of_nonsense_is_one_error() -> None:
    (answer,) = started().say("SHOWFORBID\n7,7,1\n99,0,2\nDONE")
    assert answer.startswith("ERROR ")


def test_other_rules_forbid_nothing() -> None:
    assert started().say(f"SHOWFORBID\n{THREE_THREE}DONE") == ["FORBID"]


def test_swapboard_offers_three_stones_or_chooses() -> None:
    talk = started()
    assert talk.say("SWAPBOARD\nDONE") == [] and talk.query.kind == "swap2"
    assert talk.answer((0, 17, 62)) == ["0,0 2,1 2,4"]
    talk.say("SWAPBOARD\n7,7\n8,8\n9,9\nDONE")
    assert talk.answer("SWAP") == ["SWAP"]
    talk.say("SWAPBOARD\n7,7\n8,8\n9,9\nDONE")
    assert talk.answer(0) == ["0,0"]
    assert talk.say("SWAPBOARD\n1,1\n2,2\n3,3\n4,4\n5,5\nDONE")[0].startswith("ERROR SWAPBOARD needs 0 or 3")


def test_balance_answers_in_one_line_and_leaves_the_game_alone() -> None:
    talk = started()
    talk.say("TURN 0,0")
    talk.answer(5)
    talk.say("BALANCE 1\n7,7,2\n8,8,1\n9,9,2\nDONE")
    assert talk.query.to_move == 1 and len(talk.query.stones) == 3
    found = (valued(1, 0.5), valued(2, -0.1))
    assert talk.answer(1, result(1, candidates=found))[-1] == "2,0"
    talk.say("BALANCE 2\n7,7,2\n8,8,1\nDONE")
    assert talk.answer(1, result(1, candidates=found)) == []
    assert talk.answer(3, result(3, candidates=(valued(3, 0.0),)))[-1] == "2,0 3,0"
    talk.say("TURN 1,1")
    assert talk.query.stones == ((0, 0), (5, 1), (16, 0))


@pytest.mark.parametrize("command", REFUSED)
def test_openings_that_are_not_played_are_refused_once_after_their_lines(command: str) -> None:
    talk = started()
    assert talk.say(f"{command}\n7,7\n8,8") == []
    (answer,) = talk.say("DONE")
    assert answer.startswith(f"ERROR {command.split(maxsplit=1)[0]} ")
    talk.say("BEGIN")
    assert talk.answer(112) == ["7,7"]


@pytest.mark.parametrize(("command", "end"), [("RIFSTEP5", "DONE"), ("YAMAGUCHISTEP5 2", "PLAY")])
def test_a_line_after_the_block_belongs_to_the_refused_question(command: str, end: str) -> None:
    talk = started()
    assert talk.say(f"{command}\n7,7\n8,8\n9,9\n6,6\n{end}\n1,1 2,2")[0].startswith("ERROR ")
    assert talk.take() == []
    talk.say(f"{command}\n7,7\n{end}\nBEGIN")
    assert talk.conversation.thinking


def test_words_that_only_look_like_them_are_unknown() -> None:
    talk = started()
    for line in ("SWAP5STEP4", "RIFSTEP", "SOOSYRVSTEP7", "PROBOARDS", "BALANCES 1"):
        assert talk.say(line)[0].startswith("UNKNOWN ")

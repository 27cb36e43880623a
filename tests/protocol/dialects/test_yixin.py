"""What Yixin-Board sends and what it must hear for every command, so that it goes on.

The board takes each line that is no remark for a move. It counts the moves that it has stopped to want, after
*New* or *Undo* while the brain thinks, and throws away as many, also one that it waits for.
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest

from engine import Rule
from protocol.dialects.soosorv import even_number, fifth_moves, openings
from protocol.query import Outcome
from tests.helpers.paths import ROOT
from tests.helpers.protocol_fakes import Talk, result
from tests.helpers.yixin import G7, H8, H9, I9, J10, board, moves, position, valued

DOCUMENT = ROOT / "docs" / "protocol.md"
STONES = "7,7\n6,7\n6,8\n"
PLAIN = (
    "yxstop", "yxshowforbid", "yxshowinfo", "yxhashclear", "yxshowhashusage", "yxblockreset",
    "yxblockpathreset", "yxsearchdefend", "yxdraw", "yxresign", "yxprintfeature", "yxdbcheck", "yxdbfix",
    "yxsavedatabase", "yxnbest 3", "yxbalanceone 0", "yxbalancetwo 100", "yxswap2step1", "yxswap2step2",
    "yxswap2step3", "yxsoosorvstep1", "yxforbid add 7 7 0", "yxforbid del 7 7 0",
)  # fmt: skip
WITH_A_LINE = (
    "yxhashdump", "yxhashload", "yxsetdatabase", "yxdbtopos", "yxdbtotxt", "yxdbtotxtall", "yxtxttodb",
    "yxlibtodb", "yxdbsplit", "yxdbmerge",
)  # fmt: skip
WITH_A_BLOCK = (
    "yxboard", "yxblock", "yxblockundo", "yxblockpath", "yxblockpathundo", "yxquerydatabaseall",
    "yxquerydatabaseone", "yxquerydatabaseallt", "yxquerydatabasetext", "yxsetbestmovedatabase",
    "yxclearbestmovedatabase", "yxeditlabeldatabase 7,7 a", "yxedittvddatabase 1 65 0 0",
    'yxedittextdatabase "a"', "yxdeletedatabaseone", "yxdeletedatabaseall", "yxdeletedatabaseall nonwl",
    "yxdeletedatabaseall wl", "yxsoosorvstep2", "yxsoosorvstep3", "yxsoosorvstep4 3", "yxsoosorvstep5 3",
    "yxsoosorvstep6",
)  # fmt: skip
KEYS = (
    "show_detail 1", "timeout_turn 2000000", "timeout_match 100000000", "time_left 100000000", "max_node -1",
    "max_depth 225", "time_increment 0", "caution_factor 4", "thread_num 8", "thread_split_depth 8",
    "hash_size 0", "pondering 0", "vcthread 2", "rule 2", "nbestsym 0", "start_depth 9", "usedatabase 1",
    "database_readonly 0", "checkmate 1",
)  # fmt: skip


def soosorv(lines: list[str]) -> list[str]:
    return [line.removeprefix("MESSAGE SOOSORV ") for line in lines if line.startswith("MESSAGE SOOSORV ")]


# --- every command of its source ---------------------------------------------------------------------------


@pytest.mark.parametrize("command", [*PLAIN, *WITH_A_LINE, *WITH_A_BLOCK])
def test_every_command_is_understood_with_its_lines_and_leaves_the_board_going(command: str) -> None:
    talk = board()
    talk.say(position("7,7", "6,7", "6,8", word="yxboard"))
    brought = "C:\\some place\\start 20\n" if command in WITH_A_LINE else ""
    brought += f"{STONES}done\n" if command in WITH_A_BLOCK else ""
    lines = talk.say(f"{command}\n{brought}")
    wrong = [line for line in moves(lines) if not line.startswith("ERROR ")]
    assert not wrong and len(moves(lines)) <= 1
    if talk.conversation.thinking:
        lines = talk.answer((0, 17, 62) if command == "yxswap2step1" else H9)
        while talk.conversation.thinking:
            lines = talk.answer(H9)
        assert lines
    talk.say(position("7,7"))
    assert moves(talk.answer(H9)) == ["6,7"]


@pytest.mark.parametrize("command", [*PLAIN, *WITH_A_LINE, *WITH_A_BLOCK])
def test_every_command_is_in_the_document(command: str) -> None:
    text = DOCUMENT.read_text("utf-8").lower()
    word = command.split(maxsplit=1)[0]
    assert re.search(rf"`[^`]*\b{word}\b", text), f"{word} is missing in {DOCUMENT.name}"


@pytest.mark.parametrize("key", KEYS)
def test_every_info_key_is_silent_and_in_the_document(key: str) -> None:
    assert board().say(f"INFO {key}") == []
    assert f"`{key.split(maxsplit=1)[0]}`" in DOCUMENT.read_text("utf-8")


# --- every move asked for is said once ---------------------------------------------------------------------


def test_new_while_thinking_is_answered_before_the_next_question() -> None:
    """The board sends nothing for *New*; it throws the next move away and takes the one after that."""
    talk = board()
    talk.say(position("7,7"))
    talk.worker.best = H9
    old = talk.query
    assert talk.say(position("11,5")) == ["OK", "6,7"]
    talk.conversation.finished(Outcome(old.token, (I9,)))
    assert talk.take() == [] and talk.query.stones == ((11 * 15 + 5, 0),)
    assert moves(talk.answer(H8)) == ["7,7"]


def test_the_owed_move_is_legal_where_the_search_knew_none() -> None:
    talk = board()
    talk.say(position("7,7"))
    _, owed = talk.say(position("11,5"))
    row, column = map(int, owed.split(","))
    assert 0 <= row < 15 and 0 <= column < 15 and (row, column) != (7, 7)


@pytest.mark.parametrize("ending", ["yxshowforbid", "yxstop", "yxshowforbid\nyxstop"])
def test_undo_while_thinking_is_answered_once(ending: str) -> None:
    talk = board()
    talk.say(position("7,7", "6,7", "6,8"))
    talk.worker.best = G7
    assert talk.say(position("7,7", "6,7", word="yxboard")) == ["OK"]
    assert moves(talk.say(ending)) == ["8,6"]
    assert moves(talk.say("yxstop\nyxshowforbid")) == [] and not talk.conversation.thinking


def test_new_twice_owes_twice() -> None:
    talk = board()
    talk.say(position("7,7"))
    assert len(moves(talk.say(position("6,7")))) == 1
    assert len(moves(talk.say(position("6,8")))) == 1
    assert len(moves(talk.answer(H8))) == 1


def test_n_best_about_the_position_that_is_thought_about_is_one_question() -> None:
    """The board waits for one move: a second one would stand on the first."""
    talk = board()
    talk.say(position("7,7"))
    assert moves(talk.say(position("7,7", word="yxboard") + "\nyxnbest 3")) == []
    assert moves(talk.answer(H9, result(H9))) == ["6,7"]


def test_n_best_after_new_is_a_question_of_its_own() -> None:
    talk = board()
    talk.say(position("7,7"))
    assert len(moves(talk.say(position(word="yxboard") + "\nyxnbest 3"))) == 1
    assert moves(talk.answer(H9, result(H9))) == ["6,7"]


@pytest.mark.parametrize("question", ["yxnbest 3", "yxsearchdefend", "yxbalanceone 0", "yxbalancetwo 0"])
@pytest.mark.parametrize("goes_on", ["turn 6,8", position("7,7", "6,7", "6,8")])
def test_the_board_goes_on_without_what_it_does_not_wait_for(question: str, goes_on: str) -> None:
    talk = board()
    talk.say(position("7,7", "6,7", word="yxboard") + f"\n{question}")
    assert moves(talk.say(goes_on)) == []
    assert talk.query.stones == ((H8, 0), (H9, 1), (I9, 0)) and moves(talk.answer(G7)) == ["8,6"]


def test_an_error_that_waits_behind_what_is_dropped_is_said() -> None:
    talk = board()
    assert moves(talk.say("yxnbest 3\nyxnbest x\nturn 7,7")) == ["ERROR YXNBEST needs a number of moves"]
    assert moves(talk.answer(H9)) == ["6,7"]


def test_a_dropped_choice_of_swap2_is_answered_by_a_move() -> None:
    """A remark would not count as the move that the board throws away."""
    talk = board()
    talk.say(position("7,7", "6,7", "6,8", word="yxboard") + "\nyxswap2step2")
    (owed,) = moves(talk.say(position("7,7", "6,7", word="yxboard") + "\nyxshowforbid\nyxstop"))
    assert re.fullmatch(r"\d+,\d+", owed) and owed not in STONES.split()


def test_other_managers_hear_nothing_of_a_dropped_question() -> None:
    talk = Talk()
    talk.say("START 15\nTURN 7,7")
    assert talk.say("START 15\nBOARD\n5,5,2\nDONE") == ["OK"]


def test_hash_clear_is_not_lost_when_the_question_before_it_is_dropped() -> None:
    talk = board()
    talk.say(position("7,7"))
    talk.say("yxhashclear\n" + position("11,5"))
    assert talk.query.clear_tree


def test_stop_ends_thinking_on_the_opponents_time() -> None:
    talk = board()
    talk.say("info pondering 1\n" + position("7,7"))
    talk.answer(H9)
    assert talk.query.kind == "ponder"
    before = talk.worker.cancelled
    assert talk.say("yxstop") == [] and talk.worker.cancelled == before + 1


# --- limits ------------------------------------------------------------------------------------------------


def test_without_a_time_limit_the_brain_thinks_until_it_is_stopped() -> None:
    talk = board()
    talk.say("INFO timeout_match 100000000\nINFO time_left 100000000\nINFO timeout_turn 2000000")
    talk.say("INFO max_node -1")
    talk.say(position("7,7"))
    limits = talk.query.limits
    assert limits.turn_ms is None and limits.time_left_ms is None and limits.max_nodes is None
    talk.say("yxstop\nINFO max_node 10000\n" + position("7,7"))
    assert talk.query.limits.max_nodes == 10000 and talk.query.limits.turn_ms is None


# --- swap2 -------------------------------------------------------------------------------------------------


def test_swap2_step_1_puts_three_stones_also_without_a_new_start() -> None:
    talk = board()
    talk.say(position("7,7"))
    talk.answer(H9)
    assert talk.say("yxswap2step1") == [] and talk.query.kind == "swap2" and talk.query.opening == ()
    assert talk.answer((0, 17, 62)) == [
        "MESSAGE SWAP2 MOVE1 0 0", "MESSAGE SWAP2 MOVE2 1 2", "MESSAGE SWAP2 MOVE3 4 2"
    ]
    assert not talk.conversation.thinking


def test_swap2_step_1_while_a_move_is_thought_about() -> None:
    talk = board()
    talk.say(position("7,7"))
    assert len(moves(talk.say("yxswap2step1"))) == 1
    assert len(talk.answer((0, 17, 62))) == 3


@pytest.mark.parametrize(("points", "word"), [("SWAP", "YES"), ((G7,), "NO")])
def test_swap2_choices(points: object, word: str) -> None:
    talk = board()
    talk.say(position("7,7", "6,7", "6,8", word="yxboard") + "\nyxswap2step2")
    assert talk.query.opening == (H8, H9, I9)
    assert talk.answer(points) == [f"MESSAGE SWAP2 SWAP1 {word}"]  # type: ignore[arg-type]
    talk.say(position("7,7", "6,7", "6,8", "8,6", "5,9", word="yxboard") + "\nyxswap2step3")
    chosen = points if isinstance(points, str) else (0,)
    assert talk.query.opening == (H8, H9, I9, G7, J10)
    assert talk.answer(chosen) == [f"MESSAGE SWAP2 SWAP2 {word}"]
    talk.say("turn 0,7" if word == "YES" else position("7,7", "6,7", "6,8", "8,6", "5,9"))
    assert len(talk.query.stones) == (6 if word == "YES" else 5)


def test_swap2_puts_two_stones_if_the_engine_wants_to() -> None:
    talk = board()
    talk.say(position("7,7", "6,7", "6,8", word="yxboard") + "\nyxswap2step2")
    assert talk.answer((G7, J10)) == ["MESSAGE SWAP2 MOVE4 8 6", "MESSAGE SWAP2 MOVE5 5 9"]


def test_swap2_with_other_stones_is_an_error() -> None:
    talk = board()
    talk.say(position("7,7", word="yxboard"))
    assert talk.say("yxswap2step2") == ["ERROR YXSWAP2STEP2 needs 3 stones, not 1"]
    assert talk.say("yxswap2step3") == ["ERROR YXSWAP2STEP3 needs 5 stones, not 1"]


# --- soosorv -----------------------------------------------------------------------------------------------


def test_soosorv_step_1_offers_one_of_the_26_openings() -> None:
    talk = board()
    talk.say("info rule 2\nyxsoosorvstep1")
    looks = 0
    while talk.conversation.thinking:
        assert talk.query.rule is Rule.RENJU and len(talk.query.stones) == 3
        looks += 1
        lines = talk.answer(0, result(0))
    assert looks > 1
    said = [line.split() for line in soosorv(lines)]
    cells = [(int(row), int(column)) for _, row, column in said]
    assert [word for word, *_ in said] == ["MOVE1", "MOVE2", "MOVE3"]
    assert cells[0] == (7, 7) and len(set(cells)) == 3
    assert all(abs(r - 7) <= far and abs(c - 7) <= far for (r, c), far in zip(cells, (0, 1, 2), strict=True))


def test_openings_stay_on_small_boards_and_rectangles() -> None:
    for width, height in ((5, 5), (6, 22), (22, 5)):
        for triple in openings(width, height, Random(1), 50):
            assert len(set(triple)) == 3 and all(0 <= point < width * height for point in triple)


@pytest.mark.parametrize(("points", "word"), [("SWAP", "YES"), ((G7,), "NO")])
def test_soosorv_step_2_chooses_a_colour(points: object, word: str) -> None:
    talk = board()
    talk.say(f"yxsoosorvstep2\n{STONES}done")
    assert talk.query.opening == (H8, H9, I9)
    assert talk.answer(points) == [f"MESSAGE SOOSORV SWAP1 {word}"]  # type: ignore[arg-type]


def test_soosorv_step_3_says_the_fourth_stone_and_how_many_fifth_moves() -> None:
    talk = board()
    talk.say(f"yxsoosorvstep3\n{STONES}done")
    assert talk.query.to_move == 1
    assert talk.answer(G7) == [] and talk.query.stones[-1] == (G7, 1) and talk.query.to_move == 0
    found = tuple(valued(point, q) for point, q in ((0, 0.6), (16, 0.3), (33, -0.05), (50, -0.4)))
    assert soosorv(talk.answer(0, result(0, candidates=found))) == ["MOVE4 8 6 3"]


@pytest.mark.parametrize(("number", "word"), [(2, "NO"), (3, "YES")])
def test_soosorv_step_4_swaps_where_black_must_offer_too_much(number: int, word: str) -> None:
    talk = board()
    talk.say(f"yxsoosorvstep4 {number}\n{STONES}8,6\ndone")
    found = tuple(valued(point, q) for point, q in ((0, 0.6), (16, 0.3), (33, -0.05)))
    assert soosorv(talk.answer(0, result(0, candidates=found))) == [f"SWAP2 {word}"]


def test_soosorv_step_5_offers_moves_that_are_not_alike_by_symmetry() -> None:
    talk = board()
    talk.say("yxsoosorvstep5 3\n7,7\n6,7\n5,7\n8,7\ndone")  # a column: left and right are alike
    left, right, other = 7 * 15 + 5, 7 * 15 + 9, 10
    found = tuple(valued(point, 0.1) for point in (left, right, other))
    lines = soosorv(talk.answer(left, result(left, candidates=found)))
    assert lines[:3] == ["MOVE5 REFRESH", "MOVE5 7 5", "MOVE5 0 10"]
    assert len(lines) == 5 and lines[-1] == "MOVE5 DONE" and "7 9" not in lines[3]


def test_soosorv_step_6_keeps_the_fifth_move_that_is_worst_for_black() -> None:
    talk = board()
    talk.say(f"yxsoosorvstep6\n{STONES}8,6\n0,0\n0,1\n0,2\ndone")
    assert len(talk.query.stones) == 4
    found = tuple(valued(point, q) for point, q in ((0, 0.6), (1, -0.2), (2, 0.3)))
    assert soosorv(talk.answer(0, result(0, candidates=found))) == ["MOVE5C 0 1"]


def test_soosorv_takes_a_move_that_was_not_looked_at_for_the_worst() -> None:
    unseen = replace(valued(2, 0.3), visits=0)  # it has the value of the root
    found = (valued(0, 0.6), valued(1, 0.2), unseen)
    talk = board()
    talk.say(f"yxsoosorvstep6\n{STONES}8,6\n0,0\n0,1\n0,2\ndone")
    assert soosorv(talk.answer(0, result(0, candidates=found))) == ["MOVE5C 0 2"]
    talk = board()
    talk.say(f"yxsoosorvstep4 3\n{STONES}8,6\ndone")
    assert soosorv(talk.answer(0, result(0, candidates=found))) == ["SWAP2 YES"]


@pytest.mark.parametrize(
    "question", ["yxsoosorvstep1", f"yxsoosorvstep2\n{STONES}done", f"yxsoosorvstep3\n{STONES}done",
                 f"yxsoosorvstep4 8\n{STONES}8,6\ndone", f"yxsoosorvstep5 8\n{STONES}8,6\ndone",
                 f"yxsoosorvstep6\n{STONES}8,6\n0,0\n0,1\ndone"],
)  # fmt: skip
def test_soosorv_is_answered_also_where_the_search_fails(question: str) -> None:
    talk = board()
    talk.say(question)
    lines: list[str] = []
    while talk.conversation.thinking:
        lines = talk.answer(None)
    assert lines and all(line.startswith("MESSAGE SOOSORV ") for line in lines)


def test_soosorv_outlives_the_question_for_forbidden_points() -> None:
    """The board asks for them right after step 6; another board or a move to make drops the question."""
    talk = board()
    talk.say(f"info rule 2\nyxsoosorvstep6\n{STONES}8,6\n0,0\n0,1\ndone")
    asked = talk.query.token
    assert talk.say(position("7,7", "6,7", word="yxboard") + "\nyxshowforbid") == ["OK", "FORBID ."]
    assert talk.conversation.thinking and talk.query.token == asked
    assert soosorv(talk.answer(0)) == ["MOVE5C 0 0"]
    for next_line in ("start 20 20", position("7,7"), "restart"):
        talk.say(f"start 15 15\nyxsoosorvstep6\n{STONES}8,6\n0,0\n0,1\ndone")
        asked = talk.query.token
        talk.say(next_line)
        talk.conversation.finished(Outcome(asked, (0,)))
        assert soosorv(talk.take()) == []


def test_what_waits_behind_soosorv_is_dropped_by_a_start() -> None:
    talk = Talk()
    talk.say("START 15\nYXSOOSORVSTEP1\nPROTOCOLVERSION\nTURN 7,7")
    assert talk.say("START 15") == ["OK"]
    while talk.conversation.thinking:
        lines = talk.answer(None)
    assert len(soosorv(lines)) == 3 and moves(lines) == []


def test_soosorv_with_other_stones_is_an_error() -> None:
    talk = board()
    assert talk.say("yxsoosorvstep2\n7,7\ndone") == ["ERROR YXSOOSORVSTEP2 needs 3 stones, not 1"]
    assert talk.say("yxsoosorvstep4\n7,7\ndone")[0].startswith("ERROR YXSOOSORVSTEP4 needs a number")
    assert talk.say("yxsoosorvstep6\n7,7\n7,99\ndone")[0].startswith("ERROR ")


def test_fifth_moves_are_filled_up_from_the_centre_and_end_with_the_board() -> None:
    talk = board("5 5")
    talk.say("yxsoosorvstep5 8\n2,2\n1,2\n0,0\n4,3\ndone")
    assert len(fifth_moves(talk.query, None, 100)) == 21
    assert even_number(talk.query, None) == 1

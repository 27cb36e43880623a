"""Balancing moves, n best, blocked points: what Yixin-Board asks beside a plain move."""

from __future__ import annotations

from dataclasses import replace

from protocol.conversation import SCRIPT_TURN_S
from protocol.parser import Parser
from protocol.query import EVERY, Progress
from tests.helpers.protocol_fakes import move, result
from tests.helpers.yixin import G7, H8, H9, I9, board, moves, position, valued


def test_balance_one_plays_the_move_that_leaves_nobody_ahead() -> None:
    talk = board()
    talk.say(position("7,7", "6,7", word="yxboard") + "\nyxbalanceone 0")
    found = tuple(valued(point, q) for point, q in ((0, 0.6), (16, 0.02), (33, -0.3)))
    lines = talk.answer(0, result(0, candidates=found))
    assert moves(lines) == ["1,1"] and "MESSAGE balance b14" in lines
    talk.say("turn 0,5")
    assert talk.query.stones[2:] == ((16, 0), (5, 1))


def test_a_bias_asks_for_a_lead() -> None:
    talk = board()
    talk.say(position("7,7", "6,7", word="yxboard") + "\nyxbalanceone 300")
    found = tuple(valued(point, q) for point, q in ((0, 0.6), (16, 0.02), (33, -0.3)))
    assert moves(talk.answer(0, result(0, candidates=found))) == ["0,0"]


def test_balance_two_is_one_line_of_which_the_board_plays_the_first() -> None:
    talk = board()
    talk.say("INFO timeout_turn 1000\n" + position("7,7", "6,7", word="yxboard") + "\nyxbalancetwo 0")
    assert talk.query.limits.turn_ms == 500
    assert talk.answer(0, result(0, candidates=(valued(0, 0.6), valued(16, 0.02)))) == []
    assert talk.query.stones[-1] == (16, 0) and talk.query.to_move == 1
    assert moves(talk.answer(0, result(0, candidates=(valued(17, 0.5), valued(18, -0.1))))) == ["1,1 1,3"]
    talk.say("turn 0,5")
    assert talk.query.stones[2:] == ((16, 0), (5, 1))


def test_both_searches_of_a_balance_have_their_time() -> None:
    talk = board()
    talk.say(position("7,7", word="yxboard") + "\nyxbalancetwo 0")
    talk.answer(0, result(0, candidates=(valued(0, 0.0),)))
    assert talk.conversation.thinking and talk.worker.hurried == 0 and not talk.query.stop.is_set()


def test_stop_holds_for_both_searches_of_a_balance() -> None:
    talk = board()
    talk.say(position("7,7", word="yxboard") + "\nyxbalancetwo 0\nyxstop")
    talk.query.stop.set()
    before = talk.worker.hurried
    talk.answer(0, result(0, candidates=(valued(0, 0.0),)))
    assert talk.conversation.thinking and talk.worker.hurried == before + 1


def test_the_fork_plays_both_balancing_moves() -> None:
    talk = board()
    talk.say("info show_detail 3\n" + position("7,7", "6,7", word="yxboard") + "\nyxbalancetwo 0")
    talk.answer(0, result(0, candidates=(valued(16, 0.02),)))
    assert moves(talk.answer(0, result(0, candidates=(valued(18, -0.1),)))) == ["1,1 1,3"]
    talk.say("turn 0,5")
    assert talk.query.stones[2:] == ((16, 0), (18, 1), (5, 0))


def test_the_fork_is_told_the_chances_of_each_cell_on_demand() -> None:
    talk = board()
    talk.say("info show_detail 2\n" + position("7,7"))
    found = (replace(valued(H9, 0.5), pv=(H9, G7)), move(I9, 5, "loss"), move(G7, 0))
    talk.conversation.progress(Progress(talk.query.token, result(H9, candidates=found)))
    assert talk.take() == [
        "INFO PV 0", "INFO NUMPV 2", "INFO DEPTH 9", "INFO NODES 9", "INFO TOTALNODES 100", "INFO EVAL 220",
        "INFO WINRATE 0.750", "INFO BESTLINE 6,7 8,6", "INFO PV DONE",
        "INFO PV 1", "INFO NUMPV 2", "INFO DEPTH 9", "INFO NODES 5", "INFO TOTALNODES 100", "INFO EVAL -M5",
        "INFO WINRATE 0.625", "INFO BESTLINE 6,8", "INFO PV DONE",
    ]  # fmt: skip
    talk.say("info show_detail 0")
    talk.worker.now += 1.0
    talk.conversation.progress(Progress(talk.query.token, result(H9, candidates=found)))
    assert talk.take() == []


def test_search_defend_lists_the_moves_and_plays_the_best() -> None:
    talk = board()
    talk.say(position("7,7", word="yxboard") + "\nyxsearchdefend")
    found = tuple(move(point, 9) for point in range(60))
    lines = talk.answer(0, result(0, candidates=found))
    assert talk.query.n >= 225 and moves(lines) == ["0,0"]
    assert sum(line.startswith("MESSAGE best ") for line in lines) == 20


def test_moves_that_were_not_looked_at_are_not_listed() -> None:
    talk = board()
    talk.say(position("7,7", word="yxboard") + "\nyxnbest 5")
    found = (move(0, 9), move(1, 3), move(2, 0), move(3, 0, "loss"))
    lines = talk.answer(0, result(0, candidates=found))
    assert [line.split()[3] for line in lines if line.startswith("MESSAGE best ")] == ["a15", "b15", "d15"]


def test_blocked_points_are_not_played_until_they_are_given_back() -> None:
    talk = board()
    found = (move(H9, 90), move(I9, 50), move(G7, 9))
    talk.say("yxblock\n6,7\ndone\n" + position("7,7"))
    assert talk.query.best_moves == EVERY and talk.query.blocked == {H9}
    talk.conversation.progress(Progress(talk.query.token, result(H9, candidates=found)))
    assert moves(talk.answer(H9, result(H9, candidates=found))) == ["6,8"]
    talk.say("yxblock\n6,8\ndone\nyxblockundo\n6,7\ndone\n" + position("7,7"))
    assert talk.query.blocked == {I9} and moves(talk.answer(H9, result(H9, candidates=found))) == ["6,7"]
    talk.say("yxblockreset\n" + position("7,7"))
    assert talk.query.kind == "move" and not talk.query.blocked
    assert moves(talk.answer(H9)) == ["6,7"]


def test_blocked_points_are_not_shown() -> None:
    talk = board()
    talk.say("info show_detail 1\nyxblock\n6,7\ndone\n" + position("7,7"))
    found = result(H9, candidates=(move(H9, 90), move(I9, 50)))
    talk.conversation.progress(Progress(talk.query.token, found))
    assert "MESSAGE REALTIME BEST 6,8" in talk.take()


def test_where_only_blocked_points_were_found_the_rest_is_searched() -> None:
    talk = board()
    talk.say("yxblock\n6,7\ndone\n" + position("7,7"))
    assert moves(talk.answer(H9, result(H9, candidates=(move(H9, 90),)))) == []
    assert talk.query.stones == ((H8, 0), (H9, 3)) and talk.query.to_move == 1
    assert moves(talk.answer(I9, result(I9, candidates=(move(I9, 90),)))) == ["6,8"]
    talk.say("turn 8,6")
    assert talk.query.stones == ((H8, 0), (I9, 1), (G7, 0))


def test_where_all_is_blocked_the_best_is_played_all_the_same() -> None:
    talk = board()
    talk.say("".join(f"yxblock\n{p // 15},{p % 15}\ndone\n" for p in range(225)) + position("7,7"))
    assert moves(talk.answer(H9, result(H9, candidates=(move(H9, 90),)))) == ["6,7"]


def test_a_blocked_path_holds_for_its_position_only() -> None:
    talk = board()
    talk.say("yxblockpath\n7,7\n6,7\ndone\nyxblockpath\n7,7\n20,20\ndone")
    talk.say(position("7,7"))
    assert talk.query.blocked == {H9}
    talk.answer(H9)
    talk.say(position("7,6"))
    assert not talk.query.blocked
    talk.answer(H9)
    talk.say("yxblockpathundo\n7,7\n6,7\ndone\n" + position("7,7"))
    assert not talk.query.blocked
    talk.say("yxblockpath\n7,7\n6,7\ndone\nyxblockpathreset\n" + position("7,7"))
    assert not talk.query.blocked


def test_another_board_has_no_blocked_points() -> None:
    talk = board()
    talk.say("yxblock\n6,7\ndone\nstart 20 20\nboard\n7,7,2\ndone")
    assert not talk.query.blocked


def test_a_person_who_asks_for_what_is_missing_reads_a_word() -> None:
    talk = board()
    assert talk.say("yxdraw") == ["MESSAGE DRAW REJECT"]
    for line in ("yxresign", "yxprintfeature", "yxhashdump\na.bin", "yxdbfix", "yxquerydatabaseone\ndone"):
        (said,) = talk.say(line)
        assert said.startswith("MESSAGE ") and len(said) < 250
    assert talk.say("yxquerydatabaseall\n7,7\ndone") == []


def test_a_script_is_answered_at_once_through_both_searches_of_a_balance() -> None:
    talk = board()
    talk.say(position("7,7", word="yxboard") + "\nyxbalancetwo 0")
    talk.conversation.answer_at_once()
    for expected in (0, 1):
        talk.worker.now += SCRIPT_TURN_S
        talk.conversation.watch()
        assert talk.worker.hurried == expected + 1
        lines = talk.answer(expected)
    assert moves(lines) == ["0,0 0,1"]


def test_blocks_cut_short_by_a_new_command_leave_nothing_behind() -> None:
    for word in ("yxsoosorvstep5 3", "yxblockpath", "yxquerydatabaseone"):
        parser = Parser()
        for line in (word.encode(), b"7,7", b"START 15"):
            found = list(parser.feed(line, 0.0))
        assert len(found) == 1 and type(found[0][0]).__name__ == "Start"

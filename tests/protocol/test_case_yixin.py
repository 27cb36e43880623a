"""Yixin-Board's and AlphaGomoku's commands, spoken to a brain that thinks."""

from __future__ import annotations

import re

import pytest

from tests.protocol.talk import ABOUT, MOVE, Talk, as_move, board_of_moves, cells, is_free

pytestmark = pytest.mark.posix

THREE = cells("h8i9j8")
FOUR = [*THREE, *cells("k9")]


@pytest.fixture
def board() -> Talk:
    """A brain that Yixin-Board has introduced itself to."""
    with Talk() as talk:
        talk.say("info show_detail 0", "yxshowinfo", "START 15 15", "INFO timeout_turn 300")
        assert talk.next_line() == "OK"
        yield talk


def said(talk: Talk, what: str, *lines: str) -> list[str]:
    """Send lines; return the remarks that begin with `MESSAGE what`, and check that nothing else is said."""
    heard = len(talk.remarks)
    talk.say(*lines)
    begin = f"MESSAGE {what} "
    while not any(remark.startswith(begin) for remark in talk.remarks[heard:]):
        assert ABOUT.fullmatch(talk.ask("ABOUT"))
    talk.quiet()
    return [remark.removeprefix(begin) for remark in talk.remarks[heard:] if remark.startswith(begin)]


def pairs(*stones: tuple[int, int]) -> list[str]:
    return [*(f"{a},{b}" for a, b in stones), "done"]


def test_new_while_thinking(board: Talk) -> None:
    """The board throws one move away and waits for the next."""
    board.say("INFO timeout_turn 60000", *board_of_moves(THREE))
    board.say("INFO timeout_turn 100", "start 15 15", *board_of_moves([(11, 5)]))
    assert board.next_line() == "OK"
    assert MOVE.fullmatch(board.next_line() or "")
    assert is_free(as_move(board.next_line() or ""), 15, [(11, 5)])
    board.quiet()


def test_undo_while_thinking(board: Talk) -> None:
    board.say("INFO timeout_turn 60000", *board_of_moves(THREE))
    board.say("start 15 15", *board_of_moves(THREE[:2], "yxboard"), "yxshowforbid", "yxstop")
    assert board.next_line() == "OK"
    assert is_free(as_move(board.next_line() or ""), 15, THREE)
    assert board.next_line() == "FORBID ."
    board.quiet()


def test_swap2(board: Talk) -> None:
    offered = said(board, "SWAP2", "yxswap2step1")
    assert [re.sub(r" \d+ \d+\Z", "", line) for line in offered] == ["MOVE1", "MOVE2", "MOVE3"]
    assert len({line[6:] for line in offered}) == 3
    start = ["start 15 15", *board_of_moves(THREE, "yxboard")]
    board.ok(*start)
    assert said(board, "SWAP2", "yxswap2step2") in (["SWAP1 YES"], ["SWAP1 NO"])
    board.ok("start 15 15", *board_of_moves([*FOUR, (6, 6)], "yxboard"))
    assert said(board, "SWAP2", "yxswap2step3") in (["SWAP2 YES"], ["SWAP2 NO"])
    assert is_free(board.move(*board_of_moves([*FOUR, (6, 6)])), 15, [*FOUR, (6, 6)])


def test_soosorv(board: Talk) -> None:
    board.say("INFO rule 2")
    offered = said(board, "SOOSORV", "yxsoosorvstep1")
    assert len(offered) == 3 and offered[0] == "MOVE1 7 7"
    assert said(board, "SOOSORV", "yxsoosorvstep2", *pairs(*THREE)) in (["SWAP1 YES"], ["SWAP1 NO"])
    (fourth,) = said(board, "SOOSORV", "yxsoosorvstep3", *pairs(*THREE))
    word, row, column, number = fourth.split()
    assert word == "MOVE4" and 1 <= int(number) <= 8 and is_free((int(row), int(column)), 15, THREE)
    assert said(board, "SOOSORV", "yxsoosorvstep4 2", *pairs(*FOUR)) in (["SWAP2 YES"], ["SWAP2 NO"])
    fifths = said(board, "SOOSORV", "yxsoosorvstep5 5", *pairs(*FOUR))
    assert fifths[0] == "MOVE5 REFRESH" and fifths[-1] == "MOVE5 DONE" and len(set(fifths)) == 7
    (kept,) = said(board, "SOOSORV", "yxsoosorvstep6", *pairs(*FOUR, (6, 6), (6, 7), (6, 8)))
    assert kept in ("MOVE5C 6 6", "MOVE5C 6 7", "MOVE5C 6 8")


def test_balance_and_search_defend(board: Talk) -> None:
    for question in ("yxbalanceone 0", "yxsearchdefend", "yxnbest 3"):
        board.ok("start 15 15", *board_of_moves(FOUR, "yxboard"))
        assert is_free(board.move(question), 15, FOUR)
    board.ok("start 15 15", *board_of_moves(FOUR, "yxboard"))
    first, second = (as_move(move) for move in board.ask("yxbalancetwo 100").split())
    assert first != second and is_free(first, 15, FOUR) and is_free(second, 15, FOUR)
    board.quiet()


def test_blocked_moves(board: Talk) -> None:
    row = cells("f8g8h8i8")
    stones = [stone for pair in zip(row, cells("a1c2e1g2"), strict=True) for stone in pair]
    board.ok("start 15 15", *board_of_moves(stones, "yxboard"))
    five = board.move(*board_of_moves(stones))
    assert five in cells("e8j8")
    board.say("yxblock", *pairs(five))
    assert board.move(*board_of_moves(stones)) == next(cell for cell in cells("e8j8") if cell != five)
    board.say("yxblockreset")
    assert board.move(*board_of_moves(stones)) in cells("e8j8")


def test_names_in_messages_are_those_of_the_board(board: Talk) -> None:
    """The only move that wins is at row 4, column 9: j11 on the board."""
    stones = [(4, 5), (5, 5), (4, 6), (5, 6), (4, 7), (5, 7), (4, 8), (4, 4)]
    board.say("INFO show_detail 1")
    board.ok("start 15 15", *board_of_moves(stones, "yxboard"))
    heard = len(board.remarks)
    assert board.move("yxnbest 2") == (4, 9)
    assert any(re.match(r"MESSAGE best 1 j11 ", remark) for remark in board.remarks[heard:])
    assert any(remark.startswith("MESSAGE pv j11") for remark in board.remarks[heard:])


@pytest.mark.parametrize(
    ("question", "points"),
    [(["SWAP2BOARD", "DONE"], 3), (["SWAPBOARD", "DONE"], 3), (["BALANCE 2", "7,7,2", "8,8,1", "DONE"], 2)],
)
def test_no_move_drops_a_question_that_is_not_the_boards(
    board: Talk, question: list[str], points: int
) -> None:
    board.say(*question, "TURN 0,0", "PLAY 14,14")
    assert len(board.next_line().split()) == points
    assert is_free(as_move(board.next_line()), 15, [(0, 0)])
    assert board.next_line() == "14,14"
    board.quiet()


def test_alphagomokus_commands() -> None:
    with Talk() as talk:
        talk.start(15, turn_ms=50)
        assert talk.ask("PROTOCOLVERSION") == "1,0"
        talk.say("PONDER", "CLEARHASH")
        talk.quiet()
        assert is_free(talk.move("TURN 7,7"), 15, [(7, 7)])
        talk.say("PONDER 20", "STOP")
        talk.quiet()
        assert talk.ask("SHOWFORBID", "7,7,1", "8,8,2", "DONE") == "FORBID"
        assert len(talk.ask("SWAPBOARD", "DONE").split()) == 3
        assert len(talk.ask("BALANCE 2", "7,7,2", "8,8,1", "DONE").split()) == 2
        talk.error("PROBOARD", "7,7", "DONE")
        talk.error("RIFSTEP5", "7,7", "DONE", "1,1 2,2")
        talk.quiet()
        talk.end()

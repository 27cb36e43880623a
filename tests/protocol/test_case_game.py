"""Conformance cases 3, 4, 5, 6, 8, 16 and 17: how a game is set up, changed and taken back."""

from __future__ import annotations

import re

import pytest

from tests.protocol.position import position_after
from tests.protocol.talk import ERROR, MOVE, Talk, assert_legal, board_of_moves, cells, is_free

pytestmark = pytest.mark.posix


@pytest.mark.parametrize("size", [20, 15, 5, 6, 19, 22])
def test_case_03_start_with_a_supported_size(talk: Talk, size: int) -> None:
    talk.start(size)
    first = talk.move("BEGIN")
    assert is_free(first, size, [])
    corner = (size - 1, size - 1)
    assert is_free(talk.move(f"TURN {corner[0]},{corner[1]}"), size, [first, corner])


WRONG = ["4", "0", "-1", "1000", "23", "abc", "", "15x", "15.0", "9" * 20, "4 4", "15,0", "-15 15"]


def test_case_03_start_with_another_size_gets_one_error() -> None:
    with Talk() as talk:
        for rest in WRONG:
            talk.error(f"START {rest}")
            talk.quiet()
            talk.error("BEGIN")  # still not started
        talk.start()
        first = x, y = talk.move("BEGIN")
        for rest in WRONG:
            talk.error(f"START {rest}")
            talk.error(f"TURN {x},{y}")  # the old position is still there
        assert talk.move(f"TURN {(x + 1) % 15},{y}") != first
        talk.quiet()


@pytest.mark.parametrize("line", ["START 15 15", "START 15,15", "start 15 15", "START  15"])
def test_case_03_start_with_two_sides(talk: Talk, line: str) -> None:
    talk.ok(line)
    talk.say("INFO timeout_turn 0")
    assert is_free(talk.move("BEGIN"), 15, [])


def test_case_03_second_start_begins_a_new_game(talk: Talk) -> None:
    talk.start()
    talk.move("TURN 7,7")
    talk.ok("START 20")
    assert is_free(talk.move("TURN 7,7"), 20, [(7, 7)])
    talk.ok("START 15")
    assert is_free(talk.move("TURN 7,7"), 15, [(7, 7)])
    talk.quiet()


@pytest.mark.parametrize("command", ["START 20", "RESTART"])
def test_case_03_new_game_while_thinking_swallows_the_old_move(talk: Talk, command: str) -> None:
    talk.start(turn_ms=30_000)
    swallowed = 0
    for _ in range(5):
        talk.say(*board_of_moves(cells("h8i9j8i7k9i10")), command)
        answer = talk.next_line() or ""
        if MOVE.fullmatch(answer):  # so soon that it came before the new game was read
            answer = talk.next_line() or ""
        else:
            swallowed += 1
        assert answer == "OK"
        talk.quiet()
    assert swallowed
    talk.say("INFO timeout_turn 0")
    talk.move("BEGIN")
    talk.quiet()


def test_case_04_rectangles(talk: Talk) -> None:
    answer = talk.ask("RECTSTART 30,20")
    assert answer == "OK" or ERROR.fullmatch(answer)
    talk.ok("RECTSTART 15,15")
    talk.say("INFO timeout_turn 0")
    talk.move("BEGIN")
    for line, width, height in (("RECTSTART 20,10", 20, 10), ("RECTSTART 5, 22", 5, 22)):
        talk.ok(line)
        x, y = talk.move(f"TURN {width - 1},{height - 1}")
        assert 0 <= x < width and 0 <= y < height and (x, y) != (width - 1, height - 1)
        talk.error(f"TURN {height},{width}")
    for bad in ("RECTSTART", "RECTSTART 15", "RECTSTART a,b", "RECTSTART 4,10", "RECTSTART 15,-1"):
        talk.error(bad)
    talk.quiet()


def test_case_05_commands_before_start_get_one_error() -> None:
    with Talk() as talk:
        for lines in (
            ["BEGIN"],
            ["TURN 7,7"],
            ["TAKEBACK 7,7"],
            ["RESTART"],
            ["BOARD", "7,7,1", "8,8,2", "DONE"],
            ["BOARD", "DONE"],
            ["SWAP2BOARD", "DONE"],
            ["SWAP2BOARD", "7,7", "8,8", "9,9", "DONE"],
            ["PLAY 7,7"],
        ):
            talk.error(*lines)
            talk.quiet()
        talk.start()
        talk.move("BEGIN")


@pytest.mark.parametrize(
    "turn",
    ["TURN 7,7", "TURN 15,0", "TURN 0,15", "TURN -1,3", "TURN 3", "TURN a,b", "TURN", "TURN 3,", "TURN ,3",
     "TURN 3,3,3", "TURN 3 3", "TURN 99999999999,1", "TURN 3.0,4.0", "TURN 1,2 extra"],
)  # fmt: skip
def test_case_06_impossible_turn_is_an_error_and_changes_nothing(talk: Talk, turn: str) -> None:
    talk.start(rule=1)
    reply = talk.move("BOARD", "7,7,2", "DONE")
    talk.error(turn)
    talk.quiet()
    talk.error("TURN {},{}".format(*reply))
    last = next((x, 0) for x in range(15) if (x, 0) not in (reply, (7, 7)))
    answer = talk.move("TURN {},{}".format(*last))
    assert is_free(answer, 15, [(7, 7), reply, last])
    talk.ok("TAKEBACK {},{}".format(*answer))
    talk.ok("TAKEBACK {},{}".format(*last))
    talk.quiet()


def test_case_06_stray_done_gets_one_answer(talk: Talk) -> None:
    talk.start()
    assert re.match(r"(ERROR|UNKNOWN) \S", talk.ask("DONE"))
    talk.quiet()
    talk.move("BEGIN")


FOUR_TRAP = cells("h8a1i8a3j8a5k8c1f8c3")  # black to move has f8 and h8-k8: g8 makes six, l8 makes five


@pytest.mark.parametrize(("rule", "wins"), [(0, {(6, 7), (11, 7)}), (1, {(11, 7)}), (9, {(11, 7)})])
def test_case_08_rule_may_come_before_or_after_start(rule: int, wins: set[tuple[int, int]]) -> None:
    with Talk() as talk:
        talk.say("INFO timeout_match 100000", "INFO timeout_turn 500", f"INFO rule {rule}")
        talk.say("INFO max_memory 300000000", "INFO game_type 1", "INFO time_left 100000")
        talk.ok("START 15")
        assert talk.move(*board_of_moves(FOUR_TRAP)) in wins
    with Talk() as talk:
        talk.ok("START 15")
        talk.say(f"INFO rule {rule}", "INFO timeout_turn 500")
        assert talk.move(*board_of_moves(FOUR_TRAP)) in wins
        for other, cells_that_win in ((0, {(6, 7), (11, 7)}), (1, {(11, 7)}), (rule, wins)):
            talk.ok("RESTART")
            talk.say(f"INFO rule {other}")
            assert talk.move(*board_of_moves(FOUR_TRAP)) in cells_that_win


def test_case_08_rule_changed_in_the_middle_of_a_game(talk: Talk) -> None:
    talk.start(rule=0, turn_ms=300)
    talk.move(*board_of_moves(FOUR_TRAP[:-1]))
    talk.say("INFO rule 1")
    assert talk.move(*board_of_moves(FOUR_TRAP)) == (11, 7)


def test_case_08_no_info_at_all() -> None:
    with Talk() as talk:
        talk.ok("START 15")
        talk.say("BEGIN", "STOP")
        assert MOVE.fullmatch(talk.next_line() or "")
        assert talk.move(*board_of_moves(FOUR_TRAP)) in {(6, 7), (11, 7)}


def test_case_16_takeback_of_two_then_turn(talk: Talk) -> None:
    talk.start()
    first = talk.move("BEGIN")
    there = (0, 0) if first != (0, 0) else (1, 1)
    second = talk.move("TURN {},{}".format(*there))
    talk.ok("TAKEBACK {},{}".format(*second))
    talk.ok("TAKEBACK {},{}".format(*there))
    instead = (14, 14)
    third = talk.move("TURN {},{}".format(*instead))
    assert is_free(third, 15, [first, instead])
    talk.error("TURN {},{}".format(*first))
    again = next(c for c in (there, second, (3, 11)) if c not in (first, instead, third))  # free again
    back = talk.move("TURN {},{}".format(*again))
    assert is_free(back, 15, [first, instead, third, again])
    talk.quiet()


def test_case_16_takeback_of_an_empty_cell_or_nonsense_is_an_error(talk: Talk) -> None:
    talk.start()
    for bad in ("7,7", "15,15", "-1,0", "", "7", "a,b"):
        talk.error(f"TAKEBACK {bad}")
    x, y = talk.move("BEGIN")
    talk.error(f"TAKEBACK {(x + 1) % 15},{y}")
    talk.ok(f"TAKEBACK {x},{y}")
    talk.error(f"TAKEBACK {x},{y}")
    talk.move("BEGIN")
    talk.quiet()


def test_case_16_takeback_after_a_shuffled_board(talk: Talk) -> None:
    stones = ["7,7,1", "8,8,2", "6,6,1", "9,9,2", "5,7,1", "7,5,2"]
    talk.start()
    answer = talk.move("BOARD", *(stones[i] for i in (3, 0, 5, 2, 1, 4)), "DONE")
    talk.ok("TAKEBACK {},{}".format(*answer))
    talk.ok("TAKEBACK 8,8")  # not the last
    assert is_free(talk.move("TURN 8,8"), 15, [(7, 7), (8, 8), (6, 6), (9, 9), (5, 7), (7, 5)])
    talk.error("TURN 9,9")
    talk.quiet()


def test_case_16_takeback_cancels_thinking(talk: Talk) -> None:
    talk.start(turn_ms=30_000)
    talk.say("TURN 7,7")
    assert talk.ask("ABOUT").startswith("name=")
    talk.ok("TAKEBACK 7,7")
    talk.quiet()
    talk.say("INFO timeout_turn 0")
    assert is_free(talk.move("TURN 7,7"), 15, [(7, 7)])


SWAP2_OPENING = [(7, 7), (8, 7), (9, 9), (6, 5), (5, 9)]


def swap2(talk: Talk, stones: list[tuple[int, int]]) -> str:
    return talk.ask("INFO time_left 100000", "SWAP2BOARD", *(f"{x},{y}" for x, y in stones), "DONE")


@pytest.mark.parametrize("size", [15, 20])
def test_case_17_swap2_answers(talk: Talk, size: int) -> None:
    talk.start(size, rule=1, turn_ms=300)
    for stones, valid in ((0, {3}), (3, {0, 1, 2}), (5, {0, 1})):
        answer = swap2(talk, SWAP2_OPENING[:stones])
        if answer.upper() == "SWAP":
            assert 0 in valid
            continue
        assert re.fullmatch(r"\d+,\d+( \d+,\d+)*", answer), answer
        moves = [tuple(map(int, part.split(","))) for part in answer.split(" ")]
        assert len(moves) in valid and len(set(moves)) == len(moves)
        assert all(is_free((m[0], m[1]), size, SWAP2_OPENING[:stones]) for m in moves)
        talk.quiet()


@pytest.mark.parametrize("count", [1, 2, 4])
def test_case_17_swap2_with_another_count_is_an_error(talk: Talk, count: int) -> None:
    talk.start(rule=1)
    assert ERROR.fullmatch(swap2(talk, SWAP2_OPENING[:count]))
    talk.quiet()
    talk.move("BEGIN")


def test_case_17_faulty_swap2_block_is_an_error(talk: Talk) -> None:
    talk.start(rule=1)
    for block in (["7,7", "7,7", "8,8"], ["7,7", "15,7", "8,8"], ["7,7", "x", "8,8"], ["7", "8", "9"]):
        talk.error("SWAP2BOARD", *block, "DONE")
        talk.quiet()


def test_case_17_board_after_swap2_defines_the_colours(talk: Talk) -> None:
    talk.start(rule=1, turn_ms=300)
    swap2(talk, SWAP2_OPENING[:3])
    # three stones, black to have moved last: after SWAP the first stone may be anybody's
    stones = SWAP2_OPENING[:3]
    block = [f"{x},{y},{2 if i % 2 == 0 else 1}" for i, (x, y) in enumerate(stones)]
    answer = talk.move("INFO time_left 100000", "BOARD", *block, "DONE")
    assert_legal(position_after(15, 1, stones), answer)
    swap2(talk, SWAP2_OPENING)
    moves = [*SWAP2_OPENING, (3, 3)]
    answer = talk.move("INFO time_left 100000", *board_of_moves(moves))
    assert_legal(position_after(15, 1, moves), answer)
    talk.quiet()


def test_case_17_swap2_leaves_no_stones_behind(talk: Talk) -> None:
    talk.start(rule=1)
    swap2(talk, SWAP2_OPENING)
    assert is_free(talk.move("TURN 7,7"), 15, [(7, 7)])


def test_play_puts_the_own_stone_and_echoes_it(talk: Talk) -> None:
    talk.start()
    assert talk.ask("PLAY 7,7") == "7,7"
    talk.error("PLAY 7,7")
    talk.error("PLAY 15,7")
    assert is_free(talk.move("TURN 8,8"), 15, [(7, 7), (8, 8)])
    talk.quiet()

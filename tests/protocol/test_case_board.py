"""Conformance cases 7 and 22: positions given as BOARD, sane and otherwise."""

from __future__ import annotations

import random
import re

import pytest

from arena.players import TacticalPlayer
from engine.rules.rule import NET_RULES
from tests.protocol.position import Cell, Position, random_opening, tactical_move
from tests.protocol.talk import ERROR, MOVE, Talk, as_move, assert_legal, board_lines, board_of_moves, is_free

pytestmark = pytest.mark.posix


def test_case_07_empty_board_means_begin(talk: Talk) -> None:
    talk.start()
    assert is_free(talk.move("BOARD", "DONE"), 15, [])
    talk.quiet()


def test_case_07_a_single_stone_of_the_opponent(talk: Talk) -> None:
    talk.start()
    assert is_free(talk.move("BOARD", "7,7,2", "DONE"), 15, [(7, 7)])


def test_case_07_random_order_is_the_same_position(talk: Talk) -> None:
    stones: list[tuple[Cell, int]] = [((x, 7), 1) for x in (3, 4, 5, 6)]
    stones += [((2, 7), 2), ((9, 9), 2), ((10, 3), 2), ((4, 12), 2)]
    rng = random.Random(5)
    talk.start(turn_ms=200)
    for _ in range(10):
        rng.shuffle(stones)
        assert talk.move(*board_lines(stones)) == (7, 7)


def test_case_07_board_replaces_the_position(talk: Talk) -> None:
    talk.start()
    for _ in range(3):
        assert is_free(talk.move("BOARD", "7,7,1", "8,8,2", "DONE"), 15, [(7, 7), (8, 8)])
    assert is_free(talk.move("BOARD", "0,0,2", "DONE"), 15, [(0, 0)])
    assert is_free(talk.move("TURN 7,7"), 15, [(0, 0), (7, 7)])


@pytest.mark.parametrize(
    "lines",
    [
        ["7,7,1", "7,7,2", "8,8,2"],
        ["7,7,1", "7,7,1", "8,8,2"],
        ["7,7,1", "15,8,2"],
        ["7,7,1", "8,-1,2"],
        ["7,7,1", "8,8,0"],
        ["7,7,1", "8,8,4"],
        ["7,7,1", "8,8"],
        ["7,7,1", "8,8,"],
        ["7,7,1", "x,y,2"],
        ["7,7,1", "8 8 2"],
        ["7,7,1", "8,8,2,9"],
        ["hello"],
        ["7,7,1", "99999999999999999999,8,2"],
        ["7,7,1", "UNKNOWN"],
        ["7,7,1", "", "8,8,2"],
        ["7,7,1", "\xff\xfe"],
    ],
    ids=lambda lines: ";".join(lines).encode("ascii", "backslashreplace").decode()[:40],
)
def test_case_07_faulty_lines_get_one_answer(talk: Talk, lines: list[str]) -> None:
    """One ERROR, or a move where a sane position is left; and the block never leaks into commands."""
    talk.start()
    answer = talk.ask("BOARD", *lines, "DONE")
    taken = [(7, 7)] if "7,7,1" in lines else []
    assert ERROR.fullmatch(answer) or is_free(as_move(answer), 15, taken), answer
    talk.quiet()
    assert is_free(talk.move("BOARD", "7,7,1", "8,8,2", "DONE"), 15, [(7, 7), (8, 8)])


@pytest.mark.parametrize("size", [5, 15])
def test_case_07_dead_cells_are_never_played(talk: Talk, size: int) -> None:
    free = [(1, 1), (3, 3), (size - 1, 0)]
    dead = [((x, y), 3) for x in range(size) for y in range(size) if (x, y) not in free]
    talk.start(size)
    assert talk.move(*board_lines(dead)) in free
    answer = talk.move(*board_lines([*dead, (free[0], 1), (free[1], 2)]))
    assert answer == free[2]
    talk.error("TURN 0,0")
    talk.quiet()


def test_case_07_a_dead_cell_ends_a_line(talk: Talk) -> None:
    stones: list[tuple[Cell, int]] = [((x, 7), 1) for x in (3, 4, 5, 6)]
    stones += [((7, 7), 3), ((9, 9), 2), ((10, 3), 2), ((4, 12), 2), ((12, 12), 2)]
    talk.start(turn_ms=200)
    assert talk.move(*board_lines(stones)) == (2, 7)


@pytest.mark.parametrize("counts", [(3, 0), (0, 3), (5, 1), (1, 5), (2, 4), (4, 1)])
@pytest.mark.parametrize("rule", [0, 4])
def test_case_07_unbalanced_counts_still_get_a_move(talk: Talk, counts: tuple[int, int], rule: int) -> None:
    rng = random.Random(3)
    points = rng.sample([(x, y) for x in range(0, 15, 2) for y in range(0, 15, 2)], sum(counts))
    talk.start(rule=rule)
    stones = [(cell, 1 if i < counts[0] else 2) for i, cell in enumerate(points)]
    assert is_free(talk.move(*board_lines(stones)), 15, points)
    talk.quiet()


@pytest.mark.parametrize("size", [5, 15, 20])
def test_case_07_full_board_is_one_error(talk: Talk, size: int) -> None:
    stones = [((x, y), 1 + (x // 2 + y) % 2) for x in range(size) for y in range(size)]
    talk.start(size)
    talk.error(*board_lines(stones))
    talk.quiet()
    talk.ok("RESTART")
    talk.move("BEGIN")


@pytest.mark.parametrize("size", [5, 15, 20])
@pytest.mark.parametrize("rule", NET_RULES)
def test_case_07_one_empty_cell_is_played(talk: Talk, size: int, rule: int) -> None:
    hole = (size // 2, size // 2)
    stones = [((x, y), 1 + (x // 2 + y) % 2) for x in range(size) for y in range(size) if (x, y) != hole]
    talk.start(size, rule)
    assert talk.move(*board_lines(stones)) == hole
    talk.error("TURN 0,0")
    talk.quiet()


@pytest.mark.parametrize("own", [1, 2])
def test_case_07_a_decided_position_does_not_crash(talk: Talk, own: int) -> None:
    stones: list[tuple[Cell, int]] = [((x, 7), own) for x in range(3, 8)]
    stones += [((2 * x, 3), 3 - own) for x in range(4 + (own - 1) * 2)]
    talk.start(turn_ms=100)
    answer = talk.ask(*board_lines(stones))
    assert ERROR.fullmatch(answer) or is_free(as_move(answer), 15, [cell for cell, _ in stones])
    talk.quiet()
    talk.ok("START 15")
    talk.move("BEGIN")


def test_case_07_two_hundred_stones_in_renju(talk: Talk) -> None:
    size = 15
    rng = random.Random(11)
    talk.start(size, rule=4)
    for count in (200, 203, 210, 218):
        position = Position(size, 4)
        cells = [(x, y) for x in range(size) for y in range(size)]
        rng.shuffle(cells)
        while cells and len(position.moves) < count:
            cell = cells.pop()
            if position.is_legal(cell) and not position.wins(cell, position.to_move):
                position.play(cell)
        legal = [c for c in position.empty_cells() if position.is_legal(c)]
        answer = talk.move(*board_of_moves(position.moves))
        assert answer in legal or (not legal and position.is_empty(answer))
        talk.quiet()


def test_case_07_large_block_in_one_write_with_every_line_end(talk: Talk) -> None:
    position = random_opening(20, 0, 1)
    player = TacticalPlayer(4)
    while len(position.moves) < 120 and not position.over:
        position.play(tactical_move(player, position))
    moves = position.moves[:-1]
    talk.start(20)
    for end in (b"\r\n", b"\n", b"\r"):
        talk.say(*board_of_moves(moves), end=end)
        answer = talk.next_line()
        assert answer and MOVE.fullmatch(answer) and is_free(as_move(answer), 20, moves)
    talk.say("BOARD\r\n" + "\n".join(board_of_moves(moves)[1:]) + "\r", end=b"\n")
    assert MOVE.fullmatch(talk.next_line() or "")
    talk.quiet()


def test_case_07_commands_inside_a_block(talk: Talk) -> None:
    """A manager may send INFO between the lines; it is not answered and does not end the block."""
    talk.start()
    answer = talk.move("BOARD", "7,7,2", "INFO time_left 1000", "DONE")
    assert is_free(answer, 15, [(7, 7)])
    talk.error("TURN 7,7")
    talk.quiet()


@pytest.mark.parametrize("rule", [0, 4, 9])
def test_case_22_by_turn_or_by_board_the_answers_are_legal_and_see_the_same(rule: int) -> None:
    opponent = TacticalPlayer(rule)
    position = random_opening(15, rule, rule)
    with Talk("--set", "seed=1") as by_turn, Talk("--set", "seed=1") as by_board:
        for talk in (by_turn, by_board):
            talk.start(15, rule, turn_ms=2000)
            talk.say("INFO max_node 200")
        commands = board_of_moves(position.moves)
        while not position.over and len(position.moves) < 40:
            answer = by_turn.move(*commands)
            other = by_board.move(*board_of_moves(position.moves))
            assert_legal(position, answer)
            assert_legal(position, other)
            mine = position.to_move
            assert position.wins(answer, mine) == position.wins(other, mine)
            position.play(answer)
            if position.over:
                break
            reply = tactical_move(opponent, position)
            position.play(reply)
            commands = [f"TURN {reply[0]},{reply[1]}"]
        assert len(position.moves) > 8
        assert re.match("name=", by_turn.ask("ABOUT"))

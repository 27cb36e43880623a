"""Yixin-Board's dialect and other extensions, and managers that do not read while they write."""

from __future__ import annotations

import re
import subprocess
import time

import psutil
import pytest

from tests.protocol.process import REPOSITORY
from tests.protocol.talk import ABOUT, MOVE, Talk, board_of_moves, brain_command, cells, is_free

pytestmark = pytest.mark.posix

POSITION = cells("h8i9j8i7k9i10")


def test_yixin_board_session() -> None:
    """What Yixin-Board sends, in its words; it takes every line that is no remark for a move."""
    with Talk() as talk:
        talk.say("info show_detail 1", "yxshowinfo", "START 15 15")
        assert talk.next_line() == "OK"
        assert any(re.fullmatch(r"MESSAGE INFO MAX_THREAD_NUM \d+", r) for r in talk.remarks)
        assert any(re.fullmatch(r"MESSAGE INFO MAX_HASH_SIZE \d+", r) for r in talk.remarks)
        talk.say(
            "INFO timeout_turn 300", "INFO timeout_match 100000000", "INFO time_left 100000000",
            "INFO max_node -1", "INFO max_depth 225", "INFO time_increment 0", "INFO caution_factor 1",
            "INFO thread_num 1", "INFO hash_size 65536", "INFO pondering 0", "INFO vcthread 0", "INFO rule 2",
        )  # fmt: skip
        moves = list(POSITION)
        for _ in range(3):
            talk.say("INFO time_left 99999999", "yxhashclear")
            talk.ok("start 15 15")
            moves.append(talk.move(*(line.lower() for line in board_of_moves(moves))))
            moves.append(next(c for c in ((0, 0), (14, 14), (0, 14)) if c not in moves))
        moves.append(talk.move("turn {},{}".format(*moves[-1])))
        assert len(set(moves)) == len(moves)
        talk.say("yxblockreset", "yxsetdatabase", "nonsense that no answer may follow", "yxstop")
        assert ABOUT.fullmatch(talk.ask("ABOUT"))
        talk.say("end")
        talk.gone()


def test_realtime_remarks_only_on_demand(talk: Talk) -> None:
    heard = len(talk.remarks)
    talk.say("INFO timeout_turn 700", "INFO time_left 2147483647")
    talk.move(*board_of_moves(POSITION))
    assert not any(r.startswith("MESSAGE REALTIME") for r in talk.remarks[heard:])


def test_yxboard_sets_the_position_without_an_answer(talk: Talk) -> None:
    talk.say(*board_of_moves(POSITION, "YXBOARD"))
    talk.quiet()
    talk.error("TURN {},{}".format(*POSITION[0]))
    assert is_free(talk.move("YXNBEST 3"), 15, POSITION)
    talk.quiet()


def test_yxnbest_without_a_number_is_an_error(talk: Talk) -> None:
    for rest in ("", "0", "x", "-1"):
        talk.error(f"YXNBEST {rest}")
    talk.quiet()


def test_database_blocks_are_swallowed(talk: Talk) -> None:
    talk.say("yxquerydatabaseall", "7,7,1", "8,8,2", "done")
    talk.say("yxblock", "7,7", "done", "yxblockpathundo", "3,3", "done", "yxhashdump", "C:\\START 20\\x.dat")
    talk.quiet()
    assert is_free(talk.move("BEGIN"), 15, [])


def test_hash_clear_is_silent_also_while_thinking(talk: Talk) -> None:
    talk.say("INFO timeout_turn 400", *board_of_moves(POSITION), "YXHASHCLEAR")
    assert MOVE.fullmatch(talk.next_line() or "")
    talk.quiet()


def test_rule_two_is_renju_in_the_dialect_of_yixin() -> None:
    three_three = cells("h8h9i7i9h10i6i11i12")
    with Talk("--dialect", "yixin") as talk:
        talk.ok("start 15 15")
        talk.say("info rule 2", *board_of_moves(three_three, "yxboard"))
        assert "0608" in talk.ask("yxshowforbid") or "0806" in talk.ask("yxshowforbid")


@pytest.mark.alone
def test_pondering_is_off_unless_asked_for_and_ends_when_told() -> None:
    with Talk() as talk:
        talk.start(15, turn_ms=50)
        process = psutil.Process(talk.brain.process.pid)

        def busy(seconds: float) -> float:
            before = sum(process.cpu_times()[:2])
            time.sleep(seconds)
            return sum(process.cpu_times()[:2]) - before

        talk.move(*board_of_moves(POSITION))
        assert busy(0.5) <= 0.05
        talk.say("INFO pondering 1")
        talk.move(*board_of_moves(POSITION))
        talk.move("TURN 0,0")
        talk.say("INFO pondering 0")
        talk.move("TURN 14,0")
        assert busy(0.5) <= 0.05
        talk.quiet()
        talk.end()


def test_end_while_pondering() -> None:
    with Talk() as talk:
        talk.start(15, turn_ms=50)
        talk.say("INFO pondering 1")
        talk.move(*board_of_moves(POSITION))
        talk.end()


def test_a_manager_that_writes_without_reading_does_not_block_the_brain() -> None:
    """Neither side may wait for the other: a full output pipe must not stop the reading of input."""
    count = 20_000
    process = subprocess.Popen(
        brain_command("uniform"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
    )
    assert process.stdin and process.stdout
    process.stdin.write(b"START 15\nINFO timeout_turn 0\n" + b"ABOUT\n" * count + b"BEGIN\n")
    process.stdin.flush()
    lines = [process.stdout.readline() for _ in range(count + 1)]
    assert lines[0] == b"OK\n" and len(set(lines[1:])) == 1
    while not MOVE.fullmatch(process.stdout.readline().decode().strip()):
        pass
    process.stdin.write(b"END\n")
    process.stdin.flush()
    assert process.wait(5.0) == 0
    assert process.stdout.read() == b""
    process.stdin.close()
    process.stdout.close()

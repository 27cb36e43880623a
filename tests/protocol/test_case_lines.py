"""Conformance cases 1, 2, 14, 19 and 20: lines, unknown things, timing of output, remarks."""

from __future__ import annotations

import pytest

from arena.managers.base import MAX_REMARK
from tests.protocol.talk import ABOUT, ERROR, MOVE, UNKNOWN, Talk, is_free

pytestmark = pytest.mark.posix

INFO_KEYS = [
    "timeout_turn", "timeout_match", "time_left", "max_memory", "game_type", "rule", "evaluate", "folder",
    "thread_num", "hash_size", "thread_split_depth", "max_depth", "max_node", "time_increment",
    "caution_factor", "pondering", "show_detail", "checkmate", "usedatabase", "strength", "protocol_lag",
]  # fmt: skip


@pytest.mark.parametrize("end", [b"\r\n", b"\n", b"\r", b"  \r\n", b"\t\n", b"\r\n\r\n", b"\n \n\n"])
def test_case_01_line_ends_and_trailing_blanks(end: bytes) -> None:
    with Talk() as talk:
        talk.say("START 15", "INFO timeout_turn 0", "BEGIN", end=end)
        assert talk.next_line() == "OK"
        assert MOVE.fullmatch(talk.next_line() or "")
        talk.say("BOARD", "7,7,1", "7,8,2", "DONE", end=end)
        assert MOVE.fullmatch(talk.next_line() or "")
        talk.quiet()
        talk.end()


def test_case_01_lower_case_words_and_mixed_line_ends() -> None:
    with Talk() as talk:
        talk.say(b"Start 15\r\ninfo Timeout_Turn 0\nboard\n3,3,2\nDone\r\n", end=b"")
        assert talk.next_line() == "OK"
        assert is_free(talk_move(talk), 15, [(3, 3)])
        talk.say(b"rEsTaRt\r\nbegin\n", end=b"")
        assert talk.next_line() == "OK"
        talk_move(talk)
        talk.quiet()
        talk.say(b"end\n", end=b"")
        talk.gone()


def talk_move(talk: Talk) -> tuple[int, int]:
    match = MOVE.fullmatch(talk.next_line() or "")
    assert match
    return int(match[1]), int(match[2])


def test_case_01_blank_lines_get_no_answer() -> None:
    with Talk() as talk:
        talk.say("", " ", "\t", "\r", "")
        talk.quiet()
        talk.ok("START 15")


@pytest.mark.parametrize(
    "garbage",
    [
        b"x" * 5000,
        b"x" * 200_000,
        b"7," * 2500,
        b"\xff\xfe\x80\x81",
        "žluťoučký kůň".encode(),
        b"ABC\x00DEF",
        b"\x00",
        b"\x1b[31m",
        b"%s%n%x {0} $(reboot)",
        b"startled 15",
        b"BOARDS",
        b"TURN7,7",
        b"7,7",
        b"7,7,1",
        b"OK",
        b"-",
    ],
    ids=lambda raw: repr(raw[:12]),
)
def test_case_01_garbage_gets_one_unknown(talk: Talk, garbage: bytes) -> None:
    talk.start()
    answer = talk.ask(garbage) if garbage != b"\x00" else talk.ask(b"\x00", b"garbage")
    assert UNKNOWN.fullmatch(answer), answer
    assert len(answer) < MAX_REMARK and answer.isascii() and answer.isprintable()
    talk.quiet()
    talk.move("BEGIN")


def test_case_01_start_after_byte_order_mark() -> None:
    with Talk() as talk:
        talk.ok(b"\xef\xbb\xbfSTART 15")


def test_case_02_unknown_command_gets_one_unknown(talk: Talk) -> None:
    for word in ("HELLO", "UNDO", "MESSAGE hi", "PONG 1 2 3", "SWAPBOARD2", "FLY 7,7"):
        talk.unknown(word)
    talk.quiet()
    talk.start()
    talk.unknown("HELLO")
    talk.move("BEGIN")
    talk.unknown("HELLO")
    talk.move("TURN 0,0")
    talk.quiet()


def test_case_02_info_never_answers() -> None:
    values = [
        "", "x", "-1", "0", "1", "99999999999", "-9223372036854775809", "18446744073709551616", "1e3", "0x10",
        "1.5", "NaN", "7,7", "a b c", "١٢٣", "9" * 3000,
    ]  # fmt: skip
    with Talk() as talk:
        for key in [*INFO_KEYS, "no_such_key", "OK", ""]:
            talk.say(*(f"INFO {key} {value}" for value in values), f"INFO {key}")
        talk.say("INFO")
        talk.quiet()
        talk.say("INFO time_left 100000", "INFO max_memory 0", "INFO max_node 50", "INFO show_detail 0")
        talk.start()
        talk.move("BEGIN")
        for key in INFO_KEYS:
            talk.say(f"INFO {key}", f"INFO {key} nonsense")
        talk.quiet()
        talk.move("TURN 0,0")


def test_case_14_several_commands_in_one_write(talk: Talk) -> None:
    talk.say("START 15", "INFO timeout_turn 0", "BEGIN", "ABOUT")
    lines = [talk.next_line() for _ in range(3)]
    assert lines[0] == "OK"
    assert sum(bool(MOVE.fullmatch(x or "")) for x in lines) == 1
    assert sum(bool(ABOUT.fullmatch(x or "")) for x in lines) == 1
    talk.quiet()


def test_case_14_a_line_may_come_in_pieces(talk: Talk) -> None:
    for piece in (b"ST", b"ART", b" 1", b"5\r", b"\nINFO time", b"out_turn 0\nBEG", b"IN"):
        talk.brain.send(piece)
    talk.brain.send(b"\n")
    assert talk.next_line() == "OK"
    talk_move(talk)
    talk.quiet()


def test_case_14_commands_while_thinking(talk: Talk) -> None:
    talk.start(turn_ms=1500)
    talk.say("BEGIN", "INFO time_left 50000", "ABOUT", "INFO evaluate 3,3", "NONSENSE")
    lines = [talk.next_line() for _ in range(3)]
    for wanted in (MOVE, ABOUT, UNKNOWN):
        assert sum(bool(wanted.fullmatch(x or "")) for x in lines) == 1, lines
    talk.quiet()
    talk.say("INFO timeout_turn 0")
    talk.move("TURN 0,0")


def test_case_14_a_question_while_thinking_is_answered_after_the_first(talk: Talk) -> None:
    talk.start(turn_ms=600)
    talk.say("TURN 3,3", "TURN 4,4")
    answers = [talk.next_line(), talk.next_line()]
    assert MOVE.fullmatch(answers[0] or "") or ERROR.fullmatch(answers[0] or "")
    assert MOVE.fullmatch(answers[1] or "") or ERROR.fullmatch(answers[1] or "")
    talk.quiet()


def test_case_19_about_is_one_line_of_pairs_before_start() -> None:
    with Talk() as talk:
        answer = talk.ask("ABOUT")
        assert ABOUT.fullmatch(answer)
        pairs = dict(part.split("=", 1) for part in answer.split(", "))
        assert {"name", "version", "author", "country"} <= set(pairs)
        assert all(value.strip('"') for value in pairs.values())
        assert answer.isascii() and len(answer) < MAX_REMARK
        assert talk.ask("about") == answer
        talk.ok("START 20")
        assert talk.ask("ABOUT") == answer


@pytest.mark.parametrize("detail", [0, 1, 2, 3])
def test_case_20_remarks_are_well_formed(talk: Talk, detail: int) -> None:
    """`Talk` checks every remark; INFO lines between them bring none of their own."""
    talk.say(f"INFO show_detail {detail}")
    talk.quiet()
    talk.start(turn_ms=400)
    talk.move("BEGIN")
    talk.move("TURN 0,0")
    heard = len(talk.remarks)
    talk.say("INFO time_left 1000", "INFO timeout_turn 0", "INFO rule 1", "INFO max_memory 100000000")
    talk.quiet()
    assert len(talk.remarks) == heard

"""Bytes to lines to commands."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.dialects import gomocup as c
from protocol.dialects import yixin as y
from protocol.io import LINE_CAP, LineSplitter, is_end
from protocol.parser import BLOCK_CAP, Parser, parse_line
from protocol.position import Stone
from protocol.query import Command


def parse(text: bytes) -> list[Command]:
    splitter, parser = LineSplitter(), Parser()
    lines = splitter.feed(text) + splitter.close()
    return [command for line in lines for command, _ in parser.feed(line, 0.0)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_all_line_ends_and_blank_lines(end: bytes) -> None:
    text = end.join([b"START 15", b"", b"  ", b"BEGIN", b""])
    assert parse(text) == [c.Start(15, 15), c.Begin()]


def test_lines_cut_anywhere_are_put_together() -> None:
    text = b"INFO rule 4\r\nBOARD\n7,7,1\r\n8,8,2\nDONE\rTURN 3,4\r\n"
    splitter = LineSplitter()
    pieces = [line for byte in text for line in splitter.feed(bytes([byte]))]
    assert pieces == LineSplitter().feed(text) == [
        b"INFO rule 4", b"BOARD", b"7,7,1", b"8,8,2", b"DONE", b"TURN 3,4"
    ]


def test_overlong_lines_are_cut_and_cost_bounded_memory() -> None:
    splitter = LineSplitter()
    for _ in range(100):
        assert splitter.feed(b"x" * LINE_CAP) == []
    assert splitter.feed(b"x\nBEGIN\n") == [b"x" * LINE_CAP, b"BEGIN"]
    assert len(parse(b"BOARD\n" + b"1,1,1\n" * (2 * BLOCK_CAP) + b"DONE\n")[0].stones) == BLOCK_CAP  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("START 20", c.Start(20, 20)),
        ("start 15", c.Start(15, 15)),
        ("START 15 15", c.Start(15, 15)),
        ("START 22,18", c.Start(22, 18)),
        ("START -1", c.Start(-1, -1)),
        ("RECTSTART 30, 20", c.Start(30, 20)),
        ("RECTSTART 30 ,20", c.Start(30, 20)),
        ("Begin", c.Begin()),
        ("restart", c.Restart()),
        ("TURN 7,8", c.Turn(7, 8)),
        ("turn  7 , 8 ", c.Turn(7, 8)),
        ("TURN\t-1,400", c.Turn(-1, 400)),
        ("TAKEBACK 0,0", c.TakeBack(0, 0)),
        ("PLAY 1,2", c.Play(1, 2)),
        ("ABOUT", c.About()),
        ("STOP", c.Stop()),
        ("yxstop", c.Stop()),
        ("yxshowforbid", y.ShowForbid()),
        ("yxnbest 3", y.NBest(3)),
        ("yxshowinfo", y.ShowInfo()),
        ("yxhashclear", y.HashClear()),
        ("info Timeout_Turn  5000 ", c.Info("timeout_turn", "5000")),
        ("INFO folder C:\\A B\\c", c.Info("folder", "C:\\A B\\c")),
        ("INFO", c.Info("", "")),
        ("INFO rule", c.Info("rule", "")),
        ("7,7", c.Unknown("7,7")),
        ("HELLO you", c.Unknown("HELLO you")),
    ],
)
def test_line(line: str, command: Command) -> None:
    assert parse_line(line.strip()) == command


@pytest.mark.parametrize(
    "line",
    ["START", "START abc", "START 1 2 3", "START 99999999999999999999", "RECTSTART 15", "TURN", "TURN 3",
     "TURN a,b", "TURN 3,4,5", "TURN 3 4", "TURN 3,", "TAKEBACK x", "PLAY", "YXNBEST", "YXNBEST 0",
     "YXNBEST x", "DONE"],
)
def test_malformed_line_names_its_command(line: str) -> None:
    found = parse_line(line)
    assert isinstance(found, c.Invalid) and line.startswith(found.word) and found.word in found.reason


def test_end_is_recognised_in_any_case_and_nowhere_else() -> None:
    assert is_end(b" end \r") and is_end(b"END")
    assert not is_end(b"ENDE") and not is_end(b"INFO END") and not is_end(b"")


def test_board_block() -> None:
    block = b"board\r\n7,7,1\n 8 , 8 , 2 \r\n9,9,3\ndone\r\n"
    assert parse(block) == [c.Board((Stone(7, 7, 1), Stone(8, 8, 2), Stone(9, 9, 3)))]
    assert parse(b"BOARD\nDONE\n") == [c.Board(())]
    assert parse(b"YXBOARD\n1,1,1\nDONE\n") == [y.YxBoard((Stone(1, 1, 1),))]


@pytest.mark.parametrize("line", ["7,7", "7,7,0", "7,7,4", "7,7,x", "7,7,"])
def test_board_line_with_unreadable_owner_keeps_its_cell(line: str) -> None:
    (board,) = parse(f"BOARD\n{line}\nDONE\n".encode())
    assert isinstance(board, c.Board) and board.stones == (Stone(7, 7, None),)
    assert board.fault is not None and line in board.fault


def test_board_garbage_is_left_out_and_the_first_is_named() -> None:
    (board,) = parse(b"BOARD\n1,1,1\nfoo\nbar\n2,2,2\nDONE\n")
    assert isinstance(board, c.Board) and len(board.stones) == 2
    assert board.fault is not None and "foo" in board.fault


def test_swap2_block() -> None:
    assert parse(b"SWAP2BOARD\nDONE\n") == [c.Swap2Board(())]
    assert parse(b"SWAP2BOARD\n1,2\n3,4\n5,6\nDONE\n") == [c.Swap2Board(((1, 2), (3, 4), (5, 6)))]
    (bad,) = parse(b"SWAP2BOARD\n1,2,1\nDONE\n")
    assert isinstance(bad, c.Swap2Board) and bad.fault is not None


def test_info_inside_a_block_passes_and_a_new_command_ends_it() -> None:
    assert parse(b"BOARD\n1,1,2\nINFO rule 1\nDONE\n") == [
        c.Info("rule", "1"), c.Board((Stone(1, 1, 2),))
    ]
    assert parse(b"BOARD\n1,1,2\nSTART 15\nBEGIN\n") == [c.Start(15, 15), c.Begin()]
    assert parse(b"BOARD\n1,1,2\nBOARD\n2,2,2\nDONE\n") == [c.Board((Stone(2, 2, 2),))]


def test_commands_of_databases_are_swallowed() -> None:
    assert parse(b"yxquerydatabaseall\n7,7,1\n8,8,2\ndone\nBEGIN\n") == [
        y.Ignored("YXQUERYDATABASEALL"), c.Begin()
    ]
    swallowed, begin = parse(b"yxhashload\nC:\\some file\nBEGIN\n")
    assert isinstance(swallowed, y.Ignored) and begin == c.Begin()


def test_a_block_arrives_with_its_first_line() -> None:
    parser = Parser()
    lines = ((b"BOARD", 1.0), (b"1,1,2", 2.0), (b"DONE", 3.0))
    found = [pair for line, at in lines for pair in parser.feed(line, at)]
    assert found == [(c.Board((Stone(1, 1, 2),)), 1.0)]


def test_byte_order_mark_and_foreign_bytes() -> None:
    assert parse(b"\xef\xbb\xbfSTART 15\n") == [c.Start(15, 15)]
    assert isinstance(parse(b"\xff\xfe\x00\x80\n")[0], c.Unknown)


@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(
    [b"BOARD\n", b"DONE\n", b"START 15\n", b"yxblock\n", b"7,7,1\n", b"INFO \n", b"YXHASHDUMP\n", b"TURN "]
)), max_size=30))
@settings(max_examples=300, deadline=None)
def test_nothing_breaks_the_parser_and_start_is_always_understood(pieces: list[bytes]) -> None:
    splitter, parser = LineSplitter(), Parser()
    for line in splitter.feed(b"".join(pieces) + b"\nSTART 15\nSTART 15\n"):
        last = [command for command, _ in parser.feed(line, 0.0)]
    assert last == [c.Start(15, 15)]

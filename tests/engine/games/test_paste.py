"""Moves as people paste and type them."""

import pytest

from engine.errors import PositionError
from engine.games.files import load_game, read_tree
from engine.games.paste import read_moves
from engine.games.record import PASS
from engine.play.commands import parse_command
from engine.rules.geometry import format_moves


@pytest.mark.parametrize(
    "text",
    [
        "h8i9g7", "h8 i9 g7", "H8 I9 G7", "h8,i9,g7", "h8, i9, g7", "h8_i9_g7", "h8.i9.g7", "h8-i9-g7",
        "h8;i9;g7", "h8\ni9\ng7", "1. h8 2. i9 3. g7", "1.h8 2.i9 3.g7", "1) h8 2) i9 3) g7",
        "1: h8\n2: i9\n3: g7",
        "1 h8 2 i9 3 g7",
        "1. h8 i9 2. g7", "7,7 8,8 6,6", "7,7;8,8;6,6", "(7,7) (8,8) (6,6)", "[7,7],[8,8],[6,6]",
        "7,7,8,8,6,6", "1. 7,7 2. 8,8 3. 6,6", "ｈ８　ｉ９　ｇ７", "７，７ ８，８ ６，６",
        "h8 > i9 > g7", "h8→i9→g7",
        "1、h8 2、i9 3、g7", "h 8 i 9 g 7", "B h8 W i9 B g7", "Black: h8, White: i9, Black: g7",
        "#1 h8 #2 i9 #3 g7",
        "(h8)(i9)(g7)", "h8 | i9 | g7",
        "https://gomocalc.com/#/h8i7g9", "http://www.gomocalc.com/#/h8i7g9/", "gomocalc.com/#/h8i7g9",
        "  h8 i9 g7 \n",
    ],
)  # fmt: skip
def test_every_way_to_write_moves(text):
    tree = read_tree(text)
    assert format_moves(tree.record.points, 15) == "h8i9g7" and tree.record.reason == "unfinished"


def test_rows_can_be_counted_from_the_bottom():
    assert read_moves("h1 a15 7,0", 15, 15, from_bottom=True) == [14 * 15 + 7, 0, 7]
    assert read_moves("h1", 20, 15, from_bottom=True) == [14 * 20 + 7]
    tree = read_tree("h1 a15", from_bottom=True)
    assert tree.record.points == [14 * 15 + 7, 0]


def test_colours_that_are_said_are_kept():
    assert read_tree("W h8 B i9 B j10").record.stones == [(112, 1), (128, 0), (144, 0)]


def test_a_pass_is_a_move():
    assert read_moves("h8 pass i9 -- j10", 15, 15)[1::2] == [PASS, PASS]
    assert read_tree("pass h8").record.stones == [(112, 1)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("h8 xyz i9", "'xyz' is not a move"), ("h8 i9 White wins", "'white' is not a move"),
        ("h8 p8", "p8 is off the 15x15 board"), ("h8 h16", "h16 is off the 15x15"), ("15,0", "15,0 is off"),
        ("h8 i9 h8", "move 3: h8 is taken"), ("h8 7", "'7' is not a move"), ("h8.5", "'5' is not a move"),
        ("https://gomocalc.com/#/h8zz", "'zz' is not a move"), ("https://example.org/#/h8", "'https:"),
        ("h100", "'h100' is not a move"), ("", "it is empty"), (" \n", "it is empty"),
        ("hello", "no game: expected"),
        ("ⅷ", "is not a move"), ("h8 " + "😀" * 50, "is not a move"), ("- " * 5001 + "x", "no game"),
    ],
)  # fmt: skip
def test_what_is_no_move_is_named_in_one_line(text, why):
    with pytest.raises(PositionError) as refused:
        read_tree(text)
    assert why in str(refused.value) and "\n" not in str(refused.value)


def test_a_file_of_moves_is_a_game(tmp_path):
    path = tmp_path / "moves.txt"
    path.write_text("1. h8 2. i9\n3. g7\n")
    assert format_moves(load_game(path).points, 15) == "h8i9g7"
    path.write_text("1. h8 2. i9\n3. zz\n")
    with pytest.raises(PositionError, match=r"moves\.txt: 'zz' is not a move"):
        load_game(path)


@pytest.mark.parametrize(
    ("typed", "name", "argument"),
    [
        ("ｓｉｚｅ ２０", "size", "20"), ("level ３ ８", "level", "3 8"), ("ａ １０", "analyse", "10"),
        ("ａ　ａｌｌ", "review", ""),
        ("save ｇame１.sgf", "save", "ｇame１.sgf"), ("rows bottom", "rows", "bottom"),
    ],
)  # fmt: skip
def test_full_width_letters_and_digits_are_typed(typed, name, argument):
    command = parse_command(typed, 15, 15)
    assert (command.name, command.argument) == (name, argument)


@pytest.mark.parametrize("typed", ["ｈ８", "h８", "ｈ ８", "７，７", "Ｈ８"])
def test_full_width_moves_are_typed(typed):
    assert parse_command(typed, 15, 15).points == (112,)

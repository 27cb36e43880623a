"""The parts of the game at the terminal that need no terminal: game, commands, drawing; the command."""

import argparse
import importlib.util
import io
import os
import subprocess
import sys

import pytest

from engine import EngineConfig, NetError, PositionError, Rule
from engine.play import cli
from engine.play.actions import ACTIONS, parse_levels, parse_seconds
from engine.play.commands import HELP, Command, parse_command
from engine.play.game import Game, forbidden_reason
from engine.play.screen import View, columns
from engine.play.terminal import MAX_LINE, Lines
from engine.play.thinker import Thinker
from engine.rules.geometry import format_move, parse_move, parse_moves
from tests.helpers.paths import ROOT
from tests.helpers.terminal import game_of, screen_of

# --- the game -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moves", "move", "rule", "message"),
    [
        ("h8", "h8", Rule.FREESTYLE, "h8 is taken"),
        ("h8a1i8a3j9a5j10a7", "j8", Rule.RENJU, "j8 is forbidden to black: double three"),
        ("h8a1i8a3j8a5k9a7k10a9k11a11", "k8", Rule.RENJU, "double four"),
        ("h8a1i8a3j8a5l8a7m8a9", "k8", Rule.RENJU, "overline"),
        ("h8a1i8a3j8a5k8a7l8", "a9", Rule.FREESTYLE, "the game is over"),
    ],
)
def test_moves_are_refused_with_the_reason(moves, move, rule, message):
    game = game_of(moves, rule=rule)
    if "overline" in message:
        game = Game(15, 15, rule)
        for point in parse_moves("h8a1i8a3j8a5l8a7m8a9g1c1", 15, 15):
            game.play(point)
    before = list(game.points)
    with pytest.raises(PositionError, match=message):
        game.play(parse_move(move, 15, 15))
    assert game.points == before and game.board.ply == len(before)


def test_forbidden_reasons_agree_with_the_kernel():
    game = game_of("h8a1i8a3j9a5j10a7", rule=Rule.RENJU)
    assert [forbidden_reason(game.board, p) for p in game.board.forbidden_points()] == ["double three"]


def test_results_are_sentences():
    assert game_of("h8a1i8a3j8a5k8a7").result == ""
    assert game_of("h8a1i8a3j8a5k8a7l8").result == "Black wins after 9 stones."
    full = game_of("a1a2b1b2c2c1d1d2e1e2a3a4b3b4c4c3d3d4e3e4a5b5c5d5e5", 5, 5)
    assert (
        full.over and full.result == "The board is full: a draw." and full.record(("", "")).reason == "draw"
    )


def test_undo_stops_at_the_opening():
    game = game_of("h8h9i9")
    game.opening_stones = 2
    game.undo()
    with pytest.raises(PositionError, match="the opening stays"):
        game.undo()
    with pytest.raises(PositionError, match="nothing to undo"):
        Game().undo()


def test_impossible_sizes_are_refused():
    with pytest.raises(PositionError):
        Game(4, 4)


# --- commands -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("h8", Command("move", points=(112,))),
        (" 7,7 \t", Command("move", points=(112,))),
        ("H8 i8", Command("move", points=(112, 113))),
        ("", Command("")),
        ("\x00 \x07\ud800", Command("")),
        ("\x1b[A", None),
        ("A 3", Command("analyse", "3")),
        ("a3", Command("move", points=(30,))),
        ("analyse all", Command("review")),
        ('save! "my game.psq"', Command("save!", "my game.psq")),
        ("q", Command("quit")),
        ("h 8", Command("move", points=(112,))),
        ("H  8 i 9", Command("move", points=(112, 128))),
        ("g 15", Command("move", points=(216,))),
        ("yes", Command("yes")),
        ("size 20", Command("size", "20")),
    ],
)
def test_lines_become_commands(text, command):
    if command is None:
        with pytest.raises(PositionError):
            parse_command(text, 15, 15)
    else:
        assert parse_command(text, 15, 15) == command


def test_rows_may_be_counted_from_the_bottom():
    for text in ("a1", "A1 ", "0,14"):
        assert parse_command(text, 15, 15, from_bottom=True) == Command("move", points=(210,))
    with pytest.raises(PositionError, match="a16 is off the 15x15 board"):
        parse_command("a16", 15, 15, from_bottom=True)
    assert [format_move(p, 20, 15) for p in (0, 285)] == ["a15", "f1"]


def test_u_and_q_are_columns_with_a_number_behind():
    assert parse_command("u 9", 22, 22) == Command("move", points=(8 * 22 + 20,))
    assert parse_command("q 3", 22, 22) == Command("move", points=(2 * 22 + 16,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p1", "off the 15x15 board"),
        ("15,0", "off the 15x15 board"),
        ("play well", "'play well' is no move and no command"),
        ("undo twice", "undo takes nothing"),
        ("x" * 5000, "no move and no command"),
        ("²", "no move"),
    ],
)
def test_nonsense_gets_one_short_line(text, message):
    with pytest.raises(PositionError, match=message) as caught:
        parse_command(text, 15, 15)
    assert len(str(caught.value)) < 110 and "\n" not in str(caught.value)


def test_help_fits_beside_the_largest_tournament_board_and_names_every_command():
    assert all(len(usage) <= 12 and len(what) <= 20 for usage, what in HELP)
    words = " ".join(usage for usage, _ in HELP)
    for name in set(ACTIONS) - {"", "move", "help", "analyse", "review", "black", "white"}:
        assert name in words


@pytest.mark.parametrize("text", ["0", "11", "x", "", "1 2 3", "²", "9" * 5000, "-1", "1.5"])
def test_bad_levels_are_refused(text):
    with pytest.raises(PositionError, match="level"):
        parse_levels(text)


@pytest.mark.parametrize("text", ["0", "nan", "inf", "-1", "soon", "1e9"])
def test_bad_times_are_refused(text):
    with pytest.raises(PositionError, match="seconds"):
        parse_seconds(text)


# --- the screen ---------------------------------------------------------------------------------------------


def visible(text):
    """What is left without escape sequences, from the last clearing on."""
    from rich.text import Text

    return Text.from_ansi(text.rpartition("\x1b[H")[2]).plain


@pytest.mark.parametrize("size", [(15, 15), (20, 20), (5, 5), (20, 15)])
def test_every_usual_board_fits_80x24(size):
    screen, out = screen_of()
    game = Game(*size)
    game.play(0)
    screen.draw(View(game, "status " + "x" * 200, [f"{i} " + "y" * 100 for i in range(17)]))
    lines = visible(out.getvalue()).rstrip("\n").split("\n")
    assert len(lines) + 1 <= 24
    assert all(len(line) < 80 for line in lines)
    assert lines[0].split()[: size[0]] == [chr(97 + x) for x in range(size[0])]
    assert lines[size[1]].startswith(f"{size[1]:3d} ")


def test_small_screens_keep_the_rows():
    screen, out = screen_of(30, 22)
    screen.draw(View(Game(20, 20), "status", ["default"], panel_asked_for=False))
    lines = visible(out.getvalue()).rstrip("\n").split("\n")
    assert len(lines) == 21 and lines[0].startswith("  1 ") and lines[-1] == "status"
    assert len(lines[0]) == 24  # one column a cell


def test_last_move_hint_and_forbidden_points_are_marked():
    screen, out = screen_of()
    game = game_of("h8a1i8a3j9a5j10a7", rule=Rule.RENJU)
    screen.draw(View(game, hint=14))
    text = out.getvalue()
    assert "×" in visible(text) and "+" in visible(text)
    plain, out = screen_of(no_color=True)
    plain.draw(View(game))
    shown = visible(out.getvalue())
    assert "[O]" in shown and "\x1b[3" not in out.getvalue() and "\x1b[4" not in out.getvalue()


def test_pipes_get_plain_text_once():
    screen, out = screen_of(terminal=False)
    game = game_of("h8")
    screen.draw(View(game, "one", ["panel"], panel_asked_for=False))
    screen.draw(View(game, "two", ["asked"]))
    screen.progress("thinking")
    screen.end()
    text = out.getvalue()
    assert text.count("a b c d") == 1 and "\x1b" not in text and "\r" not in text
    assert text.endswith("one\nasked\ntwo\n")


def test_columns_fill_the_width():
    assert columns([], 80) == []
    rows = columns([f"{i:2d} entry" for i in range(10)], 40)
    assert len(rows) == 4 and rows[0].split() == ["0", "entry", "4", "entry", "8", "entry"]
    assert columns(["a" * 100], 40) == ["a" * 100]


# --- the command --------------------------------------------------------------------------------------------


def command(*arguments, text="", **environment):
    return subprocess.run(
        [sys.executable, "-m", "engine", "play", "--net", "uniform", *arguments],
        input=text, capture_output=True, cwd=ROOT, timeout=60, check=False,
        env=os.environ | environment, **({"text": True} if isinstance(text, str) else {}),
    )  # fmt: skip


def test_a_piped_session_plays_and_ends_with_its_input():
    done = command("--time", "0.1", "--size", "9x7", text="e5\nnonsense\n")
    assert done.returncode == 0 and done.stderr == ""
    assert "Tengen" not in done.stdout and "\x1b" not in done.stdout
    assert "white plays" in done.stdout and "no command" in done.stdout


def test_wrong_bytes_are_nonsense():
    done = command("--size", "9", text=b"\xff\xfe\x00\x9b\ne5\nsave /nowhere/\xff.psq\n")
    assert done.returncode == 0 and b"no command" in done.stdout and b"cannot write" in done.stdout
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--level", "11"], "levels go from 1 to 10"),
        (["--time", "never"], "number of seconds"),
        (["--load", "/no/such.psq"], "/no/such.psq"),
        (["--load", "x.psq", "--swap2"], "do not go together"),
        (["--set", "level=3"], "--level decides"),
        (["--set", "solver=no"], "--level decides"),
    ],
)
def test_bad_options_are_refused(arguments, message, capsys):
    assert cli.main([*arguments, "--net", "uniform"]) == 1
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ""


def test_a_missing_net_is_told_before_the_game(capsys):
    assert cli.main(["--net", "/no/such.onnx"]) == 1
    assert "/no/such.onnx" in capsys.readouterr().err
    with pytest.raises(NetError):
        Thinker(EngineConfig(net="/no/such.onnx"), log=print, tick=print)


def test_without_the_terminal_library_it_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    assert cli.run(parser.parse_args([])) == 2
    captured = capsys.readouterr()
    assert "rich" in captured.err and "make play" in captured.err and captured.out == ""


@pytest.mark.parametrize(
    "module", ["engine.play.cli", "engine.__main__", "protocol.__main__", "engine.engine"]
)
def test_nothing_else_loads_the_terminal_library(module):
    code = f"import sys, {module}; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_lines_are_cut_and_end():
    lines = Lines(io.StringIO("x" * 5000 + "\nlast"), lambda: None)
    assert len(lines.read("> ")) == MAX_LINE and lines.read("> ") == "last"
    with pytest.raises(EOFError):
        lines.read("> ")

"""The parts of the game at the terminal that need no terminal: game, commands, drawing, session."""

import argparse
import importlib.util
import io
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rich.console import Console

from engine import EngineConfig, NetError, PositionError, Rule
from engine.gamefile import load_game
from engine.play import cli
from engine.play.actions import ACTIONS, act, parse_levels, parse_seconds
from engine.play.commands import HELP, Command, parse_command
from engine.play.game import Game, forbidden_reason
from engine.play.screen import Screen, View, columns
from engine.play.session import Session
from engine.play.swap2 import Swap2
from engine.play.table import HUMANS, Table
from engine.play.terminal import MAX_LINE, Lines
from engine.play.thinking import Thinker
from engine.rules.geometry import format_move, parse_move, parse_moves

ROOT = Path(__file__).resolve().parents[2]


def game_of(moves, width=15, height=15, rule=Rule.FREESTYLE):
    game = Game(width, height, rule)
    for point in parse_moves(moves, width, height):
        game.play(point)
    return game


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


def screen_of(width=80, height=24, *, terminal=True, **options):
    out = io.StringIO()
    console = Console(
        file=out, force_terminal=terminal, width=width, height=height, legacy_windows=False,
        color_system="256" if terminal else None, _environ={"TERM": "xterm-256color"}, **options,
    )  # fmt: skip
    return Screen(console), out


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


# --- sessions -----------------------------------------------------------------------------------------------


class Script(Lines):
    """Lines from a list; an exception in it is raised."""

    def __init__(self, *lines, interactive=False):
        self.lines, self.interactive = list(lines), interactive

    def read(self, prompt):
        if not self.lines:
            raise EOFError
        line = self.lines.pop(0)
        if isinstance(line, BaseException):
            raise line
        return line


@pytest.fixture(scope="module")
def thinker():
    thinker = Thinker(EngineConfig(net="uniform", seed=1), log=lambda text: None, tick=lambda s: None)
    yield thinker
    thinker.close()


@pytest.fixture
def play(thinker):
    def run(*lines, game=None, humans="black", levels=(10, 10), interactive=False, **more):
        screen, out = screen_of(terminal=False)
        table = Table(HUMANS[humans], levels, time_s=0.05, delay_s=0.0)
        session = Session(game or Game(9, 9), table, thinker, screen, act, **more)
        assert session.run(Script(*lines, interactive=interactive)) == 0
        return session, out.getvalue()

    return run


def test_the_engine_answers_and_undo_gives_the_turn_back(play):
    session, text = play("e5", "d4")
    assert len(session.game.points) == 4 and session.game.times_ms[1] > 0
    assert "white plays" in text
    session, text = play("e5", "undo", "undo")
    assert session.game.points == [] and "you have no move to take back" in text
    session, _ = play("undo", humans="white")
    assert len(session.game.points) == 1


def test_a_game_ends_with_its_result_and_another_begins(play):
    won = game_of("a1a9b1b9c1c9d1h5", 9, 9)
    session, text = play("e1", "e2", "hint", "new 15 renju", game=won)
    assert "Black wins after 9 stones." in text and text.count("the game is over") == 2
    assert session.game.board.width == 15 and session.game.rule is Rule.RENJU and session.game.points == []


def test_two_people_and_forbidden_moves(play):
    session, text = play("j8", "h3", game=game_of("h8a1i8a3j9a5j10a7", rule=Rule.RENJU), humans="both")
    assert "j8 is forbidden to black: double three" in text
    assert len(session.game.points) == 9


def test_who_resigns_loses_and_undo_takes_it_back(play, tmp_path):
    session, text = play("e5", "resign", "e6", f"save {tmp_path}/r.sgf")
    assert "Black resigns, white wins." in text
    assert session.game.over and session.game.winner == 1 and "the game is over" in text
    record = load_game(tmp_path / "r.sgf")
    assert (record.winner, record.reason) == (1, "resigned")
    assert "RE[W+R]" in (tmp_path / "r.sgf").read_text()
    session, _ = play("e5", "resign", "undo")
    assert not session.game.over and len(session.game.points) == 2
    session, text = play("resign", "resign", humans="both")
    assert session.game.resigned == 0 and text.count("the game is over") == 1
    _, text = play(KeyboardInterrupt(), "resign", humans="none")
    assert "you only watch" in text


def test_size_and_rule_begin_anew_or_tell(play):
    session, text = play("size 12x10", "rule renju", "size", "rule", "rule chess", "size 99")
    assert (session.game.board.width, session.game.board.height, session.game.rule) == (12, 10, Rule.RENJU)
    assert text.count("12x10 renju; ") == 2 and "unknown rule" in text and "sides are 5 to 22" in text


@pytest.mark.parametrize("line", ["new", "size 15", "rule caro", "load {file}", "quit"])
def test_a_game_is_not_thrown_away_without_a_question(play, tmp_path, line):
    saved = tmp_path / "other.psq"
    saved.write_text("Piskvorky 9x9, 11:11, 0\n1,1,0\n")
    line = line.format(file=saved)
    session, text = play("e5", line, "board", interactive=True)
    assert "not saved: `yes` drops it" in text and len(session.game.points) == 2
    for answer in ("yes", line):
        session, _ = play("e5", line, answer, interactive=True)
        assert session.leaving if line == "quit" else len(session.game.points) < 2
    session, text = play("e5", line, "d4", "yes", interactive=True)
    assert len(session.game.points) == 4 and "nothing was asked" in text
    session, text = play("e5", line, "no", "yes", interactive=True)
    assert len(session.game.points) == 2 and text.count("nothing was asked") == 1
    assert "is no move" not in text


@pytest.mark.parametrize(
    "lines", [("new",), ("e5", "resign", "new"), ("e5", "save {file}", "new"), ("e5", "size")]
)
def test_there_is_no_question_where_nothing_is_lost(play, tmp_path, lines):
    _, text = play(*(line.format(file=tmp_path / "g.sgf") for line in lines), interactive=True)
    assert "`yes`" not in text
    _, text = play("e5", "new")
    assert "`yes`" not in text  # a script cannot be asked


def test_rows_from_the_bottom_in_all_that_is_said(play):
    session, text = play("a1", "a1", "new", "c3", interactive=False, from_bottom=True)
    assert "a1 is taken" in text and "white plays" in text
    assert session.game.points[0] == 6 * 9 + 2 and session.game.from_bottom
    rows = [line for line in text.splitlines() if re.match(r" +\d+[ \[]", line)]
    assert rows[0].startswith("  9") and rows[8].startswith("  1")


def test_nonsense_loses_nothing(play):
    session, text = play(
        "e5", "", "e5", "foo", "z99", "level 99", "level", "time soon", "time 0.05", "colour red", "go",
        "a x", "save", "load", "new 99", "new chess", "black", "undo 5", "analyse all all", "h8 i8",
        "level 3 7",
    )  # fmt: skip
    assert len(session.game.points) == 2 and session.table.levels == (3, 7)
    for message in (
        "e5 is taken", "'foo' is no move", "off the 9x9 board", "levels go from", "levels: black 10",
        "number of seconds", "colour needs", "it is your move", "save needs", "load needs",
        "sides are 5 to 22", "unknown rule", "answer to swap2", "undo takes nothing", "one move at a time",
    ):  # fmt: skip
        assert message in text, message


def test_save_load_and_what_is_refused(play, tmp_path):
    path = tmp_path / "my game.sgf"
    other = tmp_path / "game.psq"
    session, text = play(
        "e5", f"save {path}", "d5", f"save {path}", f'save! "{path}"', f"save {other}",
        f"save {tmp_path}/x.txt",
    )  # fmt: skip
    assert "exists already" in text and "must end in" in text
    record = load_game(path)
    assert record.points == session.game.points == load_game(other).points
    assert record.names == ("human", "Tengen level 10")
    bad = tmp_path / "bad.psq"
    bad.write_text("Piskvorky 9x9, 11:11, 0\n5,5,0\n5,5,0\n")
    session, text = play("c3", f"load {bad}", f"load {tmp_path}/none.psq")
    assert "line 3: move 2: e5 is taken" in text and "cannot read" in text
    assert len(session.game.points) == 2
    session, text = play(f"load {path}", humans="both")
    assert session.game.points == record.points and "4 stones from my game.sgf" in text


def test_a_loaded_game_waits_for_go(play, tmp_path):
    path = tmp_path / "odd.psq"
    path.write_text("Piskvorky 9x9, 11:11, 0\n5,5,0\n")
    session, text = play(f"load {path}", "board")
    assert len(session.game.points) == 1 and "`go` lets the engine move" in text
    session, _ = play(f"load {path}", "go")
    assert len(session.game.points) == 2


def test_hint_and_analysis_speak_of_the_position(play):
    session, text = play("hint", "a 0.05", "help", game=game_of("e5a1f5a3g5a5", 9, 9))
    assert "hint: h5 (win in 3)" in text or "hint: d5 (win in 3)" in text
    assert "black to move" in text and "visits" in text and "save! FILE" in text
    assert len(session.game.points) == 6


def test_looking_back_names_the_losing_move(play):
    _, text = play("analyse all", "", game=game_of("e5d5f5a1g5a3h5a5i5", 9, 9), humans="both")
    assert "Black's win rate" in text and "9 X i5  100.0%" in text and "lost most with" in text
    _, text = play("analyse all")
    assert "no moves to look back at" in text


def test_ctrl_c_asks_once_and_then_leaves(play):
    session, text = play(KeyboardInterrupt(), "e5", KeyboardInterrupt(), KeyboardInterrupt(), "d4")
    assert text.count("leave? Ctrl-C again") == 2
    assert len(session.game.points) == 2


def test_ctrl_c_while_thinking_plays_the_best_move_so_far(thinker):
    game = game_of("e5", 9, 9)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    thought = thinker.move(game, 10, 3000.0)
    assert thought.interrupted and thought.elapsed_s < 60
    assert game.refusal(thought.value.point) is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_watching_plays_a_game_to_the_end_with_two_levels(play):
    session, text = play(humans="none", levels=(1, 10), game=Game(7, 7))
    assert session.game.over and session.game.result in text
    assert session.game.record(("", "")).reason in ("five", "draw")


def test_a_watched_game_pauses_for_commands(play):
    class Impatient:
        count = 0

        def __call__(self, seconds):
            self.count += 1
            if self.count == 3:
                raise KeyboardInterrupt

    screen, out = screen_of()
    thinker = Thinker(EngineConfig(net="uniform", seed=1), log=print, tick=lambda s: None)
    table = Table(HUMANS["none"], (10, 10), 0.05)
    session = Session(Game(9, 9), table, thinker, screen, act, sleep=Impatient())
    assert session.run(Script("undo", "board")) == 0
    assert len(session.game.points) == 2 and session.paused
    assert "to move; `go` plays on" in out.getvalue() and "leave?" not in out.getvalue()


def test_swap2_with_the_engine_second(play):
    session, text = play("a1 b1 c3", swap2=True)
    assert session.opening is None and session.game.opening_stones == 3
    assert "the engine takes" in text
    white = session.game.points[3:]
    assert (len(white) == 1) == (session.table.humans == HUMANS["black"])


def test_swap2_with_the_engine_first(play):
    for answer, humans, stones in (("white", "white", 3), ("black", "black", 4), ("i9", "white", 5)):
        session, text = play("nonsense", answer, humans="white", swap2=True)
        shown = " ".join(format_move(point, 9) for point in session.game.points[:3])
        assert f"the engine puts {shown}; take `black` or `white`, or put two stones" in text
        assert session.opening is None and session.table.humans == HUMANS[humans]
        assert len(session.game.points) == stones and session.game.opening_stones == 3


def test_swap2_with_two_more_stones_lets_the_engine_choose(play):
    session, text = play("i1 i9", humans="white", swap2=True)
    assert session.game.opening_stones == 5 and session.opening is None
    assert "the engine takes" in text


def test_swap2_refuses_what_does_not_fit(play):
    session, text = play(
        "black", "a1 a1 b1", "a1 b1 c1 d1", "undo", "a1", "undo", "b1 c1 d1", "b1 c1", "colour both",
        humans="both", swap2=True,
    )  # fmt: skip
    assert session.opening == Swap2(3) and session.game.opening_stones == 3
    for message in (
        "answer to swap2", "a1 is taken", "that is too many", "no move to take back", "the opening stays",
        "put 2 more stones", "colours are chosen by the opening",
    ):  # fmt: skip
        assert message in text, message


def test_seats_change_only_when_the_other_colour_is_taken():
    assert [Swap2(n).chooser for n in (0, 1, 2, 3, 5)] == [0, 0, 0, 1, 0]
    table = Table(HUMANS["black"], (2, 7))
    table.exchange()
    assert table.humans == HUMANS["white"] and table.levels == (7, 2)
    assert (table.name(0), table.name(1)) == ("Tengen level 7", "human")


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

"""A person at a real terminal: a whole game with everything that is typed at it, right and wrong."""

import os
import re
import signal
import sys

import pytest

from engine.games.files import load_game
from engine.rules._board import EMPTY
from engine.rules.geometry import format_move, parse_move
from tests.helpers.paths import ROOT

pexpect = pytest.importorskip("pexpect")
pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal"),
]

PROMPT = r"\n(?:\x1b\[\?2004h)?(?:black|white|swap2|)> $"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Seat:
    """One session in a pseudo-terminal of 80x24."""

    def __init__(self, *options, cwd=ROOT, **environment):
        environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **environment}
        sized = ("COLUMNS", "LINES")  # pytest-xdist sets one, and it would win over the terminal's own size
        environment = {k: v for k, v in environment.items() if v is not None and k not in sized}
        self.child = pexpect.spawn(
            sys.executable, ["-m", "engine", "play", "--net", "uniform", "--set", "seed=1", *options],
            dimensions=(24, 80), encoding="utf-8", timeout=30, cwd=str(cwd), env=environment,
        )  # fmt: skip
        self.screen = ""
        self.wait()

    def wait(self):
        """Wait for the prompt; keep what was drawn last."""
        self.child.expect(PROMPT)
        self.raw = self.child.before
        self.screen = ESCAPE.sub("", self.raw.rpartition("\x1b[H")[2])

    def type(self, text):
        self.child.sendline(text)
        self.child.expect_exact(text)  # the echo
        self.wait()
        return self.screen

    def leaves(self):
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus


@pytest.fixture
def seat(tmp_path):
    seats = []

    def sit(*options, **environment):
        seats.append(Seat(*options, cwd=tmp_path, **environment))
        return seats[-1]

    yield sit
    for one in seats:
        one.child.close(force=True)


def test_a_whole_game(seat, tmp_path):
    me = seat("--size", "9", "--time", "0.2", "--level", "10", "--colour", "both", NO_COLOR=None)
    assert "a b c d e f g h i" in me.screen and "Tengen  9x9 freestyle" in me.screen
    assert "\x1b[" in me.raw and "48;5;" in me.raw  # colours
    for move in ("e5", "4,3", "f5", "a2", "g5"):
        me.type(move)
    assert "  5. black g5" in me.screen and "Your move, white." in me.screen
    assert "'what now' is no move" in me.type("what now")
    assert "e5 is taken" in me.type("e5")
    assert "off the 9x9 board" in me.type("k12")
    assert "Your move, black." in me.type("undo")
    assert "hint: " in me.type("hint")
    assert "visits" in me.type("a 0.2") and "black to move" in me.screen
    assert "replaces the file" in me.type("help")
    assert "saved as middle.sgf" in me.type("save middle.sgf")
    assert "exists already" in me.type("save middle.sgf")
    for move in ("g5", "a3"):
        me.type(move)
    assert re.search(r"hint: [dh]5 \(win in 3\)", me.type("hint"))
    for move in ("h5", "a4"):
        me.type(move)
    assert "Black wins after 9 stones." in me.type("d5")
    assert "the game is over" in me.type("a9")
    assert "100.0%" in me.type("analyse all") and "Enter goes back" in me.screen
    me.type("save end.psq")
    assert load_game(tmp_path / "end.psq").winner == 0
    assert "4 stones from middle.sgf" in me.type("load middle.sgf")
    (tmp_path / "bad.psq").write_text("Piskvorky 9x9, 11:11, 0\n5,5,0\n5,5,0\n")
    assert "line 3: move 2: e5 is taken" in me.type("load bad.psq")
    assert "Your move, black." in me.type("board")  # the game that was loaded before goes on
    assert "Tengen  20x20 renju" in me.type("new 20 renju")
    assert len(me.screen.splitlines()) <= 23
    me.child.sendline("quit")
    assert me.leaves() == 0


def test_a_game_against_the_engine_to_its_end(seat, tmp_path):
    me = seat("--size", "7", "--time", "0.1", "--level", "1")
    for _ in range(25):
        me.type("save! so-far.psq")
        record = load_game(tmp_path / "so-far.psq")
        if record.winner != EMPTY or "draw" in me.screen:
            break
        move = re.search(r"hint: ([a-g]\d)", me.type("hint"))
        assert move is not None, me.screen
        assert parse_move(move[1], 7, 7) not in record.points
        me.type(move[1])
    assert re.search(r"(wins after \d+ stones|a draw)\.", me.type("board"))
    me.child.sendeof()
    assert me.leaves() == 0


def test_ctrl_c_makes_the_engine_move_and_leaves_only_when_asked_twice(seat):
    me = seat("--size", "9", "--time", "3000", "--level", "10")
    me.child.sendline("e5")
    me.child.expect(r"thinking \d")
    me.child.sendintr()
    me.wait()
    assert "white plays" in me.screen
    me.child.sendintr()
    me.wait()
    assert "leave? Ctrl-C again" in me.screen
    assert "is taken" in me.type("e5")  # going on is possible
    me.child.sendintr()
    me.wait()
    me.child.sendintr()
    assert me.leaves() == 0


def test_a_watched_game_is_interrupted_and_goes_on(seat):
    me_options = ["--size", "9", "--time", "3000", "--level", "10,10", "--colour", "none", "--delay", "0"]
    child = pexpect.spawn(
        sys.executable, ["-m", "engine", "play", "--net", "uniform", *me_options],
        dimensions=(24, 80), encoding="utf-8", timeout=30, cwd=str(ROOT),
        env={**os.environ, "TERM": "xterm-256color"},
    )  # fmt: skip
    child.expect(r"thinking \d")
    child.sendintr()
    child.expect(r"Paused after [a-z]+ [a-i]\d")
    child.expect(PROMPT)
    child.sendline("go")
    child.expect(r"thinking \d")
    child.sendintr()
    child.expect(r"Paused after [a-z]+ [a-i]\d")
    child.expect(PROMPT)
    child.sendeof()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_a_resize_redraws_and_keeps_what_was_typed(seat):
    me = seat("--size", "20", "--colour", "both")
    assert "Tengen  20x20" in me.screen
    me.child.send("k1")
    me.child.expect_exact("k1")
    me.child.setwinsize(40, 50)
    for _ in range(10):  # readline redraws its line too, and two signals can become one
        me.child.kill(signal.SIGWINCH)
        if me.child.expect([r"black> k1$", pexpect.TIMEOUT], timeout=3) == 0:
            narrow = ESCAPE.sub("", me.child.before.rpartition("\x1b[H")[2])
            if " 20 " in narrow and "Tengen" not in narrow:  # the board without the panel, which has no room
                break
    else:
        pytest.fail(f"no narrow board: {me.child.before[-2000:]!r}")
    me.child.sendline("0")
    me.wait()
    assert format_move(9 * 20 + 10, 20) == "k10" and "Your move, white." in me.screen


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_no_colours_where_they_are_not_wanted(seat, environment):
    me = seat("--size", "9", "--colour", "both", **environment)
    me.type("e5")
    assert "[X]" in me.screen and not re.search(r"\x1b\[[0-9;]*m", me.raw.replace("\x1b[0m", ""))

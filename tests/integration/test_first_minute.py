"""Somebody starts the brain by hand at a real terminal."""

import os
import subprocess
import sys

import pytest

from tests.helpers.paths import ROOT

pexpect = pytest.importorskip("pexpect")
pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal"),
]

BRAIN = [sys.executable, "-m", "protocol"]


@pytest.fixture
def start():
    children = []

    def spawn(*options):
        child = pexpect.spawn(
            BRAIN[0], [*BRAIN[1:], *options], encoding="utf-8", timeout=30, cwd=str(ROOT), echo=False,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"},
        )  # fmt: skip
        children.append(child)
        return child

    yield spawn
    for child in children:
        child.close(force=True)


def ended(child):
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus


def test_two_lines_say_what_it_is_and_how_to_play(start):
    child = start("--net", "uniform")
    for words in ("a gomoku brain", "--play"):
        line = child.readline()
        assert line.startswith("MESSAGE ") and words in line
    child.sendline("START 15")
    assert child.readline().strip() == "OK"  # nothing but the two lines came before


@pytest.mark.parametrize("word", ["quit", " Exit ", "END"])
def test_help_is_given_and_quit_leaves(start, word):
    child = start("--net", "uniform")
    child.sendline("help")
    child.expect("MESSAGE START 15 puts up a board")
    child.expect("MESSAGE .*--help lists the options")
    child.sendline("foo")
    child.expect("UNKNOWN command foo")
    child.sendline(word)
    assert ended(child) == 0


@pytest.mark.parametrize("options", [("--play", "--size", "9"), ("--size", "9", "--play")])
def test_play_may_stand_anywhere(start, options):
    child = start("--net", "uniform", *options)
    child.expect("Tengen  9x9 freestyle|black> ")
    child.sendline("quit")
    assert ended(child) == 0


def run_with(lines, *options):
    return subprocess.run(
        [*BRAIN, "--net", "uniform", *options], input=lines, capture_output=True, timeout=60, cwd=ROOT,
        check=False,
    )  # fmt: skip


def test_a_manager_is_neither_greeted_nor_helped():
    lines = b"help\nquit\nABOUT\nEND\n"
    got = run_with(lines)
    answers = got.stdout.decode().splitlines()
    assert answers[:2] == ["UNKNOWN command help", "UNKNOWN command quit"]
    assert answers[2].startswith("name=") and len(answers) == 3 and not got.stderr


@pytest.mark.parametrize(
    ("options", "name"), [((), "h8"), (("--rows-from", "top"), "h8"), (("--rows-from", "bottom"), "h13")]
)
def test_messages_name_points_with_row_1_at_the_top_or_as_asked(options, name):
    stones = b"6,7,2\n1,1,1\n5,7,2\n1,3,1\n4,7,2\n1,5,1\n8,7,2\n1,9,1\n"
    got = run_with(b"START 20\nINFO timeout_turn 1000\nBOARD\n" + stones + b"DONE\nEND\n", *options)
    answers = got.stdout.decode().splitlines()
    assert answers[-1] == "7,7" and "MESSAGE forced block" in answers
    assert f"MESSAGE depth 1-1 ev 0 n 0 n/ms 0 tm 0 pv {name}" in answers

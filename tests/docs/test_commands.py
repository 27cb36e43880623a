"""Every command line of README.md and docs/ is read by the program that it names.

The program runs up to the point where it has parsed its arguments; a name of an option, a choice or a number
that it does not take any more is a failure here. Lines of `training.selfplay` also run with `--show-config`,
so that the settings that they change exist.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import io
import itertools
import re
import runpy
import shlex
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from engine.config import load_config
from tests.helpers.paths import ROOT
from training import selfplay

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "training/RUNS.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "training" / "record").glob("*.md")),
]
THIRD_PARTY = {"pip", "pytest"}
WORDS = {"N": "7", "NAME": "bench", "KEY=VALUE": "seed=1"}
"""What stands for the words of a page that a reader is to replace, where not every text will do."""
ENDS = {"|", "&&", ";", ">", ">>", "2>&1", "..."}
Command = tuple[str, tuple[str, ...]]


class Read(BaseException):
    """The program has read its arguments; not an Exception, so that no program handles it."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def lines_of(text: str) -> Iterator[str]:
    """Yield what a page shows as code: the lines of its blocks, and what stands between backquotes."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for block in blocks:
        yield from block.replace("\\\n", " ").splitlines()
    rest = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for inline in re.findall(r"`([^`]+)`", rest):
        yield " ".join(inline.split())


def programs_of_make() -> dict[str, tuple[str, ...]]:
    """Return the words behind `-m` for each target that takes ARGS."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.findall(r"^(\w+):.*\n\t@\$\(PY\) -m ([\w. ]+) \$\(ARGS\)$", makefile, re.MULTILINE)
    return {target: tuple(words.split()) for target, words in found}


def commands_of(line: str) -> Iterator[Command]:
    """Yield the commands of ours in a line, also those in quotes that another program is given."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return  # half a line in prose
    words = [WORDS.get(word, word) for part in words for word in [part.strip("[]")]]
    for i, word in enumerate(words):
        after = []
        for argument in words[i + 1 :]:
            if argument in ENDS:
                break
            after.append(argument)
        name = Path(word).name
        if name.startswith("python") and after[:1] == ["-m"] and len(after) > 1:
            yield after[1], tuple(after[2:])
        elif name.startswith("python") and after and after[0].startswith("docs/"):
            yield after[0], tuple(after[1:])
        elif name == "pbrain-tengen" and (not i or words[i - 1] in ENDS):
            yield "protocol", tuple(after)
        elif word == "make":
            targets = [a for a in after if not a.startswith("-") and "=" not in a]
            given = dict(a.split("=", 1) for a in after if "=" in a)
            for target in targets:
                module, *rest = programs_of_make().get(target, ("",))
                if "ARGS" in given and module:
                    yield module, (*rest, *shlex.split(given["ARGS"]))
        if " " in word and word != line:
            yield from commands_of(word.removeprefix("cmd="))


def commands_on(page: Path) -> list[Command]:
    """Return the commands of a page, each once; without arguments it is a mention and not among them."""
    found = dict.fromkeys(c for line in lines_of(page.read_text(encoding="utf-8")) for c in commands_of(line))
    return [(program, words) for program, words in found if len(words) > (program == "engine")]


ALL = [
    pytest.param(*command, id=f"{page.name}: {shlex.join((command[0], *command[1]))}"[:150])
    for page in PAGES
    for command in commands_on(page)
]


def problem_of(program: str, arguments: tuple[str, ...]) -> str:
    """Return why a program refuses its arguments; empty if it reads them."""
    parse = argparse.ArgumentParser.parse_args

    @functools.wraps(parse)
    def parse_and_stop(self, args=None, namespace=None):
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                parse(self, args, namespace)
        except SystemExit as end:
            raise Read(said.getvalue() if end.code else "") from None
        except BaseException as error:
            raise Read(repr(error)) from None
        raise Read("")

    with (
        mock.patch.object(argparse.ArgumentParser, "parse_args", parse_and_stop),
        mock.patch.object(sys, "argv", [program, *arguments]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", RuntimeWarning)  # runpy: the module was imported before
        try:
            if program.endswith(".py"):
                runpy.run_path(str(ROOT / program), run_name="__main__")
            else:
                runpy.run_module(program, run_name="__main__")
        except Read as read:
            return read.problem
    return "it ended without a look at its arguments"


@pytest.mark.parametrize(("program", "arguments"), ALL)
def test_the_program_reads_the_command(program, arguments, tmp_path, capsys):
    if program in THIRD_PARTY:
        missing = [a for a in arguments if a.startswith("tests/") and not (ROOT / a).exists()]
        assert not missing
        return
    assert problem_of(program, arguments) == ""
    if program == "protocol":
        load_config(None, [b for a, b in itertools.pairwise(arguments) if a == "--set"])
    if program == "training.selfplay" and "--help" not in arguments:
        recipe = tmp_path / "FILE"
        recipe.write_text("seed = 2\n")
        given = [str(recipe) if a == "FILE" else a for a in arguments if a != "--bench"]
        assert selfplay.main([*given, "--show-config"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "arguments", "problem"),
    [
        ("training.selfplay", ("--rundir", "runs/mine"), "unrecognized arguments"),
        ("training.match", ("--a", "random", "--b", "random", "--games", "many"), "invalid int value"),
        ("engine", ("analyze", "h8"), "invalid choice"),
        ("protocol", ("--sett", "level=4", "--colour"), "unrecognized arguments"),
        ("docs/picture.py", ("--moves", "3"), "arguments are required: --game, --out"),
    ],
)
def test_a_command_that_is_wrong_is_seen(program, arguments, problem):
    assert problem in problem_of(program, arguments)


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("python -m training.report runs/mine   # writes a page", [("training.report", ("runs/mine",))]),
        ("A=1 .venv/bin/python -m engine play --level 3 2>&1 | tail", [("engine", ("play", "--level", "3"))]),
        ('make play ARGS="--level 3"', [("arena.play", ("--level", "3"))]),
        ("dist/pbrain-tengen --self-check", [("protocol", ("--self-check",))]),
        ('c-gomoku-cli cmd="python -m protocol --set level=4" x', [("protocol", ("--set", "level=4"))]),
    ],
)
def test_commands_are_found(line, commands):
    assert [c for c in commands_of(line) if c[1]] == commands


def test_there_is_something_to_read():
    """So that silence means agreement."""
    assert len(ALL) > 60
    assert {"training.selfplay", "training.match", "engine", "protocol"} <= {p.values[0] for p in ALL}
    assert all(importlib.util.find_spec(p.values[0]) for p in ALL if not p.values[0].endswith(".py"))

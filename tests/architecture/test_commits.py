"""The check of commit messages: what it lets pass and what it names."""

import subprocess

import pytest

from tests.architecture.commits import check, problems


@pytest.mark.parametrize(
    ("message", "files"),
    [
        ("Add a page that explains the algorithm\n\nFor engineers.", ["docs/algorithm.md"]),
        ("Fix the order of defences\n\nWhy.\n\nBench: 1a2b3c", ["engine/threats/kernel/vct.pxd"]),
        ("Rename walk.pxd to simulate.pxd\n\nNo functional change\n", ["engine/search/kernel/simulate.pxd"]),
        ("Speed up the solver\n\nBench: 42", ["engine/threats/_solver.pyx"]),
        ("Process queries in order", ["protocol/loop.py"]),
    ],
)
def test_a_good_message_passes(message, files):
    assert problems(message, files) == []


@pytest.mark.parametrize(
    ("message", "files", "said"),
    [
        ("Add " + "x" * 69, [], "73 characters"),
        ("Add a page.", [], "full stop"),
        ("The card of a net had two figures in the wrong order", [], "imperative"),
        ("r23: goes on from r22", [], "imperative"),
        ("Added a page", [], "imperative"),
        ("Adds a page", [], "imperative"),
        ("Adding a page", [], "imperative"),
        ("add a page", [], "imperative"),
        ("Add a page\nand more", [], "blank line"),
        ("Fix a bound\n\nWhy.", ["engine/rules/_board.pyx"], "Bench"),
        ("Fix a bound\n\nBench: 42\n\nSee the page.", ["engine/search/mcts.py"], "Bench"),
    ],
)
def test_a_bad_message_is_named(message, files, said):
    found = problems(message, files)
    assert len(found) == 1 and said in found[0]


def test_commits_since_one_are_read_from_git(tmp_path):
    def git(*words):
        me = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *me, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "whatever was before")
    git("branch", "base")
    (tmp_path / "engine" / "search").mkdir(parents=True)
    (tmp_path / "engine" / "search" / "mcts.py").write_text("x = 1\n")
    git("add", "-A")
    git("commit", "-q", "-m", "Add a search")
    git("commit", "-q", "--allow-empty", "-m", "Add a page")
    lines = check("base", tmp_path)
    assert len(lines) == 1 and "'Add a search'" in lines[0] and "Bench" in lines[0]

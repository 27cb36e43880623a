"""Files, modules and their members that pages, comments and docstrings name are there."""

import importlib.util
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

TOPS = ("engine", "protocol", "board", "arena", "training", "release", "tests", "docs")
READ = {".py", ".pyx", ".pxd", ".pyi", ".h", ".md", ".toml", ".yml", ".js", ".css", ".html", ".txt"}
ENDS = r"(?:md|py|pyx|pxd|pyi|h|toml|yml|js|css|html|spec|txt|psq|svg|png|xz)"
PATH = re.compile(rf"(?<![\w./:*{{-])((?:{'|'.join(TOPS)})/[\w./-]*\w\.{ENDS})\b(?![\w/*{{])")
BARE = re.compile(r"(?<![\w./<-])([a-z_]\w*\.(?:pyx|pxd|pyi|py|h))\b")
PAGE = re.compile(r"(?<![\w./-])([\w-]+\.md)\b")
MODULE = re.compile(rf"`((?:{'|'.join(TOPS)})(?:\.\w+)+)(?:\(\))?`")
STANDS_FOR = re.compile(r"\b(?:NAME|NET|name|standard15|renju15|caro15)\.\w+|\bengine\.exe\b")
"""Words that stand for a name, or for files that a user makes."""


@cache
def tracked() -> tuple[str, ...]:
    """Return the files that belong to the project, from its root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    names = listed.stdout.decode("utf-8").splitlines()
    if not names:  # a copy without its history
        names = [str(p.relative_to(ROOT)) for top in TOPS for p in (ROOT / top).rglob("*")]
    return tuple(name for name in names if (ROOT / name).is_file())


def sources() -> list[str]:
    """Return the files that are read for names: no tests, whose texts name what is not there on purpose."""
    return [n for n in tracked() if Path(n).suffix in READ and not n.startswith(("tests/", "third_party/"))]


@cache
def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


@cache
def known() -> tuple[frozenset[str], frozenset[str]]:
    """Return all files of the project, and their names without folders."""
    return frozenset(tracked()), frozenset(Path(path).name for path in tracked())


@cache
def missing_member(dotted: str) -> bool:
    """Whether a dotted name is no module of ours, nor anything that the last module in it spells out."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        base = ROOT.joinpath(*parts[:count])
        files = [base.with_suffix(end) for end in (".py", ".pyx", ".pxd", ".pyi")] + [base / "__init__.py"]
        found = [path for path in files if path.is_file()]
        if found or base.is_dir():
            text = " ".join(path.read_text(encoding="utf-8") for path in found)
            return not all(re.search(rf"\b{re.escape(part)}\b", text) for part in parts[count:])
    return True


def faults(name: str, text: str) -> list[str]:
    """Return what a file names and is not there."""
    files, alone = known()
    found = [path for path in PATH.findall(text) if path not in files]
    bare = [] if name.endswith(".js") else BARE.findall(text)  # its fields look like files: this.h
    found += [file for file in bare + PAGE.findall(text) if file not in alone]
    found += [dotted for dotted in MODULE.findall(text) if missing_member(dotted)]
    return [each for each in found if not STANDS_FOR.search(each)]


def test_what_is_named_is_there():
    bad = {name: found for name in sources() if (found := faults(name, text_of(name)))}
    assert bad == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see engine/search/mcts.py and docs/time.md", []),
        ("see engine/search/walkers.py", ["engine/search/walkers.py"]),
        ("(tuned: numbers.md, +100 Elo)", ["numbers.md"]),
        ("`engine.search.mcts.Search` and `engine.search.mcts.Serch`", ["engine.search.mcts.Serch"]),
        ("`engine.no_such_module`", ["engine.no_such_module"]),
        ("git show 4e732ac:training/record/choice.md", []),
        ("begin to read in walkers.pxd", ["walkers.pxd"]),
    ],
)
def test_a_name_that_leads_nowhere_is_seen(text, found):
    assert faults("docs/x.md", text) == found


def test_there_is_something_to_look_at():
    text = "".join(map(text_of, sources()))
    assert len(sources()) > 300 and len(PATH.findall(text)) > 200 and len(MODULE.findall(text)) > 50
    assert importlib.util.find_spec("engine.search.mcts") is not None

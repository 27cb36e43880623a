"""What README.md and docs/ point to is there: files, headings, modules, commands, make targets.

`test_docs_commands.py` has the commands with their arguments.
"""

import doctest
import importlib
import importlib.util
import re
from pathlib import Path

import pytest

from engine.__main__ import COMMANDS
from tests.helpers.paths import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "training/RUNS.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "training" / "record").glob("*.md")),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
MODULE = re.compile(r"python -m ([\w.]+)(?: +([\w-]+))?")
TARGET = re.compile(r"\bmake (?:-s )?([a-z]+)\b")
THIRD_PARTY = {"pip", "pytest"}

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as hosts of Markdown make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pages
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    broken = []
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


@pages
def test_commands_exist(page):
    missing = []
    for module, word in MODULE.findall(page.read_text(encoding="utf-8")):
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{module}.__main__")
        if spec is None and module not in THIRD_PARTY:
            missing.append(module)
        if module == "engine" and word not in {"", *COMMANDS}:
            missing.append(f"{module} {word}")
    assert not missing


@pages
def test_make_targets_exist(page):
    named = re.findall(r"`make [^`]*`|^make .*$", page.read_text(encoding="utf-8"), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    assert {TARGET.search(text)[1] for text in named} <= targets


def test_the_newest_release_is_the_version_of_the_package():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$", text, re.MULTILINE)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    package = re.search(r"^version = .(.+).$", project, re.MULTILINE)
    assert package is not None and releases[0] == package[1]
    assert text.index("## Unreleased") < text.index(f"## {releases[0]}")
    changes = [line for line in text.splitlines() if line.startswith(("- ", "  "))]
    assert [line for line in changes if not line.startswith("- ")] == []  # one line a change


def test_python_examples_run():
    examples = [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8")]
    assert ROOT / "docs" / "algorithm.md" in examples
    for page in examples:
        assert doctest.testfile(str(page), module_relative=False, encoding="utf-8").failed == 0


def test_every_command_is_on_its_page():
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`python -m engine {name}" not in text] == []
    files = (ROOT / "training").glob("*.py")
    programs = [path.stem for path in files if "__main__" in path.read_text(encoding="utf-8")]
    assert [name for name in programs if f"`python -m training.{name}" not in text] == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]+):", makefile, re.MULTILINE)) - {"help"}
    assert [name for name in sorted(targets) if f"`make {name}`" not in text] == []


def test_every_page_is_in_the_index():
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    wanted = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    wanted |= {f"../training/record/{page.stem}" for page in (ROOT / "training" / "record").glob("*.md")}
    assert sorted(name for name in wanted if f"\n{name}\n" not in text) == []


def test_the_readme_is_short():
    words = len((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert 900 <= words <= 1200


def test_the_map_in_the_readme_has_every_folder():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = text.split("## What is where")[1].split("```")[1]
    tops = ("engine", "protocol", "board", "arena", "training", "release", "tests")
    wanted = [f"{top}/" for top in tops]
    wanted += [f"{p.name}/" for top in ("engine", "tests") for p in (ROOT / top).iterdir() if p.is_dir()]
    assert [name for name in wanted if name not in shown and name != "__pycache__/"] == []


WORN = re.compile(
    r"\b(beside|whoever|gone on from|goes on from|(?:own|net's) word|stands? in|lies in|manners|speaks of"
    r"|by eye)\b"
)
"""Words that read as translated: is, next to, whatever, continues from, value, conformance say the same."""


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "settings.md"], ids=lambda page: page.name)
def test_prose_is_plain(page):
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```|`[^`]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    assert WORN.findall(prose) == []


def test_there_is_something_to_check():
    """The patterns above find what they look for, so that silence means agreement."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(LINK.findall(text)) > 10 and len(MODULE.findall(text)) > 3

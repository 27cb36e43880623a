"""Words that must not come back: comments, docstrings and pages say the same in plain English.

`WORN` holds idioms and metaphors that stood for a term of the field; CONTRIBUTING.md has the glossary.
"""

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

TOPS = ("engine", "protocol", "board", "arena", "training", "release", "tengen", "docs")
LATER = ("engine/search/kernel/",)
"""Folders whose prose is not revised yet. The list may only shrink."""
WORN = {
    r"he|his|him|himself": "it, its: players are no persons",
    r"beside": "next to; besides",
    r"whoever|everybody": "what, all",
    r"goes on|gone on|went on": "continues",
    r"somebody|anybody|strangers?": "another program; untrusted",
    r"(?:stands?|lies?) (?:in|at|on|for|beside|behind|beyond|once)": "is, are; means",
    r"speaks? of": "is about",
    r"by eye": "by hand",
    r"dearer": "that costs more",
    r"forgets? everything": "clear",
    r"accounts|rulings?": "node statistics; leaf status",
    r"manners": "conformance",
    r"companions": "workers, ranks",
    r"question whether": "query",
    r"typed face": "interface",
    r"(?:own|net's|last) word": "value",
}
"""Patterns of whole words, with what to write."""
PATTERN = re.compile(rf"\b(?:{'|'.join(WORN)})\b", re.IGNORECASE)
QUOTED = re.compile(r"``.*?``|`[^`\n]*`|\"[^\"\n]*\"|https?://\S+", re.DOTALL)


BEFORE_DOCSTRING = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT}


def prose_of_python(text: str) -> Iterator[str]:
    """Yield comments and docstrings."""
    previous = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        begins = previous in BEFORE_DOCSTRING
        if token.type == tokenize.COMMENT:
            yield token.string
        elif token.type == tokenize.STRING and begins and '"""' in token.string[:4]:
            yield token.string.strip("r\"")
        previous = token.type


def prose_of_c(text: str) -> Iterator[str]:
    """Yield comments of C."""
    yield from re.findall(r"/\*.*?\*/", text, re.DOTALL)


def prose_of_cython(text: str) -> Iterator[str]:
    """Yield comments and docstrings of Cython."""
    yield from re.findall(r'""".*?"""', text, re.DOTALL)
    yield from re.findall(r"(?:^|\s)# .*$", text, re.MULTILINE)


READERS = {
    ".py": prose_of_python,
    ".pyi": prose_of_python,
    ".h": prose_of_c,
    ".pyx": prose_of_cython,
    ".pxd": prose_of_cython,
}


def worn(prose: str) -> list[str]:
    return PATTERN.findall(QUOTED.sub("", " ".join(prose.split())))


def sources() -> list[Path]:
    command = ["git", "ls-files", *TOPS]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    names = [name for name in listed if Path(name).suffix in READERS and not name.startswith(LATER)]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_comments_and_docstrings_are_plain():
    found = {}
    for path in sources():
        prose = " ".join(READERS[path.suffix](path.read_text(encoding="utf-8")))
        if words := worn(prose):
            found[str(path.relative_to(ROOT))] = words
    assert found == {}


@pytest.mark.parametrize(
    ("prose", "found"),
    [
        ("the solver and the tree beside it", ["beside"]),
        ("If he has a five point, he wins", ["he", "he"]),
        ("the answer stands\nin the table", ["stands in"]),
        ('the "last word" and `beside.py`', []),
        ("it continues next to the other", []),
    ],
)
def test_a_worn_word_is_seen(prose, found):
    assert worn(prose) == found


def test_there_is_something_to_read():
    prose = [" ".join(READERS[path.suffix](path.read_text(encoding="utf-8"))) for path in sources()]
    assert len(prose) > 250 and sum(map(len, prose)) > 300_000

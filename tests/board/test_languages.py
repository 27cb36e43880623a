"""The texts of the page: every key in every language, with the same values, used, and narrow enough."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from engine.errors import PositionError
from engine.games.files import read_tree
from engine.games.record import Note
from tests.helpers.board import LANGUAGES, STATIC

_SLAVIC = {"one", "few", "many", "other"}
PLURALS = {"en": {"one", "other"}, "ru": _SLAVIC, "cs": _SLAVIC}
"""Plural forms of a language (CLDR); one for all numbers where it is not named here."""
HOLE = re.compile(r"\{(\w+)\}")


def texts(language: str) -> dict[str, Any]:
    """Return the texts of a language; a key that is there twice fails."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        assert len(found) == len(pairs), "a key is there twice"
        return found

    content = (STATIC / "lang" / f"{language}.json").read_text(encoding="utf-8")
    found = json.loads(content, object_pairs_hook=unique)
    assert isinstance(found, dict)
    return found


ENGLISH = texts("en")


def holes(text: str) -> set[str]:
    return set(HOLE.findall(text))


def keys_in_page() -> tuple[set[str], list[re.Pattern[str]]]:
    """Return the keys that the page names, and the patterns of those that it puts together."""
    named: set[str] = set()
    patterns: list[re.Pattern[str]] = []
    for path in [*STATIC.glob("*.js"), *STATIC.glob("*.html")]:
        code = path.read_text(encoding="utf-8")
        named.update(re.findall(r'data-t(?:-[a-z-]+)?="([^"]+)"', code))
        named.update(re.findall(r'"data-t(?:-[a-z-]+)?": "([^"]+)"', code))
        named.update(re.findall(r'\bt\("([^"]+)"', code))
        if path.name == "keys.js":
            named.update(re.findall(r'"(key\.\w+)"\]', code))
        for text in re.findall(r'(?:\bt\(|"data-t": )`([^`]+)`', code):
            parts = re.split(r"\$\{[^}]*\}", text)
            patterns.append(re.compile(r"[a-z_]+".join(map(re.escape, parts))))
        if path.name != "i18n.js":
            calls = len(re.findall(r"(?<![\w.])t\((?!\))", code))
            read = len(re.findall(r'(?<![\w.])t\(["`]', code))
            assert calls == read, f"{path.name}: a key that this test cannot read"
    return named, patterns


def test_the_languages_of_the_page_are_those_that_have_a_file() -> None:
    code = (STATIC / "i18n.js").read_text(encoding="utf-8")
    listed = re.search(r"LANGUAGES = \{(.*?)\};", code, re.DOTALL)
    assert listed is not None
    names = {a.strip('"'): b for a, b in re.findall(r'("?[\w-]+"?): "([^"]+)"', listed[1])}
    assert sorted(names) == LANGUAGES
    assert {language: texts(language)["language.name"] for language in LANGUAGES} == names


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_key_is_there_with_the_same_values(language: str) -> None:
    found = texts(language)
    assert list(found) == list(ENGLISH), "the same keys in the same order"
    forms = PLURALS.get(language, {"other"})
    for key, english in ENGLISH.items():
        text = found[key]
        if isinstance(english, str):
            assert isinstance(text, str) and text.strip(), key
            assert holes(text) == holes(english), key
        elif isinstance(text, dict):
            assert set(text) == forms, key
            for form, words in text.items():
                need = holes(english["other"])
                said = holes(words) | ({"n"} & need if form == "one" and language != "ru" else set())
                assert said == need, f"{key}, {form}"
        else:
            assert holes(text) == holes(english["other"]), key


def test_every_key_of_the_page_exists_and_none_is_unused() -> None:
    named, patterns = keys_in_page()
    assert named - set(ENGLISH) == set(), "keys without a text"
    put_together = {key for key in ENGLISH for pattern in patterns if pattern.fullmatch(key)}
    named.add("language.name")
    assert set(ENGLISH) - named - put_together == set(), "texts that nothing shows"
    for pattern in patterns:
        assert any(pattern.fullmatch(key) for key in ENGLISH), pattern.pattern


def test_codes_of_the_server_have_a_text() -> None:
    folders = (STATIC.parent, STATIC.parents[1] / "engine" / "games")
    code = "".join(p.read_text(encoding="utf-8") for folder in folders for p in folder.glob("*.py"))
    codes = set(re.findall(r'code="(\w+)"', code))
    assert codes == {key.removeprefix("server.") for key in ENGLISH if key.startswith("server.")}


def test_no_text_is_written_in_the_page_itself() -> None:
    html = (STATIC / "index.html").read_text(encoding="utf-8")
    body = re.sub(r"<!--.*?-->", "", html[html.index("<body") :], flags=re.DOTALL)
    said = [text.strip() for text in re.findall(r">([^<>]+)<", body)]
    proper = {"Tengen", "PNG", "SVG", "GIF", ".sgf", ".psq"}
    assert [text for text in said if re.search(r"[^\W\d_]", text) and text not in proper] == []
    assert re.findall(r'(?<!data-t-)(?:title|aria-label|placeholder)="(?!Tengen)[^"]*"', body) == []


NINE = "(;GM[4]SZ[15];B[aa];W[ab];B[ba];W[bb];B[ca];W[cb];B[da];W[db];B[ea];W[eb])"
FOUL = "(;SZ[15]RU[Renju];B[hh];W[aa];B[ih];W[ac];B[jj];W[ae];B[jk];W[ag];B[jh])"


@pytest.mark.parametrize(
    ("content", "codes"),
    [
        ("hello", "no_game"), ("h8 z99", "move_off"), ("h8 ?", "not_a_move"), ("h8 h8", "move_taken"),
        ("(;GM[2];B[aa])", "other_game"), ("(;SZ[99];B[aa])", "bad_size"), ("(;SZ[x];B[aa])", "line_unread"),
        ("(;SZ[15];B[aa]", "breaks_off"), (NINE, "move_after_end"), (FOUL, "move_forbidden"),
        ("(;B[hh])", "size_unsaid"), ("(;SZ[15])", "no_moves"),
        ("(;SZ[15]RU[x];B[hh]LB[aa:1])(;)", "more_games rule_unknown marks_left_out"),
        ("x(;SZ[15];B[h8](;W[])(;W[resign]))y", "text_left_out text_left_out rows_from_top resigned_there"),
        (b"(;SZ[15]CA[Big5]C[\xff\xff\xc0\xc1\xd6];B[aa])", "encoding_unfit encoding_guessed"),
        (b"Piskvorky 15x15\n8,8\n9,x\n", "line_unread"), (b"\xffRenLib\xff\x03\x04", "breaks_off"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said_in_every_language(content: str | bytes, codes: str) -> None:
    found: list[PositionError | Note] = []
    try:
        found.extend(read_tree(content, detect=lambda data: ["cp1252"]).record.notes)
    except PositionError as error:
        found.append(error)
    assert [one.code for one in found] == codes.split()
    for one in found:
        text = ENGLISH[f"server.{one.code}"]
        assert holes(text if isinstance(text, str) else text["other"]) <= one.values.keys()

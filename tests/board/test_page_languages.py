"""The page in every language, in a real browser: chosen, remembered, and without a text that is cut off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.board.running import Page
from tests.helpers.board import CUT, LANGUAGES, SCENE, drop, speak

WIDTH = 360


@pytest.fixture
def page(fresh_page: Page) -> Page:
    return fresh_page


@pytest.fixture
def phone(page: Page) -> Iterator[Page]:
    """A page on a screen of 360 pixels."""
    metrics = {"width": WIDTH, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    yield page.open()
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_no_text_is_cut_off_at_360_pixels(phone: Page) -> None:
    phone.new(who="white", level=1)
    phone.wait("tengen.game.current.ply === 1 && tengen.game.current.facts")
    phone.js(SCENE)
    dialogs = phone.get("[...document.querySelectorAll('dialog')].map(d => d.id.slice(7))")
    wrong = {}
    for language in LANGUAGES:
        speak(phone, language)
        phone.js("for (const card of ['setup', 'puzzle']) document.getElementById(card).hidden = false")
        wrong[language, "page"] = phone.js(CUT)
        for name in dialogs:
            phone.js("document.getElementById('dialog-' + arguments[0]).showModal()", name)
            wrong[language, name] = phone.js(CUT)
            phone.js("document.getElementById('dialog-' + arguments[0]).close()", name)
    assert {where: texts for where, texts in wrong.items() if texts} == {}


def test_a_chosen_language_is_kept_and_else_it_is_that_of_the_browser(page: Page) -> None:
    speak(page, "cs")
    page.new(who="both")
    page.place("h8")
    assert page.status == "Černý: h8. Na tahu je Bílý."
    page.open(fresh=False)
    assert page.get("document.documentElement.lang") == "cs"
    assert page.get("document.getElementById('do-undo').textContent") == "Vrátit"
    choice = page.js(
        "const { matching } = await import('/i18n.js');"
        "return [['zh-TW'], ['zh-CN'], ['zh'], ['ru-UA', 'en'], ['xx', 'de', 'ko-KR'], ['de'], ['?!', 'ja']]"
        ".map(matching)"
    )
    assert choice == ["zh-Hant", "zh-Hans", "zh-Hans", "ru", "ko", "en", "ja"]


def test_what_a_file_leaves_open_or_has_wrong_is_said_in_the_language(page: Page) -> None:
    speak(page, "zh-Hans")
    drop(page, "a.sgf", "(;GM[4]RU[x];B[hh])")
    page.wait("document.getElementById('notices').innerText.includes('按 15×15 处理。')")
    assert "不认识规则 'x'，按无禁手处理。" in page.notices
    drop(page, "b.sgf", "(;GM[4]SZ[15];B[hh];W[hh])")
    page.wait("document.getElementById('notices').innerText.includes('第 2 手：h8 已有棋子')")

"""The page in every language, in a real browser: chosen, remembered, and without a text that is cut off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.board.running import Page
from tests.board.test_languages import LANGUAGES

WIDTH = 360
SCENE = """
  document.getElementById('seats').open = true;
  tengen.settings.analyse = true;
  tengen.job = () => null;
  const moves = [113, 98].map((point, i) => ({point, visits: 1234567, prior: .3, score: .9 - i,
    proven: [0, null][i], distance: 21, pv: [point, 97]}));
  const node = tengen.game.current;
  tengen.analysis.take({type: 'analysis', to_move: 1, wdl: [.7, .1, .2], proven: 0, distance: 21,
    pv: [113, 98], visits: 1234567, simulations: 1234567, speed: 45678, depth: 12.3,
    depth_max: 34, moves}, node);
  tengen.analysis.take({type: 'threat', colour: 0, to_move: 1, by: 'vct', distance: 21, line: [97],
    defences: []}, node);
  tengen.draw();
"""
"""Players' settings, an analysis with a proof and a threat: what else is hidden."""
CUT = """
  const pen = document.createElement('canvas').getContext('2d');
  const edge = document.documentElement.clientWidth;
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    if (element.closest('svg, option') || !element.checkVisibility() || element.matches('.hidden')) continue;
    const open = document.querySelector('dialog[open]');
    if (open && !open.contains(element)) continue;
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own && element.tagName !== 'SELECT') continue;
    const box = element.getBoundingClientRect();
    let wide = box.left < -.5 || box.right > edge + .5;
    const block = getComputedStyle(element).display !== 'inline';
    wide ||= block && element.scrollWidth > element.clientWidth + 1;
    if (element.tagName === 'SELECT') {
      pen.font = getComputedStyle(element).font;
      const text = element.selectedOptions[0]?.label ?? '';
      wide ||= pen.measureText(text).width > element.clientWidth - 14;
    }
    const name = `${element.tagName}#${element.id}.${element.className}`;
    if (wide) found.push(`${name} ${element.textContent.slice(0, 50)}`);
  }
  for (const box of document.querySelectorAll('dialog[open], .card, header, .tools')) {
    const name = `${box.tagName}#${box.id}`;
    if (box.scrollWidth > box.clientWidth + 1) found.push(`${name} is ${box.scrollWidth} wide`);
  }
  const all = document.documentElement.scrollWidth;
  if (all > edge) found.push(`the page is ${all} wide`);
  return found;
"""


@pytest.fixture
def phone(page: Page) -> Iterator[Page]:
    """A page on a screen of 360 pixels."""
    metrics = {"width": WIDTH, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    yield page.open()
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def speak(page: Page, language: str) -> None:
    """Choose a language by hand."""
    page.js(
        "const s = document.getElementById('language'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('change'))", language,
    )  # fmt: skip
    page.wait(f"document.documentElement.lang === '{language}' && tengen.settings.language === '{language}'")


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

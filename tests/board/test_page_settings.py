"""What a person prefers on the page: kept, and followed, in a real browser."""

from __future__ import annotations

from engine.rules.geometry import parse_move
from tests.board.running import Page
from tests.helpers.board import choose


def test_rows_can_be_counted_from_the_bottom(page: Page) -> None:
    page.new()
    page.place("i9")
    assert page.status.startswith("Black played i9")
    choose(page, "rows", "bottom")
    assert page.status.startswith("Black played i7")
    names = page.get("[...document.querySelectorAll('.coord')].slice(15).map(e => e.textContent)")
    assert names == [str(n) for n in range(15, 0, -1)]
    assert page.get("document.querySelector('#moves .move').textContent") == "1i7"
    page.js("import('/files.js').then(f => f.openText(tengen, 'h8 a1', 'text'))")
    page.wait("tengen.game.current.ply === 2 && tengen.game.current.facts")
    assert page.stones == [112, parse_move("a15", 15, 15)]
    page.open(fresh=False)
    assert page.status.startswith("White played a1"), "kept over a reload"


def test_lines_and_limits_of_the_analysis(page: Page) -> None:
    page.new()
    page.place("h8")
    choose(page, "lines", "3")
    choose(page, "limitNodes", "1000")
    page.key("a")
    page.wait("tengen.analysis.found?.done")
    assert page.get("tengen.analysis.found.moves.length") == 3
    assert page.get("tengen.analysis.found.simulations") <= 1100
    choose(page, "limitNodes", "0")
    choose(page, "limitMs", "1000")
    page.wait("tengen.analysis.found?.done && tengen.analysis.found.elapsed_ms > 500")
    page.key("a")


def test_stones_sound_unless_it_is_switched_off(page: Page) -> None:
    page.js(
        "window.tones = 0; const start = OscillatorNode.prototype.start;"
        "OscillatorNode.prototype.start = function (...a) { window.tones++; return start.apply(this, a); }"
    )
    page.new()
    page.place("h8")
    assert page.get("window.tones") > 0
    page.key("m")
    assert "Sound is off" in page.notices
    page.js("window.tones = 0")
    page.place("i9")
    assert page.get("window.tones") == 0
    page.open(fresh=False)
    assert page.get("tengen.settings.sound") is False


def test_every_setting_has_a_control_that_shows_it(page: Page) -> None:
    page.click("do-settings")
    shown = page.get(
        "Object.fromEntries([...document.querySelectorAll('[data-setting]')]"
        ".map(c => [c.dataset.setting, c.type === 'checkbox' ? c.checked : c.value]))"
    )
    kept = page.get("tengen.settings")
    assert shown == {name: kept[name] if isinstance(kept[name], bool) else str(kept[name]) for name in shown}
    for theme in ("dark", ""):
        page.js(
            "const c = document.getElementById('set-theme'); c.value = arguments[0];"
            "c.dispatchEvent(new Event('change'))", theme,
        )  # fmt: skip
        assert page.get("document.documentElement.dataset.theme") == (theme or None)

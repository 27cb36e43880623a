"""The page on small screens and in a person's own colours, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.board.running import Page
from tests.helpers.board import CUT, LANGUAGES, SCENE, speak

WIDTHS = [320, 328, 336, 344, 351, 360, 390, 420, 480, 521, 525, 530, 560, 600, 621, 626, 633, 640, 650]


@pytest.fixture
def screen(page: Page) -> Iterator[Page]:
    """A page whose screen can be set; the browser's own afterwards."""
    yield page
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def resize(page: Page, width: int, height: int) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def test_no_width_scrolls_sideways(screen: Page) -> None:
    screen.new(clock="600 5")
    screen.place("h8")
    for width in WIDTHS:
        resize(screen, width, 700)
        assert (
            screen.get("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        ), width
        outside = screen.get(
            "[...document.querySelectorAll('header button, .tools button, aside select, .player')]"
            ".filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth)"
            ".map(e => e.id || e.className)"
        )
        assert outside == [], width


def test_no_language_is_cut_off_at_320_pixels(screen: Page) -> None:
    screen.new(clock="600 5")
    screen.js("document.getElementById('turn').open = true")
    screen.js(SCENE)
    resize(screen, 320, 640)
    wrong = {}
    for language in LANGUAGES:
        speak(screen, language)
        wrong[language] = screen.js(CUT)
    assert wrong == {language: [] for language in LANGUAGES}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_leave_everything_visible(screen: Page, scheme: str) -> None:
    features = [
        {"name": "forced-colors", "value": "active"}, {"name": "prefers-color-scheme", "value": scheme}
    ]  # fmt: skip
    screen.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    screen.new()
    assert screen.get("matchMedia('(forced-colors: active)').matches")
    colours = (
        "((e, p, name) => getComputedStyle(document.querySelector(e), p)[name])"  # element, pseudo, property
    )
    for disk in (".player.black .disk", ".player.white .disk"):
        assert "radial-gradient" in screen.get(f"{colours}('{disk}', null, 'backgroundImage')")
        assert screen.get(f"{colours}('{disk}', null, 'boxShadow')") != "none"
    bars = [screen.get(f"{colours}('#bar-{name}', null, 'backgroundColor')") for name in ("black", "white")]
    assert bars[0] != bars[1] and "rgba(0, 0, 0, 0)" not in bars
    turn = screen.get(f"{colours}('.player.turn', null, 'outlineStyle')")
    assert turn == "solid" and screen.get("document.querySelectorAll('.player[aria-current]').length") == 1
    knob = "'.switch span', '::after', 'backgroundColor'"
    off = [
        screen.get(f"{colours}({knob})"),
        screen.get(f"{colours}('.switch span', null, 'backgroundColor')"),
    ]
    screen.js("document.getElementById('analyse').click()")
    background = f"{colours}('.switch span', null, 'backgroundColor')"
    screen.wait(f"tengen.settings.analyse && {background} !== '{off[1]}'")  # which may take a moment
    on = [screen.get(f"{colours}({knob})"), screen.get(f"{colours}('.switch span', null, 'backgroundColor')")]
    screen.js("document.getElementById('analyse').click()")
    assert off[0] != off[1] and on[0] != on[1] and on[1] != off[1]


@pytest.mark.parametrize("size", [(320, 640), (360, 640), (768, 1024), (1360, 800)])
def test_messages_cover_no_control_and_escape_closes_them(screen: Page, size: tuple[int, int]) -> None:
    screen.place("h8")
    last = screen.get("JSON.stringify({...tengen.state(), at: 1})")
    resize(screen, *size)
    screen.driver.get(screen.about)
    screen.js("sessionStorage.clear(); localStorage.setItem('tengen.last', arguments[0])", last)
    screen.driver.get(screen.url)
    screen.wait("window.tengen && document.querySelector('.notice')")
    covered = screen.get(
        "[...document.querySelectorAll('header button, .tools button, #bar, svg.board')].filter(e => {"
        " const a = e.getBoundingClientRect(), b = document.querySelector('.notice').getBoundingClientRect();"
        " return a.width && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;"
        "}).map(e => e.id || e.tagName)"
    )
    assert covered == []
    screen.key("\ue00c")  # escape
    assert screen.get("document.querySelectorAll('.notice').length") == 0
    screen.driver.get(screen.about)
    screen.js("sessionStorage.clear()")
    screen.driver.get(screen.url)
    screen.wait("window.tengen && tengen.game.current.facts")
    assert screen.notices == "", "an offer that was declined comes back only for another game"

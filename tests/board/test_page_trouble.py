"""What a page does when something goes wrong, and on other screens, in a real browser."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.board.running import Page, Server, until

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver


@pytest.fixture
def page(fresh_page: Page) -> Page:
    return fresh_page


def test_a_game_goes_on_after_the_server_was_killed(driver: WebDriver) -> None:
    first = Server("--net", "uniform")
    page = Page(driver, first.url).open()
    page.new(who="black")
    page.place("h8")
    page.wait("tengen.game.current.ply === 2 && tengen.game.current.facts")
    first.close()
    page.wait("document.getElementById('notices').innerText.includes('The connection to Tengen is lost')")
    page.js("tengen.actions.point(tengen.game.taken.has(113) ? 111 : 113)")
    second = Server("--net", "uniform", port=first.port)
    try:
        page.wait("tengen.link.open")
        page.wait("tengen.game.current.ply === 4 && tengen.game.current.facts")
        assert "lost" not in page.notices
    finally:
        driver.get("about:blank")
        second.close()


def test_a_killed_engine_is_said_and_started_again(page: Page, server: Server) -> None:
    page.new(who="black")
    page.place("h8")
    page.wait("tengen.game.current.ply === 2 && tengen.game.current.facts")
    os.kill(server.engines()[0].pid, signal.SIGKILL)
    page.wait("document.getElementById('notices').innerText.includes('Your game is kept')")
    page.js("document.querySelector('.notice .link').click()")
    page.place("i9" if page.get("!tengen.game.taken.has(128)") else "i10")
    page.wait("tengen.game.current.ply === 4 && tengen.game.current.facts")


def test_a_move_after_a_killed_engine_needs_no_button(page: Page, server: Server) -> None:
    page.new(who="black")
    until(lambda: len(server.engines()) == 1, "an engine")
    os.kill(server.engines()[0].pid, signal.SIGKILL)
    page.wait("document.getElementById('notices').innerText.includes('Your game is kept')")
    page.place("h8")
    page.wait("tengen.game.current.ply === 2")


def test_an_engine_that_is_stopped_while_it_loads_is_said(page: Page, server: Server) -> None:
    os.kill(server.engines()[0].pid, signal.SIGKILL)
    page.wait("document.getElementById('notices').innerText.includes('stopped')")
    page.new(who="white", level=1)
    until(lambda: bool(server.engines()), "another engine")
    os.kill(server.engines()[0].pid, signal.SIGSTOP)
    page.wait("document.getElementById('notices').innerText.includes('did not answer')")


ANALYSIS = "[tengen.engine.stalled, document.getElementById('analysis-numbers').innerText]"


@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGSTOP])
def test_an_analysis_whose_engine_stops_shows_nothing_more(
    page: Page, server: Server, signal_: signal.Signals
) -> None:
    page.new()
    page.click("do-hint")
    page.wait("document.getElementById('status').textContent.startsWith('Hint')")
    page.js("document.getElementById('analyse').click()")
    page.wait("document.getElementById('analysis-numbers').textContent.includes('simulations')")
    os.kill(server.engines()[0].pid, signal_)
    page.wait("document.getElementById('notices').innerText.includes('Try again')")
    assert page.get(ANALYSIS) == [True, ""]
    assert not page.get("document.getElementById('analyse').checked")
    page.js("document.querySelector('.notice .link').click()")
    page.wait("document.getElementById('analysis-numbers').textContent.includes('simulations')")
    assert page.get("document.getElementById('analyse').checked")
    assert len(server.engines()) == 1


def test_a_page_without_its_token_says_so(page: Page, server: Server) -> None:
    page.driver.get(server.base + "about")
    page.js("localStorage.clear()")
    page.driver.get(server.base)
    page.wait("document.getElementById('notices').innerText.includes('lacks its access token')")
    page.js("location.hash = new URL(arguments[0]).hash", server.url)
    page.wait("window.tengen?.link.open && tengen.game.current.facts")
    page.driver.get(server.base)
    page.wait("window.tengen?.link.open && tengen.game.current.facts")
    page.driver.get_log("browser")  # says that a socket was refused


def test_two_tabs_have_two_games_and_a_closed_one_ends_its_engine(page: Page, server: Server) -> None:
    driver = page.driver
    page.new()
    page.place("h8")
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    other = Page(driver, server.url)
    driver.get(server.url)
    other.wait("window.tengen && tengen.link.open && tengen.game.current.facts")
    assert other.stones == [] and "last visit" in other.notices
    other.new()
    other.place("a1")
    until(lambda: len(server.engines()) == 2, "two engines")
    driver.close()
    driver.switch_to.window(first)
    until(lambda: len(server.engines()) == 1, "one engine")
    assert page.stones == [112]


def test_the_last_game_can_be_taken_up_in_a_new_tab(page: Page, server: Server) -> None:
    page.new()
    page.place("h8")
    page.js("sessionStorage.clear(); tengen.keep = () => {}")
    page.js("localStorage.setItem('tengen.last', JSON.stringify(tengen.state())); sessionStorage.clear()")
    page.driver.switch_to.new_window("tab")
    page.driver.get(server.url)
    page.wait("window.tengen && document.querySelector('.notice .link')")
    page.js("document.querySelector('.notice .link').click()")
    page.wait("tengen.game.current.ply === 1")
    page.driver.close()
    page.driver.switch_to.window(page.driver.window_handles[0])


def test_more_pages_than_engines(driver: WebDriver) -> None:
    server = Server("--net", "uniform", "--engines", "1")
    page = Page(driver, server.url).open()
    first = driver.current_window_handle
    try:
        page.new(who="black", level=10)
        page.js("tengen.table.turnMs = 60000")
        page.place("h8")
        page.wait("tengen.engine.job")
        driver.switch_to.new_window("window")
        other = Page(driver, server.url)
        driver.get(server.url)
        other.wait("window.tengen && tengen.link.open && tengen.game.current.facts")
        other.click("do-hint")
        other.wait("document.getElementById('notices').innerText.includes('The only engine is at work')")
        assert "Looking" not in other.status
        driver.close()
        driver.switch_to.window(first)
    finally:
        driver.switch_to.window(first)
        driver.get("about:blank")
        server.close()


def test_a_review_without_an_engine_is_said(page: Page, server: Server) -> None:
    """Where all engines are taken, and where the one that reviews is killed."""
    page.new()
    for move in ("h8", "i9", "h9"):
        page.place(move)
    page.js("tengen.review.start(tengen.game, 60000); tengen.changed()")
    until(lambda: bool(server.engines()), "an engine")
    os.kill(server.engines()[0].pid, signal.SIGKILL)
    page.wait("document.getElementById('notices').innerText.includes('Try again')")
    assert not page.get("tengen.review.running")
    page.js("tengen.review.start(tengen.game, 60000); tengen.changed()")
    page.wait("tengen.engine.job")
    page.js("tengen.engine.job.hear({type: 'busy', text: 'all engines are at work'})")
    assert "all engines are at work" in page.notices
    assert not page.get("tengen.review.running")


def test_no_clock_runs_while_the_engine_cannot_answer(driver: WebDriver) -> None:
    first = Server("--net", "uniform")
    page = Page(driver, first.url).open()
    page.new(who="black", level=10, clock="60 0")
    page.js("tengen.table.turnMs = 60000")
    page.place("h8")
    page.wait("tengen.table.isDue(tengen.game) && tengen.table.running(tengen.game) === 1")
    first.close()
    page.wait("document.getElementById('notices').innerText.includes('The connection to Tengen is lost')")
    assert page.get("tengen.table.running(tengen.game)") is None
    second = Server("--net", "uniform", port=first.port)
    try:
        page.wait("tengen.link.open && tengen.table.running(tengen.game) === 1")
        page.wait("tengen.engine.job")
    finally:
        driver.get("about:blank")
        second.close()


def test_phone_size_has_everything_on_the_screen(page: Page) -> None:
    driver = page.driver
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        page.open()
        page.new(width=20, height=20)
        assert page.get("document.documentElement.scrollWidth") <= 390
        box = page.get(
            "(b => [b.left, b.right, b.bottom])(document.querySelector('svg.board').getBoundingClientRect())"
        )
        assert box[0] >= 0 and box[1] <= 390 and box[2] < 700
        tools = page.get("(b => [b.top, b.bottom])(document.querySelector('.tools').getBoundingClientRect())")
        assert tools[1] <= 844 and tools[0] > 700
        touch(page, 10 * 20 + 10)
        page.wait("tengen.game.current.ply === 1 && tengen.game.current.facts")
        assert page.stones == [210]
    finally:
        driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def touch(page: Page, point: int) -> None:
    """Put a finger down two cells away, slide to a point, lift it."""
    x, y, cell = page.js(
        "const v = tengen.view, b = v.svg.getBoundingClientRect(), p = arguments[0], k = b.width / v.w;"
        "return [b.left + k * v.x(p), b.top + k * v.y(p), 40 * k]", point,
    )  # fmt: skip
    send = page.driver.execute_cdp_cmd
    for kind, points in (
        ("touchStart", [{"x": x - 2 * cell, "y": y}]), ("touchMove", [{"x": x - cell, "y": y}]),
        ("touchMove", [{"x": x, "y": y}]),
    ):  # fmt: skip
        send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert page.get("document.querySelectorAll('.crosshair').length") == 1
    send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_dark_and_light(page: Page) -> None:
    before = page.get("getComputedStyle(document.documentElement).backgroundColor")
    page.click("do-theme")
    assert page.get("getComputedStyle(document.documentElement).backgroundColor") != before
    page.open(fresh=False)
    assert page.get("getComputedStyle(document.documentElement).backgroundColor") != before


def test_the_page_breaks_no_rule_of_its_own_policy(page: Page) -> None:
    page.js(
        "window.broken = []; "
        "document.addEventListener('securitypolicyviolation', e => broken.push(e.violatedDirective))"
    )
    page.new(who="black")
    page.place("h8")
    page.key("?")
    page.wait("document.getElementById('dialog-help').open")
    page.js("document.getElementById('dialog-help').close()")
    page.js("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.bad = 1\">')")
    page.wait("window.broken.length")
    assert page.get("window.bad") is None, "an inline script ran"
    page.complaints()

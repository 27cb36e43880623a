"""Fingers on the board: one plays, more do not, two enlarge; in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.rules.geometry import parse_move
from tests.board.running import Page, Server, browser, why_no_browser

Place = tuple[int, int]
UP = "up"


@pytest.fixture(scope="module")
def screen(server: Server) -> Iterator[Page]:
    """A phone with cells of 24 pixels: a browser of its own; one that loads pages anew loses fingers."""
    reason = why_no_browser()
    if reason is not None:
        pytest.skip(reason)
    with browser() as driver:
        metrics = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        yield Page(driver, server.url).open()


@pytest.fixture
def phone(screen: Page) -> Iterator[Page]:
    """The page on a phone, with a new game."""
    screen.js("tengen.settings.confirm = 'small'; tengen.view.setBox(0, 0, 1)")
    screen.new()
    yield screen
    assert screen.complaints() == []


def at(page: Page, move: str) -> Place:
    """Return where a point is on the screen."""
    x, y = page.js(
        "const v = tengen.view, b = v.svg.getBoundingClientRect(), p = arguments[0], k = b.width / v.box.w;"
        "return [b.left + k * (v.x(p) - v.box.x), b.top + k * (v.y(p) - v.box.y)]",
        parse_move(move, 15, 15),
    )
    return round(x), round(y)


def touch(page: Page, *fingers: list[Place | str | None]) -> None:
    """Let fingers move in step: down at the first place, on to others, `UP`; None waits for the others."""
    from selenium.webdriver.common.actions.action_builder import ActionBuilder
    from selenium.webdriver.common.actions.interaction import POINTER_TOUCH
    from selenium.webdriver.common.actions.pointer_input import PointerInput

    pointers = [PointerInput(POINTER_TOUCH, "finger 0")]
    builder = ActionBuilder(page.driver, mouse=pointers[0], duration=0)
    pointers += [builder.add_pointer_input(POINTER_TOUCH, f"finger {n}") for n in range(1, len(fingers))]
    for pointer, steps in zip(pointers, fingers, strict=True):
        down = False
        for step in steps:
            if step is None:
                pointer.create_pause(0)
                pointer.create_pause(0)
            elif isinstance(step, str):
                pointer.create_pointer_up(0)
                pointer.create_pause(0)
            else:
                pointer.create_pointer_move(duration=0, x=step[0], y=step[1])
                if down:
                    pointer.create_pause(0)
                else:
                    pointer.create_pointer_down(button=0)
                    down = True
    builder.perform()


def tap(page: Page, move: str) -> None:
    touch(page, [at(page, move), UP])


def settled(page: Page) -> list[int]:
    """Return the stones after everything that was sent has been handled."""
    page.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    page.wait("tengen.game.current.facts")
    return page.stones


@pytest.mark.parametrize("first", [0, 1])
def test_two_fingers_play_nothing_and_the_next_one_plays(phone: Page, first: int) -> None:
    page = phone
    page.js("tengen.settings.confirm = 'never'; tengen.changed()")
    a, b = at(page, "f6"), at(page, "j10")
    ends: list[list[Place | str | None]] = [[UP], [None, UP]]
    touch(page, [a, None, *ends[first]], [None, b, *ends[1 - first]])
    assert settled(page) == []
    assert page.get("document.querySelectorAll('.aim').length") == 0
    tap(page, "h8")
    assert settled(page) == [112]


def test_three_fingers_and_one_beside_the_board_play_nothing(phone: Page) -> None:
    page = phone
    page.js("tengen.settings.confirm = 'never'; tengen.changed()")
    touch(page, *([at(page, move), UP] for move in ("f6", "j10", "h12")))
    assert settled(page) == []
    tap(page, "h8")
    assert settled(page) == [112]
    outside = (380, round(page.get("document.querySelector('aside').getBoundingClientRect().top")) + 30)
    touch(page, [outside, None, None, UP], [None, at(page, "j9"), UP])
    assert settled(page) == [112]
    tap(page, "j9")
    assert len(settled(page)) == 2


def test_a_pinch_enlarges_what_is_between_the_fingers(phone: Page) -> None:
    page = phone
    a, b = at(page, "k4"), at(page, "m6")
    wider = [[(x + step * d, y + step * d) for step in range(4)] for (x, y), d in ((a, -14), (b, 14))]
    touch(page, [*wider[0], UP], [*wider[1], UP])
    assert settled(page) == []
    assert page.get("tengen.view.box.zoom") > 1.8
    middle = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]
    assert page.js("return tengen.view.pointAt(...arguments[0])", middle) == parse_move("l5", 15, 15)
    assert page.get("tengen.view.cellPx") > 40
    tap(page, "l5")  # large cells need no second tap
    assert settled(page) == [parse_move("l5", 15, 15)]
    assert page.get("!document.getElementById('do-whole').hidden")
    page.click("do-whole")
    assert page.get("tengen.view.box.zoom") == 1


def test_small_cells_ask_for_a_second_tap_or_a_slide(phone: Page) -> None:
    page = phone
    assert page.get("tengen.view.cellPx") < 25
    tap(page, "h8")
    assert settled(page) == [] and page.get("document.querySelectorAll('.crosshair').length") == 1
    tap(page, "j9")  # aims elsewhere
    assert settled(page) == []
    tap(page, "j9")
    assert settled(page) == [parse_move("j9", 15, 15)]
    touch(page, [at(page, "e5"), at(page, "f6"), UP])
    assert len(settled(page)) == 2 and page.stones[1] == parse_move("f6", 15, 15)
    page.js("tengen.settings.confirm = 'never'; tengen.changed()")
    tap(page, "c3")
    assert len(settled(page)) == 3


def test_a_finger_that_leaves_the_board_plays_nothing(phone: Page) -> None:
    page = phone
    touch(page, [at(page, "h8"), at(page, "h9"), (at(page, "h9")[0], 830), UP])
    assert settled(page) == []
    touch(page, [at(page, "h8"), at(page, "h9"), UP])
    assert settled(page) == [parse_move("h9", 15, 15)]


def test_a_mouse_plays_where_it_is_let_go_again(page: Page) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    page.new()
    board = page.driver.find_element("css selector", "svg.board")
    hand = ActionChains(page.driver, duration=0).move_to_element_with_offset(board, 7, 7).click_and_hold()
    hand.perform()
    assert settled(page) == []
    hand = ActionChains(page.driver, duration=0).move_by_offset(90, 0).release()
    hand.perform()
    assert settled(page) == [], "it was let go elsewhere"
    page.place("h8")
    assert page.stones == [112]

"""Playing on the page, in a real browser."""

from __future__ import annotations

import pytest

from engine.config import EngineConfig
from engine.engine import Engine
from engine.rules.geometry import parse_move
from engine.rules.rule import Rule
from engine.timing.budget import SearchLimits
from tests.board.running import Page

ROW = ["h8", "a1", "i8", "b1", "j8", "c1", "k8", "d1", "l8"]


class Friend:
    """Tells a person where to click: a search without a net, strong enough to beat the lowest level."""

    def __init__(self, size: int) -> None:
        self._engine = Engine(EngineConfig(net="uniform", seed=1))
        self._engine.new_game(size, size, Rule.FREESTYLE)

    def point(self, points: list[int]) -> int:
        self._engine.set_position([(p, i % 2) for i, p in enumerate(points)], len(points) % 2)
        return self._engine.think(SearchLimits(max_nodes=150), self._engine.clock.now_s()).point


@pytest.mark.parametrize("size", [15, 20])
def test_a_game_against_the_engine_by_clicks_to_its_end(page: Page, size: int) -> None:
    page.new(who="black", width=size, height=size)
    friend = Friend(size)
    while not page.get("tengen.game.current.facts.over"):
        points = page.get("tengen.game.path()")
        page.place(friend.point(points))
        played = len(points) + 1
        page.wait(
            "tengen.game.current.facts &&"
            f" (tengen.game.current.facts.over || tengen.game.current.ply > {played})"
        )
    assert page.stones == page.get("tengen.game.path()")
    assert "wins after" in page.status
    assert page.get("document.querySelectorAll('.ring').length") >= 5
    assert page.get("document.querySelectorAll('.player.won').length") == 1
    before = page.stones
    page.place(next(p for p in range(size * size) if p not in before))
    assert page.stones == before and "wins after" in page.notices


def test_two_people_play_to_a_five_and_take_back(page: Page) -> None:
    page.new()
    for move in ROW:
        page.place(move)
    assert page.status.startswith("Black wins after 9 stones")
    page.click("do-undo")
    page.wait("tengen.game.current.facts && !tengen.game.current.facts.over")
    assert len(page.stones) == 8 and page.status.endswith("Black to move.")


def test_a_move_on_a_stone_changes_nothing(page: Page) -> None:
    page.new()
    page.place("h8")
    page.place("h8")
    assert page.stones == [112]


def test_a_renju_game_marks_and_refuses_forbidden_points(page: Page) -> None:
    page.new(rule=4)
    for move in ["h8", "a1", "j8", "a2", "i7", "c1", "i9", "c2"]:
        page.place(move)
    fouls = page.get("[...document.querySelectorAll('.foul')].map(e => Number(e.dataset.point))")
    assert parse_move("i8", 15, 15) in fouls
    page.place("i8")
    assert len(page.stones) == 8 and "i8 is forbidden: double three" in page.notices
    page.place("k10")
    assert len(page.stones) == 9 and page.get("document.querySelectorAll('.foul').length") == 0, "white may"
    page.place("i8")
    assert len(page.stones) == 10


def test_a_forbidden_move_faster_than_its_mark_is_taken_off_again(page: Page) -> None:
    page.new(rule=4)
    for move in ["h8", "a1", "j8", "a2", "i7", "c1", "i9", "c2"]:
        page.place(move)
    page.js("tengen.game.current.facts.forbidden = {}; tengen.actions.point(arguments[0])", 7 * 15 + 8)
    page.wait(
        "tengen.game.current.ply === 8 && document.getElementById('notices').innerText.includes('forbidden')"
    )
    assert len(page.stones) == 8


def test_arrows_walk_and_a_new_move_makes_a_variation(page: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    page.new()
    for move in ["h8", "i9", "j10"]:
        page.place(move)
    page.key(Keys.ARROW_LEFT * 2)
    assert len(page.stones) == 1
    page.place("i7")
    assert page.get("tengen.game.root.children[0].children.length") == 2
    assert page.get("document.querySelectorAll('.variation .move').length") == 1
    page.key(Keys.ARROW_UP)
    assert page.stones == [112, 8 * 15 + 8]
    page.key(Keys.END)
    assert len(page.stones) == 3
    page.key(Keys.HOME)
    assert page.stones == []


def test_the_keyboard_aims_and_plays(page: Page) -> None:
    page.new()
    page.js("document.getElementById('board').focus()")
    page.js(
        "for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown'])"
        " document.dispatchEvent(new KeyboardEvent('keydown', {key, shiftKey: true, bubbles: true}));"
        "document.getElementById('board').dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))"
    )
    page.wait("tengen.game.current.ply === 1")
    assert page.stones == [8 * 15 + 8]


def test_space_lets_the_engine_move_and_undo_gives_the_turn_back(page: Page) -> None:
    page.new(who="black")
    page.place("h8")
    page.wait("tengen.game.current.ply === 2 && tengen.game.current.facts")
    page.key(" ")
    page.wait("tengen.game.current.ply === 4 && tengen.game.current.facts")
    page.click("do-undo")
    page.wait("tengen.game.current.ply === 2")


def test_the_engine_plays_itself_and_pauses(page: Page) -> None:
    page.new(who="none", level=2)
    page.wait("tengen.game.current.ply >= 3")
    page.click("do-engine")
    page.wait("tengen.table.paused")
    page.wait("tengen.engine.job === null")
    ply = page.get("tengen.game.current.ply")
    page.click("do-engine")
    page.wait(f"tengen.game.current.ply > {ply} || tengen.game.current.facts?.over")


def test_a_clock_that_runs_out_ends_the_game(page: Page) -> None:
    page.new(clock="60 0")
    page.place("h8")
    page.js("tengen.table.left[1] = 150; tengen.table.since = performance.now()")
    page.wait("tengen.game.ended")
    assert page.status == "White's time is out: black wins."
    page.place("i9")
    assert page.stones == [112]


def test_the_clock_of_the_mover_runs(page: Page) -> None:
    page.new(clock="180 2")
    page.place("h8")
    page.wait("tengen.table.lefts(tengen.game)[1] < 179900")
    assert page.get("tengen.table.lefts(tengen.game)[0]") == 180_000
    page.place("i9")
    left = page.get("tengen.table.lefts(tengen.game)")
    assert 180_000 < left[1] < 182_000


@pytest.mark.parametrize(("who", "colour"), [("black", "black"), ("black", "white"), ("white", None)])
def test_swap2(page: Page, who: str, colour: str | None) -> None:
    """A person who offers, and takes a colour if the engine asks; a person who is offered."""
    page.new(who=who, swap2=True)
    if who == "black":
        for move in ["a1", "b3", "d2"]:
            page.wait("tengen.game.current.facts?.opening")
            page.place(move)
        page.wait("!tengen.table.opening")
        assert "The engine takes" in page.notices
    else:
        page.wait("tengen.game.current.ply === 3 && tengen.game.current.facts?.opening")
        page.wait("!document.getElementById('choices').hidden")
        # The engine's three stones are random, near each other and often at an edge.
        corners = [point for point in (0, 14, 210, 224) if point not in page.stones]
        page.place(corners[0])
        page.wait("tengen.game.current.facts?.opening?.most === 1")
        page.place(corners[1])
        page.wait("!tengen.table.opening")
        assert "The engine takes" in page.notices
    page.wait("tengen.game.current.facts && tengen.engine.job === null && !tengen.table.isDue(tengen.game)")
    assert page.get("tengen.table.seats.includes('person') && tengen.table.seats.includes('engine')")


def offered(page: Page) -> None:
    """Let the engine offer three stones of a swap2 opening to a person."""
    page.new(who="white", swap2=True)
    page.wait("tengen.game.current.ply === 3 && tengen.game.current.facts?.opening")


def test_the_engine_chooses_for_a_person_in_swap2(page: Page) -> None:
    offered(page)
    page.js("tengen.actions.engine()")
    page.wait("!tengen.table.opening && tengen.game.current.facts && !tengen.table.isDue(tengen.game)")
    assert "You take" in page.notices
    assert page.get("tengen.table.seats.includes('person') && tengen.table.seats.includes('engine')")
    assert page.get("tengen.table.forced") is None


def test_a_long_line_in_a_swap2_opening_asks_no_more_than_once(page: Page) -> None:
    offered(page)
    page.js(
        "window.asked = 0; const ask = tengen.link.ask.bind(tengen.link);"
        "tengen.link.ask = (...given) => { asked++; return ask(...given); };"
        "const free = [...Array(225).keys()].filter(p => !tengen.game.taken.has(p));"
        "tengen.game.addLine(free.slice(0, 4)); tengen.actions.last()"
    )
    page.wait("tengen.game.current.ply === 7 && tengen.game.current.facts")
    page.js("setTimeout(() => { window.late = true; }, 300)")
    page.wait("window.late")
    assert page.get("asked") == 1
    assert page.get("tengen.table.opening")


def test_undo_in_swap2_goes_back_to_a_person_or_to_the_beginning(page: Page) -> None:
    offered(page)
    page.js("window.before = tengen.game.current")
    page.click("do-undo")
    page.wait("tengen.game.current !== before && tengen.game.current.ply === 3")
    page.wait("tengen.game.current.facts?.opening")
    assert page.notices == "" and len(page.stones) == 3, "the engine has offered three others"
    corners = [point for point in (0, 14, 210, 224) if point not in page.stones]
    page.place(corners[0])
    page.click("do-undo")
    page.wait("tengen.game.current.ply === 3 && tengen.game.current.facts?.opening")
    page.wait("!document.getElementById('choices').hidden")


def test_walking_gives_no_time_back(page: Page) -> None:
    page.new(clock="60 0")
    page.place("h8")
    page.js("tengen.table.left = [60000, 10000]; tengen.table.since = performance.now() - 2000")
    page.key("\ue012\ue014")  # back and forward
    assert 7_000 < page.get("tengen.table.lefts(tengen.game)[1]") <= 8_000


def test_rectangles_and_every_size(page: Page) -> None:
    for width, height in ((5, 22), (22, 5), (7, 9), (22, 22)):
        page.new(width=width, height=height)
        page.place(width * height - 1)
        assert page.stones == [width * height - 1]
        assert page.get("document.querySelectorAll('.coord').length") == width + height


def test_the_loser_by_time_has_none_left(page: Page) -> None:
    page.new(clock="60 0")
    page.place("h8")
    page.js("tengen.table.left[1] = 150; tengen.table.since = performance.now()")
    page.wait("tengen.game.ended")
    clocks = "[...document.querySelectorAll('.clock')].map(e => e.textContent)"
    assert page.get(clocks) == ["1:00", "0:00"]
    page.key("\ue012\ue014")  # back and forward
    assert page.get(clocks) == ["1:00", "0:00"]
    page.open(fresh=False)
    assert page.get(clocks) == ["1:00", "0:00"]


def test_a_pause_gives_no_time_back(page: Page) -> None:
    page.new(who="none", level=1, clock="60 0")
    page.wait(  # in one go, while a clock runs: two engines play on
        "(() => { const { table, game } = tengen; if (table.running(game) === null) return false;"
        " table.left = [40000, 41000]; table.since = performance.now() - 5000;"
        " table.pause(game); tengen.changed(); return true; })()"
    )
    left = sorted(page.get("tengen.table.lefts(tengen.game)"))
    assert left[0] <= 36_000 and min(abs(left[1] - whole) for whole in (40_000, 41_000)) < 1
    page.js("tengen.actions.engine()")
    assert min(page.get("tengen.table.lefts(tengen.game)")) <= left[0] + 1


def test_a_pause_holds_although_an_answer_waits(page: Page) -> None:
    page.new(who="none", level=1)
    page.wait("tengen.game.current.ply >= 1 && tengen.table.isDue(tengen.game)")
    page.js("tengen.actions.engine()")
    page.js("tengen.actions.engineSaid({type: 'move', point: 0, ms: 1}, tengen.game.current)")
    assert page.get("tengen.table.paused") and 0 not in page.stones


def test_after_a_new_game_keys_belong_to_the_board(page: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    page.driver.find_element("id", "do-new").send_keys(Keys.ENTER)
    page.js("document.querySelector('#dialog-new form').elements.who.value = 'none'")
    page.driver.find_element("css selector", "#dialog-new button[value=start]").send_keys(Keys.ENTER)
    page.wait("tengen.table.watching && tengen.game.current.ply >= 1")
    assert page.get("document.activeElement.id") == "board"
    page.driver.switch_to.active_element.send_keys(" ")
    assert page.get("tengen.table.paused && !document.querySelector('dialog[open]')")


def test_a_clicked_control_gives_the_keys_back_to_the_board(page: Page) -> None:
    page.new()
    page.place("h8")
    for control in ("numbers", "do-theme", "do-hint", "do-undo"):
        page.click(control)
        assert page.get("document.activeElement.id") == "board", control


def test_escape_closes_messages(page: Page) -> None:
    page.new(rule=4)
    page.click("do-undo")
    page.wait("document.querySelectorAll('.notice').length")
    page.key("\ue00c")
    assert page.get("document.querySelectorAll('.notice').length") == 0


def test_ctrl_z_takes_back_and_ctrl_y_puts_back(page: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    page.new()
    for move in ["h8", "i9", "j10"]:
        page.place(move)
    page.key(Keys.CONTROL + "z")
    page.key(Keys.CONTROL + "z")
    assert len(page.stones) == 1
    page.key(Keys.CONTROL + "y")
    assert len(page.stones) == 2
    page.place("a1")
    page.key(Keys.CONTROL + "y")
    assert len(page.stones) == 3, "something else was played"
    page.js("document.getElementById('comment').focus()")
    page.driver.find_element("id", "comment").send_keys("ab" + Keys.CONTROL + "z")
    assert len(page.stones) == 3


def test_resigning_is_asked_and_can_be_taken_back(page: Page) -> None:
    page.new(who="black", level=1, clock="180 2")
    assert page.get("document.getElementById('offers').hidden")
    page.place("h8")
    page.wait("tengen.game.current.ply === 2 && tengen.game.current.facts")
    page.click("do-resign")
    assert not page.get("tengen.game.ended")
    page.js("document.querySelector('.notice .link').click()")
    assert page.status == "Black resigns: white wins."
    assert page.get("document.querySelectorAll('.player.white.won').length") == 1
    assert page.get("document.getElementById('offers').hidden")
    page.click("do-undo")
    assert page.get("tengen.game.ended") is None and len(page.stones) == 2
    page.place("a1")
    page.wait("tengen.game.current.ply === 4")


def test_two_people_agree_on_a_draw(page: Page) -> None:
    page.new()
    page.place("h8")
    page.click("do-draw")
    assert "White offers a draw" in page.notices
    page.js("document.querySelector('.notice .link').click()")
    assert page.status == "A draw by agreement."
    assert "draw 100 %" in page.get("document.getElementById('bar').getAttribute('aria-label')")
    page.open(fresh=False)
    assert page.status == "A draw by agreement."
    page.key("\ue012")  # back: the end is behind this position, and another line may begin here
    assert page.get("tengen.game.ended") is None
    page.place("a1")
    assert page.get("tengen.game.ended") is None
    assert page.get("tengen.game.mainEnd") == {"winner": 2, "why": "draw"}


def test_the_engine_takes_a_draw_only_where_it_is_not_better(page: Page) -> None:
    page.new(who="black", level=1)
    page.place("h8")
    page.wait("tengen.game.current.ply === 2 && tengen.game.current.facts")
    page.click("do-draw")
    page.wait("document.getElementById('notices').innerText.includes('declines') || tengen.game.ended")
    page.js("tengen.game.ended = null; tengen.offers.answer([0.1, 0.1, 0.8], 1)")
    assert page.get("tengen.game.ended") is None
    page.js("tengen.offers.answer([0.2, 0.6, 0.2], 1)")
    assert page.status == "A draw by agreement."

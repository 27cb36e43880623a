"""A game turned, mirrored and shifted on the page, in a real browser."""

from __future__ import annotations

from engine.rules.geometry import parse_move
from tests.board.running import Page

WIDTH, HEIGHT = 9, 7
MOVES = ["b2", "c4", "d3"]


def points(moves: list[str], width: int = WIDTH, height: int = HEIGHT) -> list[int]:
    return [parse_move(move, width, height) for move in moves]


def play(page: Page) -> None:
    """Play three moves and a variation of the last one, on a rectangle."""
    page.new(width=WIDTH, height=HEIGHT)
    for move in MOVES:
        page.place(move)
    page.key("\ue012")  # left
    page.place("h6")
    page.key("\ue013")  # up: the main line


def press(page: Page, selector: str) -> None:
    page.js("document.getElementById('turn').open = true")
    page.js("document.querySelector(arguments[0]).click()", f"#turn [{selector}]")
    page.wait("tengen.game.current.facts")


def test_a_game_is_turned_with_its_variations(page: Page) -> None:
    play(page)
    page.js(
        "tengen.game.current.judged = {before: .5, after: .4, fall: .1, mark: '?', best: arguments[0]}", 0
    )
    for name, back, size, moves, corner in (
        ("mirrorColumns", "mirrorColumns", (9, 7), ["h2", "g4", "f3"], 8),
        ("mirrorRows", "mirrorRows", (9, 7), ["b6", "c4", "d5"], 54),
        ("turnRight", "turnLeft", (7, 9), ["f2", "d3", "e4"], 6),
        ("turnLeft", "turnRight", (7, 9), ["b8", "d7", "c6"], 56),
    ):
        press(page, f"data-turn={name}")
        assert page.get("[tengen.game.width, tengen.game.height]") == list(size), name
        assert page.stones == points(moves, *size), name
        assert page.get("tengen.game.root.children[0].children[0].children.length") == 2, name
        assert page.get("tengen.game.current.judged.best") == corner, name
        press(page, f"data-turn={back}")
        assert page.stones == points(MOVES), name
        assert page.get("tengen.game.current.judged.best") == 0, name


def test_a_shift_stops_where_a_stone_would_leave_the_board(page: Page) -> None:
    play(page)
    press(page, "data-shift='1 0'")
    assert page.stones == points(["c2", "d4", "e3"])
    press(page, "data-shift='1 0'")
    assert page.stones == points(["c2", "d4", "e3"]), "the variation's stone stands at the edge"
    assert "would leave the board" in page.notices
    press(page, "data-shift='0 1'")
    assert page.stones == points(["c3", "d5", "e4"])
    page.place("a1")
    assert page.stones[-1] == 0

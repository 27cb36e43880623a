"""Dots on moves while playing, games that teach, and thinking in a person's time, in a real browser."""

from __future__ import annotations

from tests.board.running import Page
from tests.helpers.board import choose

FOUR = "h8 i9 i7 g9 h9 h7 g8 i10 j8 i8 k8"
"""White, to move, has to stop a four that can be made."""


def enter(page: Page, moves: str, seats: list[str]) -> None:
    """Put moves on the board and sit down there."""
    page.js("const m = arguments[0]; import('/files.js').then(f => f.openText(tengen, m, 'text'))", moves)
    page.wait(f"tengen.game.current.ply === {len(moves.split())} && tengen.game.current.facts")
    page.js("tengen.table.seats = arguments[0]; tengen.table.levels = [1, 1]; tengen.seated()", seats)


def test_dots_show_how_good_moves_are(thinking_page: Page) -> None:
    page = thinking_page
    choose(page, "dots", True)
    enter(page, "h8 i9", ["person", "person"])
    page.place("h9")
    page.wait("document.querySelectorAll('.quality').length >= 1")
    assert page.get("tengen.game.current.judged.fall >= 0")
    enter(page, FOUR, ["person", "person"])
    page.place("a1")
    page.wait("document.querySelectorAll('.quality.blunder').length === 1")
    choose(page, "dots", False)
    assert page.get("document.querySelectorAll('.quality').length") == 0


def test_a_teaching_game_takes_a_bad_move_back(thinking_page: Page) -> None:
    page = thinking_page
    choose(page, "teach", True)
    enter(page, FOUR, ["engine", "person"])
    page.place("a1")
    page.wait("document.getElementById('notices').innerText.includes('was taken back')")
    assert page.get("tengen.game.current.ply") == 11 and len(page.stones) == 11
    page.js("[...document.querySelectorAll('.notice .link')].pop().click()")  # play it anyway
    page.wait("tengen.game.current.ply >= 13")
    assert page.get("tengen.game.path()[11]") == 0
    enter(page, FOUR, ["engine", "person"])
    page.place("i11")
    page.wait("tengen.game.current.ply >= 13")


def test_the_engine_thinks_in_a_persons_time(page: Page) -> None:
    choose(page, "ponder", True)
    enter(page, "h8 i9", ["person", "engine"])
    assert page.get("tengen.engine.job === null"), "weaker levels think a fixed amount"
    page.js("tengen.table.levels = [10, 10]; tengen.seated()")
    page.wait("tengen.engine.job?.key.includes('ponder')")
    assert page.get("document.querySelectorAll('.disc').length") == 0
    page.js("tengen.table.turnMs = 500")
    page.place("h9")
    page.wait("tengen.game.current.ply === 4 && tengen.engine.job?.key.includes('ponder')")
    choose(page, "ponder", False)
    page.wait("tengen.engine.job === null")

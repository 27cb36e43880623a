"""Another Gomocup brain as a player of the board: over a socket, without a browser."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from board.brains import Brains, named, split_arguments
from board.messages import Moves, Think
from tests.board.running import Page, Server, until
from tests.helpers.board import with_page
from tests.helpers.paths import HELPERS

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver

DUMB = HELPERS / "dumb_brain.py"
GAME = {"width": 9, "height": 9, "rule": 0, "moves": [80]}


def command(mode: str) -> str:
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(DUMB))} {mode}"


def test_arguments_name_files_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DUMB.parent)
    names, arguments = named([f"{sys.executable} {DUMB.name} first"])
    assert names == ["dumb_brain"]
    whole = [f"{sys.executable} {DUMB} first"]
    assert split_arguments(["net=uniform", *arguments]) == (["net=uniform"], whole)


@pytest.fixture(scope="module")
def brain_server() -> Iterator[Server]:
    """A board with two brains: one that plays, one that babbles at its third move."""
    options = ["--opponent", command("first"), "--opponent", command("babble")]
    started = Server("--net", "uniform", *options)
    yield started
    started.close()


def test_brains_are_asked_by_their_number(brain_server: Server) -> None:
    async def talk(page: Any) -> None:
        welcome = json.loads(await asyncio.wait_for(page.recv(), 60))
        assert welcome["brains"] == ["dumb_brain", "dumb_brain"]

        async def think(id: int, brain: int, moves: list[int]) -> dict[str, Any]:
            fields = {"game": {**GAME, "moves": moves}, "level": 5, "turn_ms": 5000, "brain": brain}
            await page.send(json.dumps({"type": "think", "id": id, **fields}))
            while True:
                heard = json.loads(await asyncio.wait_for(page.recv(), 60))
                if heard["id"] == id and heard["type"] in ("move", "refused"):
                    return dict(heard)

        assert (await think(1, 0, [80]))["point"] == 0
        assert (await think(2, 0, [80, 0, 79]))["point"] == 1
        assert (await think(3, 0, [80, 0, 70]))["point"] == 1, "another line of the game"
        moves = [80]
        failed: dict[str, Any] = {}
        for id in (4, 5, 6):
            failed = await think(id, 1, moves)
            if failed["type"] == "move":
                moves.append(failed["point"])
                moves.append(next(p for p in range(81) if p not in moves))
        assert failed["type"] == "refused"
        assert failed["text"] == "dumb_brain said 'ERROR no idea' instead of a move"
        assert (await think(7, 1, moves))["type"] == "move", "it is started again"
        unknown = await think(8, 5, [80])
        assert (unknown["type"], unknown["code"]) == ("refused", "unknown_program")

    with_page(brain_server, talk)


def test_a_brain_that_is_no_program_is_said_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    from board.cli import main

    assert main(["--no-browser", "--opponent", "/no/such/pbrain"], "1") == 2
    assert capsys.readouterr().err == "error: there is no program '/no/such/pbrain'\n"


def test_a_brain_takes_the_seat_of_the_engine_in_the_request() -> None:
    brains = Brains([command("first")])
    request = Think(1, Moves(9, 9, 0, (80,)), 5, 5000, None, 0, 0)
    assert brains.move(request, threading.Event()) == 0
    brains.end()


def test_a_brain_that_hangs_ends_with_its_page() -> None:
    server = Server("--net", "uniform", "--opponent", command("hang"))

    def brains() -> list[psutil.Process]:
        return [process for process in server.engines() if "dumb_brain.py" in " ".join(process.cmdline())]

    found: list[psutil.Process] = []

    async def talk(page: Any) -> None:
        moves = [80]
        for id in (1, 2, 3):
            fields = {"game": {**GAME, "moves": moves}, "level": 5, "turn_ms": 60_000, "brain": 0}
            await page.send(json.dumps({"type": "think", "id": id, **fields}))
            while id < 3:
                heard = json.loads(await asyncio.wait_for(page.recv(), 60))
                if heard["id"] == id and heard["type"] == "move":
                    moves += [heard["point"], next(p for p in range(81) if p not in (*moves, heard["point"]))]
                    break
        found.extend(brains())
        assert found
        await asyncio.sleep(1)  # it has heard of the third move, at which it hangs

    try:
        with_page(server, talk)
        until(lambda: not any(process.is_running() for process in found), "the end of the brain", 10)
    finally:
        server.close()
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()


def test_a_brain_is_chosen_on_the_page(driver: WebDriver, brain_server: Server) -> None:
    """It takes a seat by its name, plays, and what it says instead of a move is a notice."""
    page = Page(driver, brain_server.url).open()
    page.new(width=9, height=9)

    def seat(value: str) -> None:
        page.js(
            "const s = document.getElementById('seat-1'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('change'))", value,
        )  # fmt: skip

    seat("engine:0")
    assert page.get("document.querySelector('.player.white strong').textContent") == "dumb_brain"
    assert page.get("document.getElementById('level-1').disabled")
    page.place("e5")
    page.wait("tengen.game.current.ply === 2 && tengen.game.current.facts")
    assert page.stones[1] == 0 and page.get("tengen.game.names[1]") == "dumb_brain"
    seat("engine:1")
    for move in ("e6", "e7", "e8"):
        before = page.get("tengen.game.current.ply")
        if "instead of a move" not in page.notices:
            page.place(move)
            page.wait(f"tengen.game.current.ply === {before + 2} || document.querySelector('#notices *')")
    assert "dumb_brain said 'ERROR no idea' instead of a move" in page.notices
    seat("engine")
    assert page.get("tengen.table.brains[1]") is None
    page.wait("tengen.game.current.facts && tengen.table.toAct(tengen.game.current.facts) === 0")
    page.driver.get("about:blank")

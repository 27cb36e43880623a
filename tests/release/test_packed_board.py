"""The board of a packed brain: the one in `dist` if there is one, or TENGEN_PACKED (program or folder)."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from release.build import DIST, executable_name
from release.contents import PROGRAM
from tests.board.running import Page, Server, browser, until, why_no_browser

CHOSEN = Path(os.environ.get("TENGEN_PACKED") or DIST / PROGRAM)
COMMAND = CHOSEN / executable_name() if CHOSEN.is_dir() else CHOSEN
if CHOSEN.suffix == ".zip" or not COMMAND.exists():
    pytest.skip("no packed brain; `make dist` makes one", allow_module_level=True)

pytestmark = [pytest.mark.posix, pytest.mark.alone]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(command=[str(COMMAND), "--board"], cwd=tmp_path)
    yield found
    found.close()


def test_it_serves_the_page(server: Server) -> None:
    with urllib.request.urlopen(server.url) as answer:
        assert b"<title>Tengen</title>" in answer.read()
    with urllib.request.urlopen(server.base + "about") as answer:
        assert json.load(answer)["program"] == "tengen-board"


def test_it_plays_a_move_and_ends_at_once(server: Server) -> None:
    reason = why_no_browser()
    if reason is not None:
        pytest.skip(reason)
    with browser() as driver:
        page = Page(driver, server.url).open()
        page.new(who="black", level=10)
        page.js("tengen.table.turnMs = 500")
        page.place("h8")
        page.wait("tengen.game.current.ply === 2 && tengen.game.current.facts")
        children = psutil.Process(server.process.pid).children(recursive=True)
        assert len(children) == 1
        began_s = time.monotonic()
        server.interrupt()
        print(f"ended after {time.monotonic() - began_s:.2f} s")
        until(lambda: not any(child.is_running() for child in children), "the end of the engine")
    assert len(server.said) == 1, server.said


def test_a_launcher_lies_beside_it() -> None:
    script = COMMAND.parent / "tengen-board.sh"
    assert os.access(script, os.X_OK)
    server = Server(command=[str(script)])
    assert server.interrupt() < 30

"""Positions that are set up, puzzles, and games as moving pictures, in a real browser."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from pathlib import Path

from board import assets
from board.messages import Moves
from board.position import game_of
from tests.board.running import Page, until
from tests.tactics import puzzles

RIGHT, WRONG = "tengen.puzzles.puzzle.good", "[0, 1, 2, 3].map(i => 16 * i)"


def test_a_position_is_set_up_and_played_from(page: Page) -> None:
    page.new(who="black")
    page.click("do-new")
    page.click("do-setup")
    assert not page.get("document.querySelector('.tools button').checkVisibility()")
    page.js("document.getElementById('setup-clear').click()")
    for move in ("h8", "h9", "j8"):
        page.place(move)
    page.js("document.querySelector('input[name=brush][value=\"1\"]').click()")
    for move in ("j10", "j8", "a1"):  # a black stone becomes white
        page.place(move)
    page.js("document.querySelector('input[name=brush][value=\"2\"]').click()")
    page.place("a1")
    page.js("document.getElementById('setup-turn').value = '1'")
    page.click("setup-done")
    page.wait("tengen.game.current.facts && !tengen.setup.active")
    colours = page.get(
        "Object.fromEntries([...document.querySelectorAll('.stones .stone')]"
        ".map(s => [s.dataset.point, s.classList.contains('white')]))"
    )
    assert colours == {"112": False, "127": False, "114": True, "144": True}
    assert page.get("tengen.game.current.facts.to_move") == 1 and "White to move" in page.status
    page.place("i9")
    assert page.get("tengen.game.current.facts.to_move") == 0
    page.key("u")
    page.wait("tengen.game.current.facts?.to_move === 1")
    page.key("u")
    page.wait("document.getElementById('notices').innerText.includes('opening stays')")


def test_a_position_that_no_game_leads_to_is_refused_and_nothing_is_lost(page: Page) -> None:
    page.new(rule=4)
    page.place("h8")
    page.click("do-new")
    page.click("do-setup")
    for move in ("g8", "e8", "i8", "f8", "j8"):  # six in a row, which black may not make
        page.place(move)
    page.click("setup-done")
    page.wait("document.getElementById('notices').innerText.includes('cannot be reached')")
    assert page.get("tengen.setup.active")
    page.key("\ue00c")  # escape
    page.wait("!tengen.setup.active")
    assert page.stones == [112]


def test_a_puzzle_judges_the_first_move(page: Page) -> None:
    page.click("do-new")
    page.click("do-puzzles")
    page.wait("tengen.puzzles.game && tengen.game.current.facts")
    assert page.get("document.getElementById('puzzle').checkVisibility()")
    goal = page.get("document.getElementById('puzzle-goal').textContent")
    assert goal.endswith(("to move and win.", "to move: stop the threat."))
    start = page.stones
    wrong = page.get(f"{WRONG}.find(p => !tengen.game.taken.has(p) && !{RIGHT}.includes(p))")
    page.place(wrong)
    assert "not it" in page.get("document.getElementById('puzzle-result').textContent")
    assert page.stones == [*start, wrong], "the engine does not answer"
    page.click("puzzle-again")
    page.wait("tengen.game.current.facts")
    page.place(page.get(f"{RIGHT}[0]"))
    assert "Right" in page.get("document.getElementById('puzzle-result').textContent")
    page.wait(f"tengen.game.path().length === {len(start) + 2}")
    page.click("puzzle-next")
    page.wait("tengen.game.current.facts")
    assert page.get("document.getElementById('puzzle-count').textContent").startswith("1 of ")
    page.click("puzzle-solution")
    assert "Solution: " in page.get("document.getElementById('puzzle-result').textContent")
    page.open(fresh=False)
    page.click("do-new")
    page.click("do-puzzles")
    page.wait("tengen.puzzles.at === 1")


def test_a_puzzle_that_is_turned_keeps_its_solution(page: Page) -> None:
    page.click("do-new")
    page.click("do-puzzles")
    page.wait("tengen.puzzles.game && tengen.game.current.facts")
    before = page.get(RIGHT)
    page.js("tengen.actions.turn('turnRight')")
    page.wait("tengen.game.current.facts")
    assert page.get("tengen.puzzles.good") != before and page.get(RIGHT) == before
    page.click("puzzle-solution")
    assert page.get("tengen.hint.points") == page.get("tengen.puzzles.good")
    page.place(page.get("tengen.puzzles.good[0]"))
    assert "Right" in page.get("document.getElementById('puzzle-result').textContent")
    page.click("puzzle-again")
    page.wait("tengen.game.current.facts")
    assert page.get("tengen.puzzles.good") == before


def test_the_puzzles_are_those_of_the_suite_and_can_be_played() -> None:
    assert puzzles.text() == (assets.FOLDER / "puzzles.json").read_text(encoding="utf-8")
    chosen = puzzles.select()
    assert len(chosen) >= 50 and {entry["rule"] for entry in chosen} == {0, 1, 4, 8, 9}
    for entry in chosen:
        game = game_of(Moves(entry["width"], entry["height"], entry["rule"], tuple(entry["moves"])))
        assert not game.over and all(game.refusal(point) is None for point in entry["good"])


def gif_frames(data: bytes) -> list[int]:
    """Return the delays of the frames of a GIF, hundredths of a second; raises where it is none."""
    assert data[:6] == b"GIF89a" and data[-1:] == b";"
    at, delays = 13 + (3 << (data[10] & 7) + 1 if data[10] & 128 else 0), []
    while data[at] != 0x3B:
        if data[at] == 0x21:
            if data[at + 1] == 0xF9:
                delays.append(struct.unpack_from("<H", data, at + 4)[0])
            at += 2
        else:
            assert data[at] == 0x2C
            at += 10 + (3 << (data[at + 9] & 7) + 1 if data[at + 9] & 128 else 0) + 1
        while data[at]:
            at += data[at] + 1
        at += 1
    return delays


COLOURS = """
  const decoder = new ImageDecoder({ data: await tengen.lastGif.arrayBuffer(), type: "image/gif" });
  await decoder.tracks.ready;
  const { image } = await decoder.decode({ frameIndex: arguments[0] });
  const canvas = new OffscreenCanvas(image.displayWidth, image.displayHeight);
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.drawImage(image, 0, 0);
  const scale = image.displayWidth / Number(tengen.view.svg.dataset.whole.split(" ")[2]);
  const { view } = tengen;
  return arguments[1].map(p => [...pen.getImageData(scale * (view.x(p) + 10), scale * view.y(p), 1, 1).data]
    .slice(0, 3).reduce((a, b) => a + b) / 3);
"""


def test_a_game_becomes_a_moving_picture(page: Page, downloads: Path) -> None:
    page.new()
    for move in ("h8", "i9", "i8"):
        page.place(move)
    page.click("do-share")
    page.click("save-gif")
    until(lambda: any(downloads.glob("*.gif")), "a GIF")
    [file] = downloads.glob("*.gif")
    assert gif_frames(file.read_bytes()) == [60, 60, 60, 300], "the empty board, then a stone each"
    page.js(
        "const { gameGif } = await import('/gif.js');"
        "tengen.lastGif = await gameGif(tengen.game, tengen.view)"
    )
    black, white, wood = page.js(COLOURS, 2, [112, 128, 113])
    assert black < 80 and white > 200 and 100 < wood < 200
    assert page.js(COLOURS, 3, [112, 113])[1] < 80


def test_libraries_of_others_are_unchanged() -> None:
    notes = (assets.LIBRARIES / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"\| `([\w./]+)`, .*? \| `([0-9a-f]{64})` \|", notes)
    assert {name for name, _ in listed} == {
        path.relative_to(assets.LIBRARIES).as_posix() for path in assets.LIBRARIES.rglob("*.js")
    }
    for name, digest in listed:
        assert hashlib.sha256((assets.LIBRARIES / name).read_bytes()).hexdigest() == digest
        licence = (assets.LIBRARIES / name).with_name("LICENSE.md")
        assert "MIT License" in licence.read_text(encoding="utf-8")
        assert f"/third_party/{name}" in assets.load()
    assert json.loads(assets.load()["/lang/en.json"].content)["language.name"] == "English"

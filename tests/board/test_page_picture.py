"""Pictures of a position as they leave the page: their pixels, in a real browser."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from engine.rules.geometry import parse_move, xy
from tests.board.running import Page, until

STONES = {"h8": "black", "i9": "white", "i8": "black", "g8": "white"}
"""One of each colour is the last move, one of each is not."""

PIXELS = """
const [data, type, places, done] = arguments;
const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
const image = new Image();
image.src = URL.createObjectURL(new Blob([bytes], { type }));
image.decode().then(() => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [626, 626];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0, 626, 626);
  done(places.map(([x, y]) => [...context.getImageData(x, y, 1, 1).data]));
}).catch((error) => done(String(error)));
"""
"""Colours of some places of a picture that is drawn 626 pixels wide: its own units."""

COPIED = """
const done = arguments[0];
navigator.clipboard.read().then(([item]) => item.getType("image/png")).then((blob) => blob.arrayBuffer())
  .then((buffer) => done(btoa(String.fromCharCode(...new Uint8Array(buffer)))))
  .catch((error) => done("! " + error));
"""


def file(downloads: Path, kind: str) -> str:
    """Wait for a saved picture, take it away and return it in base 64."""
    until(lambda: any(p.stat().st_size for p in downloads.glob(f"*.{kind}")), f"a .{kind} file")
    path = next(downloads.glob(f"*.{kind}"))
    data = path.read_bytes()
    path.unlink()
    return base64.b64encode(data).decode()


def export(page: Page, way: str, downloads: Path) -> tuple[str, str]:
    """Return a picture of the page's position in base 64, and its type."""
    page.click("do-share")
    if way == "clipboard":
        permissions = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
        page.driver.execute_cdp_cmd("Browser.grantPermissions", permissions)
        page.click("copy-png")
        page.wait("document.getElementById('notices').innerText.includes('in the clipboard')")
        return page.driver.execute_async_script(COPIED), "image/png"
    page.click(f"save-{way}")
    found = file(downloads, way), {"svg": "image/svg+xml", "png": "image/png"}[way]
    page.js("document.getElementById('dialog-share').close()")
    return found


@pytest.mark.parametrize("enlarged", [False, True])
def test_a_picture_has_the_colours_of_the_board(page: Page, downloads: Path, enlarged: bool) -> None:
    page.new()
    for move in STONES:
        page.place(move)
    points = [parse_move(move, 15, 15) for move in (*STONES, "b2")]
    places = [[40 + 40 * x - 11, 40 + 40 * y] for x, y in (xy(point, 15) for point in points)]
    if enlarged:
        page.js("tengen.view.zoomAtMiddle(2)")
    for way in ("svg", "png", "clipboard"):
        if enlarged:  # the whole board nevertheless, and no stone that somebody only aims with
            page.js("tengen.view.showAim(16, 1)")
        data, type = export(page, way, downloads)
        if way == "svg":
            text = base64.b64decode(data).decode()
            assert text.startswith("<svg") and "class=" not in text
        pixels = page.driver.execute_async_script(PIXELS, data, type, [*places, [20, 60]])
        assert isinstance(pixels, list), pixels
        for (move, colour), pixel in zip(STONES.items(), pixels, strict=False):
            dark, light = max(pixel[:3]) < 110, min(pixel[:3]) > 190
            assert dark if colour == "black" else light, (way, move, pixel)
        for pixel in pixels[-2:]:  # wood, and a line on it at most
            assert pixel[0] > pixel[1] > pixel[2] and 60 < pixel[2] < 160, (way, pixel)

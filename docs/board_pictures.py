"""Make the pictures of the board for the README: `python docs/board_pictures.py` (needs chromium)."""

from __future__ import annotations

import argparse
import base64
import io
import sys
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.board.running import Page, Server, browser

HERE = Path(__file__).parent
GAME = "h8 i9 i7 g9 h9 h7 g8 i10 j8 i8 j6 k5 h6 g5 i5 h4 k7 l6 k8 a1 k6"
LARGEST_BYTES = 150_000
SIZES = {"board.png": (1360, 1080, False), "board-review.png": (1360, 1080, True)}


def main() -> None:
    """Show a game, analyse it, review it; keep both pages as pictures."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    server = Server()
    try:
        for name, (width, height, dark) in SIZES.items():
            with browser(width, height) as driver:
                page = Page(driver, server.url).open()
                if dark:
                    page.click("do-theme")
                moves = GAME if dark else " ".join(GAME.split()[:10])
                page.js(
                    "const m = arguments[0]; import('/files.js').then(f => f.openText(tengen, m, 'text'))",
                    moves,
                )
                page.wait("tengen.game.current.ply > 9 && tengen.game.current.facts")
                if dark:
                    page.click("review-start")
                    page.wait("!tengen.review.running && tengen.review.worst.length")
                    page.js("tengen.actions.go(tengen.review.worst[0].parent)")
                    page.js("tengen.actions.numbers()")
                page.js("document.querySelector('.notice .close')?.click()")
                page.click("analyse")
                page.wait("tengen.analysis.found?.visits > 4000 || tengen.analysis.found?.done")
                save(driver.get_screenshot_as_base64(), HERE / name)
    finally:
        server.close()


def save(picture: str, path: Path) -> None:
    """Write a screenshot with as few colours as it needs."""
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.quantize(224, dither=Image.Dither.NONE).save(path, optimize=True)
    if path.stat().st_size > LARGEST_BYTES:
        raise SystemExit(f"{path.name} has {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()

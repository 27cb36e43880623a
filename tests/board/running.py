"""A running board, and a Chromium that looks at it."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import psutil

from engine.rules.geometry import parse_move
from tests.helpers.paths import ROOT

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver

START_S = 30.0
"""Longest wait for anything that a crowded machine may delay."""
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb", "--disable-background-timer-throttling",
)  # fmt: skip


def chromium() -> tuple[str, str] | None:
    """Return (browser, driver), None where one of them is missing."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def why_no_browser() -> str | None:
    """Return why there can be no tests in a browser here, None if there can."""
    try:
        import selenium
    except ImportError:
        return "NO BROWSER TESTS: selenium is not installed (make test sets it up)"
    del selenium
    if chromium() is None:
        return "NO BROWSER TESTS: install chromium and chromium-driver (Debian) to run them"
    return None


_STATE = tempfile.TemporaryDirectory()  # where the boards of these tests keep their token
ENVIRONMENT = {**os.environ, "XDG_STATE_HOME": _STATE.name}


class Server:
    """A board that runs as a process of its own.

    `url` is its address with the access token, `base` that without it.
    """

    def __init__(self, *arguments: str, command: Sequence[str] = (), cwd: Path = ROOT, port: int = 0) -> None:
        self.process = subprocess.Popen(
            [*(command or (sys.executable, "-m", "board")), "--no-browser", "--port", str(port), *arguments],
            cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env=ENVIRONMENT,
        )  # fmt: skip
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.said: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        first = self.lines.get(timeout=START_S)
        found = re.search(r"(http://\S+:(\d+)/)#token=([0-9a-f]+)", first)
        if found is None:
            raise RuntimeError(f"the board did not start: {first}{''.join(self.said)}")
        self.url, self.base, self.port, self.token = found[0], found[1], int(found[2]), found[3]

    @property
    def socket(self) -> str:
        """Address of the socket."""
        return f"ws://127.0.0.1:{self.port}/socket?token={self.token}"

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        for line in stream:
            self.said.append(line)
            self.lines.put(line)
        self.lines.put("")

    def engines(self) -> list[psutil.Process]:
        """Return its engine processes."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def interrupt(self) -> float:
        """Press Ctrl-C; return how many seconds the end took."""
        began_s = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(START_S)
        return time.monotonic() - began_s

    def close(self) -> None:
        """End it; nothing is left."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(START_S)


@contextlib.contextmanager
def browser(
    width: int = 1280, height: int = 900, *more: str, downloads: Path | None = None
) -> Iterator[WebDriver]:
    """Start a Chromium with an empty profile."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    paths = chromium()
    assert paths is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = paths[0]
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}", *more):
            options.add_argument(flag)
        if downloads is not None:
            options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(paths[1]))
        driver.set_script_timeout(START_S)
        try:
            yield driver
        finally:
            driver.quit()


_LOOK = """
const [limit, done] = arguments, end = performance.now() + limit;
const look = (holds) => {
  try {
    const found = holds();
    if (found || performance.now() > end) done([found, ""]);
    else setTimeout(look, 15, holds);
  } catch (error) { done([null, String(error)]); }
};
look"""
"""Looks from within the page: a question and its answer through the driver take 8 ms of processor time."""


_RESET = """
for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
for (const button of document.querySelectorAll(".notice .close")) button.click();
for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(tengen))) delete tengen[name];
if (tengen.setup.active) document.getElementById("setup-cancel").click();
for (const name of Object.keys(tengen.settings)) delete tengen.settings[name];
Object.assign(tengen.settings, JSON.parse(window.settingsAtFirst));
tengen.view.setBox(0, 0, 1);
tengen.stopShow();
tengen.engine.stalled = false;
tengen.hint = tengen.hovered = tengen.aimed = null;
tengen.load(null);
tengen.review.clear();
tengen.analysis.clear();
tengen.changed();
localStorage.clear();
sessionStorage.clear();
"""


class Page:
    """The page as a person uses it: looks, clicks, keys."""

    def __init__(self, driver: WebDriver, url: str) -> None:
        self.driver, self.url = driver, url

    @property
    def about(self) -> str:
        """An address of the same server without a page, for what is kept in the browser."""
        return urljoin(self.url, "about")

    def open(self, *, fresh: bool = True) -> Page:
        """Load the page, with nothing kept from before unless `fresh` is false."""
        self.leave()
        if fresh:
            self.js("sessionStorage.clear(); localStorage.clear()")
        self.driver.get(self.url)
        self.wait("window.tengen && tengen.link.open && tengen.game.current.facts")
        if fresh:  # else they are those that a test has chosen
            self.js("window.settingsAtFirst = JSON.stringify(tengen.settings)")
        return self

    @property
    def is_open(self) -> bool:
        """Whether the browser shows the page, as `open` or `reset` left it or later."""
        shown = str(self.driver.current_url).startswith(self.url.partition("#")[0])
        return shown and bool(self.get("Boolean(window.settingsAtFirst && window.tengen?.link.open)"))

    def reset(self) -> None:
        """Bring an open page back to how it opens, with nothing kept: loading it takes five times as long.

        A page that was loaded again or in another way, or lost its connection, is left.
        """
        if self.is_open:
            self.js(_RESET)
            self.wait("tengen.game.current.facts")
        else:
            self.leave()

    def leave(self) -> None:
        """Close the page, so that its engine ends; the process that shows pages of this server stays."""
        if self.driver.current_url != self.about:
            self.driver.get(self.about)

    def js(self, code: str, *arguments: object) -> Any:
        """Run statements in the page."""
        return self.driver.execute_script(code, *arguments)

    def get(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        return self.js(f"return {expression}")

    def wait(self, expression: str, limit_s: float = START_S) -> Any:
        """Wait until an expression is true; return its value."""
        end_s = time.monotonic() + limit_s
        while (left_s := end_s - time.monotonic()) > 0:
            limit_ms = 1000 * min(left_s, 5)
            found, error = self.driver.execute_async_script(f"{_LOOK}(() => ({expression}))", limit_ms)
            if error:
                raise AssertionError(f"{error} in {expression}")
            if found:
                return found
        raise AssertionError(f"never true: {expression}; status {self.status!r}, notices {self.notices!r}")

    def new(self, **settings: object) -> None:
        """Begin a game by the window for it."""
        wanted = {"who": "both", "level": 1, "rule": 0, "width": 15, "height": 15, "swap2": False} | settings
        self.click("do-new")
        self.js(
            "const w = arguments[0]; const form = document.querySelector('#dialog-new form');"
            "form.elements.who.value = w.who;"
            "for (const n of ['level', 'rule', 'width', 'height'])"
            " document.getElementById('new-' + n).value = w[n];"
            "document.getElementById('new-clock').value = w.clock ?? '';"
            "document.getElementById('new-swap2').checked = w.swap2;",
            wanted,
        )
        self.driver.find_element("css selector", "#dialog-new button[value=start]").click()
        self.wait("tengen.game.current.facts")

    def click(self, id: str) -> None:
        """Click on an element."""
        self.driver.find_element("id", id).click()

    def place(self, move: str | int, *, wait: bool = True) -> None:
        """Click with the mouse on a point of the board."""
        from selenium.webdriver.common.action_chains import ActionChains

        width, height = self.get("[tengen.game.width, tengen.game.height]")
        point = parse_move(move, width, height) if isinstance(move, str) else move
        board = self.driver.find_element("css selector", "svg.board")
        x, y = self.js(
            "const v = tengen.view, b = v.svg.getBoundingClientRect(), p = arguments[0];"
            "return [b.width * (v.x(p) / v.w - .5), b.height * (v.y(p) / v.h - .5)]", point,
        )  # fmt: skip
        ActionChains(self.driver, duration=0).move_to_element_with_offset(board, x, y).click().perform()
        if wait:
            self.wait("tengen.game.current.facts")

    def key(self, keys: str) -> None:
        """Press keys on the board."""
        self.driver.find_element("id", "board").send_keys(keys)

    @property
    def stones(self) -> list[int]:
        """Points of the stones as they are drawn."""
        found = self.get("[...document.querySelectorAll('.stones .stone')].map(s => Number(s.dataset.point))")
        return list(found)

    @property
    def status(self) -> str:
        return str(self.get("document.getElementById('status').textContent"))

    @property
    def notices(self) -> str:
        return str(self.get("document.getElementById('notices').innerText"))

    def complaints(self) -> list[str]:
        """Return what the browser's console says since the last call, except about lost connections."""
        found = [str(entry["message"]) for entry in self.driver.get_log("browser")]
        return [text for text in found if "WebSocket" not in text and "/access?" not in text]


def until(holds: Callable[[], bool], what: str, limit_s: float = START_S) -> None:
    """Wait until something holds."""
    end_s = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > end_s:
            raise AssertionError(f"never: {what}")
        time.sleep(0.02)

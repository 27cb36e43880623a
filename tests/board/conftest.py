"""What the tests of the board share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.board.running import Page, Server, browser, until, why_no_browser
from tests.helpers.processor_time import counted_for

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver


@pytest.fixture(scope="session")
def server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """A board whose engines have no net, so that they are there at once."""
    running = Server("--net", "uniform")
    yield running
    with counted_for(pytestconfig, "tests/board"):
        running.close()


@pytest.fixture(scope="session")
def thinking_server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """A board with the net that ships."""
    running = Server()
    yield running
    with counted_for(pytestconfig, "tests/board"):
        running.close()


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the browser saves files."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def driver(downloads: Path, pytestconfig: pytest.Config) -> Iterator[WebDriver]:
    """A browser; the tests that need one are skipped where there is none."""
    reason = why_no_browser()
    if reason is not None:
        pytest.skip(reason)
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(browser(downloads=downloads))
        yield found
        with counted_for(pytestconfig, "tests/board"):
            stack.close()


def kept(page: Page) -> Iterator[Page]:
    """Lend a page as it opens; it stays open for the next test, without a game or a search."""
    if not page.is_open:
        page.open()
    yield page
    complaints = page.complaints()
    page.reset()
    assert complaints == []


@pytest.fixture
def page(driver: WebDriver, server: Server) -> Iterator[Page]:
    """The page of a board without a net."""
    yield from kept(Page(driver, server.url))


@pytest.fixture
def thinking_page(driver: WebDriver, thinking_server: Server) -> Iterator[Page]:
    """The page of a board with the net that ships."""
    yield from kept(Page(driver, thinking_server.url))


@pytest.fixture
def fresh_page(driver: WebDriver, server: Server) -> Iterator[Page]:
    """A page loaded for one test that ends engines, or changes what belongs to the browser."""
    found = Page(driver, server.url)
    found.leave()
    until(lambda: not server.engines(), "no engine of an earlier page")
    yield found.open()
    complaints = found.complaints()
    found.leave()
    assert complaints == []

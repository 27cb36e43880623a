"""What the tests of the board share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.board.running import Page, Server, browser, why_no_browser

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A board whose engines have no net, so that they are there at once."""
    running = Server("--net", "uniform")
    yield running
    running.close()


@pytest.fixture(scope="session")
def thinking_server() -> Iterator[Server]:
    """A board with the net that ships."""
    running = Server()
    yield running
    running.close()


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the browser saves files."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def driver(downloads: Path) -> Iterator[WebDriver]:
    """A browser; the tests that need one are skipped where there is none."""
    reason = why_no_browser()
    if reason is not None:
        pytest.skip(reason)
    with browser(downloads=downloads) as found:
        yield found


@pytest.fixture
def page(driver: WebDriver, server: Server) -> Iterator[Page]:
    """The page of a board without a net."""
    found = Page(driver, server.url).open()
    yield found
    assert found.complaints() == []
    found.leave()


@pytest.fixture
def thinking_page(driver: WebDriver, thinking_server: Server) -> Iterator[Page]:
    """The page of a board with the net that ships."""
    found = Page(driver, thinking_server.url).open()
    yield found
    assert found.complaints() == []
    found.leave()

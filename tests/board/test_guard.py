"""Who may talk to the server, asked without one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from board import assets
from board.access import Access
from board.guard import Guard

PORT = 8765
ACCESS = Access("0123456789abcdef" * 2)


def ask(
    kind: str = "http",
    host: str | None = "127.0.0.1:8765",
    origin: str | None = None,
    method: str = "GET",
    address: str = "127.0.0.1",
    double: bool = False,
    token: str = ACCESS.token,
) -> list[dict[str, Any]]:
    """Return what a guarded application answers; a message "reached" if it was asked at all."""
    said: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        said.append({"type": "reached"})
        if kind == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        said.append(message)

    async def receive() -> Any:
        raise AssertionError

    headers = [] if host is None else [(b"host", host.encode())] * (2 if double else 1)
    headers += [] if origin is None else [(b"origin", origin.encode())]
    query = f"token={token}".encode()
    scope = {"type": kind, "method": method, "headers": headers, "query_string": query}
    asyncio.run(Guard(app, address, PORT, ACCESS)(scope, receive, send))
    return said


def reached(**how: Any) -> bool:
    return ask(**how)[0]["type"] == "reached"


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST:8765"])
def test_its_own_names_are_served(host: str) -> None:
    assert reached(host=host)
    assert reached(kind="websocket", host=host, origin=f"http://{host}")


@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example:8765", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8765@evil.example",
     "192.168.1.7:8765",
     "localhost.evil.example:8765", "127.0.0.1:8765/x", "127.0.0.1:99999999", "[::1", "\xe9:8765"],
)  # fmt: skip
def test_other_names_are_refused(host: str | None) -> None:
    assert not reached(host=host)


def test_two_hosts_are_refused() -> None:
    assert not reached(double=True)


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        "https://127.0.0.1:8765",
        "http://127.0.0.1",
        "http://127.0.0.1:8766",
    ],
)
def test_a_foreign_page_gets_no_socket(origin: str | None) -> None:
    assert ask(kind="websocket", origin=origin) == [{"type": "websocket.close", "code": 1008}]


def test_a_foreign_page_gets_no_file_and_nothing_can_be_posted() -> None:
    assert ask(origin="http://evil.example")[0]["status"] == 403
    assert ask(method="POST")[0]["status"] == 405


def test_an_open_server_is_called_by_number_not_by_name() -> None:
    assert reached(host="192.168.1.7:8765", address="0.0.0.0")
    assert not reached(host="evil.example:8765", address="0.0.0.0")


def test_a_name_that_is_given_in_capitals_is_its_own() -> None:
    assert reached(host="desktop-ab12:8765", address="DESKTOP-AB12")
    assert reached(host="DESKTOP-AB12:8765", address="DESKTOP-AB12")


def test_every_answer_carries_the_policy() -> None:
    headers = dict(ask()[1]["headers"])
    policy = headers[b"content-security-policy"].decode()
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert b"content-security-policy" in dict(ask(host="evil.example")[0]["headers"])


def test_the_page_has_no_inline_script_or_style_and_asks_nobody_else() -> None:
    for path, asset in assets.load().items():
        text = asset.content.decode()
        assert "https://" not in text and "http://" not in text.replace("http://www.w3.org/", ""), path
        if path.endswith(".html"):
            assert "style=" not in text and "onclick" not in text
            assert text.count("<script") == text.count('src="/theme.js"') + text.count('src="/main.js"')


def test_the_files_of_the_page_are_short() -> None:
    long = {p: a.content.count(b"\n") for p, a in assets.load().items() if a.content.count(b"\n") >= 400}
    assert long == {}

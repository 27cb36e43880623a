"""Access tokens, tickets, addresses; without a server."""

from __future__ import annotations

import os
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from board import access, launch
from board.access import Access

TOKEN = "0123456789abcdef" * 2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    found = access.state_folder()
    assert found is not None
    return found


@pytest.mark.posix
def test_a_token_is_kept_for_its_owner_alone(folder: Path) -> None:
    first = Access.kept()
    assert Access.kept().token == first.token
    file = folder / "board-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o644)
    second = Access.kept()
    assert second.token != first.token, "others have read it"
    file.write_text("short\n", encoding="ascii")
    assert len(Access.kept().token) == 32
    file.unlink()
    (folder / "of-another").write_text(TOKEN, encoding="ascii")
    (folder / "of-another").chmod(0o600)
    file.symlink_to(folder / "of-another")
    assert Access.kept().token != TOKEN
    assert not file.is_symlink()


def test_a_board_without_a_place_for_its_token_starts_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "file"))
    assert len(Access.kept().token) == 32


@pytest.mark.parametrize("offered", ["", TOKEN[:-1], TOKEN + "0", TOKEN.upper(), "é", "\udc80"])
def test_another_text_is_not_the_token(offered: str) -> None:
    assert Access(TOKEN).allows(TOKEN) and not Access(TOKEN).allows(offered)


def test_a_ticket_works_once_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = Access(TOKEN)
    ticket = owner.ticket()
    assert TOKEN not in ticket
    assert owner.redeem(ticket) and not owner.redeem(ticket)
    late = owner.ticket()
    now_s = access.time.time()
    monkeypatch.setattr(access.time, "time", lambda: now_s + 62)
    assert not owner.redeem(late)


def test_only_the_token_makes_a_ticket() -> None:
    owner, other = Access(TOKEN), Access("f" * 32)
    assert not owner.redeem(other.ticket())
    body = owner.ticket().rpartition(".")[0]
    for asked in (body, "ticket " + body):
        assert not owner.redeem(f"{body}.{owner.proof(asked)}"), "a proof must not sign tickets"
    for nonsense in ("", ".", "..", "zz.1.2", "\udc80.é"):
        assert not owner.redeem(nonsense)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="no /proc")
def test_the_owner_of_a_connection_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            near = client.getsockname()
            assert access._owners(near[1], port) == {os.getuid()}
            assert not access.is_of_another_user(near, port)
            monkeypatch.setattr(access, "_owners", lambda *_: {os.getuid() + 12345})
            assert access.is_of_another_user(near, port)
            monkeypatch.setattr(access, "_owners", lambda *_: set())
            assert not access.is_of_another_user(near, port), "where nothing is known the ticket decides"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("127.0.0.1", "http://127.0.0.1:80/"), ("0.0.0.0", "http://127.0.0.1:80/"), ("0", "http://127.0.0.1:80/"),
        ("::", "http://[::1]:80/"), ("::1", "http://[::1]:80/"), ("localhost", "http://localhost:80/"),
        ("192.168.1.7", "http://192.168.1.7:80/"),
    ],
)  # fmt: skip
def test_the_address_as_this_machine_sees_it(address: str, shown: str) -> None:
    assert launch.url(address, 80) == shown


class Bound:
    """A socket that listens somewhere."""

    def __init__(self, *where: Any) -> None:
        self.where = where

    def getsockname(self) -> tuple[Any, ...]:
        return self.where


@pytest.mark.parametrize(
    ("where", "addresses"),
    [
        (("0.0.0.0", 80), ["http://192.168.1.7:80/"]),
        (("::", 80, 0, 0), ["http://192.168.1.7:80/", "http://[fd00::7]:80/"]),
        (("10.0.0.7", 80), ["http://10.0.0.7:80/"]),
        (("fd00::1", 80, 0, 0), ["http://[fd00::1]:80/"]),
    ],
)
def test_a_server_that_is_open_to_the_network_warns_and_says_how_to_reach_it(
    where: tuple[Any, ...], addresses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {4: ["192.168.1.7"], 6: ["192.168.1.7", "fd00::7"]}
    monkeypatch.setattr(launch, "_own_addresses", own.__getitem__)
    warning = launch._warning(Bound(*where), Access(TOKEN))  # type: ignore[arg-type]
    assert warning is not None and "open to the network" in warning
    assert [line.strip() for line in warning.splitlines() if "http://" in line] == [
        f"{address}#token={TOKEN}" for address in addresses
    ]


@pytest.mark.parametrize("where", [("127.0.0.1", 80), ("127.0.0.2", 80), ("::1", 80, 0, 0)])
def test_a_server_of_this_machine_alone_warns_of_nothing(where: tuple[Any, ...]) -> None:
    assert launch._warning(Bound(*where), Access(TOKEN)) is None  # type: ignore[arg-type]


def test_a_browser_is_never_started_with_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(launch.webbrowser, "open", opened.append)
    owner = Access(TOKEN)
    before = set(threading.enumerate())
    launch._show("http://127.0.0.1:80/", owner, True)
    for thread in set(threading.enumerate()) - before:
        thread.join()
    [page] = opened
    assert TOKEN not in page and owner.redeem(page.partition("ticket=")[2])

"""Starting the board: a port, a server, a browser; and its end."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import ipaddress
import json
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator
from types import FrameType

import uvicorn

from board.access import Access
from board.app import PROGRAM, make_app
from board.engine_pool import EnginePool
from board.http_protocol import BoundedProtocol
from board.messages import MAX_MESSAGE_BYTES
from engine.errors import EngineError

DEFAULT_PORT = 8765
"""The default; the browser keeps games by address, so it should stay the same."""
OTHER_PORTS = 20
"""Ports after it that are tried when it is taken."""
ASK_S = 1.0
"""How long a program on a taken port may take to say what it is."""


class LaunchError(EngineError):
    """The board cannot be started; the text says what to do."""


def serve(address: str, port: int | None, pool: EnginePool, *, browser: bool, version: str) -> int:
    """Serve the board until Ctrl-C; return the exit status.

    A board of this user that runs already is shown instead of starting a second one.

    Raises:
        LaunchError: the port is taken by another program, or the address is not one of this machine.
    """
    wanted = DEFAULT_PORT if port is None else port
    access = Access.kept()
    listener = bind(address, wanted)
    if listener is None:
        if is_running(address, wanted, access):
            page = url(address, wanted)
            print(f"The board is running already: {page}#token={access.token}", flush=True)
            _show(page, access, browser)
            return 0
        if port is not None:
            raise LaunchError(f"port {port} is taken by another program; choose another with --port N")
        tries = (bind(address, wanted + i) for i in range(1, OTHER_PORTS))
        listener = next((found for found in tries if found is not None), None)
        if listener is None:
            raise LaunchError(f"ports {wanted} to {wanted + OTHER_PORTS - 1} are taken; choose with --port N")
    found = int(listener.getsockname()[1])
    page = url(address, found)
    print(f"Tengen's board: {page}#token={access.token}   (Ctrl-C ends it)", flush=True)
    if (warning := _warning(listener, access)) is not None:
        print(warning, flush=True)
    server = _Server(
        uvicorn.Config(
            make_app(pool, address, found, access, version), loop="asyncio", http=BoundedProtocol,
            ws="websockets-sansio", lifespan="off", log_level="error", access_log=False, server_header=False,
            ws_max_size=MAX_MESSAGE_BYTES, ws_per_message_deflate=False, h11_max_incomplete_event_size=16384,
            limit_concurrency=200, timeout_graceful_shutdown=1,
        )
    )  # fmt: skip
    _show(page, access, browser)
    try:
        asyncio.run(server.serve(sockets=[listener]))
    except KeyboardInterrupt:
        pass
    finally:
        pool.close()
    return 0


class _Server(uvicorn.Server):
    """Ends at the first Ctrl-C, with whatever pages are open."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.force_exit = True


def bind(address: str, port: int) -> socket.socket | None:
    """Return a socket that listens, None if the port is taken.

    Raises:
        LaunchError: the address is not one of this machine, or the port is not allowed.
    """
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise LaunchError(f"cannot listen on {address}: {error.strerror or error}") from error
    if sys.platform == "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(where)
        listener.listen(64)
    except PermissionError as error:
        listener.close()
        if sys.platform == "win32" and port >= 1024:
            return None  # taken exclusively
        raise LaunchError(f"port {port} is not allowed here; choose one above 1023 with --port N") from error
    except OSError as error:
        listener.close()
        import errno

        if error.errno == errno.EADDRINUSE:
            return None
        raise LaunchError(f"cannot listen on {address}, port {port}: {error.strerror or error}") from error
    return listener


def url(address: str, port: int) -> str:
    """Return the address of the page without the token, as seen from this machine."""
    host = _host(address)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _host(address: str) -> str:
    """Return where a server that listens on an address can be reached from this machine."""
    number = _number(address)
    if number is None or not number.is_unspecified:
        return address
    return "127.0.0.1" if number.version == 4 else "::1"


def _number(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an address as a number, however it is written (`0` is 0.0.0.0); None for a name."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address)
    with contextlib.suppress(OSError):
        return ipaddress.IPv4Address(socket.inet_aton(address))
    return None


def _warning(listener: socket.socket, access: Access) -> str | None:
    """Return what to say about a server that others can reach; None where this machine alone can."""
    bound, port = listener.getsockname()[:2]
    number = ipaddress.ip_address(bound.partition("%")[0])
    if number.is_loopback:
        return None
    found = _own_addresses(number.version) if number.is_unspecified else [str(number)]
    pages = [f"  {url(address, port)}#token={access.token}" for address in found]
    return "\n".join([
        "Warning: the board is open to the network. Whoever knows its address can use the engines, and can",
        "read and change nothing else; the connection is not encrypted. From other machines it is",
        *(pages or ["  the address of this machine in its network, with the same port and token"]),
    ])  # fmt: skip


def _own_addresses(version: int) -> list[str]:
    """Return the numbers of this machine in its networks. Nothing is sent for it."""
    found: dict[str, None] = {}
    wanted = [(socket.AF_INET, "192.0.2.1")] + [(socket.AF_INET6, "2001:db8::1")] * (version == 6)
    for family, far in wanted:  # addresses of documentation: the system says how it would go there
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((far, 9))
            found[str(probe.getsockname()[0])] = None
    with contextlib.suppress(OSError):
        for family, *_, where in socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM):
            if family == socket.AF_INET or version == 6:
                found[str(where[0])] = None
    return [text for text in found if "%" not in text and not ipaddress.ip_address(text).is_loopback]


def is_running(address: str, port: int, access: Access) -> bool:
    """Return whether a board of this user answers there: one that knows the token."""
    nonce = secrets.token_hex(16)
    connection = http.client.HTTPConnection(_host(address), port, timeout=ASK_S)
    try:
        connection.request("GET", f"/about?nonce={nonce}")
        found = json.loads(connection.getresponse().read(1000))
    except (OSError, ValueError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    if not isinstance(found, dict) or found.get("program") != PROGRAM:
        return False
    return found.get("proof") == access.proof(nonce)


def _show(page: str, access: Access, browser: bool) -> None:
    """Open the page in the user's browser, where there is one."""
    screen = sys.platform in ("win32", "darwin") or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    if browser and screen:
        once = f"{page}open?ticket={access.ticket()}"
        threading.Thread(target=_open, args=(once,), daemon=True).start()


def _open(page: str) -> None:
    with _libraries_of_the_system(), contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(page)


@contextlib.contextmanager
def _libraries_of_the_system() -> Iterator[None]:
    """Let a browser find the system's libraries: the packed program's start sets its own before them."""
    name = "LD_LIBRARY_PATH"
    ours, before = os.environ.get(name), os.environ.get(name + "_ORIG")
    if not getattr(sys, "frozen", False) or ours is None:
        yield
        return
    if before is None:
        del os.environ[name]
    else:
        os.environ[name] = before
    try:
        yield
    finally:
        os.environ[name] = ours

"""Starting the board: a port, a server, a browser; and its end."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator
from types import FrameType

import uvicorn

from board.app import PROGRAM, make_app
from board.crew import Crew
from board.messages import MAX_MESSAGE_BYTES
from engine.errors import EngineError

DEFAULT_PORT = 8765
"""Used where nobody names another; the browser keeps games by address, so it should stay the same."""
OTHER_PORTS = 20
"""Ports after it that are tried when it is taken."""
ASK_S = 1.0
"""How long a program on a taken port may take to say what it is."""


class LaunchError(EngineError):
    """The board cannot be started; the text says what to do."""


def serve(address: str, port: int | None, crew: Crew, *, browser: bool, version: str) -> int:
    """Serve the board until Ctrl-C; return the exit status.

    A board that runs already is shown instead of starting a second one.

    Raises:
        LaunchError: the port is taken by another program, or the address is not one of this machine.
    """
    wanted = DEFAULT_PORT if port is None else port
    listener = bind(address, wanted)
    if listener is None:
        if running_version(address, wanted) is not None:
            print(f"The board is running already: {url(address, wanted)}", flush=True)
            _show(url(address, wanted), browser)
            return 0
        if port is not None:
            raise LaunchError(f"port {port} is taken by another program; choose another with --port N")
        tries = (bind(address, wanted + i) for i in range(1, OTHER_PORTS))
        listener = next((found for found in tries if found is not None), None)
        if listener is None:
            raise LaunchError(f"ports {wanted} to {wanted + OTHER_PORTS - 1} are taken; choose with --port N")
    found = int(listener.getsockname()[1])
    page = url(address, found)
    print(f"Tengen's board: {page}   (Ctrl-C ends it)", flush=True)
    server = _Server(
        uvicorn.Config(
            make_app(crew, address, found, version), loop="asyncio", http="h11", ws="websockets-sansio",
            lifespan="off", log_level="error", access_log=False, server_header=False,
            ws_max_size=MAX_MESSAGE_BYTES, ws_per_message_deflate=False, h11_max_incomplete_event_size=16384,
            limit_concurrency=200, timeout_graceful_shutdown=1,
        )
    )  # fmt: skip
    _show(page, browser)
    try:
        asyncio.run(server.serve(sockets=[listener]))
    except KeyboardInterrupt:
        pass
    finally:
        crew.close()
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
    """Return the address of the page, as seen from this machine."""
    name = "127.0.0.1" if address in ("0.0.0.0", "::") else f"[{address}]" if ":" in address else address
    return f"http://{name}:{port}/"


def running_version(address: str, port: int) -> str | None:
    """Return the version of the board that answers there, None if something else does."""
    host = "127.0.0.1" if address in ("0.0.0.0", "::") else address
    connection = http.client.HTTPConnection(host, port, timeout=ASK_S)
    try:
        connection.request("GET", "/about")
        found = json.loads(connection.getresponse().read(1000))
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    if not isinstance(found, dict) or found.get("program") != PROGRAM:
        return None
    return str(found.get("version"))


def _show(page: str, browser: bool) -> None:
    """Open the page in the user's browser, where there is one."""
    screen = sys.platform in ("win32", "darwin") or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    if browser and screen:
        threading.Thread(target=_open, args=(page,), daemon=True).start()


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

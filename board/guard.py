"""Who may talk to the server: the pages that it served itself, with its token, and no others.

The files of the page are no secret; only a socket needs the token, and only a socket reaches an engine.

A page from elsewhere that the same browser shows could otherwise reach this machine's own addresses: by their
number (it then sends its own `Origin`), or by a name that suddenly means 127.0.0.1 (DNS rebinding: it then
sends that name as `Host`). Other users of the machine, or of its network, lack the token.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from board.access import Access

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy: nothing inline, nothing from the network, no frame around the page."""
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_LOCAL = ("127.0.0.1", "localhost", "::1")


class Guard:
    """Wraps an application; refuses what does not come from one of its own pages."""

    def __init__(self, app: ASGIApp, address: str, port: int, access: Access) -> None:
        """Guard a server that listens on this address and port.

        A server that listens on the machine's own address only may be called by the names of that; one that
        is open to the network by any number, since such an address cannot be rebound.
        """
        self._app, self._port, self._access = app, port, access
        self._names = {*_LOCAL, address.lower()}  # as `urlsplit` gives a host
        self._any_number = address not in _LOCAL

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as an ASGI application does."""
        if scope["type"] not in ("http", "websocket"):
            return
        headers = scope["headers"]
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        socket = scope["type"] == "websocket"
        good = len(hosts) == 1 and self.is_host(hosts[0])
        if socket or origins:
            good = good and len(origins) == 1 and origins[0] == b"http://" + hosts[0]
        if good and socket:
            query = parse_qs(scope["query_string"].decode("ascii", "replace"))
            good = self._access.allows(query.get("token", [""])[0])
        if not good:
            await _refuse(socket, send, 403, b"This address is not served here.\n")
        elif not socket and scope["method"] not in ("GET", "HEAD"):
            await _refuse(socket, send, 405, b"GET only.\n")
        else:
            await self._app(scope, receive, send if socket else _with_headers(send))

    def is_host(self, host: bytes) -> bool:
        """Return whether a `Host` header names this server."""
        try:
            found = urlsplit("//" + host.decode("ascii"))
            name, port = found.hostname or "", found.port
        except ValueError:
            return False
        if found.username is not None or found.path or found.query or found.fragment:
            return False
        if (80 if port is None else port) != self._port:
            return False
        return name in self._names or (self._any_number and _is_number(name))


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *HEADERS]
        await send(message)

    return sending


async def _refuse(socket: bool, send: Send, status: int, text: bytes) -> None:
    if socket:
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode()), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})

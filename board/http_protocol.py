"""Connections that send no request: a time limit, and a bound on how many there are.

A program that opens many connections and sends nothing, or half a request, must not keep others out.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""A connection whose next request is not there after so long is closed."""
MAX_WAITING = 64
"""Connections that wait for a request; one more closes the oldest (derived: a browser holds six a page)."""


class BoundedProtocol(H11Protocol):
    """The HTTP protocol of uvicorn, with a time limit for the heads of requests."""

    _waiting: ClassVar[dict[BoundedProtocol, asyncio.TimerHandle]] = {}  # oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._came()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Wait no more once a whole head is there."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._came()

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Wait no more: the connection becomes a socket."""
        self._came()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Wait for the next request of the connection."""
        self._wait()
        super().on_response_complete()

    def _wait(self) -> None:
        self._came()
        if self.transport.is_closing():
            return
        if len(self._waiting) >= MAX_WAITING:
            oldest = next(iter(self._waiting))
            oldest._came()
            oldest.transport.abort()
        self._waiting[self] = asyncio.get_running_loop().call_later(HEAD_S, self.transport.close)

    def _came(self) -> None:
        timer = self._waiting.pop(self, None)
        if timer is not None:
            timer.cancel()

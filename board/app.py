"""The server: the files of the page, and one socket a page."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from board import assets
from board.crew import Crew
from board.guard import Guard
from board.messages import answer
from board.session import Session, TooSlow
from engine.levels import STRONGEST, WEAKEST
from engine.rules._board import MAX_SIDE, MIN_SIDE
from engine.rules.rule import Rule

PROGRAM = "tengen-board"
MAX_PAGES = 32
"""Pages at once; engines are fewer."""
TRY_LATER = 1013  # close code of RFC 6455's registry: come again later


def make_app(crew: Crew, address: str, port: int, version: str) -> Guard:
    """Return the application for a server on this address and port."""
    files = assets.load()
    pages: set[Session] = set()
    welcome = answer(
        "welcome", 0, version=version, engines=crew.most, levels=[WEAKEST, STRONGEST],
        sides=[MIN_SIDE, MAX_SIDE], rules={rule.name.lower(): int(rule) for rule in Rule},
    )  # fmt: skip

    async def asset(request: Request) -> Response:
        found = files.get(request.url.path)
        if found is None:
            return Response("There is nothing here.\n", 404, media_type="text/plain")
        headers = {"etag": found.etag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == found.etag:
            return Response(status_code=304, headers=headers)
        return Response(found.content, headers=headers, media_type=found.media_type)

    async def about(request: Request) -> Response:
        return JSONResponse({"program": PROGRAM, "version": version})

    async def socket(page: WebSocket) -> None:
        await page.accept()
        if len(pages) >= MAX_PAGES:
            await page.close(TRY_LATER, f"{MAX_PAGES} pages are open already; close one")
            return
        session = Session(crew)
        pages.add(session)
        sender = asyncio.create_task(_sending(session, page))
        try:
            await page.send_text(welcome)
            session.prepare()
            while True:
                message = await page.receive()
                if message["type"] == "websocket.disconnect":
                    break
                content = message.get("text")
                await session.receive(message.get("bytes") or b"" if content is None else content)
        except (WebSocketDisconnect, RuntimeError):
            pass  # gone in the middle of an answer
        finally:
            pages.discard(session)
            session.close()
            sender.cancel()

    routes = [
        Route("/about", about),
        WebSocketRoute("/socket", socket),
        Route("/{name:path}", asset),
    ]
    return Guard(Starlette(routes=routes), address, port)


async def _sending(session: Session, page: WebSocket) -> None:
    """Send the answers of a session; a page that does not read them, or is gone, is cut off."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
        try:
            await session.send_all(page.send_text)
        except TooSlow:
            await page.close(TRY_LATER, "answers were not read")

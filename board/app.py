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
from board.access import Access, is_of_another_user
from board.answers import answer
from board.engine_pool import EnginePool
from board.guard import Guard
from board.session import Session, TooSlow
from engine.levels import STRONGEST, WEAKEST
from engine.rules._board import MAX_SIDE, MIN_SIDE
from engine.rules.rule import Rule

PROGRAM = "tengen-board"
MAX_PAGES = 32
"""Pages at once; engines are fewer."""
USED = "This address works once. Open the one that the program printed.\n"
TRY_LATER = 1013  # close code of RFC 6455's registry: come again later


def make_app(pool: EnginePool, address: str, port: int, access: Access, version: str) -> Guard:
    """Return the application for a server on this address and port."""
    files = assets.load()
    pages: set[Session] = set()
    welcome = answer(
        "welcome", 0, version=version, engines=pool.max_engines, levels=[WEAKEST, STRONGEST],
        sides=[MIN_SIDE, MAX_SIDE], rules={rule.name.lower(): int(rule) for rule in Rule},
        brains=pool.brains,
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
        found = {"program": PROGRAM, "version": version}
        nonce = request.query_params.get("nonce")
        return JSONResponse(found if nonce is None else {**found, "proof": access.proof(nonce)})

    async def entry(request: Request) -> Response:
        good = access.allows(request.query_params.get("token", ""))
        return Response(status_code=204 if good else 403)

    async def opening(request: Request) -> Response:
        peer = request.client
        foreign = is_of_another_user(None if peer is None else (peer.host, peer.port), port)
        if foreign or not access.redeem(request.query_params.get("ticket", "")):
            return Response(USED, 403, media_type="text/plain")
        return Response(status_code=303, headers={"location": f"/#token={access.token}"})

    async def socket(page: WebSocket) -> None:
        await page.accept()
        if len(pages) >= MAX_PAGES:
            await page.close(TRY_LATER, f"pages_open {MAX_PAGES}")
            return
        session = Session(pool)
        pages.add(session)
        sender = asyncio.create_task(_sending(session, page))
        try:
            await page.send_text(welcome)
            await _receiving(session, page)
        except (WebSocketDisconnect, RuntimeError):
            pass  # gone in the middle of an answer
        finally:
            pages.discard(session)
            session.close()
            sender.cancel()

    routes = [
        Route("/about", about),
        Route("/access", entry),
        Route("/open", opening),
        WebSocketRoute("/socket", socket),
        Route("/{name:path}", asset),
    ]
    return Guard(Starlette(routes=routes), address, port, access)


async def _receiving(session: Session, page: WebSocket) -> None:
    """Hand what a page says to its session, until the page is gone."""
    session.prepare()
    while True:
        message = await page.receive()
        if message["type"] == "websocket.disconnect":
            return
        content = message.get("text")
        await session.receive(message.get("bytes") or b"" if content is None else content)


async def _sending(session: Session, page: WebSocket) -> None:
    """Send the answers of a session; a page that does not read them, or is gone, is cut off."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
        try:
            await session.send_all(page.send_text)
        except TooSlow:
            await page.close(TRY_LATER, "not_read")

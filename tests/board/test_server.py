"""The server as a process: sockets, engines, ports, its end. Without a browser."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest
import uvicorn
import websockets

from board import http_protocol
from board.access import Access
from tests.board.fuzz import GAME, run
from tests.board.running import ENVIRONMENT, Server, until
from tests.helpers.board import Connection, with_page
from tests.helpers.paths import ROOT


async def answers(page: Connection, until_type: str, id: int) -> list[dict[str, Any]]:
    """Return the answers to one request up to one of a type."""
    found = []
    while True:
        message = json.loads(await asyncio.wait_for(page.recv(), 60))
        if message["id"] == id:
            found.append(message)
            if message["type"] == until_type:
                return found


def engines(server: Server) -> list[psutil.Process]:
    return [p for p in psutil.Process(server.process.pid).children(recursive=True) if p.is_running()]


def test_a_move_an_analysis_and_a_review(server: Server) -> None:
    async def work(page: Connection) -> None:
        await page.send(json.dumps({"type": "think", "id": 1, "game": GAME, "level": 3, "turn_ms": 100}))
        [move] = await answers(page, "move", 1)
        assert move["point"] not in GAME["moves"]
        await page.send(json.dumps({"type": "analyse", "id": 2, "game": GAME, "limit_ms": 300}))
        found = []
        while not found or not found[-1].get("done"):
            found += await answers(page, "analysis", 2)
        assert sum(found[-1]["wdl"]) == pytest.approx(1, abs=0.01)
        assert found[-1]["moves"][0]["point"] == found[-1]["point"] or found[-1]["proven"] is not None
        await page.send(json.dumps({"type": "review", "id": 3, "game": GAME, "turn_ms": 20}))
        judged = await answers(page, "reviewed", 3)
        assert [m["ply"] for m in judged[:-1]] == list(range(len(GAME["moves"])))
        await page.send(json.dumps({"type": "balance", "id": 4, "game": GAME, "count": 2, "turn_ms": 100}))
        [balanced] = await answers(page, "balanced", 4)
        assert len(balanced["points"]) == 2
        stones = [[112, 0], [113, 0], [114, 1]]
        empty = {**GAME, "moves": []}
        await page.send(json.dumps({"type": "setup", "id": 5, "game": empty, "stones": stones, "to_move": 0}))
        [opened] = await answers(page, "opened", 5)
        points = [node["point"] for node in opened["nodes"][1:]]
        assert [(p, i % 2) for i, p in enumerate(points) if p >= 0] == [(112, 0), (114, 1), (113, 0)]
        assert len(points) % 2 == 0 and opened["opening"] == len(points)

    with_page(server, work)


def test_a_new_request_ends_the_one_before(server: Server) -> None:
    async def work(page: Connection) -> None:
        await page.send(json.dumps({"type": "analyse", "id": 1, "game": GAME}))
        await answers(page, "analysis", 1)
        await page.send(json.dumps({"type": "think", "id": 2, "game": GAME, "level": 1, "turn_ms": 50}))
        await answers(page, "move", 2)
        await page.send(json.dumps({"type": "stop", "id": 3}))
        await page.send(json.dumps({"type": "position", "id": 4, "game": GAME}))
        assert json.loads(await page.recv())["id"] == 4, "nothing is said after a stop"

    with_page(server, work)


def test_a_game_that_is_over_is_refused_by_the_engine_with_a_reason(server: Server) -> None:
    won = {"width": 15, "height": 15, "rule": 0, "moves": [0, 30, 1, 31, 2, 32, 3, 33, 4]}

    async def work(page: Connection) -> list[dict[str, Any]]:
        await page.send(
            json.dumps(
                {
                    "type": "think",
                    "id": 1,
                    "game": {**won, "moves": [*won["moves"], 50]},
                    "level": 1,
                    "turn_ms": 50,
                }
            )
        )
        return await answers(page, "refused", 1)

    assert "over" in with_page(server, work)[-1]["text"]


def test_a_closed_page_ends_its_search_in_the_middle(server: Server) -> None:
    async def work(page: Connection) -> None:
        await page.send(json.dumps({"type": "analyse", "id": 1, "game": GAME}))
        await answers(page, "analysis", 1)
        assert len(engines(server)) == 1
        page.transport.abort()

    with_page(server, work)
    until(lambda: not engines(server), "the end of the engine")


def test_a_message_that_is_too_long_costs_its_own_connection_only(server: Server) -> None:
    async def work(page: Connection) -> None:
        await page.recv()
        with pytest.raises(websockets.ConnectionClosed):
            await page.send("x" * (5 << 20))
            while True:
                await asyncio.wait_for(page.recv(), 60)

    with_page(server, work)
    with urllib.request.urlopen(server.url) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    "path",
    [
        "../cli.py",
        "..%2fcli.py",
        "%2e%2e/cli.py",
        "static/main.js",
        "/etc/passwd",
        "main.js/..",
        "main.js%00",
        "\\cli.py",
    ],
)
def test_no_path_leads_out_of_the_page(server: Server, path: str) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(
            f"GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n".encode()
        )
        assert raw.recv(100).split()[1] in (b"404", b"400")


def test_a_foreign_origin_gets_no_socket(server: Server) -> None:
    async def work() -> None:
        origin: Any = "http://evil.example"
        async with websockets.connect(server.socket, origin=origin):
            pass

    with pytest.raises(websockets.InvalidStatus, match="403"):
        asyncio.run(work())


@pytest.mark.parametrize("query", ["", "?token=", "?token=" + 32 * "0", "?token=1&token="])
def test_a_socket_without_the_token_is_refused(server: Server, query: str) -> None:
    async def work() -> None:
        origin: Any = server.base.rstrip("/")
        async with websockets.connect(f"ws://127.0.0.1:{server.port}/socket{query}", origin=origin):
            pass

    with pytest.raises(websockets.InvalidStatus, match="403"):
        asyncio.run(work())
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"{server.base}access{query}")
    with urllib.request.urlopen(f"{server.base}access?token={server.token}") as good:
        assert good.status == 204


def test_a_ticket_leads_to_the_page_once(server: Server) -> None:
    ticket = Access(server.token).ticket()
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for status, where in ((303, f"/#token={server.token}"), (403, None)):
        connection.request("GET", f"/open?ticket={ticket}")
        answer = connection.getresponse()
        answer.read()
        assert (answer.status, answer.headers["location"]) == (status, where)
    connection.close()


def test_half_open_requests_do_not_keep_the_page_from_others(server: Server) -> None:
    with contextlib.ExitStack() as open_:
        for i in range(300):
            raw = open_.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            raw.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1" if i % 2 else b"")
        with urllib.request.urlopen(server.base) as answer:
            assert answer.status == 200

        async def work(page: Connection) -> None:
            await page.send(json.dumps({"type": "position", "id": 1, "game": GAME}))
            await answers(page, "position", 1)

        with_page(server, work)


def test_a_head_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "HEAD_S", 0.3)

    async def app(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def run() -> None:
        protocol = http_protocol.BoundedProtocol
        running = uvicorn.Server(uvicorn.Config(app, http=protocol, lifespan="off", log_level="error"))
        listener = socket.create_server(("127.0.0.1", 0))
        serving = asyncio.create_task(running.serve(sockets=[listener]))
        for begin in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /"):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(begin)
            whole = await asyncio.wait_for(reader.read(), 20)  # until the server closes
            assert whole.endswith(b"ok") == (begin.count(b"GET") == 2), "a whole request is answered"
            writer.close()
        running.should_exit = True
        await serving

    asyncio.run(run())


def test_ctrl_c_ends_server_and_engines_at_once() -> None:
    server = Server("--net", "uniform")

    async def work(page: Connection) -> None:
        await page.send(json.dumps({"type": "analyse", "id": 1, "game": GAME}))
        await answers(page, "analysis", 1)
        children = engines(server)
        assert len(children) == 1
        spent_s = await asyncio.to_thread(server.interrupt)
        print(f"ended after {spent_s:.2f} s")
        assert spent_s < 10, "on any machine; 0.2 s on an idle one"
        until(lambda: not any(child.is_running() for child in children), "the end of the engine")

    try:
        with_page(server, work)
        assert server.process.returncode == 0
        assert len(server.said) == 1, server.said
    finally:
        server.close()


def test_engines_end_when_the_server_is_killed() -> None:
    server = Server("--net", "uniform")

    async def work(page: Connection) -> list[psutil.Process]:
        await page.send(json.dumps({"type": "analyse", "id": 1, "game": GAME}))
        await answers(page, "analysis", 1)
        children = engines(server)
        os.kill(server.process.pid, signal.SIGKILL)
        return children

    try:
        children = with_page(server, work)
        until(
            lambda: not any(c.is_running() and c.status() != "zombie" for c in children),
            "the end of the engine",
        )
    finally:
        server.close()


def started(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "board", "--no-browser", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        env=ENVIRONMENT | environment,
    )  # fmt: skip


def test_a_board_that_runs_already_is_shown(server: Server) -> None:
    done = started("--port", str(server.port))
    assert done.returncode == 0 and f"running already: {server.url}" in done.stdout


def test_a_board_of_another_user_is_not_shown(server: Server, tmp_path: Path) -> None:
    done = started("--port", str(server.port), XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 2 and "taken by another program" in done.stderr


def test_a_port_of_another_program_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = started("--port", str(port))
    assert done.returncode == 2 and done.stderr == (
        f"error: port {port} is taken by another program; choose another with --port N\n"
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--port", "x"], "a port is a number"),
        (["--port", "70000"], "a port is a number"),
        (["--engines", "0"], "engines are a number"),
        (["--set", "nonsense=1"], "unknown configuration key"),
        (["--net", "no-such-net"], "no net at no-such-net"),
        (["--set", "net=/no/such.onnx"], "no net at /no/such.onnx"),
        (["--net", "pyproject.toml"], "the engine cannot be loaded"),
        (["--net", "tests"], "no net at tests"),
        (["--address", "192.0.2.1", "--port", "0"], "cannot listen on 192.0.2.1"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(arguments: list[str], why: str) -> None:
    done = started(*arguments)
    assert done.returncode == 2 and why in done.stderr and done.stdout == ""
    assert done.stderr.splitlines()[-1].count("error: ") == 1 and "Traceback" not in done.stderr


def test_the_brain_loads_nothing_of_the_board() -> None:
    code = (
        "import sys, protocol.__main__, protocol.conversation, protocol.worker, engine.engine;"
        "names = {m.split('.')[0] for m in sys.modules};"
        "sys.exit(', '.join(names & {'board', 'asyncio', 'uvicorn', 'starlette', 'websockets'}) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_fuzz() -> None:
    began_s = time.monotonic()
    assert run(1500, seed=7) == []
    print(f"{time.monotonic() - began_s:.0f} s")

"""Keep a board's server busy for hours with pages that come and go, and see that it stays as small as it was.

    python -m tests.endurance.board --minutes 120 --pages 4

Each page connects, asks for moves, analyses, reviews and files, reads every answer and leaves, sometimes
while the engine thinks or without closing the connection. Ends with status 1 if an answer was missing, if an
engine stopped or hung, if memory, processes or open files of the server and its engines grew, or if a process
outlives the server. Each failure is printed at once, with the minute of its part.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psutil
import websockets

from board.engine_pool import START_S
from tests.board.fuzz import GOOD
from tests.board.running import Server
from tests.endurance.command import parser, report

MAX_GROWTH = 24 << 20
"""Bytes by which private memory of all processes may grow after the warm-up."""
ANSWER_S = START_S + 15
"""Longest wait for an answer while other pages think; the server gives an engine up before."""
LATER_S = 0.5
_WARM_UP = 0.15  # share of the time
_LINES = 12


@dataclass(frozen=True, slots=True)
class State:
    """What the server and its children take."""

    memory: int
    processes: int
    files: int

    def __str__(self) -> str:
        return f"{self.memory / 1e6:.1f} MB, {self.processes} processes, {self.files} files"


def state_of(server: Server) -> State:
    """Return what the server and its children take now."""
    root = psutil.Process(server.process.pid)
    family = [root, *root.children(recursive=True)]
    memory = files = 0
    for process in family:
        try:
            memory += int(process.memory_full_info().uss)
            files += process.num_fds() if hasattr(process, "num_fds") else 0
        except psutil.NoSuchProcess:
            continue
    return State(memory, len(family), files)


async def _wrong_answer(socket: websockets.ClientConnection, id: int) -> str:
    """Wait for an answer to a request; return what the engine's loss of it was, "" for an answer."""
    while True:
        said = json.loads(await asyncio.wait_for(socket.recv(), ANSWER_S))
        if said["type"] == "lost":
            return str(said["text"])
        if said.get("id") == id:
            return ""


async def _page(server: Server, random_: random.Random, failed: Callable[[str], None]) -> int:
    """Be one page; return how many requests it made."""
    asked = 0
    address = server.socket
    async with websockets.connect(address, origin=server.base.rstrip("/"), max_size=None) as socket:  # type: ignore[arg-type]
        for _ in range(random_.randrange(1, 30)):
            request = {**random_.choice(GOOD), "id": 1000 + asked}
            await socket.send(json.dumps(request))
            asked += 1
            if request["type"] in ("stop", "look"):
                continue  # nobody answers these
            if random_.random() < 0.1:
                break  # leaves while the engine thinks
            try:
                wrong = await _wrong_answer(socket, request["id"])
            except (TimeoutError, websockets.ConnectionClosed) as error:
                wrong = f"{type(error).__name__} {error}"
            if wrong:
                failed(f"{request['type']}: {wrong}")
                return asked
        if random_.random() < 0.3:
            socket.transport.abort()
    return asked


async def _pages(server: Server, seconds: float, pages: int, seed: int, failures: list[str]) -> None:
    begin_s = time.monotonic()
    counts = [0, 0]

    def failed(text: str) -> None:
        failures.append(text)
        print(f"minute {(time.monotonic() - begin_s) / 60:.1f}: {text}", flush=True)

    async def one(number: int) -> None:
        random_ = random.Random(seed * 1000 + number)
        while time.monotonic() < begin_s + seconds and len(failures) < 5:
            counts[0] += 1
            asked = await _page(server, random_, failed)  # before the sum: others count meanwhile
            counts[1] += asked
            await asyncio.sleep(random_.random() * LATER_S)

    await asyncio.gather(*(one(number) for number in range(pages)))
    print(f"{counts[0]} pages, {counts[1]} requests, {state_of(server)}", flush=True)


def run(minutes: float, pages: int, seed: int, net: str) -> list[str]:
    """Keep a server busy; return what was not as it should be."""
    failures: list[str] = []
    server = Server("--net", net, "--engines", "2")
    try:
        asyncio.run(_pages(server, 60 * minutes * _WARM_UP, pages, seed, failures))
        before = state_of(server)
        for part in range(_LINES):
            asyncio.run(
                _pages(server, 60 * minutes * (1 - _WARM_UP) / _LINES, pages, seed + 1 + part, failures)
            )
        after = state_of(server)
        if after.memory > before.memory + MAX_GROWTH:
            failures.append(f"memory grew: {before}, then {after}")
        if after.processes > before.processes or after.files > before.files + pages:
            failures.append(f"processes or files grew: {before}, then {after}")
        if len(server.said) > 1:
            failures.append(f"the server said {''.join(server.said[1:])[:2000]}")
        family = psutil.Process(server.process.pid).children(recursive=True)
        print(f"Ctrl-C ended it after {server.interrupt():.2f} s")
        _, alive = psutil.wait_procs(family, timeout=10)
        if alive:
            failures.append(f"{len(alive)} processes outlive the server")
    finally:
        server.close()
    return failures


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; return the exit status."""
    asked = parser("board", __doc__)
    asked.add_argument("--minutes", type=float, default=120.0, help="(120)")
    asked.add_argument("--pages", type=int, default=4, help="at a time (4)")
    asked.add_argument("--net", default="default", help="of the engines (the one that ships)")
    options = asked.parse_args(arguments)
    failures = run(options.minutes, options.pages, options.seed, options.net)
    return report(failures, options.seed)


if __name__ == "__main__":
    sys.exit(main())

"""Send a running board broken messages and files, and see that it stays up, silent and small.

    python -m tests.board.fuzz --messages 20000

Messages are mutations of good ones, garbage, deep or large JSON, and game files with damaged bytes; some
connections break off in the middle. Every message gets an answer or closes its own connection, no answer is
a traceback, the board goes on serving others, and neither the server's memory nor its engine grows. Ends with
status 1 if anything is not so.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Sequence
from typing import Any

import psutil
import websockets

from tests.board.running import Server

GAME = {"width": 15, "height": 15, "rule": 4, "moves": [112, 113, 128, 96, 144]}
SGF = "(;FF[4]GM[4]SZ[15]RU[4]PB[a]PW[b]RE[?];B[hh]C[12ms];W[ih](;B[hi]C[x])(;B[hj]))"
PSQ = "Piskvorky 15x15, 11:11, 0\n8,8,100\n9,8,100\n8,9,100\nblack\nwhite\n0\n"
GOOD: list[dict[str, Any]] = [
    {"type": "position", "id": 1, "game": GAME, "swap2": False},
    {"type": "think", "id": 2, "game": GAME, "level": 1, "turn_ms": 20},
    {"type": "swap2", "id": 3, "game": {**GAME, "moves": [1, 2, 3]}, "level": 1, "turn_ms": 20},
    {"type": "analyse", "id": 4, "game": GAME, "lines": 3, "limit_ms": 20, "max_nodes": 50},
    {"type": "balance", "id": 4, "game": GAME, "count": 2, "turn_ms": 40},
    {"type": "review", "id": 5, "game": GAME, "opening": 0, "turn_ms": 20},
    {"type": "stop", "id": 6},
    {"type": "look", "id": 7, "visible": True},
    {"type": "open", "id": 8, "text": SGF, "rule": 0},
    {"type": "open", "id": 9, "text": PSQ, "rule": 0, "width": 15, "height": 15},
    {"type": "open", "id": 11, "data": "KDtTWlsxNV07QltoaF0p", "rule": 0, "from_bottom": True},
    {"type": "setup", "id": 12, "game": {**GAME, "moves": []}, "stones": [[1, 0], [2, 0], [3, 1]],
     "to_move": 1},
    {"type": "save", "id": 10, "kind": "sgf", "game": {**GAME, "moves": []}, "names": ["a", "b"],
     "opening": 0,
     "nodes": [{"parent": -1, "point": -1}, {"parent": 0, "point": 112, "comment": "c", "ms": 5}]},
]  # fmt: skip
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**70, -(2**63), 1.5, 1e308, float("nan"), float("inf"), "",
    "x" * 500, "\x00", "\ud800", "../../etc/passwd", "<script>", [], {}, [[]], [None] * 600, {"a": {}},
    [112] * 5, list(range(225)),
]  # fmt: skip


def mutate(value: Any, random_: random.Random) -> Any:
    """Return a value with one part of it replaced, removed or added."""
    if isinstance(value, dict) and value and random_.random() < 0.85:
        changed = dict(value)
        key = random_.choice(list(changed))
        match random_.randrange(4):
            case 0:
                del changed[key]
            case 1:
                changed[random_.choice(["x", "id", "game", "__proto__", "text"])] = random_.choice(ODD)
            case _:
                changed[key] = mutate(changed[key], random_)
        return changed
    if isinstance(value, list) and value and random_.random() < 0.7:
        changed_list = list(value)
        at = random_.randrange(len(changed_list))
        changed_list[at] = mutate(changed_list[at], random_)
        return changed_list
    if isinstance(value, str) and value and random_.random() < 0.8:
        return damaged(value, random_)
    if isinstance(value, int) and not isinstance(value, bool) and random_.random() < 0.4:
        return value + random_.choice([-1, 1, 100, -1000])
    return random_.choice(ODD)


def damaged(text: str, random_: random.Random) -> str:
    """Return a text with a few characters changed, lost or repeated."""
    letters = list(text)
    for _ in range(random_.randint(1, 6)):
        at = random_.randrange(len(letters) + 1)
        match random_.randrange(4):
            case 0:
                letters[at : at + random_.randint(1, 8)] = []
            case 1:
                letters[at:at] = random_.choice(
                    ["(", ")", "[", "]", ";", "\\", "\n", "\x00", "ž", "B[hh]", "99,99,9\n"]
                )
            case 2:
                letters[at:at] = letters[at : at + 20] * random_.randint(1, 4)
            case _ if at < len(letters):
                letters[at] = chr(random_.randrange(256))
    return "".join(letters)


def message(random_: random.Random) -> str | bytes:
    """Return one broken, or now and then good, message."""
    kind = random_.random()
    if kind < 0.05:
        return random_.randbytes(random_.randint(0, 300))
    if kind < 0.1:
        return damaged(json.dumps(random_.choice(GOOD)), random_)
    if kind < 0.12:
        return random_.choice(
            ["[" * 100_000, '{"a":' * 5000, "9" * 10_000, '"' + "x" * 100_000 + '"', "null", ""]
        )
    found = random_.choice(GOOD)
    for _ in range(random_.randint(0 if kind > 0.95 else 1, 3)):
        found = mutate(found, random_)
    return json.dumps(found)


async def talk(server: Server, count: int, random_: random.Random, failures: list[str]) -> int:
    """Send messages over one connection after the other; return how many."""
    sent = 0
    headers = {"origin": server.base.rstrip("/")}
    address = server.socket
    while sent < count:
        async with websockets.connect(address, origin=headers["origin"], max_size=None) as socket:  # type: ignore[arg-type]
            try:
                for _ in range(min(250, count - sent)):
                    await socket.send(message(random_))
                    sent += 1
                probe = json.dumps({"type": "position", "id": 987654321, "game": GAME})
                await socket.send(probe)
                while True:
                    heard = str(await asyncio.wait_for(socket.recv(), 60))
                    if "Traceback" in heard or 'File "' in heard:
                        failures.append(f"a traceback: {heard[:300]}")
                    if '"id":987654321' in heard:
                        break
            except websockets.ConnectionClosed as closed:
                failures.append(f"a connection was closed: {closed}")
            if random_.random() < 0.3:
                socket.transport.abort()  # breaks off
    return sent


def memory(server: Server) -> int:
    """Return the private memory of the server alone, bytes."""
    return int(psutil.Process(server.process.pid).memory_full_info().uss)


def run(messages: int, seed: int) -> list[str]:
    """Send so many messages; return what was not as it should be."""
    failures: list[str] = []
    server = Server("--net", "uniform", "--engines", "2")
    try:
        random_ = random.Random(seed)
        warm = max(500, messages // 10)
        asyncio.run(talk(server, warm, random_, failures))
        before, began_s = memory(server), time.monotonic()
        asyncio.run(talk(server, messages, random_, failures))
        after, spent_s = memory(server), time.monotonic() - began_s
        print(f"{messages} messages in {spent_s:.0f} s; server {before / 1e6:.1f} -> {after / 1e6:.1f} MB")
        if after > 1.15 * before + 4e6:
            failures.append(f"memory grew from {before / 1e6:.1f} to {after / 1e6:.1f} MB")
        if len(server.said) > 1:
            failures.append(f"the server said {''.join(server.said[1:])[:2000]}")
        end_s = server.interrupt()
        print(f"Ctrl-C ended it after {end_s:.2f} s")
    finally:
        server.close()
    return failures


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.board.fuzz", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--messages", type=int, default=20_000, help="to send (default 20,000)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    failures = run(options.messages, options.seed)
    for failure in failures[:20]:
        print(f"BAD {failure}")
    print("nothing was wrong" if not failures else f"{len(failures)} faults")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

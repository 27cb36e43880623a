"""Does the packed board serve its page and play a move? Asked as a browser would, without one."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from collections.abc import Sequence

ANSWER_S = 120.0
"""Longest wait for the engine's first move (derived: a cold start on a crowded machine, under Wine)."""


def play_a_move(command: Sequence[str], port: int) -> int:
    """Start the board, fetch its page, let its engine answer a stone; return where it plays.

    Args:
        command: starts the program; `--board` and what it needs are added.
        port: a free one; 0: let the system choose.

    Raises:
        SystemExit: the board does not do one of these things.
    """
    started = [*command, "--board", "--no-browser", "--port", str(port)]
    process = subprocess.Popen(started, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = re.search(r"http://(\S+?)/#token=(\w+)", said)
        if address is None:
            raise SystemExit(f"the board does not start: {said}")
        host, token = address[1], address[2]
        with urllib.request.urlopen(f"http://{host}/", timeout=ANSWER_S) as page:
            if b"main.js" not in page.read():
                raise SystemExit("the board serves no page")
        return _first_move(host, token)
    finally:
        process.kill()
        process.wait()


def _first_move(host: str, token: str) -> int:
    from websockets.sync.client import connect
    from websockets.typing import Origin

    game = {"width": 15, "height": 15, "rule": 0, "moves": [112]}
    question = {"type": "think", "id": 1, "game": game, "level": 10, "turn_ms": 500}
    with connect(f"ws://{host}/socket?token={token}", origin=Origin(f"http://{host}")) as page:
        page.send(json.dumps(question))
        while True:
            heard = json.loads(page.recv(timeout=ANSWER_S))
            if heard["type"] == "move":
                return int(heard["point"])
            if heard["type"] in ("lost", "broken", "refused", "busy"):
                raise SystemExit(f"the board plays no move: {heard['text']}")

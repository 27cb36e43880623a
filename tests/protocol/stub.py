"""A tiny brain that plays the first empty cell, and on demand breaks one rule of conduct.

    python tests/protocol/stub.py [FAULT]

where FAULT is late, occupied, off-board, chatty, double, bare-message, crash, deaf, mute, noisy, fat or rude.
It exists to show that the referee catches what it must.
"""

from __future__ import annotations

import itertools
import signal
import sys
import time
from collections.abc import Iterator

FAULT_AT = 2  # own moves before the fault shows


def lines() -> Iterator[str]:
    while line := sys.stdin.readline():
        yield line.strip()


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Stub:
    def __init__(self, fault: str) -> None:
        self.fault, self.size, self.moves = fault, 0, 0
        self.taken: list[tuple[int, int]] = []
        self.ballast = bytearray()

    def move(self) -> None:
        cells = ((x, y) for y, x in itertools.product(range(self.size), repeat=2))
        cell = next(c for c in cells if c not in self.taken)
        self.moves += 1
        at_fault = self.moves > FAULT_AT
        if self.moves == FAULT_AT + 1 and self.fault == "late":
            time.sleep(0.15)
        elif at_fault and self.fault == "occupied":
            cell = self.taken[0]
        elif at_fault and self.fault == "off-board":
            cell = (self.size, 0)
        elif at_fault and self.fault == "chatty":
            say("thinking about it")
        elif at_fault and self.fault == "bare-message":
            say("MESSAGE")
        elif at_fault and self.fault == "crash":
            sys.exit(3)
        elif at_fault and self.fault == "mute":
            return
        elif at_fault and self.fault == "noisy":
            sys.stderr.write("Warning: something is deprecated\n")
            sys.stderr.flush()
        elif at_fault and self.fault == "fat":
            self.ballast = bytearray(b"x" * (40 << 20))
        self.taken.append(cell)
        say(f"{cell[0]},{cell[1]}")
        if at_fault and self.fault == "double":
            say(f"{cell[0]},{cell[1]}")

    def board(self, source: Iterator[str]) -> None:
        self.taken = []
        for line in source:
            if line == "DONE":
                break
            x, y, _ = map(int, line.split(","))
            self.taken.append((x, y))

    def run(self) -> None:
        source = lines()
        for line in source:
            word, _, rest = line.partition(" ")
            if word in ("START", "RESTART"):
                self.size, self.taken = int(rest or self.size), []
                say("ok then" if self.fault == "rude" else "OK")
            elif word == "ABOUT":
                say('name="Stub", version="0", author="-", country="-"')
            elif word == "BEGIN":
                self.move()
            elif word == "TURN":
                x, y = map(int, rest.split(","))
                self.taken.append((x, y))
                self.move()
            elif word == "BOARD":
                self.board(source)
                self.move()
            elif word == "TAKEBACK":
                x, y = map(int, rest.split(","))
                self.taken.remove((x, y))
                say("OK")
            elif word == "END" and self.fault != "deaf":
                return


if __name__ == "__main__":
    if "deaf" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    stub = Stub(sys.argv[1] if len(sys.argv) > 1 else "")
    stub.run()
    while stub.fault == "deaf":
        time.sleep(1)

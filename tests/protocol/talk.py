"""A conversation with a brain in a test: say a line, get the answer, check every other line on the way."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from arena.errors import BrainGoneError
from arena.managers.base import MAX_REMARK, REMARK
from tests.protocol.position import Cell, Position
from tests.protocol.process import REPOSITORY, Brain

PATIENCE_S = 20.0
"""How long a test waits for something that must come; far above what it takes even on a busy machine."""
LOOK_S = 0.01
"""How often a timed question looks at what the brain has waited for."""
ANSWER_MS = 3.0
"""Of work that giving an answer takes a brain at most (derived: three times what it takes)."""
ABOUT = re.compile(r'(\w+="[^"]*")(, ?\w+="[^"]*")*')
MOVE = re.compile(r"(\d+),(\d+)")
ERROR = re.compile(r"ERROR \S.*")
UNKNOWN = re.compile(r"UNKNOWN \S.*")
RECORDS_OF_SHIPPED_NET = REPOSITORY / "engine" / "nets" / "default.txt"


def brain_command(net: str | None = None) -> list[str]:
    """Return the command of the brain under test, TENGEN_TEST_BRAIN if set.

    Args:
        net: what `--net` names; None for the brain's default, where there is one, else `uniform`.
    """
    chosen = os.environ.get("TENGEN_TEST_BRAIN")
    command = shlex.split(chosen) if chosen else [sys.executable, "-m", "protocol"]
    if net is None and not RECORDS_OF_SHIPPED_NET.exists():
        net = "uniform"
    return command if net is None else [*command, "--net", net]


class Talk:
    """A brain and a strict listener. Every remark is checked; any other line must be asked for."""

    def __init__(self, *arguments: str, net: str | None = "uniform", **options: Any) -> None:
        self.brain = Brain([*brain_command(net), *arguments], **options)
        self.remarks: list[str] = []
        self.wall_ms = 0.0

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self.brain.kill()

    def say(self, *lines: str | bytes, end: bytes = b"\n") -> None:
        """Send lines in one write."""
        self.brain.send(b"".join((x if isinstance(x, bytes) else x.encode()) + end for x in lines))

    def next_line(self, timeout_s: float = PATIENCE_S) -> str | None:
        """Return the next line that is no remark, None if none comes in time."""
        deadline_s = time.monotonic() + timeout_s
        while True:
            line = self.brain.read_line(deadline_s - time.monotonic())
            if line is None:
                return None
            if not line.raw.upper().startswith((b"MESSAGE", b"DEBUG")):
                return line.text
            assert REMARK.fullmatch(line.raw) and len(line.raw) < MAX_REMARK, line.raw
            self.remarks.append(line.text)

    def ask(self, *lines: str | bytes, timeout_s: float = PATIENCE_S) -> str:
        """Send lines and return the one answer."""
        self.say(*lines)
        answer = self.next_line(timeout_s)
        assert answer is not None, f"no answer to {lines!r}"
        return answer

    def ok(self, *lines: str | bytes) -> None:
        answer = self.ask(*lines)
        assert answer == "OK", (lines, answer)

    def error(self, *lines: str | bytes) -> None:
        answer = self.ask(*lines)
        assert ERROR.fullmatch(answer), (lines, answer)

    def unknown(self, *lines: str | bytes) -> None:
        answer = self.ask(*lines)
        assert UNKNOWN.fullmatch(answer), (lines, answer)

    def move(self, *lines: str | bytes, timeout_s: float = PATIENCE_S) -> Cell:
        return as_move(self.ask(*lines, timeout_s=timeout_s), lines)

    def timed_move(self, *lines: str | bytes, limit_ms: float = 0.0) -> tuple[Cell, float]:
        """Return the move and after how many ms its line was read, less what a late one waited for a core.

        Only waits that ended after the limit can have made an answer late; those of the brain and of the
        thread that reads here are taken off what lies beyond the limit. A brain that went on working there is
        late by itself and is forgiven nothing. `wall_ms` is the whole time.

        Args:
            lines: what is asked.
            limit_ms: when the answer is due.
        """
        brain, start_s = self.brain, time.monotonic()
        self.say(*lines)
        answer, queued_ms, ran_ms = None, 0.0, 0.0
        while answer is None:
            elapsed_ms = (time.monotonic() - start_s) * 1000
            assert elapsed_ms < PATIENCE_S * 1000, f"no answer to {lines!r}"
            if elapsed_ms <= limit_ms or not ran_ms:
                queued_ms, ran_ms = brain.queued_ms() + brain.heard_late_ms(), brain.ran_ms()
            answer = self.next_line(LOOK_S)
        self.wall_ms = (brain.chunks[-1][0] - start_s) * 1000
        if self.wall_ms <= limit_ms or brain.ran_ms() - ran_ms > LOOK_S * 1000 + ANSWER_MS:
            return as_move(answer, lines), self.wall_ms
        waited_ms = brain.queued_ms() + brain.heard_late_ms() - queued_ms
        return as_move(answer, lines), max(limit_ms, self.wall_ms - waited_ms)

    def quiet(self) -> None:
        """Check that nothing is waiting to be read: the answer to ABOUT is the next line."""
        answer = self.ask("ABOUT")
        assert ABOUT.fullmatch(answer), f"unasked: {answer!r}"

    def start(self, size: int = 15, rule: int = 0, turn_ms: int = 0) -> None:
        self.ok(f"START {size}")
        self.say(f"INFO rule {rule}", f"INFO timeout_turn {turn_ms}")

    def end(self) -> None:
        """Send END and check that the process leaves quietly with status 0."""
        self.say("END")
        assert self.brain.wait_exit_s(PATIENCE_S) is not None
        rest = [line.text for line in self.brain.remaining_lines()]
        assert [text for text in rest if not text.startswith(("MESSAGE ", "DEBUG "))] == []
        assert self.brain.process.returncode == 0, self.brain.why_gone()

    def gone(self, timeout_s: float = PATIENCE_S) -> None:
        """Check that output ends, with nothing but remarks before."""
        try:
            line = self.next_line(timeout_s)
        except BrainGoneError:
            return
        raise AssertionError(f"still there: {line!r}")


def as_move(answer: str, asked: object = "") -> Cell:
    match = MOVE.fullmatch(answer)
    assert match, (asked, answer)
    return int(match[1]), int(match[2])


def cells(text: str) -> list[Cell]:
    """Read moves like `h8h9`: the letter is the column from a, the number the row from 1, from the top."""
    return [(ord(x) - ord("a"), int(y) - 1) for x, y in re.findall(r"([a-z])(\d+)", text)]


def board_lines(stones: Iterable[tuple[Cell, int]], command: str = "BOARD") -> list[str]:
    """Return the block for stones with their codes: 1 own, 2 opponent, 3 dead."""
    return [command, *(f"{x},{y},{code}" for (x, y), code in stones), "DONE"]


def board_of_moves(moves: Sequence[Cell], command: str = "BOARD") -> list[str]:
    """Return the block for moves in playing order, seen by the side to move."""
    own = len(moves) % 2
    return board_lines(((cell, 1 if i % 2 == own else 2) for i, cell in enumerate(moves)), command)


def is_free(cell: Cell, size: int, taken: Iterable[Cell]) -> bool:
    return 0 <= cell[0] < size and 0 <= cell[1] < size and cell not in set(taken)


def assert_legal(position: Position, cell: Cell) -> None:
    assert position.is_legal(cell), f"{cell} after {position.moves} under rule {position.rule}"


def read_only(path: Path) -> Path:
    path.mkdir()
    path.chmod(0o555)
    return path

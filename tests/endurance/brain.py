"""Play thousands of games with one brain process, and see that it stays as small as it was.

    python -m tests.endurance.brain --games 20000
    python -m tests.endurance.brain --games 2000 --brain dist/pbrain-tengen/pbrain-tengen --seed 7

Games are short, on boards of every size and under every rule, and follow each other by RESTART, START or
BOARD, some of them broken off. Every answer must come in time and name a free point. Ends with status 1 if an
answer was wrong, or if memory, threads or open files grew.
"""

from __future__ import annotations

import random
import re
import shlex
import sys
import time
from collections.abc import Sequence

import psutil

from arena.brain_process import BrainProcess
from tests.endurance.command import parser, report

TURN_MS = 10
MAX_ANSWER_S = 5.0
"""Longest wait for an answer: a crowded machine is no fault here, a lost answer is."""
MAX_GROWTH = 8 << 20
"""Bytes by which private memory may grow after the warm-up (allocators keep some pages)."""
SIZES = (5, 9, 15, 15, 15, 19, 20, 20, 22)
RULES = (0, 1, 4, 8, 9, 16)
_ANSWER = re.compile(r"(\d+),(\d+)")
_PLIES = 14


class Wrong(Exception):
    """The brain did what it must not do; the message says what."""


class Player:
    """A manager of one brain that plays random moves against it."""

    def __init__(self, brain: BrainProcess, rng: random.Random) -> None:
        self._brain, self._rng = brain, rng
        self._side = 0
        self._free: set[tuple[int, int]] = set()
        self.answers = 0

    def settings(self) -> None:
        """Tell the brain about its time and memory."""
        for line in (
            f"timeout_turn {TURN_MS}",
            "timeout_match 0",
            "time_left 100000000",
            "max_memory 150000000",
        ):
            self._brain.send(f"INFO {line}\n")

    def new_board(self) -> None:
        """Begin a game, by RESTART where the size stays."""
        if self._side and self._rng.random() < 0.6:
            self._say("RESTART")
        else:
            self._side = self._rng.choice(SIZES)
            self._brain.send(f"INFO rule {self._rng.choice(RULES)}\n")
            self._say(f"START {self._side}")
        self._free = {(x, y) for x in range(self._side) for y in range(self._side)}

    def play(self) -> None:
        """Play a game, or some moves of one."""
        rng = self._rng
        self.new_board()
        plies = rng.randrange(_PLIES)
        if rng.random() < 0.3:  # a position, as a manager sends it when a game is continued
            stones = [self._take() for _ in range(2 * rng.randrange(1, 5))]
            self._brain.send("BOARD\n")
            for i, (x, y) in enumerate(stones):
                self._brain.send(f"{x},{y},{1 + i % 2}\n")
            self._answer("DONE")
        else:
            self._answer("BEGIN")
        for _ in range(plies):
            if not self._free:
                return
            x, y = self._take()
            if not self._free:
                return
            self._answer(f"TURN {x},{y}")

    def _take(self) -> tuple[int, int]:
        point = self._rng.choice(sorted(self._free))
        self._free.remove(point)
        return point

    def _say(self, command: str) -> None:
        self._brain.send(command + "\n")
        if (line := self._next(command)) != "OK":
            raise Wrong(f"{command}: {line!r} instead of OK")

    def _answer(self, command: str) -> None:
        self._brain.send(command + "\n")
        line = self._next(command)
        found = _ANSWER.fullmatch(line)
        point = (int(found[1]), int(found[2])) if found else None
        if point not in self._free:
            raise Wrong(f"{command}: {line!r} is no free point")
        self._free.remove(point)
        self.answers += 1

    def _next(self, command: str) -> str:
        end_s = time.monotonic() + MAX_ANSWER_S
        while (line := self._brain.read_line(max(0.0, end_s - time.monotonic()))) is not None:
            text = line.text.strip()
            if not text.startswith(("MESSAGE", "DEBUG")):
                return text
        raise Wrong(f"{command}: no answer within {MAX_ANSWER_S:.0f} s ({self._brain.why_gone()})")


def _state(brain: BrainProcess) -> tuple[int, int, int]:
    """Return private memory in bytes, threads, open files."""
    process = psutil.Process(brain.process.pid)
    files = process.num_fds() if hasattr(process, "num_fds") else 0
    return brain.private_bytes(), process.num_threads(), files


def run(command: Sequence[str], games: int, seed: int) -> list[str]:
    """Play; return what was not as it should be."""
    rng = random.Random(seed)
    warm = max(20, games // 10)
    failures: list[str] = []
    with BrainProcess(command) as brain:
        player = Player(brain, rng)
        player.new_board()
        player.settings()
        began_s = time.monotonic()
        before = None
        for number in range(games):
            try:
                player.play()
            except Wrong as wrong:
                failures.append(f"game {number}: {wrong}")
                break
            if number + 1 == warm:
                before = _state(brain)
            if (number + 1) % max(1, games // 10) == 0:
                memory, threads, files = _state(brain)
                size, spent_s = f"{memory / 1e6:.1f} MB, {threads} threads", time.monotonic() - began_s
                print(f"{number + 1} games, {player.answers} answers, {size}, {files} files, {spent_s:.0f} s")
                sys.stdout.flush()
        if before is not None and not failures:
            after = _state(brain)
            if after[0] > before[0] + MAX_GROWTH:
                failures.append(f"memory grew from {before[0] / 1e6:.1f} to {after[0] / 1e6:.1f} MB")
            for what, old, new in zip(("threads", "open files"), before[1:], after[1:], strict=True):
                if new > old:
                    failures.append(f"{what} grew from {old} to {new}")
        brain.send("END\n")
        if brain.wait_exit_s(MAX_ANSWER_S) is None:
            failures.append("END did not end it")
    return failures


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; return the exit status."""
    asked = parser("brain", __doc__)
    asked.add_argument("--games", type=int, default=20_000, help="(20,000)")
    asked.add_argument(
        "--brain", default=f"{sys.executable} -m protocol", help="command (python -m protocol)"
    )
    options = asked.parse_args(arguments)
    failures = run(shlex.split(options.brain), options.games, options.seed)
    return report(failures, options.seed)


if __name__ == "__main__":
    sys.exit(main())

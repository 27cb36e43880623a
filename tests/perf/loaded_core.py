"""Does the brain answer in time where it has to share its core?

    python -m tests.perf.loaded_core --turn-ms 1000 --busy 4 --moves 60

Linux only. The brain and so many busy processes may run on one core, this program on the others. Each move
is a position of `docs/openings` that needs all of its turn. Printed are the answers' times as a manager sees
them, how many were late, and by how much this program itself was held up at worst, since a manager that waits
for its own core calls a move late that was not. The status is 1 where a move was late.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.protocol.process import Brain
from training.play.openings import read_openings

OPENINGS = Path(__file__).parents[2] / "docs" / "openings" / "freestyle15-fit.txt"
SIDE = 15
TICK_S = 0.002
READY_S = 60.0


class Ticker:
    """Notes by how much a thread that sleeps for a moment wakes up too late."""

    def __init__(self) -> None:
        self.worst_s = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._thread.start()

    def _tick(self) -> None:
        while not self._over.is_set():
            before_s = time.monotonic()
            time.sleep(TICK_S)
            self.worst_s = max(self.worst_s, time.monotonic() - before_s - TICK_S)

    def end(self) -> float:
        """Return the worst delay, s."""
        self._over.set()
        self._thread.join()
        return self.worst_s


@contextlib.contextmanager
def load(core: int, busy: int) -> Iterator[None]:
    """Keep a core busy with so many processes."""
    code = f"import os\nos.sched_setaffinity(0, {{{core}}})\nwhile True: pass"
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(busy)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def answer_ms(brain: Brain, points: tuple[int, ...], turn_ms: int) -> float:
    """Ask about a position; return how long the answer took, ms."""
    own = len(points) % 2
    brain.send("RESTART")
    while (line := brain.read_line(READY_S)) is None or line.text != "OK":
        if line is None:
            raise TimeoutError("no OK for RESTART")
    stones = (f"{p % SIDE},{p // SIDE},{1 if i % 2 == own else 2}" for i, p in enumerate(points))
    sent_s = time.monotonic()
    brain.send("\n".join(("BOARD", *stones, "DONE")))
    while True:
        line = brain.read_line(READY_S + turn_ms / 1000)
        if line is None:
            raise TimeoutError("no answer at all")
        if line.text[:1].isdigit():
            return 1000 * (line.at_s - sent_s)


def main() -> int:
    """Run the command; return 1 where a move was late."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.perf.loaded_core",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--turn-ms", type=int, default=1000, help="(1000)")
    parser.add_argument("--busy", type=int, default=4, help="processes beside the brain (4)")
    parser.add_argument("--moves", type=int, default=60, help="(60)")
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("error: this needs two cores, one of them for the manager", file=sys.stderr)
        return 2
    openings = read_openings(OPENINGS, SIDE, SIDE, 0)
    ticker = Ticker()
    with Brain([sys.executable, "-m", "protocol"]) as brain, load(cores[0], args.busy):
        for process in brain.family():
            process.cpu_affinity([cores[0]])
        os.sched_setaffinity(0, set(cores[1:]))
        brain.send(f"START {SIDE}\nINFO timeout_turn {args.turn_ms}\nINFO timeout_match 0")
        times = sorted(
            answer_ms(brain, openings[i % len(openings)], args.turn_ms) for i in range(args.moves)
        )
    held_up_ms = 1000 * ticker.end()
    late = sum(took > args.turn_ms for took in times)
    print(
        f"{args.moves} moves at {args.turn_ms} ms beside {args.busy} busy processes: median "
        f"{statistics.median(times):.0f} ms, slowest {times[-1]:.0f} ms, {late} late; "
        f"the manager itself was held up by {held_up_ms:.0f} ms at most"
    )
    return int(late > 0)


if __name__ == "__main__":
    sys.exit(main())

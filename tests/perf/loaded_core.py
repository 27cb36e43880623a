"""Does the brain answer in time where it has to share its core?

    python -m tests.perf.loaded_core --turn-ms 1000 --busy 4 --moves 60

Linux only. The brain and so many busy processes may run on one core, this program on the others. Each move
is a position of `docs/openings` that needs all of its turn. Printed are the answers' times as a manager sees
them and how many were late; of a late one, also what is left when its waits for a core beyond the limit are
taken off, those of this program too. The status is 1 where a move was late.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator

from arena.openings import read_openings
from tests.helpers.paths import ROOT
from tests.protocol.talk import Talk, board_of_moves

OPENINGS = ROOT / "docs" / "openings" / "freestyle15-fit.txt"
SIDE = 15


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


def main() -> int:
    """Run the command; return 1 where a move was late, 2 for an error."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.perf.loaded_core",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--turn-ms", type=int, default=1000, help="of each move (1000)")
    parser.add_argument("--busy", type=int, default=4, help="processes beside the brain (4)")
    parser.add_argument("--moves", type=int, default=60, help="that are asked for (60)")
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2 or min(args.turn_ms, args.moves) < 1 or args.busy < 0:
        print("error: two cores, --turn-ms and --moves above 0, --busy not below it", file=sys.stderr)
        return 2
    openings = read_openings(OPENINGS, SIDE, SIDE, 0)
    times_ms, late_ms = [], []
    with Talk(net=None) as talk, load(cores[0], args.busy):
        talk.start(SIDE, turn_ms=args.turn_ms)
        for process in talk.brain.family():
            process.cpu_affinity([cores[0]])
        os.sched_setaffinity(0, set(cores[1:]))
        for i in range(args.moves):
            talk.ok("RESTART")
            cells = [(point % SIDE, point // SIDE) for point in openings[i % len(openings)]]
            _, own_ms = talk.timed_move(*board_of_moves(cells), limit_ms=args.turn_ms)
            times_ms.append(talk.wall_ms)
            if talk.wall_ms > args.turn_ms:
                late_ms.append(own_ms)
    print(
        f"{args.moves} moves at {args.turn_ms} ms beside {args.busy} busy processes: median "
        f"{statistics.median(times_ms):.0f} ms, slowest {max(times_ms):.0f} ms, {len(late_ms)} late"
        + "".join(f"; {own_ms:.0f} ms without waits" for own_ms in late_ms)
    )
    return int(bool(late_ms))


if __name__ == "__main__":
    sys.exit(main())

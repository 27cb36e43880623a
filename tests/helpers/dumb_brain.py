"""A Gomocup brain of a few lines for tests of matches: `dumb_brain.py MODE [SEED|FILE]`.

Modes: random, first (lowest free point), and failures on the third move: crash, hang, taken, babble,
digits; at the start: refuse, and once, which starts only where FILE is missing, and makes it. Also words,
which reads the value of INFO up to its first blank.
"""

import random
import sys
import time
from pathlib import Path

mode = sys.argv[1]
rng = random.Random(sys.argv[2] if len(sys.argv) > 2 else "1")


def starts() -> bool:
    if mode == "once":
        mark = Path(sys.argv[2])
        if mark.exists():
            return False
        mark.touch()
    return mode != "refuse"


size, taken, moves, board = 0, set(), 0, None


def answer() -> None:
    global moves  # noqa: PLW0603
    moves += 1
    if moves == 3:
        if mode == "crash":
            sys.exit(1)
        if mode == "hang":
            time.sleep(60)
        if mode == "taken":
            x, y = next(iter(taken))
            print(f"{x},{y}", flush=True)
            return
        if mode == "digits":
            print("9" * 5000 + ",1", flush=True)
            return
        if mode == "babble":
            print("ERROR no idea", flush=True)
            return
    free = [(x, y) for y in range(size) for x in range(size) if (x, y) not in taken]
    point = free[0] if mode == "first" else rng.choice(free)
    taken.add(point)
    print("MESSAGE thinking", flush=True)
    print(f"{point[0]},{point[1]}", flush=True)


for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if board is not None:
        if word == "DONE":
            taken, board = set(board), None
            answer()
        else:
            board.append(tuple(int(v) for v in word.split(",")[:2]))
    elif word == "START":
        size, taken = int(rest), set()
        print("OK" if starts() else "ERROR size", flush=True)
    elif word == "INFO":
        if mode == "words" and len(rest.split()) > 2:
            print(f"ERROR unknown command: {rest.split()[2]}", flush=True)
    elif word == "BEGIN":
        answer()
    elif word == "TURN":
        taken.add(tuple(int(v) for v in rest.split(",")))
        answer()
    elif word == "BOARD":
        board = []
    elif word == "END":
        break

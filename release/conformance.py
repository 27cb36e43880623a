"""What a tournament measures of a brain, for any command: start, memory, files, rules, endings."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from arena.brain_process import BrainProcess
from arena.errors import BrainGoneError
from arena.limits import TOURNAMENT_BYTES

FASTGAME_MS = 5000
"""A turn of the fastest league (protocol)."""
QUIET = ("BOARD", "5,14,2", "14,14,1", "14,5,2", "10,2,1", "17,17,2", "DONE")
"""Stones far apart on 20x20: nothing is decided, so that all of the time is used."""
PATIENCE_S = 60.0

LOGIC = (
    ("five, freestyle", 0, "h8h9i8i9j8j9k8k9", {"g8", "l8"}, set()),
    ("five, standard", 1, "h8h9i8i9j8j9k8k9", {"g8", "l8"}, set()),
    ("five, renju", 4, "h8h9i8i9j8j9k8k9", {"g8", "l8"}, set()),
    ("five, caro", 8, "h8h9i8i9j8j9k8k9", {"g8", "l8"}, set()),
    ("five, standard caro", 9, "h8h9i8i9j8j9k8k9", {"g8", "l8"}, set()),
    ("not six, standard", 1, "h8h9i8h10g8h11j13h12g14h14i15", {"f8", "j8"}, set()),
    ("no double three, renju", 4, "h8h9i7i9h10i6i11i12", set(), {"g9"}),
    ("no blocked five, caro", 8, "h8f8g8f9i8f7j8l8", {"f5", "f6", "f10", "f11"}, set()),
    ("no blocked five, standard caro", 9, "h8f8g8f9i8f7j8l8", {"f5", "f6", "f10", "f11"}, set()),
)
"""The positions of the official league logic test on 15x15: (name, rule, moves, right or empty, wrong)."""


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from the creation of a process."""

    ready_s: float
    """To OK."""
    moved_s: float
    """To the first move, with `timeout_turn 0`."""


def start(command: Sequence[str]) -> Start:
    """Start a brain and ask for a move at once.

    Raises:
        BrainGoneError, TimeoutError: it does not answer.
    """
    with BrainProcess(command) as brain:
        brain.send("START 20\nINFO timeout_turn 0\nBOARD\n10,10,2\nDONE")
        ready_s = _wait(brain, "OK")[1] - brain.started_s
        moved_s = _wait(brain, ",")[1] - brain.started_s
        return Start(ready_s, moved_s)


def forget_pages(folder: Path) -> None:
    """Make the system drop what it holds of these files, as after a reboot, as far as it obeys."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def first_move_after_freeze_ms(command: Sequence[str], frozen_s: float = 0.5, size: int = 20) -> float:
    """Return how long the first move takes as the official judge sees it, ms.

    The brain is on one core, suspended right after START and INFO, and resumed for the first BOARD; loading
    happens on the clock of that move.
    """
    with BrainProcess(command) as brain:
        with contextlib.suppress(AttributeError, psutil.Error):
            process = psutil.Process(brain.process.pid)
            process.cpu_affinity(process.cpu_affinity()[:1])
        brain.send(
            f"START {size}\nINFO timeout_turn {FASTGAME_MS}\nINFO timeout_match 100000\n"
            f"INFO max_memory {TOURNAMENT_BYTES}\nINFO game_type 1\nINFO rule 0\nINFO folder ."
        )
        brain.suspend()
        time.sleep(frozen_s)
        start_s = time.monotonic()
        brain.resume()
        brain.send("INFO time_left 100000\nBOARD\nDONE")
        return (_wait(brain, ",")[1] - start_s) * 1000


def largest_memory_bytes(command: Sequence[str], turn_ms: int) -> int:
    """Return the most private memory that a process and its children hold in a long move on 20x20, bytes."""
    with BrainProcess(command) as brain:
        brain.send(f"START 20\nINFO timeout_turn {turn_ms}\nINFO timeout_match 0")
        brain.send(f"INFO max_memory {TOURNAMENT_BYTES}\nINFO time_left 2147483647")
        _wait(brain, "OK")
        brain.send("\n".join(QUIET))
        largest = 0
        deadline_s = time.monotonic() + turn_ms / 1000 + PATIENCE_S
        while time.monotonic() < deadline_s:
            line = brain.read_line(0.1)
            largest = max(largest, brain.private_bytes())
            if line is not None and "," in line.text and line.text[0].isdigit():
                return largest
        raise TimeoutError(f"no move in {turn_ms} ms")


def wrong_logic(command: Sequence[str], turn_ms: int) -> list[str]:
    """Return the positions of the league logic test that a brain gets wrong, with its move."""
    wrong = []
    with BrainProcess(command) as brain:
        for name, rule, moves, right, bad in LOGIC:
            cells = _cells(moves)
            stones = [f"{x},{y},{1 if i % 2 == len(cells) % 2 else 2}" for i, (x, y) in enumerate(cells)]
            brain.send(f"START 15\nINFO rule {rule}\nINFO timeout_turn {turn_ms}")
            _wait(brain, "OK")
            brain.send("\n".join(["BOARD", *stones, "DONE"]))
            x, y = map(int, _wait(brain, ",")[0].split(","))
            move = f"{chr(ord('a') + x)}{y + 1}"
            if (right and move not in right) or move in bad:
                wrong.append(f"{name}: {move}")
    return wrong


def leftovers_of_a_kill(command: Sequence[str], scratch: Path) -> list[str]:
    """Kill a thinking brain; return what is left of it: processes, files in its folders for temporary ones.

    Args:
        command: the brain.
        scratch: an empty folder that serves as working directory and as place for temporary files.
    """
    env = {name: str(scratch) for name in ("TMPDIR", "TMP", "TEMP", "HOME")}
    with BrainProcess(command, cwd=scratch, env=env) as brain:
        brain.send("START 20\nINFO timeout_turn 60000")
        _wait(brain, "OK")
        brain.send("\n".join(QUIET))
        time.sleep(0.5)
        family = brain.family()
        brain.process.kill()
        brain.process.wait()
        time.sleep(0.2)
        left = [f"process {p.pid}" for p in family if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    return left + [str(path) for path in scratch.rglob("*")]


def refusal(command: Sequence[str]) -> tuple[int, str]:
    """Start a brain that should refuse to; return its exit status and all that it said."""
    done = subprocess.run(
        list(command), input=b"START 15\n", capture_output=True, timeout=PATIENCE_S, check=False
    )
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace").strip()


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Return name -> (size, time of change) of all files of a folder, to see whether one is touched."""
    found = ((path, path.lstat()) for path in folder.rglob("*"))
    return {str(path): (s.st_size, s.st_mtime_ns) for path, s in found}


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Take the right to write away from a folder and all in it (does not bind root)."""
    folders = [folder, *(p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink())]
    for path in folders:
        path.chmod(0o555)
    try:
        yield
    finally:
        for path in folders:
            path.chmod(0o755)


def _wait(brain: BrainProcess, part: str) -> tuple[str, float]:
    """Return the first line that has `part` and is no remark, and when it came."""
    deadline_s = time.monotonic() + PATIENCE_S
    while (line := brain.read_line(deadline_s - time.monotonic())) is not None:
        if line.text.startswith(("ERROR", "UNKNOWN")):
            raise BrainGoneError(line.text)
        if part in line.text and not line.text.startswith(("MESSAGE", "DEBUG")):
            return line.text, line.at_s
    raise TimeoutError(f"no {part!r} in {PATIENCE_S:.0f} s")


def _cells(text: str) -> list[tuple[int, int]]:
    import re

    return [(ord(x) - ord("a"), int(y) - 1) for x, y in re.findall(r"([a-z])(\d+)", text)]

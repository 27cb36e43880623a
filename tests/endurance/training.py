"""Kill a training run again and again, at random and while it writes, and see that it loses no finished game.

    python -m tests.endurance.training --kills 100 --run-dir /tmp/killed
    python -m tests.endurance.training --kills 30 --seed 7

Each time the run is started by the same command and killed: the whole run, the loop alone, or one worker.
Half of the kills come while a file of a drawn kind changes: journal, shard, checkpoint, net, state, log. Then
every game that was ever seen on the disk must still be there once, no checkpoint may be older than before,
and no process of the run may live on. In the end Ctrl-C must finish the run. Ends with status 1 if anything
is not so.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.endurance.command import parser, report
from tests.helpers.paths import ROOT
from training.data.journal import read_journal
from training.data.records import SelfPlayRecord
from training.data.shards import RecordError, list_shards, read_shard
from training.learn.checkpoint import newest_good

SETTINGS = (
    "cycle_positions=300",
    "learner.window_min=300",
    "evaluation.every_minutes=0.2",
    "evaluation.pairs=2",
)
WORKERS = 2
LONGEST_S = 40.0
"""Longest life of a run: a kind of file that does not change by then is not waited for."""
END_S = 30.0
"""Longest time that processes of a killed run may live on, and that a run may take to end after Ctrl-C."""
KINDS: dict[str, Callable[[Path], bool]] = {
    "journal": lambda path: path.suffix == ".journal",
    "shard": lambda path: ".shard" in path.name,
    "checkpoint": lambda path: path.parent.name == "checkpoints",
    "net": lambda path: ".onnx" in path.name,
    "state": lambda path: "state.json" in path.name,
    "log": lambda path: path.suffix in (".jsonl", ".log"),
}
VICTIMS = ("run", "run", "loop", "worker")


@dataclass
class Kept:
    """What a run has on the disk: how often each game is there, and the batches of its newest checkpoint."""

    games: Counter[tuple[int, bytes]] = field(default_factory=Counter)
    batches: int = 0
    damage: list[str] = field(default_factory=list)


def kept(folder: Path) -> Kept:
    """Read all games and the newest checkpoint of a run."""
    found = Kept()

    def damaged(error: RecordError) -> None:
        found.damage.append(str(error))

    def take(games: Sequence[SelfPlayRecord]) -> None:
        found.games.update((game.seed, game.moves.tobytes()) for game in games)

    records = folder / "records"
    for path in list_shards(records):
        try:
            take(read_shard(path))
        except RecordError as error:
            damaged(error)
    for path in sorted(records.glob("*.journal")):
        with contextlib.suppress(FileNotFoundError):  # a run that lives made a shard of it meanwhile
            take(read_journal(path, damaged))
    if newest := newest_good(folder / "checkpoints", found.damage.append):
        found.batches = int(newest[1]["batches"])
    return found


class Life:
    """A run from its start to its end."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "training.selfplay", "--run-dir", str(folder), "--preset", "smoke"]
        command += ["--minutes", "600", "--workers", str(WORKERS)]
        for setting in SETTINGS:
            command += ["--set", setting]
        self._folder = folder
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115  (lives as long as the run)
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=self._said, stderr=subprocess.STDOUT, start_new_session=True
        )

    def said(self) -> str:
        """Return the end of what the run printed."""
        self._said.seek(0)
        return self._said.read()[-1500:]

    def family(self) -> list[psutil.Process]:
        """Return the processes of the run, the loop first."""
        try:
            loop = psutil.Process(self.process.pid)
            return [loop, *loop.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def wait_for(self, kind: str, seconds: float) -> str:
        """Wait, then until a file of a kind ("": none) changes; return the kind, "time" if none did."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s and self.process.poll() is None:
            time.sleep(0.05)
        if not kind:
            return "time"
        end_s = time.monotonic() + LONGEST_S
        before = self._files(KINDS[kind])
        while time.monotonic() < end_s and self.process.poll() is None:
            if (now := self._files(KINDS[kind])) != before:
                return kind
            before = now
            time.sleep(0.001)
        return "time"

    def _files(self, wanted: Callable[[Path], bool]) -> dict[str, tuple[int, int]]:
        found = {}
        for top, _, names in os.walk(self._folder):
            for name in names:
                path = Path(top) / name
                if wanted(path):
                    try:
                        there = path.stat()
                    except OSError:
                        continue  # it was renamed meanwhile
                    found[str(path)] = (there.st_size, there.st_mtime_ns)
        return found

    def kill(self, victim: str, random_: random.Random) -> str:
        """Kill a victim, and then what is left; return what was not as it should be, or ""."""
        family = self.family()
        if self.process.poll() is not None:
            return f"the run ended by itself with {self.process.returncode}: {self.said()}"
        if victim == "worker" and len(family) > 1:
            chosen = random_.choice(family[1:])
            _kill([chosen])
            games = sum(kept(self._folder).games.values())
            end_s = time.monotonic() + LONGEST_S
            while sum(kept(self._folder).games.values()) <= games and time.monotonic() < end_s:
                if self.process.poll() is not None:
                    return f"a killed worker ended the run with {self.process.returncode}: {self.said()}"
                time.sleep(0.3)
            if time.monotonic() >= end_s:
                _kill(self.family())
                return f"no game within {LONGEST_S:.0f} s after a worker was killed: {self.said()}"
            family = self.family()
        _kill(family[:1] if victim == "loop" else family)
        self.process.wait(END_S)
        _, alive = psutil.wait_procs(family, timeout=END_S)
        _kill(alive)
        return f"{len(alive)} processes outlive the loop" if alive else ""

    def interrupt(self) -> str:
        """Press Ctrl-C; return what was not as it should be, or ""."""
        self.process.send_signal(signal.SIGINT)
        family = self.family()
        try:
            status = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            _kill(family)
            return f"Ctrl-C did not end it: {self.said()}"
        return "" if status in (0, 1) else f"Ctrl-C ended it with {status}: {self.said()}"


def _kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


def compare(before: Kept, after: Kept) -> list[str]:
    """Return what a run has lost or has twice."""
    found = list(after.damage)
    if lost := before.games.keys() - after.games.keys():
        found.append(f"{len(lost)} games are lost")
    if twice := [game for game, count in after.games.items() if count > 1]:
        found.append(f"{len(twice)} games are there twice")
    if after.batches < before.batches:
        found.append(f"the newest checkpoint has {after.batches} batches, once it had {before.batches}")
    return found


def run(folder: Path, kills: int, seed: int) -> list[str]:
    """Start and kill a run so many times; return what was not as it should be."""
    random_ = random.Random(seed)
    failures: list[str] = []
    counts: Counter[str] = Counter()
    state = Kept()
    for number in range(kills):
        life = Life(folder)
        kind = random_.choice(list(KINDS)) if random_.random() < 0.5 else ""
        moment = life.wait_for(kind, random_.uniform(1.0, 25.0) if not kind else random_.uniform(4.0, 12.0))
        victim = random_.choice(VICTIMS)
        wrong = life.kill(victim, random_)
        counts[f"{victim} at {moment}"] += 1
        now = kept(folder)
        faults = [wrong] * bool(wrong) + compare(state, now)
        failures += [f"kill {number} ({victim} at {moment}): {fault}" for fault in faults]
        state = now
        print(
            f"{number + 1} kills, {victim} at {moment}: {sum(now.games.values())} games, "
            f"{now.batches} batches{'; ' if faults else ''}{'; '.join(faults)[:300]}",
            flush=True,
        )
        if len(failures) >= 5:
            break
    life = Life(folder)
    life.wait_for("journal", 5.0)
    failures += [wrong for wrong in (life.interrupt(),) if wrong]
    failures += compare(state, kept(folder))
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    return failures


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; return the exit status."""
    asked = parser("training", __doc__)
    asked.add_argument("--kills", type=int, default=100, help="(100)")
    asked.add_argument("--run-dir", type=Path, help="folder of the run, which is kept (a temporary one)")
    options = asked.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        failures = run(options.run_dir or Path(scratch) / "run", options.kills, options.seed)
    return report(failures, options.seed)


if __name__ == "__main__":
    sys.exit(main())

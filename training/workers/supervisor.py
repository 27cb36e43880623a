"""Supervision of workers, the same on one machine and on many: start, watch, replace, give up, stop.

How workers are reached is a `Transport`: pipes to processes (`training.workers.local`) or Ray's actors
(`training.cluster.transport`). What is played, and what becomes of answers, is the pool's.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from training.workers.interface import WorkerError

MAX_FAILURES = 3
"""Workers lost in a row at a place, for each of its slots, that are no accident any more."""
_MOST_PASSED_S = 1.0  # of silence between two looks: time in which this process stood still does not count


@dataclass(slots=True, eq=False)
class Place:
    """Where workers run: a process of this machine, or all cores of another one.

    Attributes:
        name: what reports call a worker of it.
        slots: workers that it takes.
        essential: `look` fails when it is refused; else when all places are.
        ready: whether workers can be started; false until the place has said what it is.
        refused: why workers are not started any more, as what follows the name; empty if they are.
        started: workers that it had.
        failures: of its workers in a row, since one of them has answered.
    """

    name: str
    slots: int = 1
    essential: bool = False
    ready: bool = True
    refused: str = ""
    started: int = 0
    failures: int = 0


_numbers = itertools.count()


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a worker is to do: a method of it, its arguments, and a number that no other task has."""

    method: str
    arguments: tuple[Any, ...]
    number: int = field(default_factory=lambda: next(_numbers))


@dataclass(slots=True, eq=False)
class Worker:
    """A process or an actor that works.

    Attributes:
        place: where.
        life: how many workers started there before.
        link: what the transport keeps about it.
        pid: its process; 0 until it has come up.
        tasks: that it was given and has not answered.
        silent_s: since it gave a sign of life, or was given something after it had nothing to do.
    """

    place: Place
    life: int
    link: Any = None
    pid: int = 0
    tasks: deque[Task] = field(default_factory=deque)
    silent_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Alive:
    """A sign of life; `value` is what a worker tells of a task that it is at."""

    task: Task | None = None
    value: Any = None
    silent_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a task."""

    task: Task
    value: Any


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker is no more, or of no use; `tasks` are those that it leaves behind."""

    why: str
    tasks: tuple[Task, ...] = ()


Message = Alive | Answer | Lost


class Transport(Protocol):
    """The way to workers. A worker that cannot be reached is `Lost` in `receive`, not an error elsewhere."""

    def places(self) -> Sequence[Place] | None:
        """Return all places there are, None if that cannot be known at the moment.

        Raises:
            WorkerError: no worker can be reached any more.
        """

    def start(self, worker: Worker) -> None:
        """Start a worker at its place."""

    def send(self, worker: Worker, task: Task) -> None:
        """Give a worker a task."""

    def receive(self, workers: Sequence[Worker], timeout_s: float) -> Iterator[tuple[Worker, Message]]:
        """Yield what workers say; wait so long for something.

        Raises:
            WorkerError: one met an error that any other would meet too.
        """

    def stop(self, worker: Worker) -> None:
        """Let a worker answer at once."""

    def end(self, worker: Worker, patience_s: float = 0.0, hung: bool = False) -> None:
        """End a worker, which has so long to go by itself; one that hung may not hear anything."""


class Supervisor:
    """Keeps a worker in every slot of every place, and knows what each of them has to do."""

    def __init__(self, transport: Transport, silence_s: float, report: Callable[[str], None]) -> None:
        """Begin without workers; `look` starts them.

        Args:
            transport: the way to them.
            silence_s: a worker that has something to do and says nothing for so long is replaced; 0: never.
            report: gets a line when a worker is lost.
        """
        self._transport, self._report = transport, report
        self.silence_s = silence_s
        self.workers: list[Worker] = []
        self.stopping = False
        self._looked_s = time.monotonic()

    @property
    def active(self) -> list[Worker]:
        """Workers that have come up."""
        return [worker for worker in self.workers if worker.pid]

    @property
    def busy(self) -> bool:
        """Whether a worker has something to do."""
        return any(worker.tasks for worker in list(self.workers))

    def free(self, depth: int) -> Iterator[Worker]:
        """Yield workers with fewer than `depth` tasks, the idlest first."""
        for tasks in range(depth):
            for worker in self.active:
                if len(worker.tasks) == tasks:
                    yield worker

    def give(self, worker: Worker, task: Task) -> None:
        """Give a worker a task; `look` returns it with its answer, or as lost."""
        if not worker.tasks:
            worker.silent_s = 0.0
        worker.tasks.append(task)
        self._transport.send(worker, task)

    def look(self, timeout_s: float) -> list[tuple[Worker, Message]]:
        """Return what workers have said within a time, and start workers where some are missing then.

        Raises:
            WorkerError: no worker is left and none can be started.
        """
        places = None if self.stopping else self._transport.places()
        found = [] if places is None else self._check(places)
        now_s = time.monotonic()
        passed_s, self._looked_s = min(now_s - self._looked_s, _MOST_PASSED_S), now_s
        for worker in self.workers:
            worker.silent_s += passed_s if worker.tasks else 0.0
        for worker, said in self._transport.receive(self.workers, timeout_s):
            if isinstance(said, Lost):
                found.append(self._lose(worker, said.why))
                continue
            worker.silent_s = said.silent_s if isinstance(said, Alive) else 0.0
            if isinstance(said, Answer):
                worker.tasks.remove(said.task)
                worker.place.failures = 0
            found.append((worker, said))
        for worker in [w for w in self.active if self.silence_s and w.silent_s > self.silence_s]:
            found.append(self._lose(worker, f"said nothing for {worker.silent_s:.0f} s", hung=True))
        for place in () if self.stopping or places is None else places:
            self._start_missing(place)
        return found

    def _check(self, places: Sequence[Place]) -> list[tuple[Worker, Message]]:
        """Check that some place is of use; return the workers that have gone with their place."""
        lending = [place for place in places if place.slots]
        refused = [place for place in lending if place.refused]
        for place in refused:
            if place.essential:
                raise WorkerError(
                    f"{place.name} {place.refused}; the same command continues from the last cycle"
                )
        if refused and len(refused) == len(lending):
            raise WorkerError(f"no machine of the cluster can play; {refused[0].name} {refused[0].refused}")
        gone = [worker for worker in self.workers if worker.place not in places]
        return [self._drop(worker, "its machine left") for worker in gone]

    def _start_missing(self, place: Place) -> None:
        if not place.ready or place.refused:
            return
        for _ in range(place.slots - sum(worker.place is place for worker in self.workers)):
            worker = Worker(place, place.started)
            place.started += 1
            self._transport.start(worker)
            self.workers.append(worker)

    def _lose(self, worker: Worker, why: str, hung: bool = False) -> tuple[Worker, Message]:
        """Give a worker up, and its place if that happens again and again."""
        place, lost = worker.place, self._drop(worker, why, hung)
        if self.stopping or place.refused:
            return lost
        place.failures += 1
        if place.failures < MAX_FAILURES * place.slots:
            self._report(f"{place.name} was lost ({why}): replaced")
            return lost
        place.refused = f"was lost {place.failures} times in a row ({why})"
        if not place.essential:
            self._report(f"{place.name} {place.refused}: left alone")
        return lost

    def _drop(self, worker: Worker, why: str, hung: bool = False) -> tuple[Worker, Message]:
        self.workers.remove(worker)
        self._transport.end(worker, hung=hung)
        tasks = tuple(worker.tasks)
        worker.tasks.clear()
        return worker, Lost(why, tasks)

    def stop(self) -> None:
        """Let all workers answer at once, and start none any more."""
        self.stopping = True
        for worker in list(self.workers):
            self._transport.stop(worker)

    def close(self, patience_s: float = 0.0) -> None:
        """End all workers, which have so long together to go by themselves."""
        deadline_s = time.monotonic() + patience_s
        while self.workers:
            self._transport.end(self.workers.pop(), max(0.0, deadline_s - time.monotonic()))

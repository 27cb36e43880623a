"""The way to workers on the machines of a cluster: who joins, who leaves. All of Ray's actors are here.

Ray schedules actors, carries tasks and answers, and tells when an actor has died. It does not replace them
(`max_restarts`): one that failed again and again, or on a machine of another version, has to be left alone,
and its tasks are given again with other seeds. `ray.util.ActorPool` has no tasks waiting at an actor and ends
with the first that is lost.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from training.cluster import probe
from training.cluster.actor import SelfPlayActor
from training.cluster.connection import Head
from training.cluster.version import Version, own_version
from training.settings.play import PlayConfig
from training.workers.supervisor import Alive, Answer, Lost, Message, Place, Task, Worker

DEPTH = 2
"""Tasks that a worker has: one it works at and one that waits, so that it never does."""
_LOOK_S = 2.0  # between two looks at the machines
_ASKED_AFTER = 0.25  # of the time that a worker may be silent
_ASK_S = 1.0  # between two questions to a worker that is silent

ray.cloudpickle.register_pickle_by_value(probe)


@dataclass(slots=True, eq=False)
class _Machine(Place):
    """A node of the cluster: its address, its id, the question what it is."""

    address: str = ""
    node: str = ""
    question: Any = None


@dataclass(slots=True)
class _Link:
    """An actor, the answers to come, the question to it (is it up, does it live) and when that was asked."""

    actor: Any
    question: Any
    answers: deque[Any] = field(default_factory=deque)
    asked_s: float = 0.0


class RayTransport:
    """See `Transport`: actors on each machine that has the version of this one, one a core."""

    def __init__(self, play: PlayConfig, games: int, silence_s: float, report: Callable[[str], None]) -> None:
        """Begin without machines.

        Args:
            play, games: see `SelfPlayActor`.
            silence_s: a worker that is silent for a quarter of it is asked whether it lives; 0: never.
            report: gets a line when a machine comes or goes.
        """
        self._play, self._games, self._silence_s, self._report = play, games, silence_s, report
        self._class = ray.remote(num_cpus=1, max_restarts=0, concurrency_groups={"watch": 1})(SelfPlayActor)
        self._probe = ray.remote(num_cpus=0, max_retries=0)(probe.look)
        self._kill_process = ray.remote(num_cpus=0, max_retries=0)(probe.kill_process)
        self._machines: dict[str, _Machine] = {}
        self._next_look_s = 0.0
        self._ours: Version = own_version()
        self.head = Head()

    # --- machines

    def places(self) -> Sequence[Place] | None:
        """See `Transport`: the machines, every two seconds while the head answers.

        Raises:
            HeadLostError: the cluster is no more.
        """
        now_s = time.monotonic()
        if now_s < self._next_look_s:
            return None
        self._next_look_s = now_s + _LOOK_S
        if not self.head.answers():
            return None
        alive = {about["NodeID"]: about for about in ray.nodes() if about["Alive"]}
        for node in self._machines.keys() - alive.keys():
            self._report(f"machine {self._machines.pop(node).address} left")
        for node in alive.keys() - self._machines.keys():
            self._machines[node] = self._joined(node, alive[node])
        for machine in self._machines.values():
            self._hear_of(machine)
        return list(self._machines.values())

    def _joined(self, node: str, about: dict[str, Any]) -> _Machine:
        address, slots = about["NodeManagerAddress"], int(about["Resources"].get("CPU", 0))
        question = self._probe.options(scheduling_strategy=_only(node)).remote() if slots else None
        name = f"worker on {address}"
        return _Machine(name, slots, ready=False, address=address, node=node, question=question)

    def _hear_of(self, machine: _Machine) -> None:
        """Read what a machine says of itself, if it has."""
        if machine.question is None or not _is_there(machine.question):
            return
        try:
            kind, found = ray.get(machine.question)
        except ray.exceptions.RayError as error:
            kind, found = "error", _first_line(error)
        machine.question, machine.ready = None, True
        why = self._ours.differs(found) if kind == "version" else str(found)
        if why:
            machine.refused = f"is refused: {why}"
            self._report(f"machine {machine.address} {machine.refused}")
        else:
            self._report(f"machine {machine.address} joins with {machine.slots} players")

    # --- workers

    def start(self, worker: Worker) -> None:
        """See `Transport`."""
        actor = self._class.options(scheduling_strategy=_at(worker)).remote(self._play, self._games)
        worker.link = _Link(actor, actor.hello.remote())

    def send(self, worker: Worker, task: Task) -> None:
        """See `Transport`: `method` is one of `SelfPlayActor`."""
        worker.link.answers.append(getattr(worker.link.actor, task.method).remote(*task.arguments))

    def receive(self, workers: Sequence[Worker], timeout_s: float) -> Iterator[tuple[Worker, Message]]:
        """See `Transport`."""
        for worker in list(workers):
            yield from self._question(worker)
        first = {worker.link.answers[0]: worker for worker in workers if worker.link.answers}
        if not first:
            time.sleep(timeout_s)
            return
        ready, _ = ray.wait(list(first), timeout=timeout_s)
        if ready:
            ready, _ = ray.wait(list(first), num_returns=len(first), timeout=0)
        for ref in ready:
            worker = first[ref]
            try:
                value = ray.get(ref)
            except ray.exceptions.RayError as error:
                yield worker, Lost(_first_line(error))
                continue
            worker.link.answers.popleft()
            yield worker, Answer(worker.tasks[0], value)

    def _question(self, worker: Worker) -> Iterator[tuple[Worker, Message]]:
        """Hear whether a worker has come up; ask one that is silent whether it lives."""
        link, now_s = worker.link, time.monotonic()
        if link.question is None:
            late = self._silence_s and worker.silent_s > _ASKED_AFTER * self._silence_s
            if late and now_s - link.asked_s > _ASK_S:
                link.question, link.asked_s = _aside(link.actor.pulse).remote(), now_s
        elif _is_there(link.question):
            try:
                value = ray.get(link.question)
            except ray.exceptions.RayError as error:
                yield worker, Lost(_first_line(error))
                return
            link.question = None
            if worker.pid:
                yield worker, Alive(silent_s=min(value, worker.silent_s))
            worker.pid = worker.pid or value

    def stop(self, worker: Worker) -> None:
        """See `Transport`."""
        _aside(worker.link.actor.drain).remote()

    def invalidate(self, workers: Sequence[Worker], generation: int) -> None:
        """Let workers answer tasks for older nets at once."""
        for worker in workers:
            if worker.tasks:
                _aside(worker.link.actor.invalidate).remote(generation)

    def end(self, worker: Worker, patience_s: float = 0.0, hung: bool = False) -> None:
        """See `Transport`."""
        if hung:  # a process that is stopped does not hear Ray
            self._kill_process.options(scheduling_strategy=_at(worker)).remote(worker.pid)
        ray.kill(worker.link.actor)


def _only(node: str) -> Any:
    return NodeAffinitySchedulingStrategy(node, soft=False)


def _at(worker: Worker) -> Any:
    assert isinstance(worker.place, _Machine)
    return _only(worker.place.node)


def _aside(method: Any) -> Any:
    """Return a method to be called while another one of the same actor runs."""
    return method.options(concurrency_group="watch")


def _is_there(ref: Any) -> bool:
    return bool(ray.wait([ref], timeout=0)[0])


def _first_line(error: BaseException) -> str:
    """Return the line of an error that says what happened; of a failed task that is the last one."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if isinstance(error, ray.exceptions.RayTaskError) else lines[0]

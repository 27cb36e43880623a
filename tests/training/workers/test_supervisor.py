"""Supervision of workers, with a transport that keeps everything in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from training.workers.interface import WorkerError
from training.workers.supervisor import (
    MAX_FAILURES,
    Alive,
    Answer,
    Lost,
    Message,
    Place,
    Supervisor,
    Task,
    Worker,
)


class Memory:
    """See `Transport`; what workers say next is in `said`, in order."""

    def __init__(self, *places: Place) -> None:
        self.here: list[Place] | None = list(places)
        self.said: list[tuple[Worker, Message]] = []
        self.told: list[tuple[Worker, str]] = []
        self.ended: list[tuple[Worker, bool]] = []

    def places(self) -> Sequence[Place] | None:
        return self.here

    def start(self, worker: Worker) -> None:
        worker.pid = 1

    def send(self, worker: Worker, task: Task) -> None:
        self.told.append((worker, task.method))

    def receive(self, workers: Sequence[Worker], timeout_s: float) -> Iterator[tuple[Worker, Message]]:
        said, self.said = self.said, []
        yield from said

    def stop(self, worker: Worker) -> None:
        self.told.append((worker, "stop"))

    def end(self, worker: Worker, patience_s: float = 0.0, hung: bool = False) -> None:
        self.ended.append((worker, hung))


@pytest.fixture
def lines() -> list[str]:
    return []


def staffed(lines: list[str], *places: Place, silence_s: float = 0.0) -> tuple[Supervisor, Memory]:
    """Return a supervisor whose workers have come up."""
    transport = Memory(*places)
    supervisor = Supervisor(transport, silence_s, lines.append)
    assert supervisor.look(0) == []
    assert len(supervisor.workers) == sum(place.slots for place in places if place.ready)
    return supervisor, transport


def test_a_lost_worker_leaves_its_tasks_and_another_one_takes_its_place(lines: list[str]) -> None:
    supervisor, transport = staffed(lines, Place("here", slots=2))
    lost, other = supervisor.workers
    tasks = Task("play", (1,)), Task("play", (2,))
    for task in tasks:
        supervisor.give(lost, task)
    transport.said = [(lost, Lost("exit code -9"))]
    assert supervisor.look(0) == [(lost, Lost("exit code -9", tasks))]
    assert supervisor.workers[0] is other and supervisor.workers[1].life == 2
    assert transport.ended == [(lost, False)] and lines == ["here was lost (exit code -9): replaced"]


def test_answers_are_taken_off_in_any_order_and_forgive_failures(lines: list[str]) -> None:
    place = Place("here")
    supervisor, transport = staffed(lines, place)
    (worker,) = supervisor.workers
    first, second = Task("play", ()), Task("match", ())
    supervisor.give(worker, first)
    supervisor.give(worker, second)
    place.failures = 2
    transport.said = [(worker, Answer(second, 7))]
    assert supervisor.look(0) == [(worker, Answer(second, 7))]
    assert list(worker.tasks) == [first] and place.failures == 0 and supervisor.busy


def test_free_workers_come_idlest_first(lines: list[str]) -> None:
    supervisor, _ = staffed(lines, Place("here", slots=3))
    a, b, c = supervisor.workers
    for worker in (a, a, b):
        supervisor.give(worker, Task("play", ()))
    assert list(supervisor.free(2)) == [c, b]


@pytest.mark.parametrize("signs", [True, False])
def test_only_a_silent_worker_that_has_something_to_do_is_replaced(
    lines: list[str], monkeypatch: pytest.MonkeyPatch, signs: bool
) -> None:
    now_s = [100.0]
    monkeypatch.setattr("training.workers.supervisor.time.monotonic", lambda: now_s[0])
    supervisor, transport = staffed(lines, Place("busy"), Place("idle"), silence_s=3.0)
    busy, idle = supervisor.workers
    supervisor.give(busy, Task("play", ()))
    now_s[0] += 3600
    supervisor.look(0)
    assert not lines, "this process stood still for an hour"
    for _ in range(4):
        now_s[0] += 0.9
        transport.said = [(busy, Alive())] if signs else []
        supervisor.look(0)
    assert lines == ([] if signs else ["busy was lost (said nothing for 4 s): replaced"])
    assert transport.ended == ([] if signs else [(busy, True)]) and idle in supervisor.workers


def fail(supervisor: Supervisor, transport: Memory, place: Place, times: int) -> None:
    for _ in range(times):
        worker = next(worker for worker in supervisor.workers if worker.place is place)
        transport.said = [(worker, Lost("why"))]
        supervisor.look(0)


def test_a_place_that_fails_again_and_again_is_left_alone_until_none_is_left(lines: list[str]) -> None:
    bad, good = Place("bad", slots=2), Place("good")
    supervisor, transport = staffed(lines, bad, good)
    fail(supervisor, transport, bad, 2 * MAX_FAILURES)
    assert lines[-1] == "bad was lost 6 times in a row (why): left alone"
    assert [worker.place for worker in supervisor.workers] == [good, bad], "the other one plays on"
    fail(supervisor, transport, good, MAX_FAILURES)
    with pytest.raises(WorkerError, match=r"no machine of the cluster can play; bad was lost 6 times"):
        supervisor.look(0)


def test_an_essential_place_that_is_refused_ends_the_run_after_its_tasks_are_back(lines: list[str]) -> None:
    place = Place("worker 0", essential=True)
    supervisor, transport = staffed(lines, place, Place("worker 1", essential=True))
    fail(supervisor, transport, place, MAX_FAILURES - 1)
    task = Task("play", ())
    (worker,) = (worker for worker in supervisor.workers if worker.place is place)
    supervisor.give(worker, task)
    transport.said = [(worker, Lost("why"))]
    assert supervisor.look(0) == [(worker, Lost("why", (task,)))]
    with pytest.raises(WorkerError, match=r"worker 0 was lost 3 times in a row \(why\); the same command"):
        supervisor.look(0)
    assert len(lines) == MAX_FAILURES - 1


def test_workers_go_with_their_place_and_come_only_when_it_is_ready(lines: list[str]) -> None:
    stays, joins = Place("stays"), Place("joins", slots=2, ready=False)
    supervisor, transport = staffed(lines, stays, joins)
    (worker,) = supervisor.workers
    transport.here = None
    assert supervisor.look(0) == [] and supervisor.workers == [worker], "places are not known now"
    joins.ready, transport.here = True, [joins]
    assert supervisor.look(0) == [(worker, Lost("its machine left"))]
    assert [w.place for w in supervisor.workers] == [joins, joins] and not lines


def test_after_a_stop_nobody_is_replaced_and_nothing_is_said(lines: list[str]) -> None:
    supervisor, transport = staffed(lines, Place("here", slots=2))
    first, second = supervisor.workers
    supervisor.stop()
    assert transport.told == [(first, "stop"), (second, "stop")]
    transport.said = [(first, Lost("exit code 0"))]
    assert supervisor.look(0) == [(first, Lost("exit code 0"))]
    assert supervisor.workers == [second] and not lines
    supervisor.close()
    assert transport.ended == [(first, False), (second, False)] and not supervisor.workers

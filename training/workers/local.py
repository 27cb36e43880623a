"""The workers of a run on this machine: processes at the end of pipes, each with its share of a cycle."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from engine.cores import ONE_THREAD
from training.data.journal import recover_journal, shard_stem
from training.measure.batched_match import MatchScore, MatchSpec, joined
from training.play.game import Counters
from training.settings.play import PlayConfig
from training.workers.cores import BusyShare
from training.workers.interface import CycleOrder, PoolConfig, WorkerError, WorkerPool
from training.workers.process import worker_main
from training.workers.supervisor import Alive, Answer, Lost, Message, Place, Supervisor, Task, Worker

_STOP_PATIENCE_S = 10.0
_NICENESS = 10  # derived: a learner that shares a core with a worker gets nine tenths of it
_LOOK_S = 0.2  # between two looks at the workers


@dataclass(frozen=True, slots=True)
class _Link:
    """Our end of a worker's pipe, and its process."""

    pipe: Connection
    process: Any


class ProcessTransport:
    """See `Transport`: processes of this machine, one at each place, all of which are needed."""

    def __init__(self, workers: int, run_dir: Path, seed: int, options: dict[str, Any]) -> None:
        """Name the places.

        Args:
            workers: number of processes.
            run_dir: of the run.
            seed: of all games; each worker derives its own.
            options: of `worker_main`, besides index, life and seed.
        """
        self._run_dir, self._seed, self._options = run_dir, seed, options
        self._context = multiprocessing.get_context("spawn")
        self._places = [Place(f"self-play worker {index}", essential=True) for index in range(workers)]

    def places(self) -> Sequence[Place]:
        """See `Transport`: always the same."""
        return self._places

    def start(self, worker: Worker) -> None:
        """See `Transport`."""
        ours, theirs = self._context.Pipe()
        index, life = self._places.index(worker.place), worker.life
        entropy = [self._seed, index, life] if life else [self._seed, index]
        seed = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])
        options = {"index": index, "life": life, "seed": seed, **self._options}
        process = self._process(f"self-play {index}", (theirs, self._run_dir, options))
        worker.link, worker.pid = _Link(ours, process), process.pid

    def _process(self, name: str, arguments: tuple[Any, ...]) -> Any:
        process = self._context.Process(target=worker_main, args=arguments, name=name, daemon=True)
        with _one_thread_each():
            process.start()
        arguments[0].close()
        return process

    def send(self, worker: Worker, task: Task) -> None:
        """See `Transport`."""
        with contextlib.suppress(OSError):  # it has died, which `receive` tells
            worker.link.pipe.send((task.number, task.method, task.arguments))

    def receive(self, workers: Sequence[Worker], timeout_s: float) -> Iterator[tuple[Worker, Message]]:
        """See `Transport`."""
        # Without a pipe to wait for, Windows calls it an error.
        spoken = wait([worker.link.pipe for worker in workers], timeout_s) if workers else []
        for worker in list(workers):
            if worker.link.pipe in spoken:
                yield from self._hear(worker)

    def _hear(self, worker: Worker) -> Iterator[tuple[Worker, Message]]:
        try:
            while worker.link.pipe.poll():
                kind, number, value = worker.link.pipe.recv()
                if kind == "error":
                    raise WorkerError(f"{worker.place.name} failed: {value}")
                task = next((task for task in worker.tasks if task.number == number), None)
                if kind == "answer":
                    assert task is not None
                    yield worker, Answer(task, value)
                else:
                    yield worker, Alive(task, value)
        except (EOFError, OSError):
            worker.link.process.join(1)  # the pipe closes a moment before the code is known
            yield worker, Lost(f"exit code {worker.link.process.exitcode}")

    def stop(self, worker: Worker) -> None:
        """See `Transport`: it leaves then."""
        self.send(worker, Task("stop", ()))

    def end(self, worker: Worker, patience_s: float = 0.0, hung: bool = False) -> None:
        """See `Transport`; without patience it is killed."""
        worker.link.pipe.close()
        worker.link.process.join(patience_s)
        if worker.link.process.is_alive():
            worker.link.process.kill()
            worker.link.process.join()


@dataclass(slots=True)
class _Cycle:
    """What has become of the orders of a cycle.

    Attributes:
        open: places of workers that have not answered.
        progress: (games, positions) of each place so far.
        saved: the same of the workers that it had before.
        counters, slowest_s, cpu_s: as `LocalPool.play` returns them.
    """

    open: set[Place]
    progress: dict[Place, tuple[int, int]] = field(default_factory=dict)
    saved: dict[Place, tuple[int, int]] = field(default_factory=dict)
    counters: Counters = field(default_factory=Counters)
    slowest_s: float = 0.0
    cpu_s: float = 0.0

    def done(self) -> tuple[int, int]:
        """Return games and positions of all workers so far."""
        return sum(p[0] for p in self.progress.values()), sum(p[1] for p in self.progress.values())

    def advance(self, place: Place, games: int, positions: int) -> None:
        """Set what the worker of a place has done, besides those before it."""
        saved = self.saved.get(place, (0, 0))
        self.progress[place] = saved[0] + games, saved[1] + positions


class LocalPool:
    """Worker processes that share each cycle and each match.

    A task of self-play waits behind those before it, so that no worker waits for another one or for the
    run; a match is played at once. A worker that is killed (by a system short of memory, say) or hangs is
    replaced by one that continues with its tasks; its finished games are saved, those in flight are lost.
    """

    transport = ProcessTransport

    def __init__(
        self,
        workers: int,
        run_dir: Path,
        play: PlayConfig,
        games: int,
        seed: int,
        device: str,
        report: Callable[[str], None] = print,
        silence_s: float = 0.0,
        niceness: int = 0,
    ) -> None:
        """Start the processes.

        Args:
            workers: number of processes.
            run_dir: of the run; `records` exists.
            play: settings of self-play.
            games: in flight in each worker, of each size.
            seed: of all games; each worker derives its own.
            device: "cpu" or a CUDA device.
            report: gets a line when a worker had to be replaced.
            silence_s: see `Supervisor`.
            niceness: by which workers stand back behind this process where there are too few cores.
        """
        self._run_dir, self._report = run_dir, report
        options = {"device": device, "play": play, "games": games, "niceness": niceness}
        transport = self.transport(workers, run_dir, seed, options)
        self._places = transport.places()
        self.supervisor = Supervisor(transport, silence_s, report)
        self._waiting: dict[Place, deque[Task]] = {place: deque() for place in self._places}
        self._cycles: dict[int, _Cycle] = {}
        self._answers: dict[Task, Any] = {}
        self._busy = BusyShare(lambda: [worker.pid for worker in self.supervisor.workers])
        self.poll()

    # --- what the run asks for

    def plan(self, order: CycleOrder) -> None:
        """See `WorkerPool.plan`: each worker plays its share when it has done what it was told before."""
        self._cycles[order.cycle] = _Cycle(set(self._places))
        share = dataclasses.replace(order, positions=-(-order.positions // len(self._places)))
        self._share([Task("play", (share,)) for _ in self._places])

    def play(
        self, order: CycleOrder, on_progress: Callable[[int, int], None], stopped: Callable[[], bool]
    ) -> tuple[Counters, float, float]:
        """See `WorkerPool.play`; the seconds are those of the slowest worker."""
        if order.cycle not in self._cycles:
            self.plan(order)
        asked, shown = self._cycles[order.cycle], (0, 0)
        while asked.open:
            self._look(stopped)
            if asked.done() != shown:
                shown = asked.done()
                on_progress(*shown)
        del self._cycles[order.cycle]
        return asked.counters, asked.slowest_s, asked.cpu_s

    def poll(self) -> None:
        """Hear the workers and replace those that died or hang, while the run does something else.

        Raises:
            WorkerError: a worker failed.
        """
        self._look(lambda: False, 0.0)

    def play_match(self, spec: MatchSpec, stopped: Callable[[], bool]) -> MatchScore:
        """Share the pairs of a match among the workers and return the whole result; self-play stands still.

        Raises:
            WorkerError: a worker failed.
        """
        return joined(self._ask([Task("match", (part,)) for part in spec.split(len(self._places))], stopped))

    def measure_nets(
        self, net: str, size: tuple[int, int], rows: int, seconds: float, session: bool = False
    ) -> list[tuple[float, float]]:
        """Let all workers compute a net at the same time.

        Args:
            net: file or name of the evaluator.
            size: width and height of the boards.
            rows: positions of a batch.
            seconds: that it takes.
            session: let onnxruntime compute also what the kernel would.

        Returns:
            Evaluations a second, and a CPU second, of each worker.
        """
        task = (net, size, rows, seconds, session)
        return self._ask([Task("raw", task) for _ in self._places], lambda: False)

    def _ask(self, tasks: list[Task], stopped: Callable[[], bool]) -> list[Any]:
        """Give each worker a task and return their answers, but for those that leave after a stop."""
        self._answers.clear()
        self._share(tasks)
        while len(self._answers) < len(tasks) and (self.supervisor.busy or not self.supervisor.stopping):
            self._look(stopped)
        return [self._answers[task] for task in tasks if task in self._answers]

    def metrics(self) -> dict[str, float]:
        """Return the share of all cores that this process and its workers used since the last call."""
        return self._busy.metrics()

    def close(self) -> Counters:
        """Stop the workers and return what was played of cycles that no `play` has told of.

        Workers that do not listen are killed; their finished games stay in the journals.
        """
        deadline_s = time.monotonic() + _STOP_PATIENCE_S
        with contextlib.suppress(WorkerError):
            while self.supervisor.workers and time.monotonic() < deadline_s:
                self._look(lambda: True)
        self.supervisor.close(deadline_s - time.monotonic())
        late = Counters()
        for asked in self._cycles.values():
            late.add(asked.counters)
        return late

    # --- the workers

    def _share(self, tasks: list[Task]) -> None:
        for place, task in zip(self._places, tasks, strict=True):
            self._waiting[place].append(task)
        self._hand_out()

    def _hand_out(self) -> None:
        for worker in self.supervisor.workers:
            waiting = self._waiting[worker.place]
            while waiting:
                self.supervisor.give(worker, waiting.popleft())

    def _look(self, stopped: Callable[[], bool], timeout_s: float = _LOOK_S) -> None:
        """Hear what workers say, and see that they do."""
        if not self.supervisor.stopping and stopped():
            self.supervisor.stop()
        for worker, said in self.supervisor.look(timeout_s):
            self._take(worker.place, said, worker.life)
        self._hand_out()
        if self.supervisor.stopping:
            here = {worker.place for worker in self.supervisor.workers}
            for asked in self._cycles.values():
                asked.open &= here

    def _take(self, place: Place, said: Message, life: int) -> None:
        if isinstance(said, Lost):
            self._waiting[place].extendleft(reversed(self._save(place, life, said.tasks)))
        elif isinstance(said, Alive):
            if said.task is not None:
                self._cycles[said.task.arguments[0].cycle].advance(place, *said.value)
        elif said.task.method == "play":
            asked = self._cycles[said.task.arguments[0].cycle]
            asked.open.discard(place)
            asked.counters.add(said.value.counters)
            asked.slowest_s = max(asked.slowest_s, said.value.seconds)
            asked.cpu_s += said.value.cpu_seconds
        else:
            self._answers[said.task] = said.value

    def _save(self, place: Place, life: int, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
        """Keep what a dead worker has finished of its first task; return what is left to the next one."""
        if not tasks or tasks[0].method != "play":
            return tasks
        order: CycleOrder = tasks[0].arguments[0]
        asked = self._cycles[order.cycle]
        stem = shard_stem(order.cycle, self._places.index(place), life)
        journal = self._run_dir / "records" / f"{stem}.journal"
        games = recover_journal(journal, self._report) if journal.exists() else []
        done = sum(game.positions for game in games)
        asked.counters.add(Counters(games=len(games), moves=done))
        asked.advance(place, len(games), done)
        asked.saved[place] = asked.progress[place]
        left = dataclasses.replace(order, positions=max(1, order.positions - done))
        return Task("play", (left,)), *tasks[1:]


@contextlib.contextmanager
def _one_thread_each() -> Any:
    """Let a child start with one thread for each numerical library."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class LocalBackend:
    """The machine of the run: worker processes, fed from its own disk."""

    pauses = True

    def device(self, learner: str) -> str:
        """Return the learner's device."""
        return learner

    def open(self, pool: PoolConfig) -> WorkerPool:
        """Start the processes."""
        config = pool.config
        return LocalPool(
            pool.workers, pool.run_dir, config.play, config.games, pool.seed, pool.device, pool.report,
            pool.silence_s, _NICENESS if config.ahead_cycles >= 1 else 0,
        )  # fmt: skip

"""The workers of a run as processes: start, order, watch, restart, stop."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from training.data.journal import recover_journal, shard_stem
from training.measure.batched_match import MatchScore, MatchSpec, joined
from training.play.game import Counters
from training.settings.play import Mix, PlayConfig
from training.workers.cores import BusyShare
from training.workers.interface import MAX_FAILURES, PoolConfig, WorkerError, WorkerPool
from training.workers.process import worker_main

_STOP_PATIENCE_S = 10.0
_NICENESS = 10  # derived: a learner that shares a core with a worker gets nine tenths of it
_LOOK_S = 0.2  # between two looks at the workers


@dataclass(slots=True)
class _Cycle:
    """What has become of the orders of a cycle.

    Attributes:
        open: workers that have not answered.
        progress: (games, positions) of each worker so far.
        saved: the same of its lives before this one.
        counters, slowest_s, cpu_s: as `LocalPool.play` returns them.
    """

    open: set[int]
    progress: dict[int, tuple[int, int]] = field(default_factory=dict)
    saved: dict[int, tuple[int, int]] = field(default_factory=dict)
    counters: Counters = field(default_factory=Counters)
    slowest_s: float = 0.0
    cpu_s: float = 0.0

    def done(self) -> tuple[int, int]:
        """Return games and positions of all workers so far."""
        return sum(p[0] for p in self.progress.values()), sum(p[1] for p in self.progress.values())


@dataclass(slots=True)
class _WorkerHandle:
    """A worker's place, and what the process that has it was told.

    Attributes:
        pipe: our end.
        life: how many processes had it before.
        deaths: how many of these since the last answer.
        orders: of self-play that were not answered, the first one is being played.
        question: another order that was not answered; it goes before them.
        silent_s: since it said something.
        gone: it has left after a stop.
    """

    pipe: Connection
    life: int = 0
    deaths: int = 0
    orders: deque[tuple[Any, ...]] = field(default_factory=deque)
    question: tuple[Any, ...] | None = None
    silent_s: float = 0.0
    gone: bool = False


class LocalPool:
    """Worker processes that are given orders and answer when they are done.

    An order of self-play waits behind those before it, so that no worker waits for another one or for the
    run; a match is played at once. A worker that is killed (by a system short of memory, say) or hangs is
    started again and continues with its orders; its finished games are saved, those in flight are lost.
    """

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
            report: gets a line when a worker had to be started again.
            silence_s: seconds after which a working worker that says nothing is killed and started again;
                0: never. Time in which this process itself stood still does not count.
            niceness: by which workers stand back behind this process where there are too few cores.
        """
        self._context = multiprocessing.get_context("spawn")
        self._run_dir, self._seed, self._report, self._silence_s = run_dir, seed, report, silence_s
        self._options = {"device": device, "play": play, "games": games, "niceness": niceness}
        self._processes: list[Any] = [None] * workers
        self._handles = [_WorkerHandle(self._start(index, 0)) for index in range(workers)]
        self._cycles: dict[int, _Cycle] = {}
        self._answers: dict[int, tuple[Any, ...]] = {}
        self._stopping = False
        self._looked_s = time.monotonic()
        self._busy = BusyShare(lambda: [getattr(process, "pid", None) for process in self._processes])

    def _start(self, index: int, life: int) -> Connection:
        """Start a worker's process and return our end of its pipe."""
        ours, theirs = self._context.Pipe()
        arguments = (theirs, self._run_dir, self._worker_options(index, life))
        process = self._context.Process(
            target=worker_main, args=arguments, name=f"self-play {index}", daemon=True
        )
        with _one_thread_each():
            process.start()
        theirs.close()
        self._processes[index] = process
        return ours

    def _worker_options(self, index: int, life: int) -> dict[str, Any]:
        entropy = [self._seed, index, life] if life else [self._seed, index]
        seed = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])
        return {"index": index, "life": life, "seed": seed, **self._options}

    # --- what the run asks for

    def plan(self, cycle: int, net: str, mix: Mix, positions: int) -> None:
        """See `WorkerPool.plan`: each worker plays its share when it has done what it was told before."""
        self._cycles[cycle] = _Cycle({index for index, handle in enumerate(self._handles) if not handle.gone})
        share = -(-positions // len(self._handles))
        for handle in self._handles:
            order = ("play", cycle, net, mix, share)
            handle.orders.append(order)
            self._tell(handle, order)

    def play(
        self,
        cycle: int,
        net: str,
        mix: Mix,
        positions: int,
        on_progress: Callable[[int, int], None],
        stopped: Callable[[], bool],
    ) -> tuple[Counters, float, float]:
        """See `WorkerPool.play`; the seconds are those of the slowest worker."""
        if cycle not in self._cycles:
            self.plan(cycle, net, mix, positions)
        asked, shown = self._cycles[cycle], (0, 0)
        while asked.open:
            self._look(stopped)
            if asked.done() != shown:
                shown = asked.done()
                on_progress(*shown)
        del self._cycles[cycle]
        return asked.counters, asked.slowest_s, asked.cpu_s

    def poll(self) -> None:
        """Hear the workers and start those again that died or hang, while the run does something else.

        Raises:
            WorkerError: a worker failed.
        """
        self._look(lambda: False, 0.0)

    def play_match(self, spec: MatchSpec, stopped: Callable[[], bool]) -> MatchScore:
        """Share the pairs of a match among the workers and return the whole result; self-play stands still.

        Raises:
            WorkerError: a worker failed.
        """
        answers = self._ask([("match", part) for part in spec.split(len(self._handles))], stopped)
        return joined(message[1] for message in answers if message[0] == "match")

    def order_all(self, order: tuple[Any, ...], answer: str, stopped: Callable[[], bool]) -> list[Any]:
        """Give every worker the same order and return their answers of a kind."""
        return [m[1:] for m in self._ask([order] * len(self._handles), stopped) if m[0] == answer]

    def _ask(self, orders: list[tuple[Any, ...]], stopped: Callable[[], bool]) -> list[tuple[Any, ...]]:
        """Give each worker an order and return their answers, but for those that leave after a stop."""
        self._answers.clear()
        for handle, order in zip(self._handles, orders, strict=True):
            if not handle.gone:
                handle.question = order
                self._tell(handle, order)
        while any(handle.question for handle in self._handles):
            self._look(stopped)
        return [self._answers[index] for index in sorted(self._answers)]

    def metrics(self) -> dict[str, float]:
        """Return the share of all cores that this process and its workers used since the last call."""
        return self._busy.metrics()

    def close(self) -> Counters:
        """Stop the workers and return what was played of cycles that no `play` has told of.

        Workers that do not listen are killed; their finished games stay in the journals.
        """
        deadline_s = time.monotonic() + _STOP_PATIENCE_S
        with contextlib.suppress(WorkerError):
            while not all(handle.gone for handle in self._handles) and time.monotonic() < deadline_s:
                self._look(lambda: True)
        for handle, process in zip(self._handles, self._processes, strict=True):
            handle.pipe.close()
            process.join(max(0.0, deadline_s - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        late = Counters()
        for asked in self._cycles.values():
            late.add(asked.counters)
        return late

    # --- the workers

    def _tell(self, handle: _WorkerHandle, order: tuple[Any, ...]) -> None:
        with contextlib.suppress(OSError):  # it has died: the next look starts it again, with its orders
            handle.pipe.send(order)

    def _look(self, stopped: Callable[[], bool], timeout_s: float = _LOOK_S) -> None:
        """Hear what workers say, and see that they do."""
        if not self._stopping and stopped():
            self._stopping = True
            for handle in self._handles:
                self._tell(handle, ("stop",))
        spoken = wait([handle.pipe for handle in self._handles if not handle.gone], timeout_s)
        now_s = time.monotonic()
        passed_s, self._looked_s = min(now_s - self._looked_s, 5 * _LOOK_S), now_s
        for index, handle in enumerate(self._handles):
            if handle.pipe in spoken:
                handle.silent_s = 0.0
                self._hear(index)
            elif handle.orders or handle.question:
                handle.silent_s += passed_s
            if self._silence_s and handle.silent_s > self._silence_s and not handle.gone:
                self._report(f"self-play worker {index} said nothing for {self._silence_s:g} s: killed")
                handle.silent_s = 0.0
                self._processes[index].kill()  # its pipe closes, and the next look starts it again

    def _hear(self, index: int) -> None:
        """Take what a worker has said."""
        handle = self._handles[index]
        try:
            while handle.pipe.poll():
                self._take(index, handle.pipe.recv())
        except (EOFError, OSError) as error:
            self._lost(index, error)

    def _take(self, index: int, message: tuple[Any, ...]) -> None:
        handle, (kind, *said) = self._handles[index], message
        if kind == "error":
            raise WorkerError(f"self-play worker {index} failed: {said[0]}")
        if kind == "alive":
            return
        if kind == "progress":
            asked = self._cycles[handle.orders[0][1]]
            before = asked.saved.get(index, (0, 0))
            asked.progress[index] = before[0] + said[0], before[1] + said[1]
            return
        handle.deaths = 0
        if kind == "done":
            asked = self._cycles[handle.orders.popleft()[1]]
            asked.open.discard(index)
            asked.counters.add(said[0].counters)
            asked.slowest_s = max(asked.slowest_s, said[0].seconds)
            asked.cpu_s += said[0].cpu_seconds
        else:
            handle.question = None
            self._answers[index] = message

    def _lost(self, index: int, error: Exception) -> None:
        """A worker has ended: keep what it has finished, and start it again if it was not to stop."""
        handle, process = self._handles[index], self._processes[index]
        self._save(index)
        if self._stopping:
            handle.gone, handle.question = True, None
            handle.orders.clear()
            for asked in self._cycles.values():
                asked.open.discard(index)
            return
        process.join(1)  # the pipe closes a moment before the code is known
        handle.deaths += 1
        if handle.deaths == MAX_FAILURES:
            raise WorkerError(
                f"self-play worker {index} ended unexpectedly {MAX_FAILURES} times in a row (exit code "
                f"{process.exitcode}); the same command continues from the last cycle"
            ) from error
        handle.pipe.close()
        handle.life += 1
        handle.pipe = self._start(index, handle.life)
        for order in (*handle.orders, handle.question):
            if order is not None:
                self._tell(handle, order)
        self._report(
            f"self-play worker {index} ended unexpectedly (exit code {process.exitcode}): started again"
        )

    def _save(self, index: int) -> None:
        """Keep what a dead worker has finished of its order, and leave the rest to the next one."""
        handle = self._handles[index]
        if not handle.orders:
            return
        *order, left = handle.orders[0]
        asked = self._cycles[order[1]]
        stem = shard_stem(order[1], index, handle.life)
        journal = self._run_dir / "records" / f"{stem}.journal"
        games = recover_journal(journal, self._report) if journal.exists() else []
        done = sum(game.positions for game in games)
        asked.counters.add(Counters(games=len(games), moves=done))
        before = asked.saved.get(index, (0, 0))
        asked.saved[index] = asked.progress[index] = before[0] + len(games), before[1] + done
        handle.orders[0] = (*order, max(1, left - done))


@contextlib.contextmanager
def _one_thread_each() -> Any:
    """Let a child start with one thread for each numerical library."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
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

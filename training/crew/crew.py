"""The workers of a run as processes: start, order, watch, restart, stop."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from training.crew.worker import worker_main
from training.data.journal import recover_journal, shard_stem
from training.measure.arena import ArenaResult, ArenaSpec, joined
from training.play.game import Counters
from training.settings.play import Mix, PlayConfig

_STOP_PATIENCE_S = 10.0
_LOOK_S = 0.2  # between two looks at the workers
_LIVES = 3  # of a worker within one order: what kills it every time is no accident


class WorkerError(RuntimeError):
    """A worker failed; the message holds its traceback."""


class Crew:
    """Worker processes that are given one order each and answer when it is done.

    One that is killed (by a system short of memory, say) or hangs is started again and goes on with its
    order; its finished games are saved, those in flight are lost.
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
        """
        self._context = multiprocessing.get_context("spawn")
        self._run_dir, self._seed, self._report, self._silence_s = run_dir, seed, report, silence_s
        self._options = {"device": device, "play": play, "games": games}
        self._processes: list[Any] = [None] * workers
        self._pipes: list[Connection] = [self._start(index, 0) for index in range(workers)]
        self._lives = [0] * workers
        self._orders: list[tuple[Any, ...]] = [()] * workers
        self._stopping = False

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

    def _give(self, index: int, order: tuple[Any, ...]) -> None:
        """Give a worker an order; one that has died since the last is started again."""
        self._orders[index] = order
        try:
            self._pipes[index].send(order)
        except OSError:
            self._revive(index)

    def _revive(self, index: int) -> None:
        """Start a dead worker again, with its order."""
        self._processes[index].join(1)  # the pipe closes a moment before the code is known
        code = self._processes[index].exitcode
        self._pipes[index].close()
        self._lives[index] += 1
        self._pipes[index] = self._start(index, self._lives[index])
        self._pipes[index].send(self._orders[index])
        self._report(f"self-play worker {index} ended unexpectedly (exit code {code}): started again")

    def play(
        self,
        cycle: int,
        net: str,
        mix: Mix,
        positions: int,
        on_progress: Callable[[int, int], None],
        stopped: Callable[[], bool],
    ) -> tuple[Counters, float, float]:
        """See `Players.play`; the seconds are those of the slowest worker."""
        share = -(-positions // len(self._pipes))
        for index in range(len(self._pipes)):
            self._give(index, ("play", cycle, net, mix, share))
        progress, saved = ([(0, 0)] * len(self._pipes) for _ in range(2))
        total, slowest_s, cpu_s = Counters(), 0.0, 0.0

        def save(index: int) -> None:
            """Keep what a dead worker has finished, and leave the rest to the next one."""
            stem = shard_stem(cycle, index, self._lives[index])
            journal = self._run_dir / "records" / f"{stem}.journal"
            games = recover_journal(journal, self._report) if journal.exists() else []
            done = sum(game.positions for game in games)
            total.add(Counters(games=len(games), moves=done))
            saved[index] = progress[index] = saved[index][0] + len(games), saved[index][1] + done
            *order, left = self._orders[index]
            self._orders[index] = (*order, max(1, left - done))

        for answer in self._answers(stopped, save):
            index, message = answer
            if message[0] == "progress":
                progress[index] = saved[index][0] + message[1], saved[index][1] + message[2]
                on_progress(sum(p[0] for p in progress), sum(p[1] for p in progress))
            elif message[0] == "done":
                total.add(message[1])
                slowest_s = max(slowest_s, message[2])
                cpu_s += message[3]
        return total, slowest_s, cpu_s

    def arena(self, spec: ArenaSpec, stopped: Callable[[], bool]) -> ArenaResult:
        """Share the pairs of a match among the workers and return the whole result.

        Raises:
            WorkerError: a worker failed.
        """
        from dataclasses import replace

        n = len(self._pipes)
        for index in range(n):
            first, last = spec.pairs * index // n, spec.pairs * (index + 1) // n
            part = replace(spec, pairs=last - first, first_pair=spec.first_pair + first)
            self._give(index, ("arena", part))
        parts: dict[int, ArenaResult] = {}
        for index, message in self._answers(stopped):
            if message[0] == "arena":
                parts[index] = message[1]
        return joined(parts[index] for index in sorted(parts))

    def order_all(self, order: tuple[Any, ...], answer: str, stopped: Callable[[], bool]) -> list[Any]:
        """Give every worker the same order and return their answers of a kind."""
        for index in range(len(self._pipes)):
            self._give(index, order)
        return [message[1:] for _, message in self._answers(stopped) if message[0] == answer]

    def _answers(
        self, stopped: Callable[[], bool], on_death: Callable[[int], None] = lambda index: None
    ) -> Any:
        """Yield (worker, message) until every worker has given its last answer.

        Args:
            stopped: asked now and then.
            on_death: called with a worker that has died, before it is started again.
        """
        busy = dict(enumerate(self._pipes))
        first_lives = list(self._lives)
        silent_s = [0.0] * len(self._pipes)
        looked_s = time.monotonic()
        while busy:
            if stopped() and not self._stopping:
                self._stopping = True
                for pipe in self._pipes:
                    with contextlib.suppress(OSError):
                        pipe.send(("stop",))
            spoken = wait(list(busy.values()), timeout=_LOOK_S)
            now_s = time.monotonic()
            for index in busy:
                silent_s[index] += min(now_s - looked_s, 5 * _LOOK_S)
            looked_s = now_s
            for ready in spoken:
                index = next(i for i, pipe in busy.items() if pipe is ready)
                silent_s[index] = 0.0
                try:
                    message = busy[index].recv()
                except (EOFError, OSError) as error:
                    on_death(index)
                    if self._stopping:
                        del busy[index]
                        continue
                    if self._lives[index] - first_lives[index] == _LIVES - 1:
                        self._processes[index].join(1)
                        raise WorkerError(
                            f"self-play worker {index} ended unexpectedly {_LIVES} times in a row (exit "
                            f"code {self._processes[index].exitcode}); the same command goes on from the "
                            "last cycle"
                        ) from error
                    self._revive(index)
                    busy[index] = self._pipes[index]
                    continue
                if message[0] == "error":
                    raise WorkerError(f"self-play worker {index} failed: {message[1]}")
                if message[0] == "alive":
                    continue
                yield index, message
                if message[0] != "progress":
                    del busy[index]
            for index in busy:
                if self._silence_s and silent_s[index] > self._silence_s:
                    self._report(f"self-play worker {index} said nothing for {self._silence_s:g} s: killed")
                    silent_s[index] = 0.0
                    self._processes[index].kill()  # its pipe closes, and the next look starts it again

    def figures(self) -> dict[str, float]:
        """Return nothing: all about local workers is counted."""
        return {}

    def close(self) -> None:
        """Stop the workers; those that do not listen are killed."""
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.send(("stop",))
                pipe.close()
        deadline_s = time.monotonic() + _STOP_PATIENCE_S
        for process in self._processes:
            process.join(max(0.0, deadline_s - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


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

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

from training.arena import ArenaResult, ArenaSpec
from training.game import Counters, PlayConfig
from training.worker import Mix, worker_main

_STOP_PATIENCE_S = 10.0


class WorkerError(RuntimeError):
    """A worker failed; the message holds its traceback."""


class Crew:
    """Worker processes that are given one order each and answer when it is done."""

    def __init__(
        self, workers: int, run_dir: Path, play: PlayConfig, games: int, seed: int, device: str
    ) -> None:
        """Start the processes.

        Args:
            workers: number of processes.
            run_dir: of the run; `records` exists.
            play: settings of self-play.
            games: in flight in each worker, of each size.
            seed: of all games; each worker derives its own.
            device: "cpu" or a CUDA device.
        """
        self._context = multiprocessing.get_context("spawn")
        self._processes: list[Any] = []
        self._pipes: list[Connection] = []
        for index in range(workers):
            state = np.random.SeedSequence([seed, index]).generate_state(1, np.uint64)
            options = {
                "index": index, "seed": int(state[0]), "device": device, "play": play, "games": games,
            }  # fmt: skip
            ours, theirs = self._context.Pipe()
            process = self._context.Process(
                target=worker_main, args=(theirs, run_dir, options), name=f"self-play {index}", daemon=True
            )
            with _one_thread_each():
                process.start()
            theirs.close()
            self._processes.append(process)
            self._pipes.append(ours)
        self._stopping = False

    def play(
        self,
        cycle: int,
        net: str,
        mix: Mix,
        positions: int,
        on_progress: Callable[[int, int], None],
        stopped: Callable[[], bool],
    ) -> tuple[Counters, float, float]:
        """Let all workers play `positions` together.

        Args:
            cycle: names the shards.
            net: file or name of the evaluator.
            on_progress: called with games and positions finished so far.
            stopped: asked now and then; when true the workers finish early (and cannot be used again).

        Returns:
            What was done, the seconds of the slowest worker, the CPU seconds of all.

        Raises:
            WorkerError: a worker failed.
        """
        share = -(-positions // len(self._pipes))
        for pipe in self._pipes:
            pipe.send(("play", cycle, net, mix, share))
        progress = [(0, 0)] * len(self._pipes)
        total, slowest_s, cpu_s = Counters(), 0.0, 0.0
        for answer in self._answers(stopped):
            index, message = answer
            if message[0] == "progress":
                progress[index] = message[1:]
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
        for index, pipe in enumerate(self._pipes):
            first, last = spec.pairs * index // n, spec.pairs * (index + 1) // n
            pipe.send(("arena", replace(spec, pairs=last - first, first_pair=spec.first_pair + first)))
        parts: dict[int, ArenaResult] = {}
        for index, message in self._answers(stopped):
            if message[0] == "arena":
                parts[index] = message[1]
        whole = ArenaResult()
        for index in sorted(parts):
            whole.pairs += parts[index].pairs
            whole.plies += parts[index].plies
            whole.black_points += parts[index].black_points
            whole.depth |= parts[index].depth
        return whole

    def order_all(self, order: tuple[Any, ...], answer: str, stopped: Callable[[], bool]) -> list[Any]:
        """Give every worker the same order and return their answers of a kind."""
        for pipe in self._pipes:
            pipe.send(order)
        return [message[1:] for _, message in self._answers(stopped) if message[0] == answer]

    def _answers(self, stopped: Callable[[], bool]) -> Any:
        """Yield (worker, message) until every worker has given its last answer."""
        busy = dict(enumerate(self._pipes))
        while busy:
            if stopped() and not self._stopping:
                self._stopping = True
                for pipe in self._pipes:
                    with contextlib.suppress(OSError):
                        pipe.send(("stop",))
            for ready in wait(list(busy.values()), timeout=0.2):
                index = next(i for i, pipe in busy.items() if pipe is ready)
                try:
                    message = busy[index].recv()
                except (EOFError, OSError) as error:
                    self._processes[index].join(1)  # the pipe closes a moment before the code is known
                    code = self._processes[index].exitcode
                    raise WorkerError(
                        f"self-play worker {index} ended unexpectedly (exit code {code}); "
                        "the same command goes on from the last cycle"
                    ) from error
                if message[0] == "error":
                    raise WorkerError(f"self-play worker {index} failed:\n{message[1]}")
                yield index, message
                if message[0] != "progress":
                    del busy[index]

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

"""A worker: a process of its own that plays what the pool orders.

Finished games are appended to a journal at once, which becomes a shard at the end of each order, so that
killing a worker loses only the games in flight. Orders come through a pipe; a closed pipe ends the worker.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
import traceback
from collections import deque
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from arena.timing_lock import pause_while_timed
from engine.evaluator.base import Evaluator
from engine.evaluator.onnx import OnnxEvaluator
from training.data.journal import Journal, shard_stem
from training.data.records import SelfPlayRecord
from training.measure.batched_match import MatchScore, MatchSpec, play_batched
from training.play.evaluators import load_evaluator
from training.play.planes import opening_planes
from training.workers.interface import CycleOrder
from training.workers.self_play import PlayResult, SelfPlayWorker

REPORT_S = 1.0  # seconds between progress reports


def _raw_speed(
    net: str, size: tuple[int, int], rows: int, seconds: float, session: bool, device: str
) -> tuple[float, float]:
    """Return evaluations a second, and a CPU second, of a net on random openings without any search.

    Args:
        net: as for `load_evaluator`, with `device`.
        size: width and height of the boards.
        rows: positions of a batch.
        seconds: that it takes.
        session: let onnxruntime compute also what the kernel would.
        device: "cpu" or a CUDA device.
    """
    evaluator: Evaluator = OnnxEvaluator(net) if session else load_evaluator(net, device)
    planes = opening_planes(random.Random(1), rows, *size)
    keys = np.zeros(rows, np.uint64)
    for _ in range(3):
        evaluator.evaluate(planes, keys)
    started_s, started_cpu_s, done = time.monotonic(), time.process_time(), 0
    while time.monotonic() - started_s < seconds:
        evaluator.evaluate(planes, keys)
        done += rows
    return done / (time.monotonic() - started_s), done / (time.process_time() - started_cpu_s)


def worker_main(connection: Connection, run_dir: Path, options: dict[str, Any]) -> None:
    """Begin a process that works; see `work`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = "1"
    if options["niceness"] and hasattr(os, "nice"):
        os.nice(options["niceness"])
    work(connection, run_dir, options)


def work(connection: Connection, run_dir: Path, options: dict[str, Any]) -> None:
    """Do tasks until told to stop or the pipe closes.

    Tasks are (number, method, arguments): "play" with a `CycleOrder`, "match" with a `MatchSpec`, "raw" with
    the arguments of `_raw_speed`, and "stop". Tasks to play wait for one another; the others are done at
    once, in the middle of a game, which then continues. While it works it says ("alive", number, (games,
    positions)) once a second, both None in a match, so that silence means that it hangs. Answers are
    ("answer", number, `PlayResult` or `MatchScore` or evaluations a second, and a CPU second), and ("error",
    None, text).

    Args:
        connection: this end of the pipe.
        run_dir: of the run.
        options: index, life, seed, device, play (`PlayConfig`), games, niceness.
    """
    try:
        _Worker(connection, run_dir, options).obey()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except OSError as error:  # a full disk and the like: its message names the file
        with contextlib.suppress(OSError):
            connection.send(("error", None, str(error)))
    except Exception:
        with contextlib.suppress(OSError):
            connection.send(("error", None, f"\n{traceback.format_exc()}"))
    finally:
        connection.close()


class _Worker:
    def __init__(self, connection: Connection, run_dir: Path, options: dict[str, Any]) -> None:
        self._connection, self._run_dir, self._options = connection, run_dir, options
        self._games = SelfPlayWorker(options["play"], options["games"], options["device"])
        self._games.seed(options["seed"])
        self._next_report_s = 0.0
        self._stopped = False
        self._playing: int | None = None
        self._waiting: deque[tuple[int, str, tuple[Any, ...]]] = deque()

    def obey(self) -> None:
        while not self._stopped:
            self._do(*(self._waiting.popleft() if self._waiting else self._connection.recv()))

    def _do(self, number: int, method: str, arguments: tuple[Any, ...]) -> None:
        if method == "stop":
            self._stopped = True
            return
        if method == "play":
            self._playing = number
        self._connection.send(("answer", number, getattr(self, f"_{method}")(*arguments)))

    def _raw(
        self, net: str, size: tuple[int, int], rows: int, seconds: float, session: bool
    ) -> tuple[float, float]:
        return _raw_speed(net, size, rows, seconds, session, self._options["device"])

    def _match(self, spec: MatchSpec) -> MatchScore:
        return play_batched(spec, self._options["device"], self._interrupted)

    def _report_is_due(self) -> bool:
        now_s = time.monotonic()
        if now_s < self._next_report_s:
            return False
        self._next_report_s = now_s + REPORT_S
        return True

    def _interrupted(self) -> bool:
        """Look for a stop order, and wait while something is timed; called between batches of a match."""
        if self._report_is_due():
            pause_while_timed(stop=self._look)
            self._look()
        return self._stopped

    def _look(self) -> bool:
        """Say that this worker is alive in a match, and return whether it is told to stop."""
        self._connection.send(("alive", None, None))
        while not self._stopped and self._connection.poll():
            task = self._connection.recv()
            if task[1] == "stop":
                self._stopped = True
            else:
                self._waiting.append(task)
        return self._stopped

    def _listen(self) -> None:
        """Hear what has come while games are played: a task to play waits, others do not."""
        while not self._stopped and self._connection.poll():
            task = self._connection.recv()
            if task[1] == "play":
                self._waiting.append(task)
                continue
            with self._games.paused():
                self._do(*task)

    def _play(self, order: CycleOrder) -> PlayResult:
        records = self._run_dir / "records"
        name = shard_stem(order.cycle, self._options["index"], self._options["life"])
        journal = Journal(records / f"{name}.journal")
        games_done = positions_done = 0

        def keep(game: SelfPlayRecord) -> None:
            nonlocal games_done, positions_done
            journal.add(game)
            games_done += 1
            positions_done += game.positions

        def stop() -> bool:
            if self._report_is_due():
                paused()
                with self._games.paused():
                    pause_while_timed(stop=paused)
            return self._stopped

        def paused() -> bool:
            """Say that this worker is alive, and end the pause when it is told to stop."""
            self._connection.send(("alive", self._playing, (games_done, positions_done)))
            self._listen()
            return self._stopped

        result = self._games.play(order.net, lambda: order.net, order.mix, order.positions, keep, stop)
        journal.seal()
        return result

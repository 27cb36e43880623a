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
from training.play.evaluators import load_evaluator
from training.play.planes import opening_planes
from training.settings.play import Mix
from training.workers.self_play import SelfPlayWorker

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
    """Obey orders until told to stop or the pipe closes.

    Orders are ("play", cycle, net, mix, positions), ("match", spec), ("stop",) and ("raw", net, size, rows,
    seconds, session). Orders to play wait for one another; the others are obeyed at once, in the middle of a
    game, which then continues. While it works it says ("progress", games, positions) or ("alive",) once a
    second, so that silence means that it hangs. Answers are ("done", `PlayResult`), ("match", result),
    ("raw", evaluations a second, and a CPU second) and ("error", text).

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
            connection.send(("error", str(error)))
    except Exception:
        with contextlib.suppress(OSError):
            connection.send(("error", f"\n{traceback.format_exc()}"))
    finally:
        connection.close()


class _Worker:
    def __init__(self, connection: Connection, run_dir: Path, options: dict[str, Any]) -> None:
        self._connection, self._run_dir, self._options = connection, run_dir, options
        self._games = SelfPlayWorker(options["play"], options["games"], options["device"])
        self._games.seed(options["seed"])
        self._next_report_s = 0.0
        self._stopped = False
        self._waiting: deque[tuple[Any, ...]] = deque()

    def obey(self) -> None:
        while not self._stopped:
            order = self._waiting.popleft() if self._waiting else self._connection.recv()
            if order[0] == "play":
                self._self_play(*order[1:])
            else:
                self._obey_at_once(order)

    def _obey_at_once(self, order: tuple[Any, ...]) -> None:
        if order[0] == "stop":
            self._stopped = True
        elif order[0] == "raw":
            net, size, rows, seconds, session = order[1:]
            speed = _raw_speed(net, size, rows, seconds, session, self._options["device"])
            self._connection.send(("raw", *speed))
        elif order[0] == "match":
            from training.measure.batched_match import play_batched

            result = play_batched(order[1], self._options["device"], self._interrupted)
            self._connection.send(("match", result))

    def _interrupted(self) -> bool:
        """Say that this worker is alive, and look for a stop order; called between batches of a match."""
        now_s = time.monotonic()
        if now_s >= self._next_report_s:
            self._next_report_s = now_s + REPORT_S
            self._connection.send(("alive",))
        while not self._stopped and self._connection.poll():
            order = self._connection.recv()
            if order[0] == "stop":
                self._stopped = True
            else:
                self._waiting.append(order)
        return self._stopped

    def _listen(self) -> None:
        """Hear what has come while games are played: an order to play waits, others do not."""
        while not self._stopped and self._connection.poll():
            order = self._connection.recv()
            if order[0] == "play":
                self._waiting.append(order)
                continue
            with self._games.paused():
                self._obey_at_once(order)

    def _self_play(self, cycle: int, net: str, mix: Mix, positions: int) -> None:
        records = self._run_dir / "records"
        name = shard_stem(cycle, self._options["index"], self._options["life"])
        journal = Journal(records / f"{name}.journal")
        games_done = positions_done = 0

        def keep(game: SelfPlayRecord) -> None:
            nonlocal games_done, positions_done
            journal.add(game)
            games_done += 1
            positions_done += game.positions

        def stop() -> bool:
            now_s = time.monotonic()
            if now_s >= self._next_report_s:
                self._next_report_s = now_s + REPORT_S
                self._connection.send(("progress", games_done, positions_done))
                self._listen()
                with self._games.paused():
                    pause_while_timed(stop=paused)
            return self._stopped

        def paused() -> bool:
            """Say that this worker is alive, and end the pause when it is told to stop."""
            self._connection.send(("progress", games_done, positions_done))
            self._listen()
            return self._stopped

        result = self._games.play(net, lambda: net, mix, positions, keep, stop)
        journal.seal()
        self._connection.send(("done", result))

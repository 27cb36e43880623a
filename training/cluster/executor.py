"""Games of `training.match` on the machines of a cluster: an executor whose workers are players of Ray."""

from __future__ import annotations

import dataclasses
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any

import ray

from arena.match_config import MatchConfig
from training.cluster.connection import connect, leave
from training.cluster.net_store import NetStore
from training.cluster.scheduler import GameTask, NetName
from training.cluster.transport import DEPTH, RayTransport
from training.settings.play import PlayConfig
from training.workers.interface import WorkerError
from training.workers.supervisor import Answer, Lost, Supervisor, Task

_SILENCE_S = 1800.0  # derived: a game at a minute a move takes less
_LOOK_S = 0.2


class GameExecutor(Executor):
    """Plays `play_index` cluster_executor away. Games of players that are lost are played again."""

    def __init__(self, report: Callable[[str], None]) -> None:
        """Begin to hire on the cluster that this process has joined."""
        transport = RayTransport(PlayConfig(), 1, _SILENCE_S, report)
        self._supervisor = Supervisor(transport, _SILENCE_S, report)
        self._nets = NetStore(transport.head)
        self._numbers = itertools.count()
        self._waiting: deque[GameTask] = deque()
        self._futures: dict[int, Future[Any]] = {}
        self._ending = False
        self._failure: WorkerError | None = None
        self._lock = threading.Lock()  # of what `submit` shares with the thread
        self._thread = threading.Thread(target=self._work, name="cluster", daemon=True)
        self._thread.start()

    @property
    def width(self) -> int:
        """Games to hand out at a time, so that machines that join find some."""
        return DEPTH * max(1, int(ray.cluster_resources().get("CPU", 1)))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Play a game; `fn` is `play_index`.

        Raises:
            WorkerError: nobody can play any more.
        """
        config, opening, index = args
        a, a_net = self._parcel(config.a)
        b, b_net = self._parcel(config.b)
        there = dataclasses.replace(config, a=a, b=b, openings=None, journal=None, save=None)
        order = GameTask(next(self._numbers), there, opening, index, a_net, b_net)
        future: Future[Any] = Future()
        with self._lock:
            if self._failure is not None:
                raise self._failure
            self._futures[order.number] = future
            self._waiting.append(order)
        return future

    def _parcel(self, spec: str) -> tuple[str, NetName]:
        """Return the text of a player without the file of its net, and the placeholder for it."""
        kind, colon, text = spec.partition(":")
        kept, net = [], NetName("", "")
        for part in text.split(","):
            key, _, value = part.partition("=")
            if kind == "engine" and key == "net" and os.path.isfile(value):
                net = self._nets.name(value)
            else:
                kept.append(part)
        return f"{kind}{colon}{','.join(kept)}", net

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the players; games in flight are dropped."""
        self._ending = True
        self._thread.join(5)
        self._supervisor.close()

    def _work(self) -> None:
        try:
            while not self._ending:
                for worker in self._supervisor.free(DEPTH):
                    if not self._waiting:
                        break
                    order = self._waiting.popleft()
                    refs = self._nets.refs(order.a, order.b)
                    self._supervisor.give(worker, Task("game", (order, refs)))
                for _, said in self._supervisor.look(_LOOK_S):
                    if isinstance(said, Answer):
                        self._futures.pop(said.task.arguments[0].number).set_result(said.value)
                    elif isinstance(said, Lost):
                        self._waiting.extendleft(task.arguments[0] for task in said.tasks)
        except BaseException as error:
            with self._lock:
                self._failure = WorkerError(str(error))
                while self._futures:
                    self._futures.popitem()[1].set_exception(self._failure)


@contextmanager
def cluster_executor(address: str, report: Callable[[str], None]) -> Iterator[GameExecutor]:
    """Lend the players of a cluster.

    Raises:
        ClusterError: see `connect`.
    """
    connect(address)
    pool = GameExecutor(report)
    try:
        yield pool
    finally:
        pool.shutdown()
        leave()


def with_net(config: MatchConfig, a: str, b: str) -> MatchConfig:
    """Return a match whose players have the nets of these files, where they are not empty."""
    texts = [f"{spec},net={net}" if net else spec for spec, net in ((config.a, a), (config.b, b))]
    return dataclasses.replace(config, a=texts[0], b=texts[1])

"""An actor of Ray on one core of some machine. It keeps games in flight from task to task."""

from __future__ import annotations

import dataclasses
import os
import time
from typing import Any

from arena.match_runner import play_index
from engine.games.record import GameRecord
from training.cluster.net_store import fetch
from training.cluster.scheduler import TASK_S, GameTask, MatchTask, PlayTask
from training.data.records import SelfPlayRecord
from training.data.shards import encode
from training.measure.batched_match import MatchScore, play_batched
from training.play.game import Counters
from training.settings.play import PlayConfig
from training.workers.self_play import PlayResult, SelfPlayWorker


class SelfPlayActor:
    """Does one task after the other; `pulse` and `drain` are answered in parallel, in another thread."""

    def __init__(self, play: PlayConfig, games: int) -> None:
        """Make an actor without games; see `SelfPlayWorker`."""
        self._games = SelfPlayWorker(play, games)
        self._beat_s = time.monotonic()
        self._draining = False
        self._newest = 0

    def hello(self) -> int:
        """Return the process id."""
        return os.getpid()

    def pulse(self) -> float:
        """Return the seconds since this actor last finished a batch or a task."""
        return time.monotonic() - self._beat_s

    def drain(self) -> None:
        """Answer the running task, and all that follow, at once."""
        self._draining = True

    def invalidate(self, generation: int) -> None:
        """Play no longer with nets older than this one: answer such orders at once with what is done."""
        self._newest = generation

    def self_play(self, task: PlayTask, refs: dict[str, Any]) -> PlayResult:
        """Play; games that do not end stay in flight, and continue with the net of the next task."""
        if task.generation < self._newest:
            self._beat()
            return PlayResult(Counters(), 0.0, 0.0)
        started_s = time.monotonic()
        self._games.seed(task.seed)
        games: list[SelfPlayRecord] = []

        def over() -> bool:
            late = time.monotonic() - started_s > TASK_S
            return self._beat() or late or task.generation < self._newest

        name = task.net.digest or task.net.suffix
        result = self._games.play(
            name, lambda: fetch(task.net, refs), task.mix, task.positions, games.append, over
        )
        self._beat()
        return dataclasses.replace(result, shard=encode(games) if games else b"")

    def match(self, task: MatchTask, refs: dict[str, Any]) -> MatchScore:
        """Play a part of a match."""
        a = dataclasses.replace(task.spec.a, net=fetch(task.a, refs))
        b = dataclasses.replace(task.spec.b, net=fetch(task.b, refs))
        return play_batched(dataclasses.replace(task.spec, a=a, b=b), stop=self._beat)

    def game(self, task: GameTask, refs: dict[str, Any]) -> tuple[int, GameRecord]:
        """Play one game of a match; return its index in the match and its record."""
        from training.cluster.executor import with_net

        self._beat()
        a, b = fetch(task.a, refs), fetch(task.b, refs)
        played = play_index(with_net(task.config, a, b), task.opening, task.index)
        self._beat()
        return played

    def _beat(self) -> bool:
        self._beat_s = time.monotonic()
        return self._draining

"""Games in flight in one process, and what a task of self-play comes to: the same here and on a cluster."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from training.data.records import SelfPlayRecord
from training.play.evaluators import load_evaluator
from training.play.game import Counters
from training.play.groups import GameGroups
from training.settings.play import Mix, PlayConfig


@dataclass(frozen=True, slots=True)
class PlayResult:
    """What a task of self-play came to.

    Attributes:
        counters: what was searched and played.
        seconds, cpu_seconds: that it took, the second of the whole process.
        shard: bytes of a shard of the games that ended; empty without any, or where the worker kept them.
    """

    counters: Counters
    seconds: float
    cpu_seconds: float
    shard: bytes = b""


class SelfPlayWorker:
    """Plays one task after the other; games that do not end stay in flight, and go on with the next net."""

    def __init__(self, config: PlayConfig, games: int, device: str = "cpu") -> None:
        """Make a worker without games.

        Args:
            config: settings of self-play.
            games: in flight, of each size of boards.
            device: that nets play on.
        """
        self._config, self._games, self._device = config, games, device
        self._groups: GameGroups | None = None
        self._net = ""
        self._paused_s = self._paused_cpu_s = 0.0
        self._pauses = 0

    def seed(self, seed: int) -> None:
        """Set the seed of the games that begin from here on."""
        if self._groups is None:
            self._groups = GameGroups(self._config, self._games, seed)
        else:
            self._groups.reseed(seed)

    def play(
        self, name: str, load: Callable[[], str], mix: Mix, positions: int,
        on_record: Callable[[SelfPlayRecord], None], stopped: Callable[[], bool],
    ) -> PlayResult:  # fmt: skip
        """Search so many positions; `seed` has been called before.

        Args:
            name: of the net; another one than before is loaded.
            load: returns its file, or the name of an evaluator without one.
            mix: boards and rules.
            positions: to search.
            on_record: gets each game that ends.
            stopped: asked between batches; true ends the task early.
        """
        assert self._groups is not None
        self._paused_s = self._paused_cpu_s = 0.0
        if name != self._net:
            self._groups.use(load_evaluator(load(), self._device))
            self._net = name
        started_s, started_cpu_s = time.monotonic(), time.process_time()
        self._groups.on_record = on_record
        counters = self._groups.play(mix, positions, stopped)
        seconds = time.monotonic() - started_s - self._paused_s
        return PlayResult(counters, seconds, time.process_time() - started_cpu_s - self._paused_cpu_s)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time inside, which goes to something else in the middle of a task."""
        started_s, started_cpu_s = time.monotonic(), time.process_time()
        self._pauses += 1
        yield
        self._pauses -= 1
        if not self._pauses:  # of a pause in a pause the outer one counts
            self._paused_s += time.monotonic() - started_s
            self._paused_cpu_s += time.process_time() - started_cpu_s

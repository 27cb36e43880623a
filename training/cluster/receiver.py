"""Games that arrive: checked, appended to a journal at once, which becomes a shard at the end of each cycle.

The journal is that of a local worker, so that whatever kills the run, its next start recovers what came.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from training.data.journal import Journal, shard_stem
from training.data.records import SelfPlayRecord
from training.data.shards import MAGIC, decode

_SHARD_POSITIONS = 100_000  # derived: a quarter of what a shard may unpack to
PATIENCE_S = 600.0
"""Seconds that a disk may refuse to take games until the run ends (derived: time to make room)."""
_RETRY_S = 2.0


class GameReceiver:
    """Takes games in for one cycle after the other. Not thread-safe."""

    def __init__(self, records: Path, report: Callable[[str], None]) -> None:
        self._records, self._report = records, report
        self._held: deque[tuple[bytes, list[SelfPlayRecord]]] = deque()
        self._games = 0
        self._positions = 0
        self._journal: Journal | None = None
        self._cycle, self._part = 0, 0
        self._refused_s: float | None = None
        self._retry_s = 0.0

    def begin(self, cycle: int) -> None:
        """Name the cycle that games belong to from here on."""
        if cycle != self._cycle:
            self._cycle, self._part = cycle, 0

    def take(self, shard: bytes, source: str) -> int:
        """Check the bytes of a shard and keep its games; return their number.

        Raises:
            RecordError: damaged on the way; nothing of it is kept.
            OSError: see `flush`.
        """
        games = decode(shard, source)
        self._held.append((shard[len(MAGIC) :], games))
        self.flush()
        return len(games)

    @property
    def stuck(self) -> int:
        """Games that the disk did not take yet."""
        return sum(len(games) for _, games in self._held)

    def flush(self) -> None:
        """Write what is here. While the disk refuses, games stay in memory; that is reported once.

        Raises:
            OSError: it has refused for too long; the error names the file.
        """
        now_s = time.monotonic()
        if not self._held or (self._refused_s is not None and now_s < self._retry_s):
            return
        try:
            while self._held:
                self._open().append(self._held[0][0])
                _, games = self._held.popleft()
                self._games += len(games)
                self._positions += sum(game.positions for game in games)
                if self._positions >= _SHARD_POSITIONS:
                    self.seal()
        except OSError as error:
            if self._refused_s is None:
                self._refused_s = now_s
                self._report(
                    f"{error}: {self.stuck} games wait in memory and no more are ordered; make room "
                    f"within {PATIENCE_S / 60:.0f} minutes"
                )
            self._retry_s = now_s + _RETRY_S
            if now_s - self._refused_s > PATIENCE_S:
                raise
            return
        if self._refused_s is not None:
            self._report(f"the disk takes games again after {now_s - self._refused_s:.0f} s")
            self._refused_s = None

    def seal(self) -> int:
        """Make the journal a shard; return the number of its games.

        Raises:
            OSError: the disk fails; it names the file, and the journal keeps the games.
        """
        games = self._games
        if self._journal is not None:
            self._journal.seal()
            self._part += games > 0
        self._journal, self._games, self._positions = None, 0, 0
        return games

    def _open(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self._records / f"{self._stem()}.journal")
        return self._journal

    def _stem(self) -> str:
        return shard_stem(self._cycle, self._part, 0)

"""What Ray's own tools show of a run, next to the run's line and report."""

from __future__ import annotations

import time

from ray.util.metrics import Counter, Gauge

from training.cluster.scheduler import Scheduler
from training.workers.self_play import PlayResult

_EVERY_S = 2.0


class Metrics:
    """Metrics of one run, named `tengen_*` (Ray puts `ray_` in front)."""

    def __init__(self) -> None:
        self._positions = Counter("tengen_positions", "positions that self-play has searched")
        self._evaluations = Counter("tengen_evaluations", "positions that nets of self-play have judged")
        self._lost = Counter("tengen_lost_orders", "orders given again: player lost or answer damaged")
        self._positions_per_s = Gauge("tengen_positions_per_s", "positions searched a second")
        self._evaluations_per_s = Gauge("tengen_evaluations_per_s", "positions judged by nets a second")
        self._staleness = Gauge("tengen_staleness", "nets between that of the newest games and the newest")
        self._queue = Gauge("tengen_queue", "positions that no player has an order for yet")
        self._players = Gauge("tengen_players", "players at work")
        self._machines = Gauge("tengen_machines", "machines at work")
        self._shown_s = time.monotonic()
        self._moves = self._judged = 0

    def played(self, answer: PlayResult, age: int) -> None:
        """Count what came back.

        Args:
            age: of its net, in newer nets.
        """
        self._moves += answer.counters.moves
        self._judged += answer.counters.evaluations
        if answer.counters.moves:
            self._positions.inc(answer.counters.moves)
        if answer.counters.evaluations:
            self._evaluations.inc(answer.counters.evaluations)
        self._staleness.set(age)

    def lost(self) -> None:
        """Count an order that is given again."""
        self._lost.inc()

    def show(self, scheduler: Scheduler, players: int, machines: int) -> None:
        """Set what changes with time, now and then."""
        since_s = time.monotonic() - self._shown_s
        if since_s < _EVERY_S:
            return
        self._positions_per_s.set(self._moves / since_s)
        self._evaluations_per_s.set(self._judged / since_s)
        self._queue.set(scheduler.queue)
        self._players.set(players)
        self._machines.set(machines)
        self._shown_s += since_s
        self._moves = self._judged = 0

"""The workers of a run on a cluster: a thread schedules them, the loop asks for positions and matches.

Workers continue while the loop learns, up to `ahead_cycles` ahead of it. Games are in a journal of the run as
soon as they arrive; `play` makes it a shard at the end of its cycle.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from training.cluster.actor_pool import ActorPool
from training.cluster.connection import HeadLostError, connect, leave
from training.cluster.metrics import Metrics
from training.cluster.net_store import NetStore
from training.cluster.receiver import GameReceiver
from training.cluster.scheduler import TASK_S, MatchTask, NetName, PlayTask, Scheduler, Tally, Task
from training.data.shards import RecordError
from training.measure.batched_match import MatchScore, MatchSpec, joined
from training.play.game import Counters
from training.settings.play import Mix
from training.workers.interface import PoolConfig, WorkerError, WorkerPool
from training.workers.self_play import PlayResult

_LOOK_S = 0.05
_WAIT_ANSWER_S = 0.2
_WAIT_S = 60.0  # without any player, after which that is said
_MATCH_SHARES = 4  # parts of a match for each player


class Cluster:
    """The machines of a Ray cluster: one worker for each of its cores."""

    def __init__(self, address: str) -> None:
        """Join the cluster as its driver.

        Raises:
            ClusterError: see `connect`.
        """
        connect(address)

    def device(self, learner: str) -> str:
        """Return the processor: GPUs learn."""
        return "cpu"

    def open(self, pool: PoolConfig) -> WorkerPool:
        """Start workers on all free cores."""
        return RayPool(pool)

    def close(self) -> None:
        """Leave the cluster."""
        leave()


class RayPool:
    """See `WorkerPool`."""

    def __init__(self, pool: PoolConfig) -> None:
        """Start the thread that adds workers and gives them tasks."""
        self._pool = pool
        self._ahead = pool.config.ahead_cycles * pool.config.cycle_positions
        self._scheduler = Scheduler(pool.seed)
        self._receiver = GameReceiver(pool.run_dir / "records", pool.report)
        self._metrics = Metrics()
        self._actors = ActorPool(pool.config.play, pool.config.games, pool.silence_s, pool.report)
        self._nets = NetStore(self._actors.head)
        self._lock = threading.RLock()  # of the scheduler and the receiver
        self._error: BaseException | None = None
        self._ending = False
        self._invalidated = -1  # generation of nets that the players know of
        self._figures: dict[str, float] = {}
        self._since_s = self._manned_s = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="cluster", daemon=True)
        self._thread.start()

    # --- what the loop asks for

    def plan(self, cycle: int, net: str, mix: Mix, positions: int) -> None:
        """Do nothing: workers continue with the last net and mix, up to `ahead_cycles`."""

    def poll(self) -> None:
        """Do nothing: the thread of the pool does that."""

    def play(
        self,
        cycle: int,
        net: str,
        mix: Mix,
        positions: int,
        on_progress: Callable[[int, int], None],
        stopped: Callable[[], bool],
    ) -> tuple[Counters, float, float]:
        """See `WorkerPool.play`: positions that came while the run learned count, and so do the seconds."""
        name = self._name(net)
        with self._lock:
            self._receiver.begin(cycle)
            self._set_target(name, mix, positions)
        while True:
            tally = self._scheduler.tally
            on_progress(tally.counters.games, tally.counters.moves)
            if tally.counters.moves >= positions and not self._receiver.stuck:
                break
            if stopped():
                self._finish_early()
                break
            self._check()
            time.sleep(_LOOK_S)
        with self._lock:
            self._receiver.seal()
            self._receiver.begin(cycle + 1)
            tally, self._scheduler.tally = self._scheduler.tally, Tally()
            self._set_target(name, mix, 0)
        now_s = time.monotonic()
        elapsed_s, self._since_s = now_s - self._since_s, now_s
        self._count(tally, elapsed_s)
        return tally.counters, elapsed_s, tally.cpu_s

    def _name(self, net: str) -> NetName:
        self._check()
        try:
            return self._nets.name(net)
        except HeadLostError as error:
            self._error = error
            self._check()
            raise

    def _set_target(self, name: NetName, mix: Mix, positions: int) -> None:
        left = max(0, positions - self._scheduler.tally.counters.moves)
        self._scheduler.set_target(name, mix, left, int(self._ahead), len(self._actors))

    def _count(self, tally: Tally, elapsed_s: float) -> None:
        mean, most = tally.staleness(self._scheduler.generation)
        players = max(1, len(self._actors))
        self._figures = {
            "players": float(len(self._actors)),
            "machines": float(self._actors.machines),
            "busy_share": tally.busy_s / max(1e-9, elapsed_s * players),
            "staleness": mean,
            "staleness_most": float(most),
            "lost_orders": float(tally.lost),
            "damaged_orders": float(tally.damaged),
            "bytes_a_position": tally.wire_bytes / max(1, tally.counters.moves),
            "net_bytes": float(self._nets.bytes_put),
        }

    def play_match(self, spec: MatchSpec, stopped: Callable[[], bool]) -> MatchScore:
        """Share the pairs of a match among all players.

        Raises:
            WorkerError: nobody can play.
        """
        names = (self._name(spec.a.net), self._name(spec.b.net))
        n = min(spec.pairs, _MATCH_SHARES * max(1, len(self._actors)))
        with self._lock:
            numbers = self._scheduler.match([(part, *names) for part in spec.split(n)])
        while not all(number in self._scheduler.results for number in numbers):
            if stopped():
                break
            self._check()
            time.sleep(_LOOK_S)
        with self._lock:
            results = self._scheduler.results
            found = [results[number] for number in numbers if number in results]
            self._scheduler.drop_matches()
        return joined(found)

    def metrics(self) -> dict[str, float]:
        """Return who played, how old the nets were, what was lost, what crossed the wire."""
        return self._figures

    def close(self) -> Counters:
        """Let players answer, keep what they have, end them; see `WorkerPool.close`."""
        if self._error is None:
            self._finish_early()
        self._ending = True
        self._thread.join(2 * TASK_S)
        if not isinstance(self._error, HeadLostError):
            self._actors.close()
        report = self._pool.report
        with self._lock:
            try:
                late = self._receiver.seal()
                if late:
                    report(f"{late} games that were played ahead of the last cycle are in the records")
            except OSError as error:
                report(f"{error}: the last games stay in the journal until the next start")
            if self._receiver.stuck:
                report(f"{self._receiver.stuck} games are lost, which the disk did not take")
            return self._scheduler.tally.counters

    def _finish_early(self) -> None:
        """Give no more orders, and wait a moment for what the players have."""
        with self._lock:
            self._scheduler.stop()
        self._actors.drain()
        deadline_s = time.monotonic() + TASK_S
        while self._actors.busy and self._error is None and time.monotonic() < deadline_s:
            time.sleep(_LOOK_S)

    def _check(self) -> None:
        if self._error is not None:
            raise WorkerError(str(self._error)) from self._error

    # --- the thread

    def _work(self) -> None:
        try:
            while not self._ending:
                self._actors.look()
                if self._invalidated != self._scheduler.generation:
                    self._invalidated = self._scheduler.generation
                    self._actors.invalidate(self._invalidated)
                self._mention_absence()
                self._hand_out()
                for order, answer in self._actors.answers(_WAIT_ANSWER_S):
                    with self._lock:
                        self._take(order, answer)
                with self._lock:
                    self._receiver.flush()
                    for order in self._actors.lost:
                        self._metrics.lost()
                        self._scheduler.lost(order)
                    self._actors.lost.clear()
                    self._metrics.show(self._scheduler, len(self._actors), self._actors.machines)
        except BaseException as error:
            self._error = error
            if isinstance(error, HeadLostError):
                leave()  # or Ray ends this process, in the middle of whatever it does

    def _hand_out(self) -> None:
        for member in self._actors.free():
            with self._lock:
                order = None if self._receiver.stuck else self._scheduler.next()
            if order is None:
                return
            if isinstance(order, MatchTask):
                self._actors.give(member, "match", order, self._nets.refs(order.a, order.b))
            else:
                self._actors.give(member, "self_play", order, self._nets.refs(order.net))

    def _take(self, order: Task, answer: object) -> None:
        if isinstance(order, MatchTask):
            assert isinstance(answer, MatchScore)
            self._scheduler.results[order.number] = answer
            return
        assert isinstance(order, PlayTask) and isinstance(answer, PlayResult)
        try:
            if answer.shard:
                self._receiver.take(answer.shard, f"answer to order {order.number}")
        except RecordError as error:
            self._pool.report(f"{error}: the order is given again")
            self._metrics.lost()
            self._scheduler.damaged(order)
            return
        self._scheduler.played(order, answer)
        self._metrics.played(answer, self._scheduler.generation - order.generation)

    def _mention_absence(self) -> None:
        now_s = time.monotonic()
        if len(self._actors):
            self._manned_s = now_s
        elif now_s - self._manned_s > _WAIT_S:
            self._pool.report("no player yet: the cluster lends no core (`ray status` tells)")
            self._manned_s = now_s

"""The workers of a run on a cluster: a thread schedules them, the loop asks for positions and matches.

Workers continue while the loop learns, up to `ahead_cycles` ahead of it. Games are in a journal of the run as
soon as they arrive; `play` makes it a shard at the end of its cycle.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from training.cluster.connection import HeadLostError, connect, leave
from training.cluster.metrics import Metrics
from training.cluster.net_store import NetStore
from training.cluster.receiver import GameReceiver
from training.cluster.scheduler import TASK_S, MatchTask, NetName, PlayTask, Scheduler, Tally
from training.cluster.transport import DEPTH, RayTransport
from training.data.shards import RecordError
from training.measure.batched_match import MatchScore, MatchSpec, joined
from training.play.game import Counters
from training.settings.play import Mix
from training.workers.interface import CycleOrder, PoolConfig, WorkerError, WorkerPool
from training.workers.self_play import PlayResult
from training.workers.supervisor import Answer, Lost, Message, Supervisor, Task

_LOOK_S = 0.05
_WAIT_ANSWER_S = 0.2
_WAIT_S = 60.0  # without any player, after which that is said
_MATCH_SHARES = 4  # parts of a match for each player


class Cluster:
    """The machines of a Ray cluster: one worker for each of its cores."""

    pauses = False

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
        config = pool.config
        self._transport = RayTransport(config.play, config.games, pool.silence_s, pool.report)
        self.supervisor = Supervisor(self._transport, pool.silence_s, pool.report)
        self._nets = NetStore(self._transport.head)
        self._lock = threading.RLock()  # of the scheduler and the receiver
        self._error: BaseException | None = None
        self._ending = False
        self._invalidated = -1  # generation of nets that the players know of
        self._figures: dict[str, float] = {}
        self._since_s = self._manned_s = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="cluster", daemon=True)
        self._thread.start()

    # --- what the loop asks for

    def plan(self, order: CycleOrder) -> None:
        """Do nothing: workers continue with the last net and mix, up to `ahead_cycles`."""

    def poll(self) -> None:
        """Do nothing: the thread of the pool does that."""

    def play(
        self, order: CycleOrder, on_progress: Callable[[int, int], None], stopped: Callable[[], bool]
    ) -> tuple[Counters, float, float]:
        """See `WorkerPool.play`: positions that came while the run learned count, and so do the seconds."""
        name = self._name(order.net)
        with self._lock:
            self._receiver.begin(order.cycle)
            self._set_target(name, order.mix, order.positions)
        while True:
            tally = self._scheduler.tally
            on_progress(tally.counters.games, tally.counters.moves)
            if tally.counters.moves >= order.positions and not self._receiver.stuck:
                break
            if stopped():
                self._finish_early()
                break
            self._check()
            time.sleep(_LOOK_S)
        with self._lock:
            self._receiver.seal()
            self._receiver.begin(order.cycle + 1)
            tally, self._scheduler.tally = self._scheduler.tally, Tally()
            self._set_target(name, order.mix, 0)
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
        self._nets.tidy({name.digest})
        left = max(0, positions - self._scheduler.tally.counters.moves)
        self._scheduler.set_target(name, mix, left, int(self._ahead), len(self.supervisor.active))

    def _count(self, tally: Tally, elapsed_s: float) -> None:
        mean, most = tally.staleness(self._scheduler.generation)
        players, machines = self._counts()
        self._figures = {
            "players": float(players),
            "machines": float(machines),
            "busy_share": tally.busy_s / max(1e-9, elapsed_s * max(1, players)),
            "staleness": mean,
            "staleness_most": float(most),
            "lost_orders": float(tally.lost),
            "damaged_orders": float(tally.damaged),
            "bytes_a_position": tally.wire_bytes / max(1, tally.counters.moves),
            "net_bytes": float(self._nets.bytes_put),
        }

    def _counts(self) -> tuple[int, int]:
        """Return the number of workers that are up, and of machines that they are on."""
        active = self.supervisor.active
        return len(active), len({worker.place for worker in active})

    def play_match(self, spec: MatchSpec, stopped: Callable[[], bool]) -> MatchScore:
        """Share the pairs of a match among all players.

        Raises:
            WorkerError: nobody can play.
        """
        names = (self._name(spec.a.net), self._name(spec.b.net))
        n = min(spec.pairs, _MATCH_SHARES * max(1, len(self.supervisor.active)))
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
            self.supervisor.close()
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
        self.supervisor.stop()
        deadline_s = time.monotonic() + TASK_S
        while self.supervisor.busy and self._error is None and time.monotonic() < deadline_s:
            time.sleep(_LOOK_S)

    def _check(self) -> None:
        if self._error is not None:
            raise WorkerError(str(self._error)) from self._error

    # --- the thread

    def _work(self) -> None:
        try:
            while not self._ending:
                if self._invalidated != self._scheduler.generation:
                    self._invalidated = self._scheduler.generation
                    self._transport.invalidate(self.supervisor.active, self._invalidated)
                self._mention_absence()
                self._hand_out()
                for _, said in self.supervisor.look(_WAIT_ANSWER_S):
                    with self._lock:
                        self._take(said)
                with self._lock:
                    self._receiver.flush()
                    self._metrics.show(self._scheduler, *self._counts())
        except BaseException as error:
            self._error = error
            if isinstance(error, HeadLostError):
                leave()  # or Ray ends this process, in the middle of whatever it does

    def _hand_out(self) -> None:
        for worker in self.supervisor.free(DEPTH):
            with self._lock:
                order = None if self._receiver.stuck else self._scheduler.next()
            if order is None:
                return
            if isinstance(order, MatchTask):
                task = Task("match", (order, self._nets.refs(order.a, order.b)))
            else:
                task = Task("self_play", (order, self._nets.refs(order.net)))
            self.supervisor.give(worker, task)

    def _take(self, said: Message) -> None:
        if isinstance(said, Lost):
            for task in said.tasks:
                self._metrics.lost()
                self._scheduler.lost(task.arguments[0])
        elif isinstance(said, Answer):
            self._take_answer(said.task.arguments[0], said.value)

    def _take_answer(self, order: PlayTask | MatchTask, answer: object) -> None:
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
        if self.supervisor.active:
            self._manned_s = now_s
        elif now_s - self._manned_s > _WAIT_S:
            self._pool.report("no player yet: the cluster lends no core (`ray status` tells)")
            self._manned_s = now_s

"""The players of a run on a cluster: a thread deals with the machines, the loop asks for positions and
matches.

Players go on while the loop learns, up to `ahead_cycles` ahead of it. Games are in a journal of the run as
soon as they arrive; `play` moves those of its cycle into shards.
"""

from __future__ import annotations

import dataclasses
import itertools
import threading
import time
from collections.abc import Callable

from training.cluster.gauges import Gauges
from training.cluster.inbox import Inbox
from training.cluster.orders import ORDER_S, Desk, MatchOrder, NetName, Order, Played, PlayOrder, Tally
from training.cluster.parcels import Dispatch
from training.cluster.session import HeadLostError, connect, leave
from training.cluster.staff import Staff
from training.crew.crew import WorkerError
from training.crew.players import Players, PoolConfig
from training.data.shards import RecordError
from training.measure.arena import ArenaResult, ArenaSpec, joined
from training.play.game import Counters
from training.settings.play import Mix

_LOOK_S = 0.05
_WAIT_ANSWER_S = 0.2
_WAIT_S = 60.0  # without any player, after which that is said
_MATCH_SHARES = 4  # parts of a match for each player


class Cluster:
    """The machines of a cluster of Ray, each core that it lends a player."""

    def __init__(self, address: str) -> None:
        """Join the cluster as its driver.

        Raises:
            ClusterError: see `connect`.
        """
        connect(address)

    def device(self, learner: str) -> str:
        """Return the processor: GPUs learn."""
        return "cpu"

    def open(self, pool: PoolConfig) -> Players:
        """Take on players wherever there are cores."""
        return RayPlayers(pool)

    def close(self) -> None:
        """Leave the cluster."""
        leave()


class RayPlayers:
    """See `Players`."""

    def __init__(self, pool: PoolConfig) -> None:
        """Begin to hire."""
        self._pool = pool
        self._ahead = pool.config.ahead_cycles * pool.config.cycle_positions
        self._desk = Desk(pool.seed)
        self._inbox = Inbox(pool.run_dir / "records", pool.report)
        self._gauges = Gauges()
        self._staff = Staff(
            pool.config.play, pool.config.games, pool.silence_s, pool.report
        )
        self._nets = Dispatch(self._staff.head)
        self._lock = threading.RLock()  # of the desk and the inbox
        self._error: BaseException | None = None
        self._ending = False
        self._turned = -1  # generation of nets that the players know of
        self._figures: dict[str, float] = {}
        self._since_s = self._manned_s = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="cluster", daemon=True)
        self._thread.start()

    # --- what the loop asks for

    def plan(self, cycle: int, net: str, mix: Mix, positions: int) -> None:
        """Take no notice: players go on by themselves, with what they know, up to `ahead_cycles`."""

    def poll(self) -> None:
        """Take no notice: a thread does that."""

    def play(
        self,
        cycle: int,
        net: str,
        mix: Mix,
        positions: int,
        on_progress: Callable[[int, int], None],
        stopped: Callable[[], bool],
    ) -> tuple[Counters, float, float]:
        """See `Players.play`: positions that came while the run learned count, and so do the seconds."""
        name = self._name(net)
        with self._lock:
            self._inbox.begin(cycle)
            self._wish(name, mix, positions)
        while True:
            tally = self._desk.tally
            on_progress(tally.counters.games, tally.counters.moves)
            if tally.counters.moves >= positions and not self._inbox.stuck:
                break
            if stopped():
                self._finish_early()
                break
            self._check()
            time.sleep(_LOOK_S)
        with self._lock:
            self._inbox.seal()
            self._inbox.begin(cycle + 1)
            tally, self._desk.tally = self._desk.tally, Tally()
            self._wish(name, mix, 0)
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

    def _wish(self, name: NetName, mix: Mix, positions: int) -> None:
        left = max(0, positions - self._desk.tally.counters.moves)
        self._desk.wish(name, mix, left, int(self._ahead), len(self._staff))

    def _count(self, tally: Tally, elapsed_s: float) -> None:
        mean, most = tally.staleness(self._desk.generation)
        players = max(1, len(self._staff))
        self._figures = {
            "players": float(len(self._staff)),
            "machines": float(self._staff.machines),
            "busy_share": tally.busy_s / max(1e-9, elapsed_s * players),
            "staleness": mean,
            "staleness_most": float(most),
            "lost_orders": float(tally.lost),
            "damaged_orders": float(tally.damaged),
            "bytes_a_position": tally.wire_bytes / max(1, tally.counters.moves),
            "net_bytes": float(self._nets.bytes_put),
        }

    def arena(self, spec: ArenaSpec, stopped: Callable[[], bool]) -> ArenaResult:
        """Share the pairs of a match among all players.

        Raises:
            WorkerError: nobody can play.
        """
        names = (self._name(spec.a.net), self._name(spec.b.net))
        n = min(spec.pairs, _MATCH_SHARES * max(1, len(self._staff)))
        edges = [spec.pairs * i // n for i in range(n + 1)]
        parts = [
            dataclasses.replace(spec, pairs=last - first, first_pair=spec.first_pair + first)
            for first, last in itertools.pairwise(edges)
        ]
        with self._lock:
            numbers = self._desk.match([(part, *names) for part in parts])
        while not all(number in self._desk.results for number in numbers):
            if stopped():
                break
            self._check()
            time.sleep(_LOOK_S)
        with self._lock:
            found = [self._desk.results[number] for number in numbers if number in self._desk.results]
            self._desk.drop_matches()
        return joined(found)

    def metrics(self) -> dict[str, float]:
        """Return who played, how old the nets were, what was lost, what crossed the wire."""
        return self._figures

    def close(self) -> Counters:
        """Let players answer, keep what they have, end them; see `Players.close`."""
        if self._error is None:
            self._finish_early()
        self._ending = True
        self._thread.join(2 * ORDER_S)
        if not isinstance(self._error, HeadLostError):
            self._staff.close()
        report = self._pool.report
        with self._lock:
            try:
                late = self._inbox.seal()
                if late:
                    report(f"{late} games that were played ahead of the last cycle are in the records")
            except OSError as error:
                report(f"{error}: the last games stay in the journal until the next start")
            if self._inbox.stuck:
                report(f"{self._inbox.stuck} games are lost, which the disk did not take")
            return self._desk.tally.counters

    def _finish_early(self) -> None:
        """Give no more orders, and wait a moment for what the players have."""
        with self._lock:
            self._desk.stop()
        self._staff.hush()
        deadline_s = time.monotonic() + ORDER_S
        while self._staff.busy and self._error is None and time.monotonic() < deadline_s:
            time.sleep(_LOOK_S)

    def _check(self) -> None:
        if self._error is not None:
            raise WorkerError(str(self._error)) from self._error

    # --- the thread

    def _work(self) -> None:
        try:
            while not self._ending:
                self._staff.look()
                if self._turned != self._desk.generation:
                    self._turned = self._desk.generation
                    self._staff.turn(self._turned)
                self._mention_absence()
                self._hand_out()
                for order, answer in self._staff.answers(_WAIT_ANSWER_S):
                    with self._lock:
                        self._take(order, answer)
                with self._lock:
                    self._inbox.flush()
                    for order in self._staff.lost:
                        self._gauges.lost()
                        self._desk.lost(order)
                    self._staff.lost.clear()
                    self._gauges.show(self._desk, len(self._staff), self._staff.machines)
        except BaseException as error:
            self._error = error
            if isinstance(error, HeadLostError):
                leave()  # or Ray ends this process, in the middle of whatever it does

    def _hand_out(self) -> None:
        for member in self._staff.free():
            with self._lock:
                order = None if self._inbox.stuck else self._desk.next()
            if order is None:
                return
            if isinstance(order, MatchOrder):
                self._staff.give(member, "match", order, self._nets.box(order.a, order.b))
            else:
                self._staff.give(member, "self_play", order, self._nets.box(order.net))

    def _take(self, order: Order, answer: object) -> None:
        if isinstance(order, MatchOrder):
            assert isinstance(answer, ArenaResult)
            self._desk.results[order.number] = answer
            return
        assert isinstance(order, PlayOrder) and isinstance(answer, Played)
        try:
            if answer.shard:
                self._inbox.take(answer.shard, f"answer to order {order.number}")
        except RecordError as error:
            self._pool.report(f"{error}: the order is given again")
            self._gauges.lost()
            self._desk.damaged(order)
            return
        self._desk.played(order, answer)
        self._gauges.played(answer, self._desk.generation - order.generation)

    def _mention_absence(self) -> None:
        now_s = time.monotonic()
        if len(self._staff):
            self._manned_s = now_s
        elif now_s - self._manned_s > _WAIT_S:
            self._pool.report("no player yet: the cluster lends no core (`ray status` tells)")
            self._manned_s = now_s

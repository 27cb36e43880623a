"""What is ordered, what came back, what is missing: plain bookkeeping that knows nothing of Ray.

Positions are counted from the beginning of the run's part, as they are searched. Workers may be ahead of the
loop by so many positions, so that they do not wait while it learns.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from arena.match_config import MatchConfig
from training.measure.batched_match import MatchScore, MatchSpec
from training.play.game import Counters
from training.settings.play import Mix
from training.workers.self_play import PlayResult

TASK_S = 10.0
"""Seconds after which an order of self-play is answered with what is done (derived: a third of the 30 s
within which games are to be with the run)."""
_SMALLEST, _LARGEST = 32, 4096  # positions of an order
_SHARES = 8  # orders of a cycle for each player: nobody waits long for the slowest


@dataclass(frozen=True, slots=True)
class NetName:
    """A net as messages name it.

    Attributes:
        digest: of its bytes, empty for an evaluator that has no file.
        suffix: that its file needs; the name of an evaluator without a file.
    """

    digest: str
    suffix: str


@dataclass(frozen=True, slots=True)
class PlayTask:
    """Search so many positions with a net, or as many as `TASK_S` allows.

    Attributes:
        number: unique in this part of the run.
        generation: of the net: how many were in use before.
    """

    number: int
    seed: int
    net: NetName
    generation: int
    mix: Mix
    positions: int


@dataclass(frozen=True, slots=True)
class MatchTask:
    """Play a part of a match; `a` and `b` are the nets of its players."""

    number: int
    spec: MatchSpec
    a: NetName
    b: NetName


Order = PlayTask | MatchTask


@dataclass(frozen=True, slots=True)
class GameTask:
    """Play one game of `training.match`; `a` and `b` are nets from files of the head, unnamed without one."""

    number: int
    config: MatchConfig
    opening: tuple[int, ...]
    index: int
    a: NetName
    b: NetName


@dataclass(slots=True)
class Tally:
    """What a cycle has received.

    Attributes:
        counters: of all orders.
        stale: positions by the generation of their net.
        busy_s, cpu_s: seconds of all players together.
        wire_bytes: of shards.
        lost, damaged: orders that were given again because a player was lost, a shard damaged.
    """

    counters: Counters = field(default_factory=Counters)
    stale: dict[int, int] = field(default_factory=dict)
    busy_s: float = 0.0
    cpu_s: float = 0.0
    wire_bytes: int = 0
    lost: int = 0
    damaged: int = 0

    def staleness(self, generation: int) -> tuple[float, int]:
        """Return how many nets old the positions are, seen from a generation: their mean and the most."""
        ages = [(generation - old, n) for old, n in self.stale.items() if n]
        total = sum(n for _, n in ages)
        return sum(age * n for age, n in ages) / max(1, total), max((age for age, _ in ages), default=0)


class Scheduler:
    """Hands out orders and takes back what became of them."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._number = 0
        self._net: NetName | None = None
        self._mix: Mix | None = None
        self._matches: deque[Order] = deque()
        self._size = _SMALLEST
        self._budget = 0  # positions that may be ordered in all
        self._searched = 0
        self.out = 0
        """Positions in orders that were given and not answered."""
        self.generation = -1
        self.tally = Tally()
        self.results: dict[int, MatchScore] = {}

    def set_target(self, net: NetName, mix: Mix, positions: int, ahead: int, players: int) -> None:
        """Say what the loop waits for from here on.

        Args:
            net: to play with.
            mix: to play.
            positions: that this cycle still lacks.
            ahead: positions that may be searched beyond them.
            players: how many share the work.
        """
        if net != self._net:
            self._net = net
            self.generation += 1
        self._mix = mix
        self._budget = self._searched + positions + ahead
        self._size = min(_LARGEST, max(_SMALLEST, positions // (_SHARES * max(1, players))))

    def stop(self) -> None:
        """Hand out nothing any more."""
        self._budget = 0
        self._matches.clear()

    def match(self, parts: list[tuple[MatchSpec, NetName, NetName]]) -> list[int]:
        """Put the parts of a match before everything else; return their numbers."""
        orders = [MatchTask(self._next_number(), *part) for part in parts]
        self._matches.extend(orders)
        return [order.number for order in orders]

    def drop_matches(self) -> None:
        """Forget what was not handed out yet, and what nobody will fetch."""
        self._matches.clear()
        self.results.clear()

    def next(self) -> Order | None:
        """Return what the next free player is to do, None if there is nothing."""
        if self._matches:
            return self._matches.popleft()
        if self._net is None or self._mix is None or self._searched + self.out >= self._budget:
            return None
        number = self._next_number()
        seed = int(np.random.SeedSequence([self._seed, number]).generate_state(1, np.uint64)[0])
        self.out += self._size
        return PlayTask(number, seed, self._net, self.generation, self._mix, self._size)

    def lost(self, order: Order) -> None:
        """Take back an order whose player is gone."""
        self.tally.lost += 1
        self._back(order)

    def damaged(self, order: Order) -> None:
        """Take back an order whose answer cannot be read."""
        self.tally.damaged += 1
        self._back(order)

    def _back(self, order: Order) -> None:
        if isinstance(order, MatchTask):
            self._matches.appendleft(order)
        else:
            # Its positions are ordered anew, with the net of that time and another seed: games that began
            # with the old one may still be in flight somewhere.
            self.out -= order.positions

    def played(self, order: PlayTask, answer: PlayResult) -> None:
        """Count what came back; its games are kept elsewhere."""
        self.out -= order.positions
        moves = answer.counters.moves
        self._searched += moves
        tally = self.tally
        tally.counters.add(answer.counters)
        tally.stale[order.generation] = tally.stale.get(order.generation, 0) + moves
        tally.busy_s += answer.seconds
        tally.cpu_s += answer.cpu_seconds
        tally.wire_bytes += len(answer.shard)

    @property
    def queue(self) -> int:
        """Positions that may be ordered and are not."""
        return max(0, self._budget - self._searched - self.out)

    def _next_number(self) -> int:
        self._number += 1
        return self._number

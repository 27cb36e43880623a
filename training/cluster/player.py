"""A player: an actor of Ray on one core of some machine. It keeps games in flight from order to order."""

from __future__ import annotations

import dataclasses
import os
import time
from typing import Any

from arena.match_runner import play_index
from engine.games.record import GameRecord
from training.cluster.orders import ORDER_S, GameOrder, MatchOrder, Played, PlayOrder
from training.cluster.parcels import fetch
from training.data.records import SelfPlayRecord
from training.data.shards import encode
from training.measure.arena import ArenaResult, play_arena
from training.play.evaluators import load_evaluator
from training.play.game import Counters
from training.play.groups import GameGroups
from training.settings.play import PlayConfig


class Player:
    """Does one order after the other; `pulse` and `hush` are answered beside them, in another thread."""

    def __init__(self, play: PlayConfig, games: int) -> None:
        """Make a player without games; see `GameGroups`."""
        self._play, self._games = play, games
        self._groups: GameGroups | None = None
        self._digest: str | None = None
        self._beat_s = time.monotonic()
        self._hushed = False
        self._newest = 0

    def hello(self) -> int:
        """Return the process id."""
        return os.getpid()

    def pulse(self) -> float:
        """Return the seconds since this player last finished a batch or an order."""
        return time.monotonic() - self._beat_s

    def hush(self) -> None:
        """Answer the running order, and all that follow, at once."""
        self._hushed = True

    def turn(self, generation: int) -> None:
        """Play no longer with nets older than this one: answer such orders at once with what is done."""
        self._newest = generation

    def self_play(self, order: PlayOrder, box: dict[str, Any]) -> Played:
        """Play; games that do not end stay in flight, and go on with the net of the next order."""
        if order.generation < self._newest:
            self._beat()
            return Played(b"", Counters(), 0.0, 0.0)
        started_s, started_cpu_s = time.monotonic(), time.process_time()
        if self._groups is None:
            self._groups = GameGroups(self._play, self._games, order.seed)
        else:
            self._groups.reseed(order.seed)
        name = order.net.digest or order.net.suffix
        if name != self._digest:
            self._groups.use(load_evaluator(fetch(order.net, box)))
            self._digest = name
        games: list[SelfPlayRecord] = []
        self._groups.on_record = games.append

        def over() -> bool:
            late = time.monotonic() - started_s > ORDER_S
            return self._beat() or late or order.generation < self._newest

        counters = self._groups.play(order.mix, order.positions, over)
        self._beat()
        shard = encode(games) if games else b""
        cpu_s = time.process_time() - started_cpu_s
        return Played(shard, counters, time.monotonic() - started_s, cpu_s)

    def match(self, order: MatchOrder, box: dict[str, Any]) -> ArenaResult:
        """Play a part of a match."""
        a = dataclasses.replace(order.spec.a, net=fetch(order.a, box))
        b = dataclasses.replace(order.spec.b, net=fetch(order.b, box))
        return play_arena(dataclasses.replace(order.spec, a=a, b=b), stop=self._beat)

    def game(self, order: GameOrder, box: dict[str, Any]) -> tuple[int, GameRecord]:
        """Play one game of a match."""
        from training.cluster.games import with_net

        self._beat()
        a, b = fetch(order.a, box), fetch(order.b, box)
        played = play_index(with_net(order.config, a, b), order.opening, order.index)
        self._beat()
        return played

    def _beat(self) -> bool:
        self._beat_s = time.monotonic()
        return self._hushed

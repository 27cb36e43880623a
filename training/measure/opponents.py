"""Built-in players of a match: random, pure MCTS with random playouts, the engine in this process."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.rules._board import Board
from training.measure.brainproc import BrainFailureError, BrainLimits, MatchClock
from training.measure.referee import Player

if TYPE_CHECKING:
    from engine.evaluator.base import Evaluator

_KINDS = ("random", "rollouts", "engine")


def is_builtin(spec: str) -> bool:
    """Return whether a text names a built-in player instead of a command."""
    return spec.partition(":")[0] in _KINDS


def make_builtin(spec: str, limits: BrainLimits, seed: int, *, own_time: bool = False) -> Player:
    """Return a built-in player: `random`, `rollouts:N`, `engine:key=value,...`.

    Args:
        own_time: whether an engine measures processor time of its thread, and shares its net with the other
            engines of the process: for games of which one runs in a process at a time.

    Raises:
        ValueError: settings that the player does not know (ConfigError is one).
    """
    kind, _, text = spec.partition(":")
    if kind == "random":
        if text:
            raise ValueError(f"random takes no settings, not {text!r}")
        return RandomPlayer(seed)
    if kind == "rollouts":
        if not text.isdigit() or int(text) < 1:
            raise ValueError(f"rollouts needs a number of playouts, as in rollouts:1000, not {text!r}")
        return RolloutPlayer(int(text), seed)
    return EnginePlayer(text, limits, seed, own_time=own_time)


class RandomPlayer:
    """Plays a random legal move."""

    last_ms: float | None = None

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._game = (15, 15, 0)

    def new_game(self, width: int, height: int, rule: int) -> None:
        self._game = (width, height, rule)

    def move(self, stones: Sequence[tuple[int, int]], width: int, own: int, *, first: bool) -> int:
        return self._rng.choice(legal_points(self._game, stones))

    def close(self) -> None:
        """Nothing to release."""


class RolloutPlayer:
    """Pure MCTS: uniform priors, one random game a leaf."""

    last_ms: float | None = None

    def __init__(self, playouts: int, seed: int) -> None:
        self._playouts, self._seed = playouts, seed
        self._game = (15, 15, 0)

    def new_game(self, width: int, height: int, rule: int) -> None:
        self._game = (width, height, rule)

    def move(self, stones: Sequence[tuple[int, int]], width: int, own: int, *, first: bool) -> int:
        from training.play._rollouts import rollout_move

        legal_points(self._game, stones)
        seed = (self._seed * 1_000_003 + len(stones)) % 2**64
        return rollout_move(Board.from_stones(*self._game, stones), self._playouts, seed)

    def close(self) -> None:
        """Nothing to release."""


class ThreadClock:
    """Seconds of processor time of the calling thread: what else the machine runs costs nothing."""

    def now_s(self) -> float:
        """Return seconds on a clock that never goes back."""
        return time.thread_time()

    def process_started_s(self) -> float:
        """Return now: a player in this process does not pay for its start."""
        return time.thread_time()


class EnginePlayer:
    """Tengen without the protocol: `engine.Engine` with settings of `EngineConfig`."""

    def __init__(self, text: str, limits: BrainLimits, seed: int, *, own_time: bool = False) -> None:
        """Make an engine.

        Args:
            text: `key=value,key=value`; `nodes=N` is the number of simulations a move, `net=tactical` puts
                priors made by hand in place of a net.
            own_time: see `make_builtin`.

        Raises:
            ConfigError: an unknown key.
            ValueError: a number of simulations that is none.
        """
        from engine.config import EngineConfig
        from engine.engine import Engine
        from engine.timing.clock import SystemClock
        from training.play.evaluators import TACTICAL, HandMadeEvaluator

        settings: dict[str, object] = {"seed": seed, "memory_bytes": limits.max_memory}
        self._nodes = limits.max_nodes
        for part in filter(None, text.split(",")):
            key, _, value = part.partition("=")
            if key == "nodes":
                self._nodes = int(value)
            else:
                settings[key] = value
        self._limits = limits
        evaluator: Evaluator | None = None
        if settings.get("net") == TACTICAL:
            evaluator = HandMadeEvaluator(TACTICAL)
            settings["net"] = "uniform"  # never loaded
        config = EngineConfig.from_mapping(settings)
        if own_time and evaluator is None and not config.symmetry and config.net != "hashed":
            evaluator = _shared_evaluator(config.net, config.cache_mib)
        clock = ThreadClock() if own_time else SystemClock()
        self._engine = Engine(config, clock=clock, evaluator=evaluator)
        self.clock = MatchClock(limits)
        self.last_ms: float | None = None

    def new_game(self, width: int, height: int, rule: int) -> None:
        from engine.rules.rule import Rule

        self._engine.new_game(width, height, Rule(rule))
        self._engine.warm_up()

    def move(self, stones: Sequence[tuple[int, int]], width: int, own: int, *, first: bool) -> int:
        from engine.timing.budget import SearchLimits

        arrival_s = self._engine.clock.now_s()
        self._engine.set_position(stones, to_move=own)
        left_ms = self.clock.left_ms()
        limits = SearchLimits(
            turn_ms=self._limits.turn_ms,
            time_left_ms=None if left_ms is None else int(left_ms),
            increment_ms=self._limits.increment_ms,
            max_nodes=self._nodes,
        )
        result = self._engine.think(limits, arrival_s)
        self.last_ms = (self._engine.clock.now_s() - arrival_s) * 1000
        self.clock.count(self.last_ms)
        return result.point

    def close(self) -> None:
        self._engine.close()


@functools.lru_cache(maxsize=4)
def _shared_evaluator(net: str, cache_mib: int) -> Evaluator:
    """Return the evaluator that the engines of this process share."""
    from engine.config import EngineConfig
    from engine.evaluator.make import make_evaluator

    return make_evaluator(EngineConfig(net=net, cache_mib=cache_mib), 0)


def legal_points(game: tuple[int, int, int], stones: Sequence[tuple[int, int]]) -> list[int]:
    """Return the legal points after `stones`; black without any under renju gives up.

    Raises:
        BrainFailureError: "forbidden" if there is none.
    """
    points = Board.from_stones(*game, stones).legal_points()
    if not points:
        raise BrainFailureError("forbidden", "every free point is forbidden")
    return points

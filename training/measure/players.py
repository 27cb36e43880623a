"""Players inside this program that search: pure MCTS with random playouts, the engine."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from arena.limits import BrainLimits, MatchClock
from arena.players import KINDS, Kinds, LocalPlayer, Player
from arena.position import Position
from arena.records import PlayedGame
from engine.rules._board import Board

if TYPE_CHECKING:
    from engine.evaluator.base import Evaluator


class RolloutPlayer(LocalPlayer):
    """Pure MCTS: uniform priors, one random game a leaf."""

    def __init__(self, playouts: int, seed: int) -> None:
        self._playouts, self._seed = playouts, seed

    def move(self, position: Position) -> int:
        """Return the move with the most playouts."""
        from training.play._rollouts import rollout_move

        stones = position.stones()
        seed = (self._seed * 1_000_003 + len(stones)) % 2**64
        board = Board.from_stones(position.width, position.height, position.rule, stones)
        return rollout_move(board, self._playouts, seed)


class ThreadClock:
    """Seconds of processor time of the calling thread; other programs do not count."""

    def now_s(self) -> float:
        """Return seconds on a clock that never goes back."""
        return time.thread_time()

    def process_started_s(self) -> float:
        """Return now: a player in this process does not pay for its start."""
        return time.thread_time()


class EnginePlayer(LocalPlayer):
    """Tengen without the protocol: `engine.Engine` with settings of `EngineConfig`."""

    def __init__(self, text: str, limits: BrainLimits, seed: int, *, own_time: bool = False) -> None:
        """Make an engine.

        Args:
            text: `key=value,key=value`; `nodes=N` is the number of simulations a move, `net=tactical` puts
                priors made by hand in place of a net.
            own_time: see `arena.players.PlayerFactory`; with it the engines of a process share their net.

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

    def new_game(self, game: PlayedGame, player: int) -> None:
        """Reset the clock, empty the board and load the net."""
        from engine.rules.rule import Rule

        setup = game.setup
        self.clock = MatchClock(self._limits)
        self._engine.new_game(setup.width, setup.height, Rule(setup.rule))
        self._engine.warm_up()

    def move(self, position: Position) -> int:
        """Search the position within the limits; `last_ms` gets the time, ms."""
        from engine.timing.budget import SearchLimits

        arrival_s = self._engine.clock.now_s()
        self._engine.set_position(position.stones(), to_move=position.to_move)
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
        """Free the engine."""
        self._engine.close()


@functools.lru_cache(maxsize=4)
def _shared_evaluator(net: str, cache_mib: int) -> Evaluator:
    """Return the evaluator that the engines of this process share."""
    from engine.config import EngineConfig
    from engine.evaluator.make import make_evaluator

    return make_evaluator(EngineConfig(net=net, cache_mib=cache_mib), 0)


def make_rollouts(settings: str, limits: BrainLimits, seed: int, *, own_time: bool = False) -> Player:
    """Return a `RolloutPlayer`; the setting is the number of playouts a move."""
    if not settings.isdigit() or int(settings) < 1:
        raise ValueError(f"rollouts needs a number of playouts, as in rollouts:1000, not {settings!r}")
    return RolloutPlayer(int(settings), seed)


def make_engine(settings: str, limits: BrainLimits, seed: int, *, own_time: bool = False) -> Player:
    """Return an `EnginePlayer` with settings `key=value,key=value`."""
    return EnginePlayer(settings, limits, seed, own_time=own_time)


PLAYERS: Kinds = {**KINDS, "rollouts": make_rollouts, "engine": make_engine}
"""All kinds of players inside of this program."""

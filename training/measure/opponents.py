"""Built-in players of a match: random, pure MCTS with random playouts, the engine in this process."""

from __future__ import annotations

import random
from collections.abc import Sequence

from engine.rules._board import Board
from training.measure.brainproc import BrainFailureError, BrainLimits
from training.measure.referee import Player

_KINDS = ("random", "rollouts", "engine")


def is_builtin(spec: str) -> bool:
    """Return whether a text names a built-in player instead of a command."""
    return spec.partition(":")[0] in _KINDS


def make_builtin(spec: str, limits: BrainLimits, seed: int) -> Player:
    """Return a built-in player: `random`, `rollouts:N`, `engine:key=value,...`.

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
    return EnginePlayer(text, limits, seed)


class RandomPlayer:
    """Plays a random legal move."""

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


class EnginePlayer:
    """Tengen without the protocol: `engine.Engine` with settings of `EngineConfig`."""

    def __init__(self, text: str, limits: BrainLimits, seed: int) -> None:
        """Make an engine.

        Args:
            text: `key=value,key=value`; `nodes=N` is the number of simulations a move, `net=tactical` puts
                priors made by hand in place of a net.

        Raises:
            ConfigError: an unknown key.
        """
        from engine.config import EngineConfig
        from engine.engine import Engine
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
        evaluator = HandMadeEvaluator(TACTICAL) if settings.get("net") == TACTICAL else None
        if evaluator:
            settings["net"] = "uniform"  # never loaded
        self._engine = Engine(EngineConfig.from_mapping(settings), evaluator=evaluator)
        self._used_ms = 0.0

    def new_game(self, width: int, height: int, rule: int) -> None:
        from engine.rules.rule import Rule

        self._used_ms = 0.0
        self._engine.new_game(width, height, Rule(rule))
        self._engine.warm_up()

    def move(self, stones: Sequence[tuple[int, int]], width: int, own: int, *, first: bool) -> int:
        from engine.timing.budget import SearchLimits

        arrival_s = self._engine.clock.now_s()
        self._engine.set_position(stones, to_move=own)
        left_ms = int(self._limits.match_ms - self._used_ms) if self._limits.match_ms else None
        result = self._engine.think(
            SearchLimits(turn_ms=self._limits.turn_ms, time_left_ms=left_ms, max_nodes=self._nodes), arrival_s
        )
        used_ms = (self._engine.clock.now_s() - arrival_s) * 1000
        self._used_ms += used_ms
        if self._limits.turn_ms is not None and used_ms > self._limits.turn_ms + self._limits.tolerance_ms:
            raise BrainFailureError("time", f"no move after {used_ms:.0f} ms")
        return result.point

    def close(self) -> None:
        self._engine.close()


def legal_points(game: tuple[int, int, int], stones: Sequence[tuple[int, int]]) -> list[int]:
    """Return the legal points after `stones`; black without any under renju gives up.

    Raises:
        BrainFailureError: "forbidden" if there is none.
    """
    points = Board.from_stones(*game, stones).legal_points()
    if not points:
        raise BrainFailureError("forbidden", "every free point is forbidden")
    return points

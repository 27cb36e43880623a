"""Players as the referee sees them, and those that run inside this program."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Protocol

from arena.limits import BrainLimits
from arena.position import Position
from arena.records import PlayedGame


class Player(Protocol):
    """A player of one or more games.

    Attributes:
        last_ms: what the last move took on the player's own clock; None: the referee measures it.
    """

    last_ms: float | None

    def new_game(self, game: PlayedGame, player: int) -> None:
        """Prepare for a game as player 0 or 1; incidents go into `game`."""

    def move(self, position: Position) -> int:
        """Return the point to play; there is a legal one.

        Raises:
            BrainFailureError: the game is lost without one.
        """

    def take_back(self, position: Position, count: int) -> None:
        """Learn that the last `count` stones of `position` are about to be taken back."""

    def end_game(self) -> None:
        """Learn that the game is over."""

    def close(self) -> None:
        """Release what the player holds."""

    def conversation(self) -> str:
        """Return what was said in this game; empty for a player that is no process."""


class LocalPlayer:
    """Base of players inside of this program: everything but the move has a default."""

    last_ms: float | None = None

    def new_game(self, game: PlayedGame, player: int) -> None:
        """Nothing to prepare."""

    def take_back(self, position: Position, count: int) -> None:
        """The position says everything."""

    def end_game(self) -> None:
        """Nothing to end."""

    def close(self) -> None:
        """Nothing to release."""

    def conversation(self) -> str:
        """Return nothing: no process, no conversation."""
        return ""


class RandomPlayer(LocalPlayer):
    """Plays a random legal move."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def move(self, position: Position) -> int:
        """Return a random legal point."""
        return self._random.choice(position.legal_points())


class TacticalPlayer(LocalPlayer):
    """Wins, blocks, and else plays near other stones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def move(self, position: Position) -> int:
        """Return a five, a block of a five, or else a random point near the stones."""
        for colour in (position.to_move, 1 - position.to_move):
            for point in position.near_points(1):
                if position.wins(point, colour) and position.is_legal(point):
                    return point
        centre = position.height // 2 * position.width + position.width // 2
        points = position.near_points(2) or [centre]
        self._random.shuffle(points)
        return next(point for point in (*points, *position.empty_points()) if position.is_legal(point))


class PlayerFactory(Protocol):
    """Makes a player of one kind."""

    def __call__(self, settings: str, limits: BrainLimits, seed: int, *, own_time: bool = False) -> Player:
        """Return a player.

        Args:
            settings: what is after the colon of `kind:settings`.
            limits: of time and nodes, for kinds that think.
            seed: of its random choices.
            own_time: whether it measures processor time of its thread: for games of which one runs in a
                process at a time.

        Raises:
            ValueError: settings that the kind does not know.
        """


def _plain(kind: str, make: Callable[[int], Player], settings: str, seed: int) -> Player:
    if settings:
        raise ValueError(f"{kind} takes no settings, not {settings!r}")
    return make(seed)


def make_random(settings: str, limits: BrainLimits, seed: int, *, own_time: bool = False) -> Player:
    """Return a `RandomPlayer`."""
    return _plain("random", RandomPlayer, settings, seed)


def make_tactical(settings: str, limits: BrainLimits, seed: int, *, own_time: bool = False) -> Player:
    """Return a `TacticalPlayer`."""
    return _plain("tactical", TacticalPlayer, settings, seed)


Kinds = Mapping[str, PlayerFactory]
"""Kinds of players inside of this program, by the word before the colon."""

KINDS: Kinds = {"random": make_random, "tactical": make_tactical}
"""Those that need neither a net nor a search."""


def kind_of(spec: str) -> str:
    """Return the word of a player's text that may name a kind."""
    return spec.partition(":")[0]


def make_local(
    spec: str, limits: BrainLimits, seed: int, kinds: Kinds = KINDS, *, own_time: bool = False
) -> Player:
    """Return the player inside of this program that `kind` or `kind:settings` names.

    Raises:
        ValueError: settings that the kind does not know.
    """
    kind, _, settings = spec.partition(":")
    return kinds[kind](settings, limits, seed, own_time=own_time)

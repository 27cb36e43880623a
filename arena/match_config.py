"""Configuration of a match: players, limits, openings, and all that a game of it depends on."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arena.limits import BrainLimits
from arena.openings import OpeningError, random_opening, read_openings, turned
from arena.players import KINDS, Kinds, kind_of
from arena.sprt import Sprt


@dataclass(frozen=True, slots=True)
class MatchConfig:
    """Configuration of a match; see the help of `arena.match` for each field.

    Attributes:
        kinds: players inside of this program that `a` and `b` may name.
        one_core: whether each of the `concurrency` workers keeps its games on a core of its own.
        pauses: whether players inside this program wait while another process times something.
    """

    a: str
    b: str
    limits: tuple[BrainLimits, BrainLimits]
    games: int = 100
    sprt: Sprt | None = None
    rule: int = 0
    width: int = 15
    height: int = 15
    openings: Path | None = None
    repeat_openings: bool = False
    random_stones: int = 4
    concurrency: int = 1
    seed: int = 1
    draw_after: int | None = None
    save: Path | None = None
    journal: Path | None = None
    names: tuple[str, str] = ("a", "b")
    kinds: Kinds = field(default_factory=lambda: KINDS)
    one_core: bool = False
    pauses: bool = True

    def is_local(self, spec: str) -> bool:
        """Return whether a player runs inside this program."""
        return kind_of(spec) in self.kinds

    @property
    def in_process(self) -> bool:
        """Whether both players run inside this program."""
        return self.is_local(self.a) and self.is_local(self.b)

    @property
    def is_timed(self) -> bool:
        """Whether the result depends on what else the machine does."""
        return not self.in_process and any(one.turn_ms or one.match_ms for one in self.limits)

    def settings(self, openings: list[tuple[int, ...]] | None) -> dict[str, Any]:
        """Return what a game depends on, besides its index, as plain data."""
        return {
            "a": self.a, "b": self.b, "rule": self.rule, "size": [self.width, self.height],
            "limits": [
                [one.turn_ms, one.match_ms, one.increment_ms, one.max_memory, one.max_nodes, one.tolerance_ms,
                 one.manager]
                for one in self.limits
            ],
            "seed": self.seed, "draw_after": self.draw_after, "random_stones": self.random_stones,
            "openings": openings, "names": list(self.names),
        }  # fmt: skip


def list_openings(config: MatchConfig) -> list[tuple[int, ...]] | None:
    """Return the openings of a match, None where they are drawn from its seed.

    Raises:
        OpeningError: an unusable file, or one with fewer openings than the match has pairs.
    """
    if config.openings is None:
        return None
    found = read_openings(config.openings, config.width, config.height, config.rule)
    pairs = (config.games + 1) // 2
    if pairs > len(found) and not config.repeat_openings:
        raise OpeningError(
            f"{config.openings} has {len(found)} openings for {pairs} pairs; a repeated opening is no new "
            f"evidence: play {2 * len(found)} games, make a longer list (training.balance), or allow "
            "mirror images of the same (--repeat-openings)"
        )
    return found


def opening_of(config: MatchConfig, openings: list[tuple[int, ...]] | None, pair: int) -> tuple[int, ...]:
    """Return the opening of a pair; further rounds through a list use its mirror images."""
    if openings is None:
        rng = random.Random(f"{config.seed} {pair}")
        return random_opening(rng, config.width, config.height, config.rule, config.random_stones)
    points = openings[pair % len(openings)]
    return turned(points, config.width, config.height, pair // len(openings))

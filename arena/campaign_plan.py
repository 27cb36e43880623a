"""Plans of campaigns: parts, and the blocks of games that they are played in.

A plan is a TOML file:

    brain = "dist/pbrain-tengen/pbrain-tengen"      # --brain wins over it
    seed = 1

    [[part]]
    name = "scaled"
    games = 8000
    profiles = ["judge", "piskvork", "cli", "qpiskvork"]
    leagues = ["freestyle 20", "standard"]          # all without it
    opponents = ["self", "level:6", "tactical", "random", "/path/to/pbrain-other"]
    scale = 100                                     # clocks of the leagues are divided by it
    max_memory = 367001600                          # bytes told, and not to be exceeded
    max_data_bytes = 400000000                      # the system gives the brain no more than this (Linux)
    busy = true                                     # another process runs on the core of each game
    brain = "wine pbrain-tengen.exe"                # another one than that of the plan
    block = 10                                      # games that are played and kept together
"""

from __future__ import annotations

import os
import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from arena.limits import TOURNAMENT_BYTES
from arena.series import PROFILES


class PlanError(ValueError):
    """A plan is invalid; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class League:
    """A league of Gomocup (protocol section 6): board, rule, seconds a turn and a game."""

    size: int
    rule: int
    turn_s: float
    match_s: float


LEAGUES = {
    "freestyle 20": League(20, 0, 300, 1000),
    "freestyle 20 group 2": League(20, 0, 30, 180),
    "freestyle 15": League(15, 0, 300, 1000),
    "freestyle 15 group 2": League(15, 0, 30, 180),
    "fastgame": League(20, 0, 5, 120),
    "standard": League(15, 1, 300, 1000),
    "standard group 2": League(15, 1, 30, 180),
    "renju": League(15, 4, 300, 1000),
    "caro": League(15, 9, 300, 1000),
}
"""By name."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a plan; see the module for its fields."""

    name: str
    games: int
    profiles: tuple[str, ...] = tuple(PROFILES)
    leagues: tuple[str, ...] = tuple(LEAGUES)
    opponents: tuple[str, ...] = ("self",)
    scale: float = 100.0
    max_memory: int = TOURNAMENT_BYTES
    max_data_bytes: int = 0
    busy: bool = False
    brain: str = ""
    block: int = 10

    def check(self) -> None:
        """Refuse what cannot be played.

        Raises:
            PlanError: a number out of range or an unknown name.
        """
        for known, kind, names in (
            (PROFILES, "profile", self.profiles), (list(LEAGUES), "league", self.leagues),
        ):  # fmt: skip
            for name in names:
                if name not in known:
                    raise PlanError(f"part {self.name!r}: unknown {kind} {name!r}; known: {', '.join(known)}")
        if not (self.profiles and self.leagues and self.opponents):
            raise PlanError(f"part {self.name!r} needs profiles, leagues and opponents")
        small = min(self.games, self.block) < 2 or min(self.max_memory, self.max_data_bytes) < 0
        if small or self.block % 2 or self.scale <= 0:
            raise PlanError(f"part {self.name!r}: games and block from 2, block even, scale above 0")


@dataclass(frozen=True, slots=True)
class Block:
    """Games that are played one after another by one worker.

    Attributes:
        number: unique in the plan.
        first: number of its first game in the plan.
        games: how many.
        brain: command of the brain that is tested.
        opponent: as in the plan.
    """

    number: int
    part: str
    first: int
    games: int
    profile: str
    league: str
    opponent: str
    scale: float
    max_memory: int
    max_data_bytes: int
    busy: bool
    brain: str

    @property
    def players(self) -> tuple[str, str]:
        """Texts of both players: the tested brain and its opponent."""
        kind, _, level = self.opponent.partition(":")
        if self.opponent == "self":
            return self.brain, self.brain
        if kind == "level" and level.isdigit():
            brain = f'"{self.brain}"' if " " in self.brain and os.path.isfile(self.brain) else self.brain
            return self.brain, f"{brain} --set level={level}"
        return self.brain, self.opponent

    @property
    def is_mirror(self) -> bool:
        """Whether the opponent is the tested brain too, so that its incidents count."""
        return self.opponent == "self" or self.opponent.startswith("level:")

    @property
    def clock(self) -> tuple[int, int]:
        """(ms a turn, ms a game)."""
        league = LEAGUES[self.league]
        return max(1, round(1000 * league.turn_s / self.scale)), round(1000 * league.match_s / self.scale)


def read_plan(path: Path, brain: str = "", share: float = 1.0) -> tuple[list[Part], str, int]:
    """Read a plan.

    Args:
        path: the TOML file.
        brain: command that takes the place of the plan's, in every part without a brain of its own.
        share: of the games of each part that are played, for a trial; at least one pair a part.

    Returns:
        Parts, the command of the brain, the seed.

    Raises:
        PlanError: it cannot be read, or makes no sense.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{path} is no TOML: {error}") from error
    parts = data.pop("part", [])
    brain, seed = brain or data.pop("brain", ""), data.pop("seed", 1)
    data.pop("brain", None)
    if data or not isinstance(parts, list) or not parts or type(seed) is not int:
        raise PlanError(f"{path}: a plan has brain, seed and [[part]]s, not {', '.join(data) or 'this'}")
    found = [_part(path, part) for part in parts]
    if not brain and not all(part.brain for part in found):
        raise PlanError(f"{path} names no brain; --brain does")
    games = [max(2, 2 * round(part.games * share / 2)) for part in found]
    return [replace(part, games=n) for part, n in zip(found, games, strict=True)], brain, seed


def _part(path: Path, data: Mapping[str, Any]) -> Part:
    types = {"profiles": list, "leagues": list, "opponents": list, "name": str, "brain": str, "busy": bool}
    known = {field.name for field in fields(Part)}
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in known:
            raise PlanError(f"{path}: a part knows {', '.join(sorted(known))}, not {key!r}")
        wanted = types.get(key, float if key == "scale" else int)
        if type(value) is not wanted and not (wanted is float and type(value) is int):
            raise PlanError(f"{path}: {key} has the wrong type")
        values[key] = tuple(map(str, value)) if isinstance(value, list) else value
    if "name" not in values or "games" not in values:
        raise PlanError(f"{path}: a part needs name and games")
    part = Part(**values)
    part.check()
    return part


def blocks_of(parts: list[Part], brain: str, seed: int) -> list[Block]:
    """Return the blocks of a plan: every profile in turn, with leagues and opponents in a random order.

    Whatever is stopped early has seen a bit of everything.
    """
    blocks: list[Block] = []
    first = 0
    for index, part in enumerate(parts):
        kinds = [(league, opponent) for opponent in part.opponents for league in part.leagues]
        random.Random(f"{seed} {index}").shuffle(kinds)
        left, turn = part.games, 0
        while left > 0:
            profile = part.profiles[turn % len(part.profiles)]
            league, opponent = kinds[turn // len(part.profiles) % len(kinds)]
            games = min(part.block, left)
            blocks.append(
                Block(
                    len(blocks), part.name, first, games, profile, league, opponent, part.scale,
                    part.max_memory, part.max_data_bytes, part.busy, part.brain or brain,
                )
            )
            first, left, turn = first + games, left - games, turn + 1
    return blocks

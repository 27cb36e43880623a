"""Recipes of `training.rounds`: which games a round plays, and how its net learns from them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from training.settings.recipes import FOLDER
from training.settings.values import ConfigError, from_mapping

ROUNDS = FOLDER / "rounds"
"""Folder of the recipes that come with the program."""


@dataclass(frozen=True, slots=True)
class GameSet:
    """Games on one board under one rule.

    Attributes:
        size: side of the board in cells.
        rule: name or number, as `--rule` of a match takes it.
        pairs: openings; each is played twice with colours exchanged.
        stones: of an opening, `N` or `N-M`.
        spread: largest distance of these from the centre in cells.
    """

    size: int = 15
    rule: str = "freestyle"
    pairs: int = 100
    stones: str = "3-8"
    spread: int = 5


@dataclass(frozen=True, slots=True)
class RoundLearning:
    """How the net learns.

    Attributes:
        preset: of `training.offline learn`.
        passes: samples for each position.
        set: further settings, `KEY=VALUE`.
    """

    preset: str = "tune"
    passes: float = 2.0
    set: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundRecipe:
    """What a file says.

    Attributes:
        simulations: of a move.
        other: setting of the second player, `KEY=VALUE`, so that games do not repeat.
        opening_simulations: of each search that judges an opening.
        most: largest `|win - loss|` of an opening.
        seed: of the openings.
        learn: how the net learns.
        games: by name.
    """

    simulations: int = 400
    other: str = "search.c_puct=1.3"
    opening_simulations: int = 400
    most: float = 0.2
    seed: int = 1
    learn: RoundLearning = field(default_factory=RoundLearning)
    games: Mapping[str, GameSet] = field(default_factory=dict)


def round_recipe_names() -> list[str]:
    """Return the names of the recipes that come with the program."""
    return sorted(path.stem for path in ROUNDS.glob("*.toml"))


def read_round_recipe(name: str) -> RoundRecipe:
    """Read a recipe: a name in `ROUNDS`, or a file.

    Raises:
        ConfigError: the file cannot be read, is not TOML, has no games, or an unknown key or a wrong value.
    """
    path = ROUNDS / f"{name}.toml" if name in round_recipe_names() else Path(name)
    try:
        mapping = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        known = ", ".join(round_recipe_names())
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); recipes here: {known}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not a TOML file ({error})") from error
    tables = mapping.pop("games", None)
    if not isinstance(tables, dict) or not tables:
        raise ConfigError(f"{path}: no table of games, such as [games.freestyle15]")
    try:
        games = {key: _game_set(key, table) for key, table in tables.items()}
        return replace(from_mapping(RoundRecipe, mapping), games=games)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _game_set(name: str, table: Any) -> GameSet:
    if not name.replace("-", "").replace("_", "").isalnum():
        raise ConfigError(f"games.{name}: letters, digits, - and _ make a name")
    if not isinstance(table, Mapping):
        raise ConfigError(f"games.{name} must be a table of settings")
    found = from_mapping(GameSet, table, f"games.{name}.")
    if found.pairs < 1:
        raise ConfigError(f"games.{name}.pairs must be at least 1, not {found.pairs}")
    return found

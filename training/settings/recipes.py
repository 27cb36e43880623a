"""Recipes: files of settings that differ from the defaults, and of what a run begins with.

A file's keys are those of `RunConfig`, nested ones as tables; its table `[start]` (`StartConfig`) names the
recipes of runs whose weights and records this one begins with, as files seen from its own folder.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from training.settings.resolve import config_of
from training.settings.schema import StartConfig
from training.settings.values import ConfigError, from_mapping, weighted

FOLDER = Path(__file__).resolve().parents[1] / "recipes"
"""Of the presets, one file each."""
BEFORE = ".before"
"""Behind the name of a run directory: the folder of the runs that its recipe builds on."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a file says.

    Attributes:
        path: of the file.
        settings: what differs from the defaults of `RunConfig`.
        start: what the run begins with.
    """

    path: Path
    settings: Mapping[str, Any]
    start: StartConfig = field(default_factory=StartConfig)

    @property
    def name(self) -> str:
        """Its file name without the suffix."""
        return self.path.stem

    @property
    def source(self) -> str:
        """Name that a run of it stores: that of a preset, or of the file."""
        return self.name if self.path.parent == FOLDER else self.path.name

    def weights(self) -> dict[Path, float]:
        """Return the recipes of runs whose weights this one begins with, and their shares."""
        found: dict[Path, float] = {}
        for text in self.start.weights:
            name, share = weighted(text, f"{self.path}: start.weights", "=")
            path = _beside(self.path, name)
            found[path] = found.get(path, 0.0) + share
        return found

    def records(self) -> list[Path]:
        """Return the recipes of runs whose records this one begins with, the oldest first."""
        return [_beside(self.path, name) for name in self.start.records]


def _beside(path: Path, name: str) -> Path:
    return (path.parent / name).resolve()


def preset_names() -> list[str]:
    """Return the names of the recipes that come with the program."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def preset(name: str) -> Recipe:
    """Return a recipe that comes with the program.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in preset_names():
        raise ConfigError(f"unknown preset {name!r}; known: {', '.join(preset_names())}")
    return read_recipe(FOLDER / f"{name}.toml")


def read_recipe(path: Path) -> Recipe:
    """Read a recipe and check every key and value in it.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or holds an unknown key or a wrong value; the
            message names file and key.
    """
    try:
        mapping = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not a TOML file ({error})") from error
    start = mapping.pop("start", {})
    try:
        config_of(json.loads(json.dumps(mapping)))
        begun = from_mapping(StartConfig, start, "start.") if isinstance(start, Mapping) else None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    if begun is None:
        raise ConfigError(f"{path}: start must be a table of settings")
    recipe = Recipe(path.resolve(), mapping, begun)
    recipe.weights()
    return recipe


def earlier(recipe: Recipe) -> list[Recipe]:
    """Return the recipes that this one builds on, each after those that it builds on itself.

    Raises:
        ConfigError: see `read_recipe`; or one builds on itself, or two have one name.
    """
    found: dict[Path, Recipe] = {}

    def collect(one: Recipe, open_: tuple[Path, ...]) -> Iterator[Recipe]:
        for path in dict.fromkeys((*one.weights(), *one.records())):
            if path in open_:
                raise ConfigError(f"{one.path}: builds on itself by way of {path}")
            if path not in found:
                other = read_recipe(path)
                yield from collect(other, (*open_, path))
                if any(other.name == known.name for known in found.values()):
                    raise ConfigError(f"{path}: another recipe of this chain is called {other.name} too")
                found[path] = other
                yield other

    return list(collect(recipe, (recipe.path,)))

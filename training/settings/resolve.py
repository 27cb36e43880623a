"""The settings of a run: a recipe changed by `key=value` texts, and the file that keeps them with the run."""

from __future__ import annotations

import dataclasses
import json
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.encoding import FEATURE_VERSION, PLANES_OF
from engine.ranges import shown
from training.files.atomic import write_atomically
from training.files.foreign import JSON_LIMIT, ForeignFileError, parse_table, read_bounded, read_table
from training.settings.field import is_stored
from training.settings.retired import RETIRED, drop_retired, put_retired
from training.settings.schema import LearnerConfig, RunConfig
from training.settings.values import ConfigError, from_mapping, kind_name, to_mapping

_SOURCE = re.compile(r"[\w][\w. +-]{0,200}")
"""What a run was started with: the name of a preset or of a recipe's file, in no folder."""
_OPTIONS = re.compile(r"[a-z -]{0,40}")
"""What `start` may hold: it is shown, and the file may come from elsewhere."""


def make_config(
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
    report: Callable[[str], None] | None = None,
) -> RunConfig:
    """Return the settings of a run.

    Args:
        settings: of a recipe, or stored with a run that continues.
        overrides: `key=value` texts, keys dotted as in `play.gumbel.scale=0.2`, lists with commas.
        report: gets a line about each setting of older releases that is ignored.

    Raises:
        ConfigError: unknown key, or a value of the wrong kind.
    """
    mapping: dict[str, Any] = json.loads(json.dumps(settings))
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"expected key=value, not {text!r}")
        if key.strip() in RETIRED:
            put_retired(mapping, key.strip(), value.strip())
        else:
            _put(mapping, key.strip(), value.strip())
    return config_of(mapping, report)


def config_of(mapping: dict[str, Any], report: Callable[[str], None] | None = None) -> RunConfig:
    """Return the settings in nested tables; see `make_config`."""
    drop_retired(mapping, report)
    learner = mapping.get("learner")
    # Older runs name a seed of their own for the learner.
    seed = learner.pop("seed", None) if isinstance(learner, dict) else None
    config = from_mapping(RunConfig, mapping)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise ConfigError(f"learner.seed must be a whole number, not {seed!r}")
    own = config.seed if seed is None else seed
    return dataclasses.replace(config, learner=dataclasses.replace(config.learner, seed=own))


def _names(kind: Any) -> set[str]:
    names = {field.name for field in dataclasses.fields(kind) if is_stored(field)}
    return names | {"seed"} if kind is LearnerConfig else names  # the learner's seed, of older releases


def _put(mapping: dict[str, Any], key: str, text: str) -> None:
    """Store a value given as text at a dotted key, converted to the type of that setting."""
    kind: Any = RunConfig
    names = key.split(".")
    for i, name in enumerate(names):
        known = _names(kind) if dataclasses.is_dataclass(kind) else set()
        if name not in known:
            raise ConfigError(f"unknown setting {shown(key)!r}; known here: {', '.join(sorted(known))}")
        kind = typing.get_type_hints(kind)[name]
        if i + 1 < len(names):
            mapping = mapping.setdefault(name, {})
    if dataclasses.is_dataclass(kind):
        known = _names(kind)
        raise ConfigError(f"{key!r} is a group of settings: {', '.join(sorted(known))}")
    mapping[names[-1]] = _parse(kind, text, key)


def _parse(kind: Any, text: str, key: str) -> Any:
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        return [_parse(item, part.strip(), key) for part in text.split(",") if part.strip()]
    options = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if type(None) in options and text.lower() == "none":
        return None
    try:
        if bool in options:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        if int in options:
            return int(text)
        if float in options:
            return float(text)
    except (ValueError, KeyError):
        raise ConfigError(f"{key} must be {kind_name(kind)}, not {text!r}") from None
    return text


def store_config(path: Path, preset: str, config: RunConfig, start: str = "") -> None:
    """Write the resolved settings of a run and the name of what it was started with.

    Args:
        path: of the file.
        preset: name of the preset, or of the recipe's file.
        config: the settings.
        start: options that name what the run begins with from other runs; they are needed again until its
            first checkpoint holds that.
    """
    data = {"preset": preset, "feature_version": FEATURE_VERSION, "config": to_mapping(config)}
    if start:
        data["start"] = start
    write_atomically(path, json.dumps(data, indent=1).encode())


def read_stored(path: Path) -> tuple[str, dict[str, Any]] | None:
    """Return preset and settings of a run that was started before; None for a new one.

    Raises:
        ConfigError: the file is damaged, or the run belongs to another feature version.
    """
    try:
        data = read_bounded(path, JSON_LIMIT)
    except FileNotFoundError:
        return None
    except ForeignFileError as error:
        raise ConfigError(str(error)) from error
    return parse_stored(data, path)


def read_start(path: Path) -> str:
    """Return the options that named what a run begins with from other runs; empty: nothing, or no such run.

    Raises:
        ForeignFileError: the file is damaged.
    """
    try:
        start = str(read_table(path).get("start", ""))
    except FileNotFoundError:
        return ""
    return start if _OPTIONS.fullmatch(start) else "--config"


def parse_stored(data: bytes, path: Path, older: bool = False) -> tuple[str, dict[str, Any]]:
    """Return preset and settings that the bytes of a run's `config.json` hold; see `read_stored`.

    Args:
        data: the contents.
        path: of the file, for messages.
        older: whether an earlier feature version will do: such a run cannot continue, but another one may
            begin with its weights and records.
    """
    try:
        table = parse_table(data, path)
        found, preset, config = table["feature_version"], table["preset"], table["config"]
        if not _SOURCE.fullmatch(preset) or not isinstance(config, dict):
            raise ValueError("no name of a preset or recipe, or no table of settings")
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is damaged ({error}); choose another run directory") from error
    known = isinstance(found, int) and not isinstance(found, bool) and found in PLANES_OF
    if not known or (found != FEATURE_VERSION and not older):
        way_on = f" with --weights {path.parent} --records {path.parent / 'records'}" if known else ""
        raise ConfigError(
            f"{path.parent} was started with feature version {found}, this program has {FEATURE_VERSION}: "
            f"start a new run directory{way_on}"
        )
    return preset, config

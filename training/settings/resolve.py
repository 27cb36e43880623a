"""The settings of a run: presets, `key=value` overrides, the file in its directory."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.encoding import FEATURE_VERSION
from training.files.atomic import write_atomically
from training.settings.schema import RunConfig
from training.settings.values import ConfigError, from_mapping, to_mapping

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "minutes": 2.0, "workers": 1, "games": 24, "sizes": ("7",), "rules": ("0",), "cycle_positions": 1500,
        "play": {"simulations": 16, "root_vcf_nodes": 100, "root_vct_nodes": 500, "leaf_vcf_nodes": 0,
                 "opening": {"max_stones": 3, "free_stones": 3}},
        "learner": {"net": {"blocks": 1, "channels": 16}, "batch": 64, "window_min": 2000, "warmup": 20},
        "evaluation": {"every_minutes": 0.4, "size": 7, "sizes": (7,), "pairs": 10, "yardstick_pairs": 10,
                       "simulations": 1, "leaf_vcf_nodes": 0, "yardsticks": ("random",)},
    },
    "laptop": {
        "games": 24,
        "play": {"simulations": 64, "fast_simulations": 16, "full_share": 0.5, "root_vct_nodes": 3000},
        "learner": {"net": {"kind": "lines", "blocks": 6, "channels": 32, "policy_channels": 16}, "lr": 0.008,
                    "loss": {"value": 1.5, "root_mix": 0.4}, "window_min": 6000, "reuse": 4.0},
    },
    "gpu": {
        "minutes": 24 * 60.0, "games": 512, "cycle_positions": 200_000,
        "learner": {"net": {"blocks": 10, "channels": 128}, "batch": 1024, "window_min": 200_000,
                    "window_max": 5_000_000},
        "play": {"simulations": 48},
        "evaluation": {"every_minutes": 20.0},
    },
}  # fmt: skip
"""Differences from the defaults."""


def make_config(preset: str, overrides: Sequence[str], base: Mapping[str, Any] | None = None) -> RunConfig:
    """Return the settings of a run.

    Args:
        preset: name in `PRESETS`.
        overrides: `key=value` texts, keys dotted as in `play.gumbel.scale=0.2`, lists with commas.
        base: stored settings of a run that goes on; they replace the preset.

    Raises:
        ConfigError: unknown preset or key, or a value of the wrong kind.
    """
    if preset not in PRESETS:
        raise ConfigError(f"unknown preset {preset!r}; known: {', '.join(PRESETS)}")
    mapping: dict[str, Any] = json.loads(json.dumps(base if base is not None else PRESETS[preset]))
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"expected key=value, not {text!r}")
        _put(mapping, key.strip(), value.strip())
    return from_mapping(RunConfig, mapping)


def _put(mapping: dict[str, Any], key: str, text: str) -> None:
    """Store a value given as text at a dotted key, converted to the type of that setting."""
    kind: Any = RunConfig
    names = key.split(".")
    for i, name in enumerate(names):
        known = {f.name for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
        if name not in known:
            raise ConfigError(f"unknown setting {key!r}; known here: {', '.join(sorted(known))}")
        kind = typing.get_type_hints(kind)[name]
        if i + 1 < len(names):
            mapping = mapping.setdefault(name, {})
    if dataclasses.is_dataclass(kind):
        known = {f.name for f in dataclasses.fields(kind)}
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
        raise ConfigError(f"{key} must be {kind}, not {text!r}") from None
    return text


def store_config(path: Path, preset: str, config: RunConfig) -> None:
    """Write the resolved settings of a run."""
    data = {"preset": preset, "feature_version": FEATURE_VERSION, "config": to_mapping(config)}
    write_atomically(path, json.dumps(data, indent=1).encode())


def read_stored(path: Path) -> tuple[str, dict[str, Any]] | None:
    """Return preset and settings of a run that was started before; None for a new one.

    Raises:
        ConfigError: the file is damaged, or the run belongs to another feature version.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found, preset, config = data["feature_version"], data["preset"], data["config"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError) as error:
        raise ConfigError(f"{path} is damaged ({error}); choose another run directory") from error
    if found != FEATURE_VERSION:
        raise ConfigError(
            f"{path.parent} was started with feature version {found}, this program has {FEATURE_VERSION}: "
            "start a new run directory"
        )
    return preset, config

"""Values of settings: parsed from text, checked against their types, explained, read from mappings."""

from __future__ import annotations

import dataclasses
import inspect
import math
import textwrap
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from engine.ranges import shown
from engine.rules._board import MAX_SIDE, MIN_SIDE
from engine.rules.rule import NET_RULES
from training.settings.field import about, is_setting, is_stored

T = TypeVar("T")


class ConfigError(ValueError):
    """A setting is unknown or of the wrong kind; the message names it."""


def positive(text: str, what: str) -> float:
    """Return a weight given as text.

    Raises:
        ConfigError: it is not a finite number above 0; the message begins with `what`.
    """
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise ConfigError(f"{what} must be a number above 0, not {text!r}")
    return value


def weighted(text: str, what: str, sign: str = ":") -> tuple[str, float]:
    """Return name and weight of `NAME:WEIGHT` (":" being the sign), or of `NAME`, whose weight is 1.

    Raises:
        ConfigError: see `positive`; the message calls the thing `what`.
    """
    name, found, weight = text.partition(sign)
    return name, positive(weight, f"{what} {text!r}: the weight") if found else 1.0


def weighted_run(text: str) -> tuple[Path, float]:
    """Return folder and share of `RUN` (1) or `RUN=SHARE`; a folder's own name may hold "=".

    Raises:
        ConfigError: the share is not a number above 0.
    """
    folder, sign, share = text.rpartition("=")
    if not sign or Path(text).is_dir():
        return Path(text), 1.0
    return Path(folder), positive(share, f"--weights {text}: the share")


def weighted_runs(texts: Sequence[str]) -> dict[Path, float]:
    """Return the folders of runs and their shares, added up where one is named again.

    Raises:
        ConfigError: see `weighted_run`.
    """
    shares: dict[Path, float] = {}
    for folder, share in map(weighted_run, texts):
        shares[folder] = shares.get(folder, 0.0) + share
    return shares


def weighted_rule(text: str) -> tuple[int, float]:
    """Return code and weight of a rule, `CODE:WEIGHT` or `CODE`.

    Raises:
        ConfigError: no such rule, or see `weighted`.
    """
    name, weight = weighted(text, "rule")
    if not name.isdigit() or int(name) not in list(NET_RULES):
        raise ConfigError(f"rule {text!r} must be one of {', '.join(str(int(r)) for r in NET_RULES)}")
    return int(name), weight


def weighted_size(text: str) -> tuple[int, int, float]:
    """Return width, height and weight of a board, `N:WEIGHT`, `WxH:WEIGHT`, or either without a weight.

    Raises:
        ConfigError: no size, one that no board has, or see `weighted`.
    """
    name, weight = weighted(text, "size")
    width, _, height = name.partition("x")
    try:
        w, h = int(width), int(height or width)
    except ValueError:
        raise ConfigError(f"size {text!r} must be N or WxH") from None
    if not (MIN_SIDE <= w <= MAX_SIDE and MIN_SIDE <= h <= MAX_SIDE):
        raise ConfigError(f"size {text!r}: boards have {MIN_SIDE} to {MAX_SIDE} cells a side")
    return w, h, weight


def from_mapping(kind: type[T], mapping: Mapping[str, Any], where: str = "") -> T:
    """Make a config dataclass from a mapping, nested ones included.

    Args:
        kind: a dataclass.
        mapping: setting to value; settings that are missing keep their default.
        where: path of `mapping` in the whole, for messages.

    Raises:
        ConfigError: an unknown setting, or a value of the wrong type.
    """
    known = {f.name for f in dataclasses.fields(kind) if is_stored(f)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, value in mapping.items():
        path = f"{where}{name}"
        if name not in known:
            raise ConfigError(f"unknown setting {shown(path)!r}; known here: {', '.join(sorted(known))}")
        hint = hints[name]
        if dataclasses.is_dataclass(hint):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{path} must be a table of settings")
            values[name] = from_mapping(hint, value, f"{path}.")  # type: ignore[arg-type]
        else:
            values[name] = _checked(value, hint, path)
    return kind(**values)


def _checked(value: Any, hint: Any, path: str) -> Any:
    origin = typing.get_origin(hint)
    allowed = typing.get_args(hint) if origin in (types.UnionType, typing.Union) else (hint,)
    for option in allowed:
        if option is type(None) and value is None:
            return None
        if option is float and isinstance(value, (int, float)) and not isinstance(value, bool):
            if not math.isfinite(value):
                raise ConfigError(f"{path} must be a finite number, not {value}")
            return float(value)
        if option is int and isinstance(value, int) and not isinstance(value, bool):
            return value
        if option in (str, bool) and isinstance(value, option):
            return value
        if typing.get_origin(option) is tuple and isinstance(value, (list, tuple)):
            item = typing.get_args(option)[0]
            return tuple(_checked(v, item, path) for v in value)
    raise ConfigError(f"{path} must be {kind_name(hint)}, not {value!r}")


def kind_name(hint: Any) -> str:
    """Return what a setting of a type must be, in words."""
    if typing.get_origin(hint) is tuple:
        return f"a list, each item {kind_name(typing.get_args(hint)[0])}"
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return " or ".join(kind_name(option) for option in typing.get_args(hint))
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false", type(None): "none"}
    return words[hint]


def describe(kind: type[Any], where: str = "") -> str:
    """Return what the settings of a config dataclass are, nested ones included.

    Args:
        kind: a dataclass whose fields were declared by `training.settings.field.setting`.
        where: path of these settings in the whole, "" or ending in a dot.
    """
    head = inspect.cleandoc(kind.__doc__ or "")
    hints = typing.get_type_hints(kind)
    lines, groups = [f"{where}*: {head}" if where else head, ""], []
    for f in filter(is_setting, dataclasses.fields(kind)):
        if dataclasses.is_dataclass(hints[f.name]):
            groups.append(describe(hints[f.name], f"{where}{f.name}."))
            continue
        known = about(f)
        value = f"{_shown(f.default)} {known.unit}".rstrip()
        text = f"{f.name} = {value}: {known.text}. [{known.source}; read by {known.reader}]"
        lines += textwrap.wrap(
            text, 100, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False
        )
    return "\n\n".join(["\n".join(lines), *groups])


def _shown(value: Any) -> str:
    """Return a default as `--set` takes it."""
    if isinstance(value, tuple):
        return ",".join(_shown(item) for item in value) or "(empty)"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def to_mapping(config: Any) -> dict[str, Any]:
    """Return what is stored of a config as plain nested dicts, as `from_mapping` reads them."""
    found = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if is_stored(f)}
    return {name: to_mapping(v) if dataclasses.is_dataclass(v) else v for name, v in found.items()}

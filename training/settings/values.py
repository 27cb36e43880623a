"""Values of settings: parsed from text, checked against their types, explained, read from mappings."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from engine.rules.rule import Rule

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


def weighted(text: str, what: str) -> tuple[str, float]:
    """Return name and weight of `NAME:WEIGHT`, or of `NAME`, whose weight is 1.

    Raises:
        ConfigError: see `positive`; the message calls the thing `what`.
    """
    name, colon, weight = text.partition(":")
    return name, positive(weight, f"{what} {text!r}: the weight") if colon else 1.0


def weighted_rule(text: str) -> tuple[int, float]:
    """Return code and weight of a rule, `CODE:WEIGHT` or `CODE`.

    Raises:
        ConfigError: no such rule, or see `weighted`.
    """
    name, weight = weighted(text, "rule")
    if not name.isdigit() or int(name) not in list(Rule):
        raise ConfigError(f"rule {text!r} must be one of {', '.join(str(int(r)) for r in Rule)}")
    return int(name), weight


def from_mapping(kind: type[T], mapping: Mapping[str, Any], where: str = "") -> T:
    """Make a config dataclass from a mapping, nested ones included.

    Args:
        kind: a dataclass.
        mapping: setting to value; settings that are missing keep their default.
        where: path of `mapping` in the whole, for messages.

    Raises:
        ConfigError: an unknown setting, or a value of the wrong type.
    """
    known = {f.name for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, value in mapping.items():
        path = f"{where}{name}"
        if name not in known:
            raise ConfigError(f"unknown setting {path!r}; known here: {', '.join(sorted(known))}")
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
            return float(value)
        if option is int and isinstance(value, int) and not isinstance(value, bool):
            return value
        if option in (str, bool) and isinstance(value, option):
            return value
        if typing.get_origin(option) is tuple and isinstance(value, (list, tuple)):
            item = typing.get_args(option)[0]
            return tuple(_checked(v, item, path) for v in value)
    raise ConfigError(f"{path} must be {hint}, not {value!r}")


def describe(kind: type[Any], where: str = "") -> str:
    """Return what the settings of a config dataclass mean, nested ones included, from its docstrings.

    Args:
        kind: a dataclass whose docstring ends in a section "Attributes:".
        where: path of these settings in the whole, "" or ending in a dot.
    """
    head, _, attributes = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")
    hints = typing.get_type_hints(kind)
    title = f"{where}*: {head.strip()}" if where else head.strip()
    parts = [f"{title}\n\n{attributes.rstrip()}"]
    for f in dataclasses.fields(kind):
        if dataclasses.is_dataclass(hints[f.name]):
            parts.append(describe(hints[f.name], f"{where}{f.name}."))
    return "\n\n".join(parts)


def to_mapping(config: Any) -> dict[str, Any]:
    """Return a config as plain nested dicts, as `from_mapping` reads them."""
    return dataclasses.asdict(config)

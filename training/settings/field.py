"""Declare settings and constants: a default with text, unit, source and reader."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

T = TypeVar("T")

NOT_TUNED = "not tuned"
"""Source of a default that was not measured against others."""


@dataclasses.dataclass(frozen=True, slots=True)
class About:
    """What is known about a setting.

    Attributes:
        text: what it does.
        unit: of its value, "" where the text names the values it may have.
        source: where the default comes from: `NOT_TUNED`, or text that begins with "tuned: " and says where,
            or with "derived: " and says how.
        reader: the file that reads it, seen from `training`.
    """

    text: str
    unit: str
    source: str
    reader: str


def setting(default: T, text: str, reader: str, unit: str = "", source: str = NOT_TUNED) -> T:
    """Declare a field of a dataclass of settings; see `About`."""
    return dataclasses.field(default=default, metadata={"about": About(text, unit, source, reader)})


def constant(default: T, text: str, unit: str = "", source: str = NOT_TUNED) -> T:
    """Declare a field that no run changes: it is neither read from settings nor stored with them."""
    return dataclasses.field(default=default, metadata={"constant": About(text, unit, source, "")})


def shape(default: T, text: str, unit: str = "") -> T:
    """Declare a size of a net that new nets do not choose: it is stored, since older nets have others."""
    return dataclasses.field(default=default, metadata={"shape": About(text, unit, NOT_TUNED, "")})


def is_setting(field: dataclasses.Field[Any]) -> bool:
    """Return whether a field is a setting or a group of settings."""
    return not field.metadata or "about" in field.metadata


def is_stored(field: dataclasses.Field[Any]) -> bool:
    """Return whether a field is stored with a run."""
    return "constant" not in field.metadata


def about(field: dataclasses.Field[Any]) -> About:
    """Return what is known about a field that `setting`, `constant` or `shape` declared."""
    (found,) = field.metadata.values()
    assert isinstance(found, About)
    return found

"""Ranges of settings: the one check that a number from outside has to pass."""

from __future__ import annotations

from engine.errors import ConfigError

SHOWN = 40
"""Characters of a value that a message names (derived: an ERROR line has room for 240)."""


def check_range(name: str, value: float, low: float, high: float) -> None:
    """Refuse a number outside of a range; not-a-number is outside of every range.

    Args:
        name: of the setting, for the message.
        value: what was asked for.
        low, high: bounds, both allowed.

    Raises:
        ConfigError: the message names setting, range and value.
    """
    if not low <= value <= high:
        raise ConfigError(f"{name} must be from {low} to {high}, not {shown(value)}")


def shown(value: object) -> str:
    """Return what was asked for as a message can name it, however long it is."""
    try:
        text = str(value)
    except ValueError:  # Python refuses to write out thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."

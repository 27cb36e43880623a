"""Ranges of settings."""

from __future__ import annotations

from engine.errors import ConfigError

SHOWN = 40
"""Characters of a value that a message names (derived: an ERROR line takes 240)."""


def check_range(name: str, value: float, low: float, high: float) -> None:
    """Refuse a number outside of a range; not-a-number is outside of every range.

    Args:
        name: of the setting, for the message.
        value: of the setting.
        low, high: bounds, both allowed.

    Raises:
        ConfigError: the message names setting, range and value.
    """
    if not low <= value <= high:
        raise ConfigError(f"{name} must be from {low} to {high}, not {shown(value)}")


def shown(value: object) -> str:
    """Return the text of a value, cut to SHOWN characters."""
    try:
        text = str(value)
    except ValueError:  # Python refuses to write out thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."

"""Rules of play, as the `INFO rule` bitmask names them."""

from __future__ import annotations

import enum


class Rule(enum.IntEnum):
    """A rule that the kernel plays. The values are those of `INFO rule` (protocol)."""

    FREESTYLE = 0
    """Five or more in a row win."""
    STANDARD = 1
    """Exactly five win, for both colours."""
    RENJU = 4
    """Black: exactly five, with forbidden moves; white: five or more."""
    CARO = 8
    """Six or more win; a five wins unless the opponent stands at both of its ends."""
    STANDARD_CARO = 9
    """Exactly five win, unless the opponent stands at both ends."""


def rule_name(rule: int) -> str:
    """Return a rule as people type it, such as `standard-caro`."""
    return Rule(rule).name.lower().replace("_", "-")


CONTINUOUS_BIT = 2  # protocol: the game goes on after a five, whose stones become obstacles


def rule_from_mask(mask: int) -> Rule:
    """Return the rule that an `INFO rule` bitmask asks for.

    The continuous bit does not change which line wins and is ignored here. Where a mask mixes
    renju with other bits, renju wins, since its fouls can lose the game at once.

    Args:
        mask: any integer; bits 1 exactly five, 2 continuous, 4 renju, 8 caro.

    Raises:
        ValueError: if the mask is negative or has bits that no manager defines.
    """
    if mask < 0 or mask > 15:
        raise ValueError(f"rule must be a bitmask from 0 to 15, not {mask}")
    if mask & Rule.RENJU:
        return Rule.RENJU
    return Rule(mask & Rule.STANDARD_CARO)

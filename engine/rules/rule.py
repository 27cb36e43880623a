"""The rules of play: one table for kernel, protocol, files and users' texts.

A new rule is a member of `Rule` and a row of `SPECS`. `engine.rules._board` reads the flags of a row.
"""

from __future__ import annotations

import enum
import functools
import operator
from dataclasses import dataclass


class Rule(enum.IntEnum):
    """A rule that the kernel plays. The values are those of `INFO rule` (protocol), at most 255."""

    FREESTYLE = 0
    """Five or more in a row win."""
    STANDARD = 1
    """Exactly five win, for both colours."""
    RENJU = 4
    """Black: exactly five, with forbidden moves; white: five or more."""
    CARO = 8
    """Six or more win; a five wins unless stones of the opponent are at both of its ends."""
    STANDARD_CARO = 9
    """Exactly five win, unless stones of the opponent are at both ends."""
    OMOK = 16
    """Exactly five win; neither colour may make a double three."""

    @property
    def spec(self) -> RuleSpec:
        """The row of the rule in the table."""
        return SPECS[self]


class Forbidden(enum.IntFlag):
    """Moves that a colour may not make. A move that makes a five is never forbidden."""

    NOTHING = 0
    OVERLINE = 1
    """A row of six or more."""
    DOUBLE_FOUR = 2
    """Two or more fours."""
    DOUBLE_THREE = 4
    """Two or more open threes that can become straight fours by a move that is not forbidden."""


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """What a rule says. Pairs are for black and white."""

    text: str
    """For users, a few words."""
    exact: tuple[bool, bool] = (False, False)
    """Whether only exactly five win, not six or more."""
    blocked_fives: bool = False
    """Whether a five with stones of the opponent at both of its ends does not win."""
    forbidden: tuple[Forbidden, Forbidden] = (Forbidden.NOTHING, Forbidden.NOTHING)
    words: tuple[str, ...] = ()
    """Parts of the names that programs give the rule, as in RU of SGF: lower-case letters and digits."""
    seen_as: Rule | None = None
    """Another rule whose planes nets see, because there is no plane for what this one forbids."""


_RENJU_BLACK = Forbidden.OVERLINE | Forbidden.DOUBLE_FOUR | Forbidden.DOUBLE_THREE
_DOUBLE_THREE = Forbidden.DOUBLE_THREE

SPECS: dict[Rule, RuleSpec] = {
    Rule.STANDARD_CARO: RuleSpec(
        "exactly five win, unless blocked at both ends", exact=(True, True), blocked_fives=True,
        words=("standardcaro", "exactcaro", "carostandard", "caroexact"),
    ),
    Rule.CARO: RuleSpec(
        "five or more win, five unless blocked at both ends", blocked_fives=True, words=("caro",)
    ),
    Rule.RENJU: RuleSpec(
        "black needs exactly five and has forbidden moves", exact=(True, False),
        forbidden=(_RENJU_BLACK, Forbidden.NOTHING),
        words=("renju", "rif", "soosorv", "soosyrv", "taraguchi", "yamaguchi"),
    ),
    Rule.OMOK: RuleSpec(
        "exactly five win, no double threes", exact=(True, True), forbidden=(_DOUBLE_THREE, _DOUBLE_THREE),
        words=("omok", "korean"), seen_as=Rule.STANDARD,
    ),
    Rule.FREESTYLE: RuleSpec("five or more win", words=("freestyle", "freegomoku", "gomokufree")),
    Rule.STANDARD: RuleSpec(
        "exactly five win", exact=(True, True), words=("standard", "exactfive", "exact5")
    ),
}  # fmt: skip
"""In the order in which `rule_of_words` tries their words."""

ALL_RULES = tuple(int(rule) for rule in Rule)
"""Values of all rules, ascending."""
NET_RULES = tuple(int(rule) for rule in Rule if rule.spec.seen_as is None)
"""Values of the rules that the input planes of nets tell apart."""

CONTINUOUS_BIT = 2  # protocol: the game continues after a five, whose stones become obstacles
RULE_BITS = functools.reduce(operator.or_, ALL_RULES, CONTINUOUS_BIT)
"""Bits of `INFO rule` that have a meaning here."""


def rule_name(rule: int) -> str:
    """Return a rule as people type it, such as `standard-caro`."""
    return Rule(rule).name.lower().replace("_", "-")


def rule_from_text(text: str) -> Rule:
    """Return the rule that a person names: `rule_name` in any case, or a number as of `rule_from_mask`.

    Raises:
        ValueError: neither.
    """
    word = text.strip()
    try:
        return rule_from_mask(int(word)) if word.isdecimal() else Rule[word.upper().replace("-", "_")]
    except (ValueError, KeyError):
        raise ValueError(f"unknown rule {text!r}") from None


def rule_of_words(text: str) -> Rule | None:
    """Return the rule that a program's text names, None if it names none that is known."""
    word = "".join(c for c in text.lower() if c.isalnum())
    plain = word.replace("gomoku", " ")  # which has "omok" in it
    for rule, spec in SPECS.items():
        if any(part in (word if "gomoku" in part else plain) for part in spec.words):
            return rule
    return None


def rule_from_mask(mask: int) -> Rule:
    """Return the rule that an `INFO rule` bitmask asks for.

    The continuous bit does not change which line wins and is ignored here. If a mask mixes a rule that has
    forbidden moves with other bits, that rule wins, the smaller value first: such a move can lose the game.

    Args:
        mask: any integer; bits 1 exactly five, 2 continuous, 4 renju, 8 caro, 16 Omok.

    Raises:
        ValueError: if the mask is negative or has bits that no manager defines.
    """
    if mask < 0 or mask & ~RULE_BITS:
        raise ValueError(f"rule must be a bitmask from 0 to {RULE_BITS}, not {mask}")
    for rule in Rule:
        if mask & rule and any(rule.spec.forbidden):
            return rule
    return Rule(mask & Rule.STANDARD_CARO)

"""Answers of the threat solver."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Verdict(enum.IntEnum):
    """What a solver call found out."""

    NONE = -1
    """The space of attacks is exhausted: the attacker has no win of this kind."""
    UNKNOWN = 0
    """The node budget was spent, or a stop was asked for."""
    WIN = 1
    """Proven: the attacker wins against every defence."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Result of `Solver.solve`. Points are indices `y * width + x`.

    Attributes:
        verdict: win, none or unknown.
        distance: plies until the five stands, odd; 0 without a win. An upper bound for VCT; of a VCF the
            shortest, unless finding it takes 100,000 nodes more than the budget.
        pv: a win's principal variation, from the attacker's first move to his five, against the defence that
            lasts longest. A call that was stopped knows only the beginning of it, at least one move.
        defences: filled when the defender is to move and the attacker's win was asked for: the moves
            that may refute it, ascending; every other move is proven to lose. Empty without a win.
        nodes: placements tried.
    """

    verdict: Verdict
    distance: int
    pv: tuple[int, ...]
    defences: tuple[int, ...]
    nodes: int

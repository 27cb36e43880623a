"""Results of the threat solver."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Verdict(enum.IntEnum):
    """Status of a call of the solver."""

    NONE = -1
    """The search space is exhausted: the attacker has no win of this kind."""
    UNKNOWN = 0
    """The node budget was spent, or the call was stopped."""
    WIN = 1
    """Proven: the attacker wins against every defence."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Result of `Solver.solve`. Points are indices `y * width + x`.

    Attributes:
        verdict: win, none or unknown.
        distance: plies to the five, odd; 0 without a win. An upper bound for VCT; the smallest for VCF,
            unless finding it takes 100,000 nodes more than the budget.
        pv: principal variation of a win, from the attacker's first move to the five, against the longest
            defence. Only its beginning, at least one move, if the call was stopped.
        defences: where the defender is to move, its moves that may refute the win, ascending; every other
            move is proven to lose. Empty without a win.
        nodes: placements.
        longest: where the defender is to move: plies to the five after any of its moves that is proven to
            lose, an upper bound; that move is not counted. Else `distance`.
    """

    verdict: Verdict
    distance: int
    pv: tuple[int, ...]
    defences: tuple[int, ...]
    nodes: int
    longest: int

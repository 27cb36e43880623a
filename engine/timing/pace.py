"""More time for an unstable search, less for an easy move. Uses numbers only, no tree."""

from __future__ import annotations

import math

from engine.timing.budget import DEFAULT_CLOCK, Budget
from engine.timing.params import ClockParams

LATE_CHANGE = 0.5
"""Share of the soft limit after which a change of the best move counts as late (tuned by hand)."""
CHANGE_DECAY = 0.25
"""Time constant, as a share of the soft limit, with which a change of the best move decays (tuned by
hand)."""


class Pace:
    """Sets the deadline of one search between a part of the soft limit and the hard limit.

    The signs of instability are those of Stockfish (`search.cpp`,
    https://github.com/official-stockfish/Stockfish): a best move that changes, a value that falls, a second
    move that is close.
    """

    __slots__ = (
        "_best",
        "_budget",
        "_changed_s",
        "_changes",
        "_first_q",
        "_params",
        "_q",
        "_seen_s",
        "_visit_ratio",
    )  # fmt: skip

    def __init__(
        self, budget: Budget, last_q: float | None = None, params: ClockParams = DEFAULT_CLOCK
    ) -> None:
        """Start with the first state of a search.

        Args:
            budget: deadlines in seconds after arrival.
            last_q: value of the previous search of this game for the same player, [-1, 1]; None if unknown.
            params: weights of the signs of instability.
        """
        self._budget = budget
        self._params = params
        self._best = -1
        self._changes = 0.0
        self._changed_s = 0.0
        self._first_q = last_q
        self._q = last_q if last_q is not None else 0.0
        self._visit_ratio = 1.0
        self._seen_s = 0.0

    def update(self, elapsed_s: float, best: int, q: float, visit_ratio: float) -> None:
        """Update from the state of the search.

        Args:
            elapsed_s: seconds since arrival.
            best: point of the best move.
            q: its value for the player to move, [-1, 1].
            visit_ratio: visits of the second best move over those of the best, at least 0.
        """
        decay_s = CHANGE_DECAY * self._budget.soft_s
        if 0 < decay_s < math.inf:
            self._changes *= math.exp(-(elapsed_s - self._seen_s) / decay_s)
        self._seen_s = elapsed_s
        if best != self._best:
            if self._best >= 0:
                self._changes += 1.0
                self._changed_s = elapsed_s
            self._best = best
        if self._first_q is None:
            self._first_q = q
        self._q = q
        self._visit_ratio = visit_ratio

    def deadline_s(self) -> float:
        """Return when to stop, in seconds after arrival: within the budget's hard limit."""
        soft_s, hard_s = self._budget.soft_s, self._budget.hard_s
        if soft_s >= hard_s:
            return hard_s
        return min(hard_s, soft_s * self.factor())

    def factor(self) -> float:
        """Return the current factor of the soft limit: `min_factor` (easy) to `max_factor` (unstable)."""
        p = self._params
        drop = max(0.0, (self._first_q if self._first_q is not None else self._q) - self._q)
        instability = min(1.0, 0.5 * self._changes)
        if self._changed_s > LATE_CHANGE * self._budget.soft_s:
            instability = min(1.0, instability + 0.3)
        closeness = max(0.0, min(1.0, (self._visit_ratio - 0.3) / 0.6))
        factor = p.base + p.closeness * closeness + p.instability * instability
        factor += min(0.8, p.value_drop * drop)
        if abs(self._q) > 0.95:
            factor -= p.easy_move
        return max(p.min_factor, min(p.max_factor, factor))

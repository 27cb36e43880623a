"""From limits to deadlines: how long a move may think. Pure functions of their arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.timing.params import ClockParams

DEFAULT_CLOCK = ClockParams()

UNLIMITED_MS = 2_147_483_647
"""`INFO time_left` of a game without a match limit (protocol)."""

SHORT_TURN_SHARE = 0.45
"""Share of a short turn that is given up for overhead (tuned: 100 ms turns on a busy 2-core machine)."""
AT_ONCE_S = 0.01
"""What a move "at once" may search, enough for one evaluation (derived: far below the 100 ms that a manager
notices; a single evaluation of the largest net that plays takes ~2 ms)."""
AT_ONCE_ANSWER_S = 0.08
"""When the watchdog answers a move "at once" (derived: managers expect 100 to 200 ms)."""
MIN_SPENDABLE = 0.02
"""Share of the time left that may be spent even when all of it should be kept back (tuned: as above)."""


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """What a move may cost. All times in ms; None where nobody set a limit."""

    turn_ms: int | None = None
    """For this move; 0 or less: answer at once."""
    match_ms: int | None = None
    """For the whole game; None or 0: no limit. Only used where `time_left_ms` is None."""
    time_left_ms: int | None = None
    """Left of the game when the command arrived; may be negative. UNLIMITED_MS or more: no limit."""
    increment_ms: int = 0
    """Added to the clock after each move."""
    max_nodes: int | None = None
    """At most this many simulations; None: no limit."""
    max_depth: int | None = None
    """Stop once the principal variation is this many plies long; None: no limit."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Deadlines in seconds after the arrival of the command; infinite where there is no limit."""

    soft_s: float
    """Aim: stop here unless the search is unsettled."""
    hard_s: float
    """The search never goes on beyond this."""
    answer_s: float
    """A watchdog answers the best move so far when this passes without an answer."""


def plan(
    limits: SearchLimits, ply: int, board_points: int, overhead_ms: int, params: ClockParams = DEFAULT_CLOCK
) -> Budget:
    """Return the deadlines of a move.

    With a match clock, time is spread over the moves that are likely to come: each move gets a share of
    what is left, so the clock never runs dry, and a part is kept back for a game that fills the board.
    Without one, or where it holds the whole turn for every move that can still come, there is nothing to save
    for, and the soft limit is the hard limit.

    Args:
        limits: what the manager allows.
        ply: stones on the board.
        board_points: cells of the board.
        overhead_ms: what a move may lose outside of the search; short turns give up a smaller share.
        params: how a match clock is spread.
    """
    turn_s = math.inf if limits.turn_ms is None else max(0, limits.turn_ms) / 1000
    left_s = time_left_s(limits)
    if turn_s <= 0 or left_s <= 0:
        return Budget(AT_ONCE_S, AT_ONCE_S, AT_ONCE_ANSWER_S)
    limit_s = min(turn_s, left_s)
    if math.isinf(limit_s):
        return Budget(math.inf, math.inf, math.inf)
    margin_s = min(overhead_ms / 1000, SHORT_TURN_SHARE * limit_s)
    hard_s = limit_s - margin_s
    answer_s = limit_s - 0.5 * margin_s
    moves_to_come = (board_points - ply + 1) // 2
    increment_s = min(max(0, limits.increment_ms) / 1000, left_s)
    if left_s + (moves_to_come - 1) * increment_s >= moves_to_come * turn_s:
        return Budget(hard_s, hard_s, answer_s)
    spendable_s = max(left_s - moves_to_come * params.reserve_ms / 1000, MIN_SPENDABLE * left_s)
    moves_to_go = max(params.min_moves_to_go, params.moves_to_go - ply // 2)
    share_s = spendable_s / moves_to_go + 0.8 * increment_s * (1 - 1 / moves_to_go)
    soft_s = min(hard_s, share_s)
    stretched_s = min(params.max_factor * share_s, max(share_s, params.max_share * spendable_s))
    return Budget(soft_s, max(soft_s, min(hard_s, stretched_s)), answer_s)


def answer_by_s(budget: Budget, arrival_s: float, begun_s: float, hurried_s: float | None = None) -> float:
    """Return when a watchdog answers a question, on the clock of its arrival; infinite without a limit.

    A question that begins late, as after a slow start of the process, still gets the time of a move at once.

    Args:
        budget: of the question.
        arrival_s: when its clock was started.
        begun_s: when it was handed on.
        hurried_s: since when it is to be answered at once, None if it is not.
    """
    due_s = max(arrival_s + budget.answer_s, begun_s + AT_ONCE_ANSWER_S)
    return due_s if hurried_s is None else min(due_s, hurried_s + AT_ONCE_ANSWER_S)


def time_left_s(limits: SearchLimits) -> float:
    """Return the seconds left of the game, negative when overdrawn, infinite without a match limit."""
    left_ms = limits.time_left_ms
    if left_ms is None:
        left_ms = limits.match_ms or None
    if left_ms is None or left_ms >= UNLIMITED_MS:
        return math.inf
    return left_ms / 1000

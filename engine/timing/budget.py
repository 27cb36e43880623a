"""From limits to deadlines: how long a move may think. Pure functions of their arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.timing.params import ClockParams

DEFAULT_CLOCK = ClockParams()

UNLIMITED_MS = 2_147_483_647
"""`INFO time_left` of a game without a match limit (protocol)."""

SHORT_TURN_SHARE = 0.45
"""Share of a short turn that is reserved for overhead (tuned: 100 ms turns on a busy 2-core machine)."""
IMMEDIATE_S = 0.01
"""Search time of an immediate move, enough for one evaluation (derived: far below the 100 ms that a manager
notices; one evaluation of the largest net that plays takes ~2 ms)."""
IMMEDIATE_ANSWER_S = 0.08
"""When the watchdog answers an immediate move (derived: managers expect 100 to 200 ms)."""
MIN_SPENDABLE = 0.02
"""Smallest share of the time left that may be spent, whatever is reserved (tuned: as above)."""


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Limits of a move. All times in ms; None: no limit is set."""

    turn_ms: int | None = None
    """For this move; 0 or less: answer immediately."""
    match_ms: int | None = None
    """For the whole game; None or 0: no limit. Used only where `time_left_ms` is None."""
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
    """Stop here unless the search is unstable."""
    hard_s: float
    """The search never continues beyond this."""
    answer_s: float
    """A watchdog answers with the best move so far if there is no answer by then."""


def plan(
    limits: SearchLimits, ply: int, board_points: int, overhead_ms: int, params: ClockParams = DEFAULT_CLOCK
) -> Budget:
    """Return the deadlines of a move.

    A match clock is divided among the moves that are likely to come: each move gets a share of the time left,
    so the clock never runs out, and a part is reserved for a game that fills the board. Without a match
    clock, or where it has a whole turn for every move that can still come, the soft limit is the hard limit.

    Args:
        limits: what the manager allows.
        ply: stones on the board.
        board_points: cells of the board.
        overhead_ms: time that a move may lose outside the search; short turns reserve less.
        params: how a match clock is divided.
    """
    turn_s = math.inf if limits.turn_ms is None else max(0, limits.turn_ms) / 1000
    left_s = time_left_s(limits)
    if turn_s <= 0 or left_s <= 0:
        return Budget(IMMEDIATE_S, IMMEDIATE_S, IMMEDIATE_ANSWER_S)
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


def answer_by_s(
    budget: Budget, arrival_s: float, begun_s: float, immediate_since_s: float | None = None
) -> float:
    """Return when a watchdog answers a query, on the clock of its arrival; infinite without a limit.

    A query that begins late, as after a slow start of the process, still gets the time of an immediate move.

    Args:
        budget: of the query.
        arrival_s: when it arrived.
        begun_s: when its search was started.
        immediate_since_s: since when an immediate answer is requested; None: it is not.
    """
    due_s = max(arrival_s + budget.answer_s, begun_s + IMMEDIATE_ANSWER_S)
    return due_s if immediate_since_s is None else min(due_s, immediate_since_s + IMMEDIATE_ANSWER_S)


def time_left_s(limits: SearchLimits) -> float:
    """Return the seconds left of the game, negative when overdrawn, infinite without a match limit."""
    left_ms = limits.time_left_ms
    if left_ms is None:
        left_ms = limits.match_ms or None
    if left_ms is None or left_ms >= UNLIMITED_MS:
        return math.inf
    return left_ms / 1000

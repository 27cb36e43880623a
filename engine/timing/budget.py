"""From limits to deadlines: how long a move may think. Pure functions of their arguments."""

from __future__ import annotations

from dataclasses import dataclass

UNLIMITED_MS = 2_147_483_647
"""`INFO time_left` of a game without a match limit (protocol)."""


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


def plan(limits: SearchLimits, ply: int, board_points: int, overhead_ms: int) -> Budget:
    """Return the deadlines of a move.

    Args:
        limits: what the manager allows.
        ply: stones on the board.
        board_points: cells of the board.
        overhead_ms: what a move may lose outside of the search; short turns give up a smaller share.
    """
    raise NotImplementedError

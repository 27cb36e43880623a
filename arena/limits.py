"""Limits of time and memory that a player gets, and its clock in one game."""

from __future__ import annotations

from dataclasses import dataclass

from arena.errors import BrainFailureError

UNLIMITED_MS = 2_147_483_647
"""What managers tell where no clock runs (protocol)."""
TOURNAMENT_BYTES = 367_001_600
"""Memory of Gomocup (protocol: 350 MiB)."""


@dataclass(frozen=True, slots=True)
class BrainLimits:
    """Limits that a brain gets, and the tolerance of the manager.

    Attributes:
        turn_ms: ms a turn; None: not told.
        match_ms: ms a game; 0: unlimited.
        increment_ms: added to the match clock after each move.
        max_memory: bytes; 0: unlimited.
        max_nodes: simulations a move; None: not told.
        tolerance_ms: overrun of turn or match that does not yet lose.
        start_ms: longest time from the start of the process to OK; None: the manager's own patience.
        cold_start_ms: least time for the first move of a process whose manager charges the start to it.
        watch_memory: whether memory beyond the limit is an incident (costs a look at each move).
        max_data_bytes: private memory beyond which the system gives the brain none (Linux); 0: no limit.
        unhindered: whether what a brain's threads wait for a core is taken off its times.
        manager: name of the manager whose habits are followed.
    """

    turn_ms: int | None = 1000
    match_ms: int = 0
    increment_ms: int = 0
    max_memory: int = TOURNAMENT_BYTES
    max_nodes: int | None = None
    tolerance_ms: int = 1000
    start_ms: int | None = None
    cold_start_ms: float = 0.0
    watch_memory: bool = False
    unhindered: bool = False
    max_data_bytes: int = 0
    manager: str = "plain"


class MatchClock:
    """The clock of one player in one game, in ms."""

    def __init__(self, limits: BrainLimits) -> None:
        self._limits = limits
        self.used_ms = 0.0
        self.moves = 0

    def left_ms(self) -> float | None:
        """Return what is left, negative when overdrawn; None without a match clock."""
        if not self._limits.match_ms:
            return None
        return self._limits.match_ms + self.moves * self._limits.increment_ms - self.used_ms

    def told_left_ms(self) -> int:
        """Return the `time_left` that managers send, ms."""
        left_ms = self.left_ms()
        return UNLIMITED_MS if left_ms is None else int(left_ms)

    def limit_ms(self) -> float | None:
        """Return what the next move may take without tolerance; None where nothing limits it."""
        caps = [ms for ms in (self._limits.turn_ms, self.left_ms()) if ms is not None]
        return float(min(caps)) if caps else None

    def allowed_ms(self, least_ms: float = 0.0) -> float | None:
        """Return what loses when exceeded: the limit, at least `least_ms`, and the tolerance."""
        limit_ms = self.limit_ms()
        return None if limit_ms is None else max(0.0, max(limit_ms, least_ms) + self._limits.tolerance_ms)

    def count(self, used_ms: float, least_ms: float = 0.0, forgiven_ms: float = 0.0) -> None:
        """Take in a move; `forgiven_ms` of it do not count.

        Where `least_ms` is more than the limit, only the limit is charged: a start is not scaled with clocks.

        Raises:
            BrainFailureError: "time" if it took more than was allowed.
        """
        allowed_ms = self.allowed_ms(least_ms)
        limit_ms, charged_ms = self.limit_ms(), used_ms - forgiven_ms
        if limit_ms is not None and least_ms > limit_ms:
            charged_ms = min(charged_ms, max(0.0, limit_ms))
        self.used_ms += charged_ms
        self.moves += 1
        if allowed_ms is not None and used_ms - forgiven_ms > allowed_ms:
            raise BrainFailureError("time", f"{used_ms:.0f} ms for a move, {allowed_ms:.0f} allowed")

"""Control of one move: deadlines, requests from other threads, the best move so far."""

from __future__ import annotations

import math
import threading

from engine.search.stoppers import SearchState
from engine.timing.budget import DEFAULT_CLOCK, Budget, SearchLimits
from engine.timing.pace import Pace
from engine.timing.params import ClockParams

CHECK_INTERVAL_S = 0.02
"""Longest time between updates of the pace (derived: an update costs microseconds)."""
CHECK_SHARE = 0.02
"""Share of the soft limit between updates, where that is shorter (derived: as above)."""
MAX_STEP_S = 0.25
"""Longest step that is expected to occur again (derived: a longer one was a pause of the whole machine)."""
MAX_REMEMBERED = 0.25
"""Longest step of earlier moves that is expected in this one, as a share of its time (derived: one pause must
not take the time of the next short moves; a slow evaluation is seen again at once)."""
MIN_SIMULATIONS = 32
"""Simulations below which the speed is too uncertain to call a lead safe (derived)."""


class MoveControl:
    """The stopper of a running move. `stop`, `relimit` and `best_point` may be used by any thread."""

    def __init__(
        self,
        arrival_s: float,
        budget: Budget,
        limits: SearchLimits,
        *,
        simulations: int | None = None,
        last_q: float | None = None,
        step_s: float = 0.0,
        stop: threading.Event | None = None,
        early: bool = True,
        params: ClockParams = DEFAULT_CLOCK,
    ) -> None:
        """Start the control of a move.

        Args:
            arrival_s: when the command arrived, on the clock of the search.
            budget: deadlines after arrival.
            limits: for node and depth limits.
            simulations: limit of the configuration, in addition to that of `limits`.
            last_q: value of the last search of the same player, [-1, 1]; None if unknown.
            step_s: longest expected time between two calls of `should_stop`: a slow evaluation, or a gap in
                which the machine ran something else.
            stop: is set to request the answer now; None creates one.
            early: whether to stop before the deadline when the choice is clear.
            params: how a match clock is divided.
        """
        self.arrival_s = arrival_s
        self.early = early
        self.best_point: int | None = None
        self._asked_s = -math.inf
        self._last_q = last_q
        self._params = params
        self._simulations = simulations
        self._stop = stop or threading.Event()
        self._next_update_s = -math.inf
        self.relimit(limits, budget)
        self.step_s = min(step_s, MAX_REMEMBERED * budget.answer_s)

    def relimit(self, limits: SearchLimits, budget: Budget) -> None:
        """Replace the limits; times still count from arrival."""
        nodes = [n for n in (limits.max_nodes, self._simulations) if n is not None]
        self._max_nodes = max(1, min(nodes)) if nodes else None
        self._max_depth = limits.max_depth
        saves_time = budget.soft_s < budget.hard_s and self._params.early_end
        self._saves = saves_time or self._max_nodes is not None
        self._pace = Pace(budget, self._last_q, self._params)
        self._next_update_s = -math.inf
        self._deadline_s = self.arrival_s + budget.soft_s
        self._answer_s = self.arrival_s + budget.answer_s
        self.budget = budget

    def stop(self) -> None:
        """Request the answer now."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether the answer was requested."""
        return self._stop.is_set()

    @property
    def answer_s(self) -> float:
        """When a watchdog answers, on the clock of the search; the search stops before that."""
        return self._answer_s

    def should_stop(self, state: SearchState) -> str | None:
        """Return why the search must end, or None. See `engine.search.stoppers.Stopper`."""
        if state.best_point >= 0:
            self.best_point = state.best_point
        if self._stop.is_set():
            return "stopped"
        now_s = state.now_s
        if self._is_late(now_s, state):
            return "deadline"
        if (limit := self._limit_reached(state)) is not None:
            return limit
        if state.proven is not None:
            return f"proven {state.proven}"
        if state.memory_full:
            return "memory"
        if self.early and state.single_move:
            return "single move"
        if self.early and self._unreachable(now_s, state):
            return "unreachable"
        return None

    def _is_late(self, now_s: float, state: SearchState) -> bool:
        """Return whether the deadline has come, or another step like the longest would overrun the answer."""
        step_s = now_s - max(self._asked_s, state.started_s)
        if step_s > self.step_s:
            self.step_s = min(MAX_STEP_S, step_s)
        self._asked_s = now_s
        if now_s >= self._next_update_s or now_s >= self._deadline_s:
            self._update_pace(now_s, state)
        return now_s >= self._deadline_s or now_s + self.step_s >= self._answer_s

    def _limit_reached(self, state: SearchState) -> str | None:
        """Return the limit of nodes or depth that is reached; the next slice ends at that of nodes."""
        if self._max_nodes is not None:
            state.max_slice = min(state.max_slice, self._max_nodes - state.simulations)
            if state.simulations >= self._max_nodes:
                return "node limit"
        if self._max_depth is not None and state.pv_length >= self._max_depth > 0:
            return "depth limit"
        return None

    def _unreachable(self, now_s: float, state: SearchState) -> bool:
        """Return whether the second move can no longer get as many visits, and the cost of more can be saved.

        The choice may still be another one: among moves with enough visits it goes by their values.
        Without a match clock or a limit of simulations nothing is saved: the search may still lower the value
        of its choice, the solver may still find that it loses, and the next move reuses the tree.
        """
        if state.simulations < MIN_SIMULATIONS or not self._saves:
            return False
        return state.best_visits - state.second_visits > self._remaining_simulations(now_s, state)

    def _update_pace(self, now_s: float, state: SearchState) -> None:
        self._next_update_s = now_s + min(CHECK_INTERVAL_S, CHECK_SHARE * self.budget.soft_s)
        if state.best_visits > 0:
            visit_ratio = state.second_visits / state.best_visits
            self._pace.update(now_s - self.arrival_s, state.best_point, state.best_q, visit_ratio)
            self._deadline_s = self.arrival_s + self._pace.deadline_s()

    def _remaining_simulations(self, now_s: float, state: SearchState) -> float:
        """Estimate how many simulations are still to come."""
        elapsed_s = now_s - state.started_s
        if self._max_nodes is not None:
            # Counted from the update, which comes after the same simulations at any speed.
            by_nodes: float = self._max_nodes - state.updated_at
        else:
            by_nodes = math.inf
        if math.isinf(self._deadline_s) or elapsed_s <= 0:
            return by_nodes
        latest_s = self.arrival_s + self.budget.soft_s
        return min(
            by_nodes, max(0.0, max(self._deadline_s, latest_s) - now_s) * state.simulations / elapsed_s
        )

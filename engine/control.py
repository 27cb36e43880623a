"""One move's worth of control: deadlines, requests from other threads, and the best move so far."""

from __future__ import annotations

import math
import threading

from engine.search.stoppers import SearchState
from engine.timing.budget import DEFAULT_CLOCK, Budget, SearchLimits
from engine.timing.pace import Pace
from engine.timing.params import ClockParams

LOOK_EVERY_S = 0.02
"""How often the pace of the search is looked at, at least (derived: looking costs microseconds)."""
LOOK_SHARE = 0.02
"""Part of the soft limit after which it is looked at again, where that is sooner (derived: as above)."""
MAX_STEP_S = 0.25
"""Longest step that is expected again (derived: a longer one was a pause of the whole machine)."""
FEW = 32
"""Simulations below which the speed is not known well enough to call a lead safe (derived)."""


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
        """Begin a move.

        Args:
            arrival_s: when the command arrived, on the clock of the search.
            budget: deadlines after arrival.
            limits: for node and depth limits.
            simulations: a limit of the configuration, besides that of the limits.
            last_q: value for the same player at its last move, None if unknown.
            step_s: longest expected time between two questions to the stopper: a slow evaluation, or a gap in
                which the machine ran something else.
            stop: set by whoever wants the answer now; one is made if None.
            early: whether to stop before the deadline when the choice is clear.
            params: how a match clock is spread.
        """
        self.arrival_s = arrival_s
        self.early = early
        self.best_point: int | None = None
        self.step_s = step_s
        self._asked_s = -math.inf
        self._last_q = last_q
        self._params = params
        self._simulations = simulations
        self._stop = stop or threading.Event()
        self._look_s = -math.inf
        self.relimit(limits, budget)

    def relimit(self, limits: SearchLimits, budget: Budget) -> None:
        """Put new limits in force; times still count from arrival."""
        nodes = [n for n in (limits.max_nodes, self._simulations) if n is not None]
        self._max_nodes = max(1, min(nodes)) if nodes else None
        self._max_depth = limits.max_depth
        saves_time = budget.soft_s < budget.hard_s and self._params.early_end
        self._saves = saves_time or self._max_nodes is not None
        self._pace = Pace(budget, self._last_q, self._params)
        self._look_s = -math.inf
        self._deadline_s = self.arrival_s + budget.soft_s
        self._answer_s = self.arrival_s + budget.answer_s
        self.budget = budget

    def stop(self) -> None:
        """Ask for the answer now."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether somebody asked for the answer."""
        return self._stop.is_set()

    @property
    def answer_s(self) -> float:
        """When a watchdog should answer, on the clock; the search stops before it could overrun this."""
        return self._answer_s

    def should_stop(self, state: SearchState) -> str | None:
        """Return why the search is over, or None. See `engine.search.stoppers.Stopper`."""
        if state.best_point >= 0:
            self.best_point = state.best_point
        if self._stop.is_set():
            return "stopped"
        now_s = state.now_s
        step_s = now_s - max(self._asked_s, state.started_s)
        if step_s > self.step_s:
            self.step_s = min(MAX_STEP_S, step_s)
        self._asked_s = now_s
        if now_s >= self._look_s or now_s >= self._deadline_s:
            self._look(now_s, state)
        if now_s >= self._deadline_s or now_s + self.step_s >= self._answer_s:
            return "deadline"
        if self._max_nodes is not None:
            state.max_slice = min(state.max_slice, self._max_nodes - state.simulations)
            if state.simulations >= self._max_nodes:
                return "node limit"
        if self._max_depth is not None and state.pv_length >= self._max_depth > 0:
            return "depth limit"
        if state.proven is not None:
            return f"proven {state.proven}"
        if state.memory_full:
            return "memory"
        if self.early:
            if state.single_move:
                return "single move"
            if self._unreachable(now_s, state):
                return "unreachable"
        return None

    def _unreachable(self, now_s: float, state: SearchState) -> bool:
        """Whether more simulations would change nothing and what they cost is better saved.

        Without a match clock or a limit of simulations nothing is saved: the search may still lower the value
        of its choice, the solver may still find that it loses, and the tree is there for the next move.
        """
        if state.simulations < FEW or not self._saves:
            return False
        return state.best_visits - state.second_visits > self._left(now_s, state)

    def _look(self, now_s: float, state: SearchState) -> None:
        self._look_s = now_s + min(LOOK_EVERY_S, LOOK_SHARE * self.budget.soft_s)
        if state.best_visits > 0:
            rival = state.second_visits / state.best_visits
            self._pace.update(now_s - self.arrival_s, state.best_point, state.best_q, rival)
            self._deadline_s = self.arrival_s + self._pace.deadline_s()

    def _left(self, now_s: float, state: SearchState) -> float:
        """Estimate how many simulations are still to come."""
        elapsed_s = now_s - state.started_s
        if self._max_nodes is not None:
            # Counted from the look, which comes after the same simulations at any speed.
            by_nodes: float = self._max_nodes - state.looked
        else:
            by_nodes = math.inf
        if math.isinf(self._deadline_s) or elapsed_s <= 0:
            return by_nodes
        latest_s = self.arrival_s + self.budget.soft_s
        return min(
            by_nodes, max(0.0, max(self._deadline_s, latest_s) - now_s) * state.simulations / elapsed_s
        )

"""Who says when a search is over. A stopper sees numbers, never the tree; deadlines get their clock passed
in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.search.result import Proof


@dataclass(slots=True)
class SearchState:
    """A running search as stoppers see it; the search updates one object in place.

    Every field is of the search's root and seen by its side to move.
    """

    started_s: float = 0.0
    """When the search began, on the clock of the search."""
    now_s: float = 0.0
    simulations: int = 0
    """Of this search."""
    evaluations: int = 0
    best_point: int = -1
    best_visits: int = 0
    best_q: float = 0.0
    second_visits: int = 0
    """Visits of the move with the second most."""
    single_move: bool = False
    """Only one move is left to choose from (a forced block, or every other move is proven to lose)."""
    proven: Proof | None = None
    memory_full: bool = False
    """The tree has no room at all; simulations change nothing any more."""
    pv_length: int = 0
    """Plies of the principal variation."""
    max_slice: int = 1 << 30
    """A stopper may lower it to the number of simulations after which it wants to be asked again."""


class Stopper(Protocol):
    """Asked between simulations."""

    def should_stop(self, state: SearchState) -> str | None:
        """Return a short reason to stop now, or None."""


class StopRequest:
    """Stops when somebody asked for it, from any thread."""

    __slots__ = ("_event",)

    def __init__(self, event: threading.Event | None = None) -> None:
        self._event = event or threading.Event()

    def request(self) -> None:
        """Ask for a stop (any thread)."""
        self._event.set()

    def should_stop(self, state: SearchState) -> str | None:
        return "stopped" if self._event.is_set() else None


class Deadline:
    """Stops when the clock passes `deadline_s`, which may be moved while the search runs (any thread)."""

    __slots__ = ("_now_s", "deadline_s")

    def __init__(self, now_s: Callable[[], float], deadline_s: float) -> None:
        """Args: a monotonic clock in seconds, and when to stop on it."""
        self._now_s = now_s
        self.deadline_s = deadline_s

    def should_stop(self, state: SearchState) -> str | None:
        return "deadline" if self._now_s() >= self.deadline_s else None


class SoftDeadline:
    """Stops at `soft_s` when the best move is settled, else goes on until `hard_s`.

    Settled: the most visited move has twice the visits of the next one.
    """

    __slots__ = ("_now_s", "hard_s", "soft_s")

    def __init__(self, now_s: Callable[[], float], soft_s: float, hard_s: float) -> None:
        self._now_s = now_s
        self.soft_s = soft_s
        self.hard_s = hard_s

    def should_stop(self, state: SearchState) -> str | None:
        now_s = self._now_s()
        if now_s < self.soft_s:
            return None
        if now_s >= self.hard_s:
            return "hard deadline"
        return "soft deadline" if state.best_visits >= 2 * state.second_visits else None


class NodeLimit:
    """Stops after a number of simulations of this search."""

    __slots__ = ("simulations",)

    def __init__(self, simulations: int) -> None:
        self.simulations = simulations

    def should_stop(self, state: SearchState) -> str | None:
        left = self.simulations - state.simulations
        state.max_slice = min(state.max_slice, left)
        return "node limit" if left <= 0 else None


class DepthLimit:
    """Stops once the principal variation is long enough."""

    __slots__ = ("plies",)

    def __init__(self, plies: int) -> None:
        self.plies = plies

    def should_stop(self, state: SearchState) -> str | None:
        return "depth limit" if state.pv_length >= self.plies else None


class ProvenRoot:
    """Stops when the result of the game is proven."""

    __slots__ = ()

    def should_stop(self, state: SearchState) -> str | None:
        return None if state.proven is None else f"proven {state.proven}"


class SingleMove:
    """Stops when there is nothing to choose."""

    __slots__ = ()

    def should_stop(self, state: SearchState) -> str | None:
        return "single move" if state.single_move else None


class MemoryFull:
    """Stops when the tree cannot take even one more node (it recycles old ones first)."""

    __slots__ = ()

    def should_stop(self, state: SearchState) -> str | None:
        return "memory" if state.memory_full else None


class Unreachable:
    """Stops when the second best move cannot catch up before the time or the simulations run out."""

    __slots__ = ("_simulations_left",)

    def __init__(self, simulations_left: Callable[[SearchState], float]) -> None:
        """Args: estimate of how many simulations the search could still do (see `simulations_until`)."""
        self._simulations_left = simulations_left

    def should_stop(self, state: SearchState) -> str | None:
        if state.simulations < 32:  # derived: too few to know the speed
            return None
        behind = state.best_visits - state.second_visits
        return "unreachable" if behind > self._simulations_left(state) else None


def simulations_until(deadline_s: Callable[[], float]) -> Callable[[SearchState], float]:
    """Return an estimate for `Unreachable` from the speed so far.

    Args:
        deadline_s: when the search must stop at the latest, on the clock of the search.
    """

    def estimate(state: SearchState) -> float:
        elapsed_s = state.now_s - state.started_s
        if elapsed_s <= 0:
            return float("inf")
        return max(0.0, deadline_s() - state.now_s) * state.simulations / elapsed_s

    return estimate

"""Stoppers end a search. They see numbers, never the tree.

The stopper of a move that is played against the clock is `engine.control.MoveControl`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.search.result import Proof


@dataclass(slots=True)
class SearchState:
    """A running search as stoppers see it; the search updates one object in place.

    Every field is about the root, from the view of its side to move.
    """

    started_s: float = 0.0
    """When the search began, on the clock of the search."""
    now_s: float = 0.0
    simulations: int = 0
    """Of this search."""
    evaluations: int = 0
    updated_at: int = 0
    """Simulations when the fields about the root (best move, proof, line) were last updated."""
    best_point: int = -1
    best_visits: int = 0
    best_q: float = 0.0
    second_visits: int = 0
    """Visits of the move with the second most."""
    single_move: bool = False
    """There is only one move to choose from (a forced block, or every other move is proven to lose)."""
    proven: Proof | None = None
    memory_full: bool = False
    """The memory is full and nothing can be pruned; more simulations change nothing."""
    pv_length: int = 0
    """Plies of the principal variation."""
    max_slice: int = 1 << 30
    """Simulations until the next call of the stoppers, at most; a stopper may lower it."""


class Stopper(Protocol):
    """Decides between simulations whether the search ends."""

    def should_stop(self, state: SearchState) -> str | None:
        """Return a short reason to stop now, or None to continue."""


class NodeLimit:
    """Stops after a number of simulations of this search."""

    __slots__ = ("simulations",)

    def __init__(self, simulations: int) -> None:
        self.simulations = simulations

    def should_stop(self, state: SearchState) -> str | None:
        """Return "node limit" after the last simulation; see `Stopper`."""
        left = self.simulations - state.simulations
        state.max_slice = min(state.max_slice, left)
        return "node limit" if left <= 0 else None

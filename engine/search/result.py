"""Results of a search, as values. Points are indices `y * width + x`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Proof = Literal["win", "loss", "draw"]
"""An exact result, for the player that the field using it names."""

Wdl = tuple[float, float, float]
"""Probabilities of win, draw and loss; they sum to 1."""


@dataclass(frozen=True, slots=True)
class MoveStats:
    """One move at the root, from the view of the player that would make it."""

    point: int
    visits: int
    """Simulations through the move."""
    prior: float
    """Policy of the net over legal moves, without noise."""
    q: float
    """Mean utility (win minus loss), [-1, 1]; exact where `proven`; for a move without visits the value of
    the root."""
    wdl: Wdl
    proven: Proof | None
    distance: int | None
    """Plies from the root until a proven game is over: shortest win known, longest defence known."""
    pv: tuple[int, ...]
    """Principal variation, starting with this move."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Result of one search, from the view of the side to move at the root."""

    point: int
    """The move to play."""
    wdl: Wdl
    visits: int
    """Simulations in the tree below this root, those of earlier searches included."""
    simulations: int
    """Simulations of this search."""
    evaluations: int
    """Positions that this search evaluated."""
    depth_mean: float
    """Mean depth of this search's simulations, in plies."""
    depth_max: int
    pv: tuple[int, ...]
    proven: Proof | None
    distance: int | None
    """Plies until a proven game is over."""
    elapsed_s: float
    stop_reason: str
    """Reason of the stopper that ended the search; "" in a report of a running search."""
    candidates: tuple[MoveStats, ...]
    """All moves that may be played, best first."""

    @property
    def q(self) -> float:
        """Utility for the side to move, [-1, 1]."""
        return self.wdl[0] - self.wdl[2]

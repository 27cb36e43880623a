"""What may be answered to a job, what is said about it, and the answer when the engine gives none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from protocol import replies
from protocol.job import Job, Points
from protocol.notation import Notation
from protocol.position import Position

if TYPE_CHECKING:
    from engine import SearchResult


def fits(job: Job, points: Points) -> bool:
    """Return whether an answer can be given to the manager: enough points, on the board and free."""
    if isinstance(points, str):
        return points == replies.SWAP and job.kind == "swap2" and len(job.opening) > 0
    counts = {0: (3,), 3: (1, 2), 5: (1,)}[len(job.opening)] if job.kind == "swap2" else (1,)
    taken = [p for p, _ in job.stones] + list(job.opening) + list(points)
    on_board = all(0 <= p < job.width * job.height for p in points)
    return on_board and len(points) in counts and len(set(taken)) == len(taken)


def without_search(job: Job) -> Points:
    """Return a legal answer that needs no engine. The board must not be full."""
    if job.kind == "swap2":
        if job.opening:
            return replies.SWAP
        # Nearly balanced, since a corner helps nobody (an idea of Rapfi, https://github.com/dhbloo/rapfi).
        return (0, job.width + 2, 4 * job.width + 2)
    point = Position(job.width, job.height, job.stones, job.to_move).fallback(job.rule)
    assert point is not None, "a full board is refused before thinking"
    return (point,)


def any_point(job: Job) -> int | None:
    """Return a legal point after the stones that a job is about, None on a full board."""
    stones = job.stones or tuple((point, i % 2) for i, point in enumerate(job.opening))
    to_move = job.to_move if job.stones else len(stones) % 2
    return Position(job.width, job.height, stones, to_move).fallback(job.rule)


def allowed(job: Job, result: SearchResult) -> SearchResult:
    """Return a result without the blocked moves; as it was if nothing else was found."""
    if not job.blocked:
        return result
    rest = tuple(move for move in result.candidates if move.point not in job.blocked)
    if not rest:
        return result
    if result.point not in job.blocked:
        return replace(result, candidates=rest)
    best = rest[0]
    return replace(
        result, candidates=rest, point=best.point, wdl=best.wdl, pv=best.pv or (best.point,),
        proven=best.proven, distance=best.distance,
    )


def describe(
    job: Job, result: SearchResult | None, names: Notation, log: Callable[[str], None]
) -> list[str]:
    """Return the MESSAGE lines about a search; talk must never cost the move."""
    if result is None:
        return []
    try:
        best = replies.best_list(result, names, job.listed) if job.listed else []
        return [*best, *replies.summary(result, names)]
    except Exception as failure:
        log(f"cannot describe {result}: {failure!r}")
        return []

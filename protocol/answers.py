"""What may be answered to a job, what is said about it, and the answer when the engine gives none."""

from __future__ import annotations

from collections.abc import Callable

from protocol import replies
from protocol.job import Job, Outcome, Points
from protocol.notation import Notation
from protocol.position import Position


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
    point = Position(job.width, job.height, list(job.stones), job.to_move).fallback(job.rule)
    assert point is not None, "a full board is refused before thinking"
    return (point,)


def describe(
    job: Job, outcome: Outcome, notation: Notation, log: Callable[[str], None]
) -> list[str]:
    """Return the MESSAGE lines about a search; talk must never cost the move."""
    if outcome.result is None:
        return []
    try:
        best = replies.best_list(outcome.result, notation, job.n) if job.kind == "nbest" else []
        summary = replies.summary(outcome.result, notation)
    except Exception as failure:
        log(f"cannot describe {outcome}: {failure!r}")
        return []
    return [*best, summary] if summary else best

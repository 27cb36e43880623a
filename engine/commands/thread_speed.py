"""What several threads of one search gain: measured against one thread, in turn, on an empty tree.

Leaves are distinct: one that two threads evaluate counts once. Rates are per second of wall time, so that
they are worth something on idle cores only.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from engine.evaluator.base import Evaluator
from engine.rules._board import Board
from engine.search._threads import thread_counters
from engine.search.mcts import Search
from engine.search.stoppers import SearchState

MEMORY_BYTES = 512 << 20
"""Of the tree (derived: a second of sixteen threads does not fill it)."""
JOIN_S = 10.0
"""Longest wait for helpers to end."""


class _Deadline:
    """Stops at a time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.until_s = 0.0

    def should_stop(self, state: SearchState) -> str | None:
        self.until_s = state.started_s + self._seconds
        return "deadline" if state.now_s >= self.until_s else None


def measure_threads(
    evaluator: Evaluator, board: Board, threads: int, repeats: int, seconds: float
) -> dict[str, Any]:
    """Return the figures of `threads` threads by name, with those of one thread to compare.

    Args:
        evaluator: with a backend.
        repeats: searches of either kind; figures are medians.
        seconds: wall time of a search.
    """
    search = Search(None, MEMORY_BYTES)
    rows: dict[int, list[dict[str, float]]] = {1: [], threads: []}
    for _ in range(repeats):
        for count, found in rows.items():
            found.append(_searched(search, evaluator, board, count, seconds))
    one, many = (
        {name: statistics.median(row[name] for row in found) for name in found[0]} for found in rows.values()
    )
    ratios = [b["leaves"] / a["leaves"] for a, b in zip(rows[1], rows[threads], strict=True)]
    simulation_s = threads * seconds / many["simulations"] - many["wait_s"] / many["simulations"]
    held_s = many["held_s"] / many["simulations"]
    return {
        "threads": threads,
        "leaves_per_second_1": one["leaves"] / seconds,
        f"leaves_per_second_{threads}": many["leaves"] / seconds,
        "speedup": round(statistics.median(ratios), 3),
        "collisions_per_1000": round(1000 * many["collisions"] / many["simulations"], 2),
        "duplicates_per_1000": round(1000 * many["duplicates"] / many["simulations"], 2),
        "lock_held_us": round(1e6 * held_s, 2),
        "simulation_us": round(1e6 * simulation_s, 2),
        "share_under_lock": round(held_s / simulation_s, 3),
        "share_waiting": round(many["wait_s"] / (threads * seconds), 3),
        "stopped_ms_after_deadline": round(many["stopped_ms"], 2),
        "stopped_ms_at_most": round(max(row["stopped_ms"] for row in rows[threads]), 2),
        "leaves_lock_allows": 1 / held_s * many["leaves"] / many["simulations"],
    }


def _searched(
    search: Search, evaluator: Evaluator, board: Board, threads: int, seconds: float
) -> dict[str, float]:
    """Search once from an empty tree; return what was counted."""
    search.clear()
    search.threads = threads
    deadline = _Deadline(seconds)
    result = search.search(board, evaluator, [deadline])
    search.helpers.join(JOIN_S)
    stopped_ms = 1000 * (time.monotonic() - deadline.until_s)
    counters = thread_counters(search.tree)
    return {
        "leaves": result.evaluations,
        "simulations": result.simulations,
        "stopped_ms": stopped_ms,
        **{name: max(value, 1e-9) for name, value in counters.items()},
    }

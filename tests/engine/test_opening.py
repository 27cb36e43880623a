"""The choice of a move that leaves nobody ahead."""

from __future__ import annotations

import dataclasses

from engine.opening import most_level
from engine.search.result import MoveStats

MOVE = MoveStats(
    point=0, visits=10, prior=0.1, q=0.9, wdl=(0.95, 0.0, 0.05), proven=None, distance=None, pv=(0,)
)


def test_the_nearest_to_the_target_counts_and_moves_without_visits_do_not() -> None:
    moves = [
        MOVE, dataclasses.replace(MOVE, point=1, q=-0.2), dataclasses.replace(MOVE, point=2, q=0.3),
        dataclasses.replace(MOVE, point=3, q=0.0, visits=0),
        dataclasses.replace(MOVE, point=4, q=-1.0, visits=0, proven="loss"),
    ]  # fmt: skip
    for target_q, point in ((0.0, 1), (0.4, 2), (1.0, 0), (-1.0, 4)):
        found = most_level(moves, target_q)
        assert found is not None and found.point == point
    assert most_level([dataclasses.replace(MOVE, visits=0)]) is None
    assert most_level([]) is None

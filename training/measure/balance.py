"""Balanced openings: random stones near the centre that a search calls level.

`training.balance` is the command.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from engine.engine import Engine
from engine.rules.rule import Rule
from engine.timing.budget import SearchLimits
from training.play.openings import random_opening

FIRST_SHARE = 25
"""Part of the simulations that a first look takes (derived: most are not level, which is soon seen)."""


def balanced_openings(
    engine: Engine, rng: random.Random, stones: int, count: int, simulations: int, most: float
) -> list[tuple[int, ...]]:
    """Return different openings for which a search sees |win - loss| of at most `most`.

    Args:
        engine: after `new_game` with board and rule; its position is changed.
        rng: draws the stones.
        stones: of each opening.
        count: of openings.
        simulations: of each search, behind a first one of a part of them, which may see twice as much.
        most: limit, 0 to 1.
    """
    board = engine.board

    def level(nodes: int, most: float) -> bool:
        result = engine.think(SearchLimits(max_nodes=nodes), engine.clock.now_s())
        return result.proven is None and abs(result.q) <= most

    found: list[tuple[int, ...]] = []
    while len(found) < count:
        points = random_opening(rng, board.width, board.height, board.rule, stones)
        engine.new_game(board.width, board.height, Rule(board.rule))
        engine.set_position([(p, i & 1) for i, p in enumerate(points)], stones & 1)
        first = simulations // FIRST_SHARE
        if points not in found and (first < 1 or level(first, 2 * most)) and level(simulations, most):
            found.append(points)
    return found


def as_offsets(points: Sequence[int], width: int, height: int) -> str:
    """Return an opening as `dx,dy` pairs from the centre."""
    return ", ".join(f"{p % width - width // 2},{p // width - height // 2}" for p in points)

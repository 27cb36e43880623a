"""Sibling positions: after moves that a search considered, whether or not they were played.

A search evaluates mostly such positions, and orders the moves of a position by their values. A game holds one
of them. They were not searched, so they have no target: a teacher labels them. Where a record keeps what the
search found of a move, that is a target for the value of the position after it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from training.data.records import DRAW, End, Flag, GameBuilder, SelfPlayRecord

_MOVES = 4  # of a position: the two that were considered best, and two of the others
_CONSIDERED = 8
_LEAST = 0.004  # of the best move's share of the target


def siblings(
    games: Sequence[SelfPlayRecord], share: float, seed: int, *, valued: bool = False
) -> list[SelfPlayRecord]:
    """Return sibling positions, each as a game of one recorded position without a policy target.

    Args:
        games: whose positions that were searched in full and not proven are gone out from.
        share: how many for each of the games' positions; fewer where too few moves were considered.
        seed: of the draws.
        valued: only after moves with a value in `SelfPlayRecord.values`, which becomes the searched value:
            chances of win and loss alone, since utility is all that is known. Else that means nothing.
    """
    rng = random.Random(seed)
    found: list[SelfPlayRecord] = []
    wanted = 0.0
    for game in games:
        wanted += share * game.positions
        rows = [i for i in range(game.positions) if game.flags[i] == Flag.FULL and game.counts[i] > 1]
        for row in rng.sample(rows, len(rows)):
            if len(found) >= wanted:
                break
            points, values = game.action_values(row)
            utility = dict(zip(points.tolist(), values.tolist(), strict=True))
            for point in _considered(game, row, rng):
                if point in utility or not valued:
                    found.append(_position(game, row, point, utility.get(point, 0.0)))
    return found


def _position(game: SelfPlayRecord, row: int, point: int, utility: float) -> SelfPlayRecord:
    """Return the position after a move, with the utility for the side that made it as its searched value."""
    builder = GameBuilder(
        game.rule, game.width, game.height, opening=[*game.moves[: game.opening + row], point],
        net_id=game.net_id, seed=game.seed,
    )  # fmt: skip
    builder.add(0, ((1 - utility) / 2, 0.0, (1 + utility) / 2))
    return builder.finish(DRAW, End.LENGTH)


def _considered(game: SelfPlayRecord, row: int, rng: random.Random) -> list[int]:
    points, share = game.policy(row)
    order = [int(i) for i in np.argsort(-share, kind="stable") if share[i] >= _LEAST * share.max()]
    best, others = order[: _MOVES // 2], order[_MOVES // 2 : _CONSIDERED]
    chosen = best + rng.sample(others, min(_MOVES - len(best), len(others)))
    return [int(points[i]) for i in chosen]

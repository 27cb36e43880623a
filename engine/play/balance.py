"""The move that leaves the game as even as possible.

A search visits good moves most and says little about the others. So every move is searched here: all of them
shortly, then those nearest to even for longer.
"""

from __future__ import annotations

import threading

from engine.engine import Engine
from engine.play.game import Game
from engine.rules._board import EMPTY
from engine.timing.budget import SearchLimits

GLANCE_NODES = 16
"""Simulations of the first search of each position (derived: 225 of them take a fraction of a second)."""
GLANCES = 0.6
"""Largest share of the time for first searches."""
SHORTLIST = 5
"""Positions nearest to even that are searched longer."""


def balanced_move(
    engine: Engine, game: Game, limit_s: float, stop: threading.Event
) -> tuple[int, float] | None:
    """Return the move that leaves black's expected score, [0, 1], nearest to even, and that score.

    Args:
        engine: its position is replaced.
        game: with at least one move that may be played.
        limit_s: time limit, seconds; the first move is searched in any case.
        stop: ends the search at once.

    Returns:
        None where `stop` was set.
    """
    began_s = engine.clock.now_s()
    scores: dict[int, float] = {}
    for point in _moves(game):
        if scores and engine.clock.now_s() - began_s > GLANCES * limit_s:
            break
        scores[point] = _black_score(engine, game, point, SearchLimits(max_nodes=GLANCE_NODES), stop)
        if stop.is_set():
            return None
    if not scores:
        return None
    nearest = sorted(scores, key=lambda point: abs(scores[point] - 0.5))[:SHORTLIST]
    left_ms = 1000 * (limit_s - (engine.clock.now_s() - began_s))
    for point in nearest:
        limits = SearchLimits(turn_ms=max(1, round(left_ms / len(nearest))))
        scores[point] = _black_score(engine, game, point, limits, stop)
        if stop.is_set():
            return None
    best = min(nearest, key=lambda point: abs(scores[point] - 0.5))
    return best, scores[best]


def _moves(game: Game) -> list[int]:
    """Return the moves that may be played, those near the stones first."""
    board = game.board
    forbidden = set(board.forbidden_points()) if board.to_move == 0 else set()
    free = [p for p in range(board.points) if board.cell(p) == EMPTY and p not in forbidden]
    stones = [divmod(p, board.width) for p, _ in board.stones()] or [(board.height // 2, board.width // 2)]

    def away(point: int) -> int:
        y, x = divmod(point, board.width)
        return min(max(abs(x - a), abs(y - b)) for b, a in stones)

    return sorted(free, key=away)


def _black_score(
    engine: Engine, game: Game, point: int, limits: SearchLimits, stop: threading.Event
) -> float:
    """Return black's expected score after a move."""
    board = game.board.copy()
    mover = board.to_move
    board.place(point)
    if board.winner != EMPTY:
        return 1.0 - board.winner
    if not board.n_empty:
        return 0.5
    engine.set_position([*game.stones, (point, mover)], board.to_move)
    result = engine.nbest(1, limits, engine.clock.now_s(), None, stop)
    own = (1 + result.q) / 2
    return own if board.to_move == 0 else 1 - own

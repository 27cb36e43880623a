"""Weaker or more varied play: drawing a move instead of taking the best."""

from __future__ import annotations

import dataclasses
from random import Random

import numpy as np
import numpy.typing as npt

from engine.encoding import encode
from engine.evaluator.base import Evaluator
from engine.fallback import result_of
from engine.rules._board import Board
from engine.search.result import SearchResult

SIGHT = 2
"""Cells around the stones that a first glance takes in (derived: what matters lies there; a warm draw over
the whole board would mostly fall on points that nobody looks at)."""


def first_sight(board: Board, evaluator: Evaluator, temperature: float, generator: Random) -> SearchResult:
    """Draw a legal move with chances `prior^(1/temperature)`, without a look at fives, blocks or replies.

    Args:
        board: a position with legal moves; those near a stone are preferred to all others.
        evaluator: asked once.
        temperature: less than 1 counts as 1.
    """
    logits, _ = evaluator.evaluate(encode(board)[np.newaxis], np.array([board.hash], np.uint64))
    points = board.legal_points()
    near = _near(board)
    points = [p for p in points if near[p]] or points
    scaled = logits[0, points].astype(np.float64) / max(1.0, temperature)
    weights = np.exp(scaled - scaled.max())
    return result_of(generator.choices(points, weights.tolist())[0], "first sight")


def _near(board: Board) -> npt.NDArray[np.bool_]:
    """Return for each point whether a stone stands within SIGHT cells, bool [A]."""
    near = np.zeros((board.height, board.width), bool)
    for point, _ in board.stones():
        y, x = divmod(point, board.width)
        near[max(0, y - SIGHT) : y + SIGHT + 1, max(0, x - SIGHT) : x + SIGHT + 1] = True
    return near.ravel()


def draw_move(result: SearchResult, temperature: float, generator: Random) -> SearchResult:
    """Replace the move by one drawn with chances N^(1/temperature), by priors where nothing was visited.

    Moves proven to lose are drawn only where all are; a proven win is kept.

    Args:
        result: of a search; returned as it is for a temperature of 0.
        temperature: from 0 (the best) to large (any visited move).
    """
    if temperature <= 0 or result.proven == "win" or len(result.candidates) < 2:
        return result
    moves = [m for m in result.candidates if m.proven != "loss"] or list(result.candidates)
    weights = [float(m.visits) for m in moves]
    if max(weights) <= 0:
        weights = [m.prior for m in moves]
    top = max(weights)
    if top <= 0:
        return result
    scaled = [(w / top) ** (1 / temperature) for w in weights]
    move = generator.choices(moves, scaled)[0]
    if move.point == result.point:
        return result
    return dataclasses.replace(result, point=move.point, pv=move.pv or (move.point,))

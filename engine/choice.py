"""Weaker or more varied play: drawing a move instead of taking the best."""

from __future__ import annotations

import dataclasses
from random import Random

from engine.search.result import SearchResult


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

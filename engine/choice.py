"""Where the search does not have the last word: overlooking stones, drawing a move instead of taking the
best, the answer to a single stone."""

from __future__ import annotations

import dataclasses
from random import Random

from engine.rules._board import Board
from engine.search.result import SearchResult

REACH = 3
"""Cells around the stones that moves are drawn from (derived: a line of five that holds a stone and the move
spans no more, as good as always; the tail of a flat draw over the whole board is nonsense)."""
PLAN_SHARE = 0.02
"""A move whose chance is a smaller share of that of the best is no plan, and is not drawn (tuned: by eye)."""
SIGHT = 6
"""Cells from the last two moves at which the eye has faded (derived: beyond a row of five around them)."""

BESIDE = 2
"""Cells from a single stone, or from the centre, that its answer may lie (derived: both still make a row)."""


def perceived_board(board: Board, blindness: float, generator: Random) -> Board:
    """Return the position as a player has it in mind who overlooks stones far from where the game goes on.

    The last two stones are seen, as are obstacles. Any other stone is overlooked with a chance that rises in
    proportion to its distance from the nearer of these two, up to `blindness` at SIGHT cells: a distant four
    and a three on the other side go first, and what is seen is played sensibly.

    Args:
        board: left as it is.
        blindness: from 0 (all is seen) to 1.

    Returns:
        `board` itself if all was seen, else another one with the same side to move.
    """
    stones = board.stones()
    if blindness <= 0 or len(stones) < 3:
        return board
    last = [divmod(point, board.width) for point, _ in stones[-2:]]
    seen = []
    for point, colour in stones[:-2]:
        y, x = divmod(point, board.width)
        distance = min(max(abs(x - at_x), abs(y - at_y)) for at_y, at_x in last)
        if colour > 1 or generator.random() >= blindness * min(1.0, distance / SIGHT):
            seen.append((point, colour))
    if len(seen) == len(stones) - 2:
        return board
    mind = Board.from_stones(board.width, board.height, board.rule, [*seen, *stones[-2:]])
    mind.set_to_move(board.to_move)
    return mind


def draw_move(board: Board, result: SearchResult, temperature: float, generator: Random) -> SearchResult:
    """Replace the move by one drawn with chances N^(1/temperature), by priors where nothing was visited.

    Drawn are moves that are no farther than REACH from a stone and have PLAN_SHARE of the best chance. Moves
    proven to lose are drawn only where all are; a proven win is kept.

    Args:
        board: the position.
        result: of a search in it; returned as it is for a temperature of 0.
        temperature: from 0 (the best) to large (any such move).
    """
    if temperature <= 0 or result.proven == "win" or len(result.candidates) < 2:
        return result
    stones = [divmod(point, board.width) for point, _ in board.stones()]

    def near(point: int) -> bool:
        y, x = divmod(point, board.width)
        return any(abs(x - at_x) <= REACH and abs(y - at_y) <= REACH for at_y, at_x in stones)

    moves = [m for m in result.candidates if m.proven != "loss"] or list(result.candidates)
    moves = [m for m in moves if near(m.point)] or moves
    weights = [float(m.visits) for m in moves]
    if max(weights) <= 0:
        weights = [m.prior for m in moves]
    top = max(weights)
    if top <= 0:
        return result
    scaled = [(w / top) ** (1 / temperature) for w in weights]
    scaled = [w if w >= PLAN_SHARE else 0.0 for w in scaled]
    move = generator.choices(moves, scaled)[0]
    if move.point == result.point:
        return result
    return dataclasses.replace(result, point=move.point, pv=move.pv or (move.point,))


def answer_first_stone(board: Board, result: SearchResult) -> SearchResult:
    """Replace an answer to a single stone that is neither beside it nor near the centre by the best that is.

    Behind one stone a net sees a level game everywhere, above all on small boards, and a search of a few
    simulations takes its word for it.

    Args:
        board: the position; with more or other stones the result is returned as it is.
        result: of a search in it.
    """
    stones = board.stones()
    if len(stones) != 1 or result.proven is not None:
        return result
    goals = (divmod(stones[0][0], board.width), (board.height // 2, board.width // 2))

    def sensible(point: int) -> bool:
        y, x = divmod(point, board.width)
        return any(max(abs(y - at_y), abs(x - at_x)) <= BESIDE for at_y, at_x in goals)

    moves = [m for m in result.candidates if sensible(m.point)]
    if sensible(result.point) or not moves:
        return result
    move = max(moves, key=lambda m: (m.visits, m.prior))
    return dataclasses.replace(result, point=move.point, pv=move.pv or (move.point,))

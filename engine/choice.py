"""Changes to what is searched and what is played: overlooked stones, a drawn move instead of the best one,
the reply to a single stone."""

from __future__ import annotations

import dataclasses
from random import Random

from engine.rules._board import Board
from engine.search.result import SearchResult

DRAW_REACH = 3
"""Cells around the stones from which a move is drawn (derived: a line of five through a stone and the move
seldom spans more; moves far from all stones are pointless)."""
MIN_DRAW_RATIO = 0.02
"""Smallest probability of a drawn move, as a share of that of the best (tuned by hand)."""
BLINDNESS_REACH = 6
"""Distance in cells from the last two moves at which blindness is full (derived: beyond a row of five)."""
REPLY_REACH = 2
"""Largest distance in cells of the reply to a single stone from it or the centre (derived: both still make a
row)."""


def perceived_board(board: Board, blindness: float, generator: Random) -> Board:
    """Return the position without the stones that a player overlooks.

    The last two stones are seen, as are obstacles. Any other stone is overlooked with a probability that
    rises in proportion to its distance from the nearer of these two, up to `blindness` at BLINDNESS_REACH
    cells: so a weak player misses a distant four first.

    Args:
        board: is not changed.
        blindness: from 0 (all stones are seen) to 1.

    Returns:
        `board` itself if all stones are seen, else another board with the same side to move.
    """
    stones = board.stones()
    if blindness <= 0 or len(stones) < 3:
        return board
    last = [divmod(point, board.width) for point, _ in stones[-2:]]
    seen = []
    for point, colour in stones[:-2]:
        y, x = divmod(point, board.width)
        distance = min(max(abs(x - at_x), abs(y - at_y)) for at_y, at_x in last)
        if colour > 1 or generator.random() >= blindness * min(1.0, distance / BLINDNESS_REACH):
            seen.append((point, colour))
    if len(seen) == len(stones) - 2:
        return board
    perceived = Board.from_stones(board.width, board.height, board.rule, [*seen, *stones[-2:]])
    perceived.set_to_move(board.to_move)
    return perceived


def draw_move(board: Board, result: SearchResult, temperature: float, generator: Random) -> SearchResult:
    """Replace the move by one drawn in proportion to N^(1/temperature), N its visits (its prior if none has).

    A drawn move is at most DRAW_REACH cells from a stone and has at least MIN_DRAW_RATIO of the probability
    of the best. Moves proven to lose are drawn only if all are; a proven win is kept.

    Args:
        board: the position.
        result: of a search in it; returned unchanged for a temperature of 0.
        temperature: 0 takes the best; a large one makes all such moves equally likely.
    """
    if temperature <= 0 or result.proven == "win" or len(result.candidates) < 2:
        return result
    stones = [divmod(point, board.width) for point, _ in board.stones()]

    def near(point: int) -> bool:
        y, x = divmod(point, board.width)
        return any(abs(x - at_x) <= DRAW_REACH and abs(y - at_y) <= DRAW_REACH for at_y, at_x in stones)

    moves = [m for m in result.candidates if m.proven != "loss"] or list(result.candidates)
    moves = [m for m in moves if near(m.point)] or moves
    weights = [float(m.visits) for m in moves]
    if max(weights) <= 0:
        weights = [m.prior for m in moves]
    top = max(weights)
    if top <= 0:
        return result
    scaled = [(w / top) ** (1 / temperature) for w in weights]
    scaled = [w if w >= MIN_DRAW_RATIO else 0.0 for w in scaled]
    move = generator.choices(moves, scaled)[0]
    if move.point == result.point:
        return result
    return dataclasses.replace(result, point=move.point, pv=move.pv or (move.point,))


def answer_first_stone(board: Board, result: SearchResult) -> SearchResult:
    """Replace a reply to a single stone that is far from it and from the centre by the best that is near one.

    After one stone a net sees an even game everywhere, above all on small boards, and a search of a few
    simulations does not correct it.

    Args:
        board: the position; with more or other stones the result is returned unchanged.
        result: of a search in it.
    """
    stones = board.stones()
    if len(stones) != 1 or result.proven is not None:
        return result
    goals = (divmod(stones[0][0], board.width), (board.height // 2, board.width // 2))

    def sensible(point: int) -> bool:
        y, x = divmod(point, board.width)
        return any(max(abs(y - at_y), abs(x - at_x)) <= REPLY_REACH for at_y, at_x in goals)

    moves = [m for m in result.candidates if sensible(m.point)]
    if sensible(result.point) or not moves:
        return result
    move = max(moves, key=lambda m: (m.visits, m.prior))
    return dataclasses.replace(result, point=move.point, pv=move.pv or (move.point,))

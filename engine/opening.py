"""Moves that need no search: the empty board, and three stones to offer in a swap2 opening."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from engine.errors import PositionError
from engine.position import board_of
from engine.rules._board import Board
from engine.search.result import MoveStats

SWAP2_COUNTS = (0, 3, 5)
"""Stones on the board at the queries of swap2 (protocol)."""
SWAP2_OFFERS = 10
"""Openings that are searched before three stones are offered (derived: enough that one is balanced)."""
SWAP2_OFFER_S = 1.0
"""Longest search of one of them, seconds (tuned: enough to tell a balanced opening)."""
SWAP2_OFFER_NODES = 2000
"""Most simulations of one of them (tuned: as above)."""

_NEAR = 4  # side of the square that has the offered stones, cells: stones far apart do not interact


def empty_board_point(board: Board) -> int | None:
    """Return the centre of an empty board, None where there are stones or obstacles."""
    if board.n_empty != board.points:
        return None
    return (board.height // 2) * board.width + board.width // 2


def most_level(candidates: Sequence[MoveStats], target_q: float = 0.0) -> MoveStats | None:
    """Return the move whose utility, [-1, 1] for the player who makes it, is nearest to a target.

    Args:
        candidates: moves of a search.

    Returns:
        None if none of them was visited or proven.
    """
    known = [move for move in candidates if move.visits or move.proven]
    return min(known, key=lambda move: abs(move.q - target_q), default=None)


def swap2_position(board: Board, stones: list[int]) -> Board:
    """Return the position of a swap2 query: black, white, black, ...; the next colour to move.

    Args:
        board: gives size and rule.
        stones: points in playing order.

    Raises:
        PositionError: not 0, 3 or 5 stones, or a point off the board or taken twice.
    """
    if len(stones) not in SWAP2_COUNTS:
        raise PositionError(f"swap2 asks with 0, 3 or 5 stones, not {len(stones)}")
    coloured = [(point, ply % 2) for ply, point in enumerate(stones)]
    return board_of(board.width, board.height, board.rule, coloured, len(stones) % 2)


def swap2_offers(board: Board, generator: Random, count: int) -> list[tuple[int, int, int]]:
    """Return random triples (black, white, black), near each other and mostly away from the centre.

    Stones at the edge keep black's first-move advantage small, so that some of them are balanced.
    """
    width, height = board.width, board.height
    offers = []
    for _ in range(count):
        left = generator.randrange(max(1, width - _NEAR + 1))
        top = (
            generator.choice((0, max(0, height - _NEAR)))
            if generator.random() < 0.6
            else generator.randrange(max(1, height - _NEAR + 1))
        )
        cells = [
            (top + dy) * width + left + dx
            for dy in range(min(_NEAR, height))
            for dx in range(min(_NEAR, width))
        ]
        first, second, third = generator.sample(cells, 3)
        offers.append((first, second, third))
    return offers

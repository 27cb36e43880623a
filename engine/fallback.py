"""Moves without search: certain ones, and a legal one for when the search has failed."""

from __future__ import annotations

from engine.opening import empty_board_point
from engine.rules._board import EMPTY, SHAPE_FORK, SHAPE_FOUR, SHAPE_OPEN_FOUR, SHAPE_OPEN_THREE, Board
from engine.rules.rule import Rule
from engine.search.result import MoveStats, Proof, SearchResult

_VALUES = ((SHAPE_OPEN_FOUR, 64), (SHAPE_FORK, 32), (SHAPE_FOUR, 4), (SHAPE_OPEN_THREE, 8))


def fallback_point(board: Board) -> int | None:
    """Return a sensible point for the side to move, or None on a full board.

    Own five, else a block of the opponent's five, else the legal point with the best shapes near the
    stones; where nothing is legal any empty point. Works on finished positions too.
    """
    own = board.to_move
    empty = [p for p in range(board.points) if board.cell(p) == EMPTY]
    if not empty:
        return None
    fives = board.five_points(own)
    if fives:
        return fives[0]
    free = [p for p in empty if not board.is_forbidden(p, own)]
    if not free:
        return empty[0]
    blocks = [p for p in board.five_points(1 - own) if p in set(free)]
    if blocks:
        return blocks[0]
    width, height = board.width, board.height
    stones = [(p % width, p // width) for p, colour in board.stones() if colour in (0, 1)]
    centre = (width // 2, height // 2)

    def value(point: int) -> tuple[int, int, int]:
        x, y = point % width, point // width
        shape = 0
        for colour, weight in ((own, 3), (1 - own, 2)):
            bits = board.shape(point, colour)
            shape += weight * sum(worth for bit, worth in _VALUES if bits & bit)
        near = min((max(abs(x - sx), abs(y - sy)) for sx, sy in stones), default=0)
        return shape, -near, -max(abs(x - centre[0]), abs(y - centre[1]))

    return max(free, key=value)


def immediate_result(board: Board) -> SearchResult | None:
    """Return the answer where no search is needed: an own five, the only block of a five, the empty board."""
    if board.winner != EMPTY:
        return None
    own = board.to_move
    fives = board.five_points(own)
    if fives:
        return result_of(fives[0], "own five", proven="win", distance=1)
    threats = board.five_points(1 - own)
    if len(threats) == 1 and not Rule(board.rule).spec.blocked_fives:
        block = threats[0]
        if not board.is_forbidden(block, own):
            return result_of(block, "forced block")
    centre = empty_board_point(board)
    return None if centre is None else result_of(centre, "empty board")


def fallback_result(board: Board, reason: str) -> SearchResult:
    """Return `fallback_point` as the result of a search that did not happen.

    Raises:
        ValueError: the board is full.
    """
    point = fallback_point(board)
    if point is None:
        raise ValueError("the board is full")
    return result_of(point, reason)


def result_of(
    point: int, reason: str, *, proven: Proof | None = None, distance: int | None = None
) -> SearchResult:
    """Return a result for one move that was not searched; its value is a draw unless it is proven."""
    wdl = (1.0, 0.0, 0.0) if proven == "win" else (0.0, 0.0, 1.0) if proven == "loss" else (0.0, 1.0, 0.0)
    move = MoveStats(
        point=point,
        visits=0,
        prior=1.0,
        q=wdl[0] - wdl[2],
        wdl=wdl,
        proven=proven,
        distance=distance,
        pv=(point,),
    )
    return SearchResult(
        point=point,
        wdl=wdl,
        visits=0,
        simulations=0,
        evaluations=0,
        depth_mean=0.0,
        depth_max=0,
        pv=(point,),
        proven=proven,
        distance=distance,
        elapsed_s=0.0,
        stop_reason=reason,
        candidates=(move,),
    )

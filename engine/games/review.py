"""Review of a game: the expected score of each position, and the moves that lost the most of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.engine import Engine
from engine.games.record import PASS, GameRecord
from engine.rules._board import EMPTY
from engine.rules.geometry import format_move
from engine.rules.rule import Rule
from engine.timing.budget import SearchLimits

MISTAKE, BLUNDER = 0.1, 0.25
"""Falls of the expected score that are marked `?` and `??` (derived: a quarter of a point is half of what
an even game has to lose; a tenth is noticeable)."""


@dataclass(frozen=True, slots=True)
class ReviewedMove:
    """One move of a game, evaluated by searches of the position before and after it."""

    ply: int
    point: int
    colour: int
    score_before: float
    """Expected score (win 1, draw 1/2) of the player who moves, with best play, before the move."""
    score_after: float
    """The same player's expected score after it."""
    best: int
    """The move that the engine would have played."""

    @property
    def fall(self) -> float:
        """Expected score that the move lost, at least 0."""
        return max(0.0, self.score_before - self.score_after)

    @property
    def black_score(self) -> float:
        """Black's expected score after the move."""
        return self.score_after if self.colour == 0 else 1 - self.score_after

    @property
    def mark(self) -> str:
        """`??` for a blunder, `?` for a mistake, else nothing."""
        if self.point == self.best or self.fall < MISTAKE:
            return ""
        return "??" if self.fall >= BLUNDER else "?"


def review(
    engine: Engine,
    game: GameRecord,
    limits: SearchLimits,
    on_move: Callable[[ReviewedMove], None] | None = None,
    stop: threading.Event | None = None,
) -> list[ReviewedMove]:
    """Evaluate every move that the players of a game chose: not the opening's and no passes.

    Args:
        engine: at full strength; its position is replaced.
        limits: of the search of each position.
        on_move: receives each move as soon as it is evaluated, in the calling thread.
        stop: when set, ends the review; the moves until then are returned.

    Returns:
        The moves in playing order, with expected scores, 0 to 1, of the player who moved.
    """
    stop = stop or threading.Event()
    engine.new_game(game.width, game.height, Rule(game.rule))
    for point in game.points[: game.opening_stones]:
        _play(engine, point)
    reviewed: list[ReviewedMove] = []
    if game.opening_stones >= len(game.points):
        return reviewed
    score, best = _evaluate(engine, limits, stop)
    for ply in range(game.opening_stones, len(game.points)):
        point = game.points[ply]
        _play(engine, point)
        next_score, next_best = _evaluate(engine, limits, stop)
        if stop.is_set():
            break
        if point == PASS:
            score, best = next_score, next_best
            continue
        move = ReviewedMove(ply, point, ply % 2, score, 1 - next_score, best)
        reviewed.append(move)
        if on_move is not None:
            on_move(move)
        score, best = next_score, next_best
    return reviewed


def worst(moves: Sequence[ReviewedMove], count: int = 3) -> list[ReviewedMove]:
    """Return the marked moves that lost the most, the worst first."""
    return sorted((m for m in moves if m.mark), key=lambda m: -m.fall)[:count]


def line_of(move: ReviewedMove, width: int, height: int | None = None) -> str:
    """Return a reviewed move as one line: number, colour, move, black's win rate, loss.

    Args:
        move: of a review.
        width, height: see `engine.rules.geometry.format_move`.
    """
    text = (
        f"{move.ply + 1:3d} {'XO'[move.colour]} {format_move(move.point, width, height):<3} "
        f"{100 * move.black_score:5.1f}%"
    )
    if not move.mark:
        return text
    return f"{text} {move.mark:<2} -{100 * move.fall:.0f}, better {format_move(move.best, width, height)}"


def _play(engine: Engine, point: int) -> None:
    if point == PASS:
        engine.set_position(engine.board.stones(), 1 - engine.board.to_move)
    else:
        engine.play(point)


def _evaluate(engine: Engine, limits: SearchLimits, stop: threading.Event) -> tuple[float, int]:
    """Return the expected score of the side to move and its best move (-1 where the game is over)."""
    board = engine.board
    if board.winner != EMPTY:
        return float(board.winner == board.to_move), -1
    if board.n_empty == 0:
        return 0.5, -1
    if not board.legal_points():
        return 0.0, -1  # renju: black has no move left
    result = engine.nbest(1, limits, engine.clock.now_s(), stop=stop)
    return result.wdl[0] + result.wdl[1] / 2, result.point

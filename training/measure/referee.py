"""One game between two players under the rules kernel; whatever a player does wrong loses the game."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from engine.gamefile import GameRecord
from engine.rules._board import EMPTY, Board
from training.measure.brainproc import BrainFailureError


class Player(Protocol):
    """Chooses moves for one side of one game.

    Attributes:
        last_ms: what the last move took on the player's own clock; None: the referee measures it.
    """

    last_ms: float | None

    def new_game(self, width: int, height: int, rule: int) -> None:
        """Prepare for a game on an empty board."""

    def move(self, stones: Sequence[tuple[int, int]], width: int, own: int, *, first: bool) -> int:
        """Return the point to play; `stones` are (point, colour), oldest first."""

    def close(self) -> None:
        """Release what the player holds."""


def play_game(
    players: tuple[Player, Player],
    names: tuple[str, str],
    size: tuple[int, int],
    rule: int,
    opening: Sequence[int],
    draw_after: int | None = None,
) -> GameRecord:
    """Play one game; `players` and `names` are black's and white's.

    Args:
        size: (width, height).
        opening: points already played, alternately, black first.
        draw_after: stones on the board after which the game is a draw; None: a full board.
    """
    width, height = size
    board = Board(width, height, rule)
    game = GameRecord(width, height, rule, len(opening), names)
    for point in opening:
        board.place(point)
        game.points.append(point)
        game.times_ms.append(0.0)
    fresh = [True, True]
    for colour in (0, 1):
        try:
            players[colour].new_game(width, height, rule)
        except BrainFailureError as failure:
            return _lost(game, colour, failure)
    while board.n_empty and board.ply < (draw_after or board.points):
        colour = board.to_move
        started_s = time.monotonic()
        try:
            point = players[colour].move(board.stones(), width, colour, first=fresh[colour])
            _check(board, point)
        except BrainFailureError as failure:
            return _lost(game, colour, failure)
        fresh[colour] = False
        board.place(point)
        game.points.append(point)
        own_ms = players[colour].last_ms
        game.times_ms.append((time.monotonic() - started_s) * 1000 if own_ms is None else own_ms)
        if board.winner != EMPTY:
            game.winner, game.reason = board.winner, "five"
            break
    return game


def _check(board: Board, point: int) -> None:
    where = f"{point % board.width},{point // board.width}"
    if not 0 <= point < board.points or board.cell(point) != EMPTY:
        raise BrainFailureError("illegal", f"{where} cannot be played")
    if board.to_move == 0 and board.is_forbidden(point):
        raise BrainFailureError("forbidden", f"{where} is forbidden to black")


def _lost(game: GameRecord, colour: int, failure: BrainFailureError) -> GameRecord:
    game.winner, game.reason, game.text = 1 - colour, failure.kind, str(failure)
    return game

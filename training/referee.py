"""One game between two players under the rules kernel; whatever a player does wrong loses the game."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from engine.rules._board import EMPTY, Board
from training.brainproc import BrainFailureError


class Player(Protocol):
    """Chooses moves for one side of one game."""

    def new_game(self, width: int, height: int, rule: int) -> None:
        """Prepare for a game on an empty board."""

    def move(self, stones: Sequence[tuple[int, int]], width: int, own: int, *, first: bool) -> int:
        """Return the point to play; `stones` are (point, colour), oldest first."""

    def close(self) -> None:
        """Release what the player holds."""


@dataclass(slots=True)
class PlayedGame:
    """A finished game.

    Attributes:
        points: stones in playing order, opening included, black first.
        times_ms: one a stone; 0 for opening stones.
        winner: 0 black, 1 white, 2 draw.
        reason: "five", "draw", or the loser's incident: "time", "illegal", "forbidden", "crash", "start".
        text: what exactly went wrong, else empty.
    """

    width: int
    height: int
    rule: int
    opening_stones: int
    names: tuple[str, str]
    points: list[int] = field(default_factory=list)
    times_ms: list[float] = field(default_factory=list)
    winner: int = EMPTY
    reason: str = "draw"
    text: str = ""

    @property
    def incident(self) -> bool:
        """Whether the game was lost by a failure instead of on the board."""
        return self.reason not in ("five", "draw")


def play_game(
    players: tuple[Player, Player],
    names: tuple[str, str],
    size: tuple[int, int],
    rule: int,
    opening: Sequence[int],
    draw_after: int | None = None,
) -> PlayedGame:
    """Play one game; `players` and `names` are black's and white's.

    Args:
        size: (width, height).
        opening: points already played, alternately, black first.
        draw_after: stones on the board after which the game is a draw; None: a full board.
    """
    width, height = size
    board = Board(width, height, rule)
    game = PlayedGame(width, height, rule, len(opening), names)
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
        game.times_ms.append((time.monotonic() - started_s) * 1000)
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


def _lost(game: PlayedGame, colour: int, failure: BrainFailureError) -> PlayedGame:
    game.winner, game.reason, game.text = 1 - colour, failure.kind, str(failure)
    return game

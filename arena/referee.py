"""The referee: one game between two players, every failure reported.

    python -m arena.referee --profile judge --games 200 --turn-ms 100

plays the default brain against itself as the official judge would and prints games, moves, incidents by kind,
the overshoot over timeout_turn of every move (ms, negative is under), the largest private memory and the
results. The exit status is 1 if there was any incident. An answer that is late only because threads of the
brain or of its manager waited for a core is none: `starved` counts those, and with many of them the machine
is too busy to tell. The first move of a process, where the manager charges the start of the process to it, is
listed on its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from arena.errors import BrainFailureError
from arena.players import Player
from arena.position import ArbiterFactory, KernelArbiter, Position
from arena.records import GameSetup, PlayedGame
from engine.games.record import NO_LEGAL_MOVE
from engine.rules.geometry import format_moves


def play_game(
    players: Sequence[Player], setup: GameSetup, arbiter: ArbiterFactory = KernelArbiter
) -> PlayedGame:
    """Play one game; player `setup.number % 2` has black. Never raises for what a player does.

    Args:
        players: two; the caller closes them.
        setup: board, rule, opening and when the game is drawn.
        arbiter: who knows the rule.
    """
    game = PlayedGame(setup, black=setup.number % 2)
    position = Position(setup.width, setup.height, setup.rule, setup.opening, arbiter)
    game.points += setup.opening
    game.times_ms += [0.0] * len(setup.opening)
    loser = 0
    try:
        for loser in _black_first(game):
            players[loser].new_game(game, loser)
        full = min(setup.draw_after or setup.width * setup.height, setup.width * setup.height)
        take_back_at = setup.take_back_at
        while len(game.points) < full:
            if len(game.points) == take_back_at:
                take_back_at = None
                for loser in (0, 1):
                    players[loser].take_back(position, 2)
                for _ in range(2):
                    position.undo()
                    game.points.pop()
                    game.times_ms.pop()
            loser = game.to_move()
            if not position.has_legal_point():
                game.winner, game.end = 1 - loser, NO_LEGAL_MOVE
                break
            _play_move(players[loser], position, game)
            if position.over:
                game.winner, game.end = loser, "five"
                break
        else:
            game.end = "draw"
    except BrainFailureError as failure:
        game.winner, game.end, game.text = 1 - loser, failure.kind, str(failure)
        game.report(failure.kind, loser, str(failure))
        players[loser].close()
    for player in players:
        player.end_game()
    if game.incidents:
        game.conversations = {i: text for i, player in enumerate(players) if (text := player.conversation())}
    return game


def _black_first(game: PlayedGame) -> tuple[int, int]:
    return game.black, 1 - game.black


def _play_move(player: Player, position: Position, game: PlayedGame) -> None:
    """Ask for a move, check it and play it.

    Raises:
        BrainFailureError: the player has lost by what it did.
    """
    started_s = time.monotonic()
    point = player.move(position)
    elapsed_ms = (time.monotonic() - started_s) * 1000 if player.last_ms is None else player.last_ms
    where = f"{point % position.width},{point // position.width}"
    if not position.is_empty(point):
        after = format_moves(position.points, position.width)
        raise BrainFailureError("illegal", f"{where} cannot be played after {after or 'nothing'}")
    if position.is_forbidden(point):
        after = format_moves(position.points, position.width)
        raise BrainFailureError("forbidden", f"{where} is forbidden to black after {after}")
    position.play(point)
    game.points.append(point)
    game.times_ms.append(elapsed_ms)


if __name__ == "__main__":
    from arena.series import main
    from engine.pipes import run_piped

    sys.exit(run_piped(main))

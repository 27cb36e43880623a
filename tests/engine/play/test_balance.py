"""The search for a move that leaves nobody ahead."""

from __future__ import annotations

import threading

from engine.config import EngineConfig
from engine.engine import Engine
from engine.play.balance import balanced_move
from engine.play.game import Game
from engine.rules.geometry import parse_moves
from engine.rules.rule import Rule


def find(moves: str, rule: Rule = Rule.FREESTYLE, size: int = 9) -> tuple[Game, tuple[int, float] | None]:
    game = Game(size, size, rule)
    for point in parse_moves(moves, size, size):
        game.play(point)
    engine = Engine(EngineConfig(net="uniform", seed=1))
    engine.new_game(size, size, rule)
    return game, balanced_move(engine, game, 0.5, threading.Event())


def test_the_move_is_free_and_leaves_neither_side_a_win() -> None:
    game, found = find("e5 d4 e6 d5 e7")  # white, to move, has to stop an open three
    assert found is not None
    point, black_score = found
    assert point in parse_moves("e3 e4 e8 e9", 9, 9) and 0.1 < black_score < 0.9
    game.play(point)


def test_forbidden_moves_and_fives_are_no_balance() -> None:
    game, found = find("e5 a1 g5 a2 f4 c1 f6 c2", Rule.RENJU)
    assert found is not None and found[0] not in game.board.forbidden_points()
    _, found = find("e5 a1 f5 b1 g5 c1 h5 d1")  # black has a four: d5 ends the game
    assert found is not None and found[0] != parse_moves("d5", 9, 9)[0]


def test_a_stop_ends_the_search() -> None:
    game = Game(9, 9)
    stop = threading.Event()
    stop.set()
    engine = Engine(EngineConfig(net="uniform", seed=1))
    engine.new_game(9, 9, Rule.FREESTYLE)
    assert balanced_move(engine, game, 0.5, stop) is None

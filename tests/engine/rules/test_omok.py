"""Omok (Korea): exactly five win, and neither colour may make a double three."""

from __future__ import annotations

import numpy as np
import pytest

from engine.config import EngineConfig
from engine.encoding import encode
from engine.engine import Engine
from engine.games.sgf import read_sgf, to_sgf
from engine.play.game import Game, forbidden_reason
from engine.rules._board import Board
from engine.rules.geometry import parse_moves
from engine.rules.rule import SPECS, Forbidden, Rule, rule_from_mask, rule_of_words
from engine.search.mcts import Search
from engine.search.stoppers import NodeLimit
from engine.timing.budget import SearchLimits
from tests.helpers.rules import RENJU, draw

DOUBLE_THREES = {name for name in RENJU if name.startswith("double three")}
WITH_FIVE = """
    ..........
    ..........
    ..........
    XXXX?.....
    ....XX....
    ....X.X...
    ..........
    ..........
    .........."""


def swapped(diagram: str) -> str:
    return diagram.translate(str.maketrans("XO", "OX"))


@pytest.mark.parametrize("name", RENJU)
@pytest.mark.parametrize("colour", [0, 1])
def test_only_double_threes_are_forbidden_and_to_both(name: str, colour: int) -> None:
    board, marks = draw(swapped(RENJU[name]) if colour else RENJU[name], Rule.OMOK)
    (point,) = marks["?"]
    forbidden = name in DOUBLE_THREES
    assert board.is_forbidden(point, colour) == forbidden
    assert not board.is_forbidden(point, 1 - colour)
    board.set_to_move(colour)
    assert (point in board.legal_points()) == (not forbidden)
    assert (point in board.forbidden_points()) == forbidden
    if forbidden:
        assert forbidden_reason(board, point) == "double three"


def test_a_five_is_allowed_and_six_do_not_win() -> None:
    board, marks = draw(WITH_FIVE, Rule.OMOK)
    (point,) = marks["?"]
    assert board.five_points(0) == [point]
    assert not board.is_forbidden(point, 0)
    row = Board(15, 15, Rule.OMOK)
    for x in (3, 4, 5, 7, 8):
        row.place(x, 1)
    row.place(6, 1)
    assert row.winner == 2


def test_managers_files_and_users_name_it() -> None:
    assert rule_from_mask(16) is rule_of_words("Omok") is rule_of_words("Korean rules") is Rule.OMOK
    game = Game(15, 15, Rule.OMOK)
    for point in parse_moves("h8i9h9", 15, 15):
        game.play(point)
    text = to_sgf(game.record(("one", "two")))
    assert "RU[16]" in text
    assert read_sgf(text, 0).record.rule == Rule.OMOK
    assert read_sgf(text.replace("RU[16]", "RU[Omok]"), 0).record.rule == Rule.OMOK


def test_a_refused_move_says_to_whom_and_why() -> None:
    game = Game(15, 15, Rule.OMOK)
    for point in parse_moves("a1h8a3i8a5j9a7j10", 15, 15):
        game.play(point)
    game.play(parse_moves("o15", 15, 15)[0])
    refusal = game.refusal(parse_moves("j8", 15, 15)[0])
    assert refusal is not None and "is forbidden to white: double three" in refusal


def test_the_net_sees_standard_and_the_engine_says_so() -> None:
    moves = parse_moves("h8a1i8a3j9a5j10", 15, 15)
    boards = [Board(15, 15, rule) for rule in (Rule.OMOK, Rule.STANDARD)]
    for board in boards:
        for point in moves:
            board.place(point)
    np.testing.assert_array_equal(encode(boards[0]), encode(boards[1]))
    assert boards[0].hash != boards[1].hash
    said: list[str] = []
    engine = Engine(EngineConfig(net="uniform", seed=1), log=said.append)
    engine.new_game(9, 9, Rule.OMOK)
    engine.play(40)
    for _ in range(2):
        engine.think(SearchLimits(max_nodes=40), engine.clock.now_s())
    engine.close()
    assert said == ["nets see omok as standard; moves and proofs follow the rule"]


def test_a_search_plays_no_forbidden_move_and_uses_that_the_other_may_not() -> None:
    """Black's four can only be answered on a double three of white: it wins."""
    from engine.evaluator.uniform import UniformEvaluator

    board = Board(15, 15, Rule.OMOK)
    # black c8 d8 e8 with white b8: the four at f8 is answered at g8, where white would make two threes
    for name in ("c8", "d8", "e8"):
        board.place(parse_moves(name, 15, 15)[0], 0)
    for name in ("b8", "g9", "g10", "h9", "i10"):
        board.place(parse_moves(name, 15, 15)[0], 1)
    board.set_to_move(0)
    point, answer = parse_moves("f8g8", 15, 15)
    assert board.is_forbidden(answer, 1)
    result = Search().search(board, UniformEvaluator(), [NodeLimit(200)])
    assert (result.proven, result.distance) == ("win", 3)
    assert result.point == point
    assert Search().search(
        Board.from_stones(15, 15, Rule.STANDARD, board.stones()), UniformEvaluator(), [NodeLimit(1)]
    ).proven is None  # fmt: skip


def test_the_table_is_complete() -> None:
    assert set(SPECS) == set(Rule)
    assert Rule.OMOK.spec.forbidden == (Forbidden.DOUBLE_THREE, Forbidden.DOUBLE_THREE)
    assert {rule_of_words(word) for spec in SPECS.values() for word in spec.words} == set(Rule)

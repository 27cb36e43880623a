"""What lies behind a proof is recorded, and is what it is said to be."""

from __future__ import annotations

import numpy as np
import pytest

from engine.rules._board import Board
from engine.rules.geometry import parse_moves
from engine.threats._solver import Solver
from engine.threats.solution import Verdict
from training import endings
from training.data.records import End, Flag, GameBuilder
from training.data.shards import list_shards, read_shard, write_shard
from training.play.endings import played_on

WON = "h8a1i8a2j9a3h10a14"
"""Black wins by fours and threes, white's stones lie in corners."""


def won_game(rule: int = 0):
    """A game that ends as soon as black's win is proven."""
    moves = parse_moves(WON, 15, 15)
    builder = GameBuilder(rule, 15, 15, opening=moves[:6], net_id="net", seed=1)
    for point in moves[6:]:
        builder.add(Flag.FULL, (0.5, 0.2, 0.3), [point], [1.0])
        builder.play(point)
    builder.add(Flag.FULL | Flag.PROVEN_WIN, (1, 0, 0), [0], [1.0])
    return builder.finish(0, End.PROVEN)


@pytest.mark.parametrize("rule", [0, 1, 8, 9])
def test_positions_behind_a_proof_are_won_by_the_winner(rule):
    game = won_game(rule)
    longer = played_on(game, Solver(14), 3000)
    added = longer.positions - game.positions
    assert added > 0 and longer.winner == 0 and longer.end == End.PROVEN
    assert (longer.moves[: len(game.moves)] == game.moves).all()
    assert (longer.flags[: game.positions] == game.flags).all() and (longer.points == game.points).all()
    board = Board(15, 15, rule)
    for point in longer.moves[: len(game.moves)].tolist():
        board.place(point)
    for i in range(game.positions, longer.positions):
        board.place(int(longer.moves[longer.opening + i - 1]))
        assert longer.z()[i] == (1 if board.to_move == 0 else -1)
        assert longer.counts[i] == 0 and not longer.flags[i] & Flag.FULL
        assert (longer.root_wdl()[i] == [longer.z()[i] > 0, 0, longer.z()[i] < 0]).all()
        if board.to_move == 0:
            assert Solver(14).solve(board, "vct", nodes=20_000).verdict is Verdict.WIN
            assert Solver(14).solve(board, "vcf", nodes=60).verdict is not Verdict.WIN


def test_a_game_without_a_proof_stays_as_it_is():
    game = won_game()
    assert played_on(game, Solver(14), 1) is game, "no win is found"
    board_full = GameBuilder(0, 15, 15, opening=[0], net_id="net", seed=1)
    board_full.add(0, (0, 1, 0))
    other = board_full.finish(2, End.LENGTH)
    assert played_on(other, Solver(14), 3000) is other


def test_the_command_makes_longer_shards_and_goes_on(tmp_path, capsys):
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    for name in ("000001-00.shard", "000002-00.shard"):
        write_shard(old / name, [won_game(), won_game(1)])
    assert endings.main([str(old), str(new)]) == 0
    assert [p.name for p in list_shards(new)] == [p.name for p in list_shards(old)]
    games = read_shard(new / "000001-00.shard")
    assert all(game.positions > won_game().positions for game in games)
    assert np.array_equal(games[0].z()[:1], won_game().z()[:1])
    (new / "000002-00.shard").unlink()
    assert endings.main([str(old), str(new)]) == 0
    assert capsys.readouterr().out.count("behind proofs") == 3
    assert endings.main([str(old), str(old)]) == 2
    assert endings.main([str(tmp_path / "none"), str(new)]) == 2
    assert capsys.readouterr().err.count("error: ") == 2

"""The tactical player and the first net made from its games."""

import random

import numpy as np
import pytest

from engine.evaluator.onnx import OnnxEvaluator
from engine.rules._board import Board
from training import bootstrap as command
from training.data.records import End, Flag
from training.data.shards import read_shard
from training.play import bootstrap
from training.play.bootstrap import play_game, play_shards, tactical_logits


def best(stones: list[tuple[int, int]], to_move: int, rule: int = 0) -> int:
    board = Board.from_stones(15, 15, rule, stones)
    board.set_to_move(to_move)
    return int(tactical_logits(board).argmax())


def row(y: int, xs: range, colour: int) -> list[tuple[int, int]]:
    return [(y * 15 + x, colour) for x in xs]


def test_wins_before_it_blocks_and_blocks_before_it_builds():
    own_four, their_four = row(7, range(0, 4), 0), row(3, range(0, 4), 1)
    their_three = row(10, range(5, 8), 1)
    assert best([*own_four, *their_four], 0) == 7 * 15 + 4
    assert best([*row(7, range(5, 8), 0), *their_four], 0) == 3 * 15 + 4
    assert best([*row(7, range(5, 7), 0), *their_three], 0) in (10 * 15 + 4, 10 * 15 + 8)


def test_never_plays_a_taken_or_forbidden_point():
    cross = [(y * 15 + x, 0) for x, y in ((7, 6), (7, 8), (6, 7), (8, 7))]
    board = Board.from_stones(15, 15, 4, cross)
    board.set_to_move(0)
    logits = tactical_logits(board)
    assert board.forbidden_points() == [112]
    assert set(np.flatnonzero(np.isneginf(logits)).tolist()) == {112, *(p for p, _ in cross)}


@pytest.mark.parametrize("rule", [0, 1, 4, 8, 9])
def test_games_are_legal_and_repeatable(rule):
    games = [play_game(random.Random(5), 11, rule, None) for _ in range(2)]
    assert games[0].moves.tolist() == games[1].moves.tolist()
    game = games[0]
    board = Board(11, 11, rule)
    for ply, point in enumerate(game.moves.tolist()):
        if ply >= game.opening:
            assert point in board.legal_points()
        board.place(point)
    if game.end == End.PROVEN:
        assert game.flags[-1] & Flag.PROVEN_WIN
        assert board.to_move == game.winner
        assert game.positions == len(game.moves) - game.opening + 1


def test_shards_are_made_once(tmp_path, monkeypatch):
    monkeypatch.setattr(bootstrap, "GAMES_PER_SHARD", 3)
    assert play_shards(tmp_path, 6, seed=1, nodes=0) > 0
    content = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert sum(len(read_shard(p)) for p in tmp_path.iterdir()) == 6
    (tmp_path / "bootstrap-1-00001.shard").unlink()
    play_shards(tmp_path, 6, seed=1, nodes=0)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == content


def test_the_command_makes_a_net_that_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap, "GAMES_PER_SHARD", 10)
    arguments = "--name t --games 10 --batches 2 --blocks 1 --channels 8 --solver-nodes 0 --device cpu"
    assert command.main([*arguments.split(), "--run-dir", str(tmp_path)]) == 0
    net = OnnxEvaluator(tmp_path / "t.int8.onnx")
    assert net.metadata["training_steps"] == "2"
    assert net.metadata["games"] == "10"
    assert "--games 10 --batches 2 --solver-nodes 0" in (tmp_path / "t.md").read_text()
    assert "10 games" in capsys.readouterr().out

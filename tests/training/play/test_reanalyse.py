"""Positions of recorded games that are searched again: which, what is written, what goes on."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evaluator.make import net_path
from engine.rules._board import Board
from tests.helpers.training_games import random_game
from training.data.records import Flag
from training.data.shards import list_shards, read_shard, write_shard
from training.play.evaluators import TACTICAL, load_evaluator
from training.play.reanalyse import ReanalyseConfig, Reanalyser, alone, choose, position
from training.reanalyse import main

CONFIG = ReanalyseConfig(simulations=48, vct_nodes=500)


@pytest.fixture(scope="module")
def games():
    return [random_game(seed, 9, rule=(0, 1, 4)[seed % 3]) for seed in range(6)]


@pytest.fixture(scope="module")
def searcher():
    return Reanalyser(CONFIG, load_evaluator(str(net_path("default"))))


def _rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_positions_with_a_target_are_drawn_once_and_those_that_surprised_more_often(games):
    drawn = choose(games, 30, _rng())
    assert len({(id(game), i) for game, i in drawn}) == len(drawn) == 30
    assert all(game.flags[i] & Flag.FULL and game.counts[i] > 1 for game, i in drawn)
    every = choose(games, 10**6, _rng())
    mean = np.mean([game.surprise[i] for game, i in every])
    often = [game.surprise[i] for seed in range(20) for game, i in choose(games, 10, _rng(seed))]
    assert np.mean(often) > 1.1 * mean


def test_a_position_alone_keeps_its_moves_result_and_targets(games):
    for game, i in choose(games, 12, _rng(2)):
        one = alone(game, i)
        assert one.positions == 1 and one.moves.tolist() == game.moves[: game.opening + i].tolist()
        assert one.z()[0] == game.z()[i]
        assert one.root_wl[0].tolist() == game.root_wl[i].tolist() and one.surprise[0] == game.surprise[i]
        for old, new in zip(game.policy(i), one.policy(0), strict=True):
            assert old.tolist() == new.tolist()


def test_a_search_finds_a_win_by_fours_and_says_so(searcher):
    board = Board(15, 15, 0)
    for point in (112, 0, 113, 14, 114, 28):  # three in a row, free on both sides
        board.place(point)
    found = searcher.search(board, _rng())
    assert found.flags == Flag.FULL | Flag.PROVEN_WIN and found.wdl == (1.0, 0.0, 0.0)
    assert list(found.points) in ([111], [115]) and list(found.target) == [1.0]


def test_a_search_of_a_quiet_position_has_a_target_near_the_values_that_it_found(searcher):
    board = Board(15, 15, 0)
    for point in (112, 127, 98):
        board.place(point)
    found = searcher.search(board, _rng())
    assert found.flags == Flag.FULL and abs(sum(found.wdl) - 1) < 1e-6 and abs(sum(found.raw) - 1) < 1e-3
    assert abs(float(np.sum(found.target)) - 1) < 1e-6 and len(found.points) == len(board.legal_points())
    visits = sum(n for _, n, _ in found.visited)
    assert CONFIG.simulations * 0.9 <= visits <= CONFIG.simulations + 1
    best = int(np.asarray(found.points)[np.argmax(found.target)])
    assert best in {point for point, n, _ in found.visited if n > 1}


def test_it_writes_shards_of_the_same_names_and_goes_on(games, tmp_path, capsys):
    records, out, before = (tmp_path / name for name in ("records", "out", "before"))
    records.mkdir()
    for number in range(3):
        write_shard(records / f"0{number}.shard", games[2 * number : 2 * number + 2])
    command = [
        "--records", str(records), "--out", str(out), "--before", str(before), "--positions", "18",
        "--simulations", "16",
    ]  # fmt: skip
    assert main(command) == 0
    names = [path.name for path in list_shards(records)]
    assert [path.name for path in list_shards(out)] == [path.name for path in list_shards(before)] == names
    deep = [game for path in list_shards(out) for game in read_shard(path)]
    net_name = load_evaluator(str(net_path("default"))).name
    plain = [game for path in list_shards(before) for game in read_shard(path)]
    assert len(deep) == len(plain) == 18
    assert [game.moves.tolist() for game in deep] == [game.moves.tolist() for game in plain]
    assert {game.net_id for game in deep} == {f"{net_name}@16"}
    assert {game.net_id for game in plain} == {"random"}
    assert not any(game.values.any() for game in plain)
    searched = [game for game in deep if game.flags[0] == Flag.FULL]
    assert searched and all(len(game.action_values(0)[0]) >= 1 for game in searched)
    there = {path: path.read_bytes() for path in list_shards(out)}
    lost = list_shards(out)[1]
    lost.unlink()
    assert main(command) == 0
    assert {path: path.read_bytes() for path in list_shards(out)} == there
    assert "1 of 1 shards, 6 positions" in capsys.readouterr().out
    assert len(position(games[0], 3).stones()) == games[0].opening + 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("--positions", "0"), "--positions is at least 1"),
        (("--simulations", "1"), "--simulations is at least 2"),
        (("--scale", "0"), "--scale is above 0"),
        (("--records", "nowhere"), "no shards in nowhere"),
        (("--net", "nowhere.onnx"), "nowhere.onnx"),
    ],
)
def test_bad_input_is_one_clear_line(games, tmp_path, capsys, change, said):
    write_shard(tmp_path / "0.shard", games[:1])
    options = {"--records": str(tmp_path), "--out": str(tmp_path / "out"), "--positions": "1"}
    options |= dict([change])
    assert main([word for pair in options.items() for word in pair]) == 2
    heard = capsys.readouterr().err
    assert heard.startswith("error: ") and said in heard and heard.count("\n") == 1


def test_a_net_that_the_kernel_cannot_compute_is_refused():
    with pytest.raises(ValueError, match="kernel"):
        Reanalyser(CONFIG, load_evaluator(TACTICAL))

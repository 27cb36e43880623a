"""Leaves of searches as positions to learn from: what they are, how they are encoded, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from engine.encoding import N_PLANES, encode
from engine.evaluator.make import net_path
from engine.planes import Plane
from engine.rules._board import Board
from tests.helpers.training_games import random_game
from training.data.encoded import read_part, read_sizes
from training.data.records import Flag
from training.data.shards import write_shard
from training.learn.encoded_dataset import EncodedDataset
from training.offline import main
from training.play.evaluators import TACTICAL, load_evaluator
from training.play.leaves import leaves
from training.settings.schema import LearnerConfig


@pytest.fixture(scope="module")
def games():
    return [random_game(i, 9, rule=(0, 1)[i % 2]) for i in range(8)]


@pytest.fixture(scope="module")
def net():
    return load_evaluator(str(net_path("default")))


def _stones(bits: np.ndarray) -> list[np.ndarray]:
    """The two colours' points of each position, as a boolean array [N, 2, A]."""
    planes = np.unpackbits(bits, axis=1)[:, : N_PLANES * 81].reshape(len(bits), N_PLANES, 81)
    return list(planes[:, [Plane.OWN_STONE, Plane.OTHER_STONE]].astype(bool))


def test_leaves_lie_behind_positions_that_were_searched_in_full(games, net):
    (size, part), *others = leaves(games, 2.0, 1, net).items()
    bits, rules = part.planes, part.rule
    total = sum(game.positions for game in games)
    assert size == (9, 9) and not others
    assert total < len(bits) <= 2 * total + 16 and len(rules) == len(bits)
    roots = []
    for game in games:
        for row in range(game.positions):
            if game.flags[row] == Flag.FULL:
                moves = [int(p) for p in game.moves[: game.opening + row]]
                colours = np.zeros((2, 81), bool)
                for ply, point in enumerate(moves):
                    colours[(len(moves) - ply) % 2, point] = True  # 0: of the side to move
                roots.append((game.rule, len(moves), colours))
    deeper = 0
    for stones, rule in zip(_stones(bits), rules, strict=True):
        count = int(stones.sum())
        behind = [
            (plies, colours)
            for of, plies, colours in roots
            if of == rule and plies <= count and not (colours[:: (-1) ** (count - plies)] & ~stones).any()
        ]
        assert behind
        deeper += all(count > plies + 1 for plies, _ in behind)
    assert deeper > 0


def test_the_same_seed_gives_the_same_leaves(games, net):
    first, again, other = (leaves(games, 1.0, seed, net)[9, 9].planes for seed in (1, 1, 2))
    assert (first == again).all()
    assert len(first) != len(other) or (first != other).any()


def test_the_planes_are_those_of_the_position(games, net):
    """A search's solver keeps what it proved, so it finds threats that a new one misses within its budget."""
    part = leaves(games, 1.0, 3, net)[9, 9]
    bits, rules = part.planes, part.rule
    rows = np.unpackbits(bits, axis=1)[:, : N_PLANES * 81].reshape(len(bits), N_PLANES, 9, 9)
    threat = [Plane.THREAT_MOVE, Plane.THREAT_DEFENCE, Plane.THREATENED]
    found_by_search_alone = 0
    for stones, rule, row in zip(_stones(bits), rules, rows, strict=True):
        own = 0 if stones[0].sum() == stones[1].sum() else 1  # black has the first move
        placed = [(int(p), c ^ own) for c in (0, 1) for p in np.flatnonzero(stones[c])]
        expected = encode(Board.from_stones(9, 9, int(rule), placed)) > 0
        if row[Plane.THREATENED].any() and not expected[Plane.THREATENED].any():
            found_by_search_alone += 1
            expected[threat] = row[threat]
        assert (expected == row).all()
    assert found_by_search_alone <= 0.05 * len(rows)


def test_encoded_leaves_wait_for_a_teacher(games, net, tmp_path, capsys):
    (tmp_path / "records").mkdir()
    write_shard(tmp_path / "records" / "a.shard", games)
    command = ["encode", "--records", str(tmp_path / "records"), "--processes", "1"]
    assert main([*command, "--positions", str(tmp_path / "set"), "--leaves", "2"]) == 0
    total = sum(game.positions for game in games)
    count = read_sizes(tmp_path / "set")[1][9, 9]
    assert 2 * total < count <= 3 * total + 16
    part = read_part(tmp_path / "set", (9, 9), count)
    bare = ~part.root.any(axis=1)
    assert bare.sum() == count - total and not part.policy[bare].any() and not part.reply[bare].any()
    own = EncodedDataset([tmp_path / "set"], LearnerConfig(fast_weight=0.5), torch.device("cpu"))
    for drawn in own.batches(np.random.default_rng(1), 64, 10):
        assert (drawn.root_wdl.sum(1) == 1).all()
    for arguments, says in (
        (["--leaves", "17"], "--leaves is 0 to 16"),
        (["--leaves", "1", "--net", "none.onnx"], "no net at none.onnx"),
    ):
        assert main([*command, "--positions", str(tmp_path / "new"), *arguments]) == 2
        assert says in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_set_of_leaves_alone_can_be_judged_and_not_learned_from(games, net, tmp_path):
    path = Path(tmp_path / "records")
    path.mkdir()
    write_shard(path / "a.shard", games)
    command = ["encode", "--records", str(path), "--processes", "1", "--positions", str(tmp_path / "set")]
    assert main([*command, "--leaves", "1"]) == 0
    root = tmp_path / "set" / "9x9.root.npy"
    np.save(root, np.zeros_like(np.load(root)))
    config, cpu = LearnerConfig(fast_weight=0.5), torch.device("cpu")
    judged = EncodedDataset([tmp_path / "set"], config, cpu, labels=False)
    assert len(torch.cat(list(judged.positions((9, 9), 64)))) == len(judged)
    with pytest.raises(ValueError, match="no position has a weight"):
        EncodedDataset([tmp_path / "set"], config, cpu)


def test_an_evaluator_that_the_kernel_cannot_ask_is_refused(games):
    with pytest.raises(ValueError, match="tactical is none"):
        leaves(games, 1.0, 1, load_evaluator(TACTICAL))

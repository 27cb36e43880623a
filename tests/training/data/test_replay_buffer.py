"""The window of positions: targets, symmetries, sizes, eviction, sampling."""

import gc
from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.encoding import N_PLANES, encode
from engine.rules._board import Board
from engine.rules.geometry import symmetries, symmetry_permutation
from tests.helpers.training_games import random_game
from training.data.records import DRAW, End, Flag, GameBuilder
from training.data.replay_buffer import Chunk, ReplayBuffer, assemble
from training.data.shards import write_shard
from training.settings.schema import LearnerConfig

THREAT = [14, 15, 22]
"""Planes of a win by fours that the opponent threatens."""
CONFIG = LearnerConfig(window_min=50, window_share=0.5)


def chunk_of(*seeds: int, side: int = 9, rule: int = 0, height: int | None = None) -> Chunk:
    return Chunk([random_game(seed, side, rule, height) for seed in seeds])


@pytest.mark.parametrize("shape", [(9, 9), (7, 10)])
def test_planes_and_policies_turn_together(shape):
    """Both are those of the unturned position, permuted as the geometry says."""
    width, height = shape
    chunk = chunk_of(1, 3, 4, side=width, height=height, rule=4)
    rows = range(len(chunk))
    plain = assemble([(chunk, i) for i in rows], shape, np.zeros(len(rows), int))
    assert (plain.policy.sum(axis=1) > 0.99).any()
    assert plain.planes[:, 13].any()  # forbidden points are turned as well
    for s in symmetries(width, height):
        turned = assemble([(chunk, i) for i in rows], shape, np.full(len(rows), s))
        permutation = symmetry_permutation(width, height, s)
        flat = plain.planes.reshape(len(rows), N_PLANES, -1)[..., permutation]
        flat = flat.reshape(turned.planes.shape)
        np.testing.assert_array_equal(np.delete(turned.planes, THREAT, 1), np.delete(flat, THREAT, 1))
        # The solver, which has a budget, may find another way for a turned position, or none.
        assert (turned.planes[:, THREAT] == flat[:, THREAT]).all(axis=(1, 2, 3)).mean() > 0.8
        np.testing.assert_array_equal(turned.policy, plain.policy[:, permutation])
        np.testing.assert_array_equal(turned.reply, plain.reply[:, permutation])
        np.testing.assert_array_equal(turned.z, plain.z)


def test_targets_are_those_of_the_record():
    game = random_game(3)
    chunk = Chunk([random_game(2), game])
    for i in range(game.positions - 1):
        batch = assemble([(chunk, len(chunk) - game.positions + i)], (9, 9), np.array([0]))
        expected = np.zeros(81, np.float32)
        points, probabilities = game.policy(i)
        expected[points] = probabilities
        np.testing.assert_allclose(batch.policy[0], expected, atol=1e-6)
        answers = game.policy(i + 1)[0].tolist() or [int(game.moves[game.opening + i + 1])]
        assert np.flatnonzero(batch.reply[0]).tolist() == answers
        stones = [(p, k & 1) for k, p in enumerate(game.moves[: game.opening + i].tolist())]
        np.testing.assert_array_equal(batch.planes[0], encode(Board.from_stones(9, 9, 0, stones)))


def test_outcome_and_search_value_speak_for_the_side_to_move():
    builder = GameBuilder(0, 9, 9, opening=[], net_id="n", seed=1)
    for point, wdl in ((40, (0.8, 0.1, 0.1)), (0, (0.1, 0.2, 0.7))):
        builder.add(Flag.FULL, wdl, [point], [1.0])
        builder.play(point)
    batch = assemble([(Chunk([builder.finish(0, End.LENGTH)]), i) for i in (0, 1)], (9, 9), np.array([0, 0]))
    assert batch.z.tolist() == [[1, 0, 0], [0, 0, 1]]  # black won; then white is to move
    np.testing.assert_allclose(batch.root_wdl, [[0.8, 0.1, 0.1], [0.1, 0.2, 0.7]], atol=0.01)
    assert batch.planes[1, 2, 4, 4] == 1  # black's stone is the opponent's
    assert batch.reply[0, 0] == 1
    assert batch.reply[1].sum() == 0  # nobody answered


def test_a_proof_replaces_result_and_search_value():
    builder = GameBuilder(0, 9, 9, opening=[], net_id="n", seed=1)
    builder.add(Flag.FULL | Flag.PROVEN_LOSS, (0.5, 0.2, 0.3), [4], [1.0])
    batch = assemble([(Chunk([builder.finish(DRAW, End.LENGTH)]), 0)], (9, 9), np.array([0]))
    assert batch.z.tolist() == batch.root_wdl.tolist() == [[0, 0, 1]]


def test_sizes_do_not_push_each_other_out(tmp_path):
    window = ReplayBuffer(tmp_path, CONFIG)
    window.add("small", [random_game(i, 7) for i in range(5)])
    for n in range(12):
        window.add(f"large{n}", [random_game(100 + 10 * n + i, 12) for i in range(3)])
    sizes = {(w, h): (seen, names) for w, h, seen, names in window.state()["sizes"]}
    assert sizes[7, 7][1] == ["small"]
    seen, names = sizes[12, 12]
    assert names[-1] == "large11"
    assert 3 < len(names) < 10
    assert len(window) < 5 * 47 + 0.75 * seen / 0.7


def test_largest_window_is_shared_by_the_sizes(tmp_path):
    window = ReplayBuffer(tmp_path, replace(CONFIG, window_min=10_000, window_max=400))
    for n in range(24):
        window.add(str(n), [random_game(2 * n, 7), random_game(2 * n + 1, 12)])
    assert window.seen > 1000
    assert 400 <= len(window) < 800  # fast positions and the last whole shard of a size come on top


def test_a_size_of_which_no_shard_is_left_has_still_been_seen(tmp_path):
    for name, side in (("000001-00.shard", 9), ("000002-00.shard", 11)):
        write_shard(tmp_path / name, [random_game(seed, side) for seed in range(8)])
    window = ReplayBuffer(tmp_path, CONFIG)
    window.refresh()
    kept, seen = window.state(), window.seen
    (tmp_path / "000001-00.shard").unlink()
    again = ReplayBuffer(tmp_path, CONFIG, lambda line: None)
    again.restore(kept)
    assert again.seen == seen and again.sides() == (9, 11)
    assert again.draw(np.random.default_rng(1), 8).planes.shape[-1] == 11
    again.refresh()
    assert again.seen == seen and again.state()["sizes"][0][:3] == [9, 9, kept["sizes"][0][2]]


def test_a_batch_has_one_size_and_every_size_comes(tmp_path):
    games = [random_game(i, side) for i, side in enumerate((7, 9, 12) * 3)]
    write_shard(tmp_path / "a.shard", games)
    window = ReplayBuffer(tmp_path, CONFIG)
    assert window.refresh() > 0
    assert window.refresh() == 0
    rng = np.random.default_rng(1)
    seen = {window.draw(rng, 4).planes.shape[2] for _ in range(40)}
    assert seen == {7, 9, 12}


def test_surprising_positions_come_more_often_and_fast_ones_only_when_asked(tmp_path):
    builder = GameBuilder(0, 9, 9, opening=[], net_id="n", seed=1)
    for ply, (flags, surprise) in enumerate(((Flag.FULL, 0.1), (Flag.FULL, 0.9), (0, 0.0))):
        builder.add(flags, (0.3, 0.4, 0.3), [ply] if flags else (), [1.0] if flags else (), surprise)
        builder.play(ply)
    write_shard(tmp_path / "a.shard", [builder.finish(DRAW, End.LENGTH)])

    def shares(**changes: float) -> np.ndarray:
        window = ReplayBuffer(tmp_path, replace(CONFIG, **changes))
        window.refresh()
        stones = window.draw(np.random.default_rng(1), 4000).planes[:, 1:3].sum(axis=(1, 2, 3))
        return np.bincount(stones.astype(int), minlength=3) / 4000

    np.testing.assert_allclose(shares(surprise=0.0), [0.5, 0.5, 0], atol=0.04)
    np.testing.assert_allclose(shares(surprise=0.5), [0.3, 0.7, 0], atol=0.04)
    np.testing.assert_allclose(shares(surprise=0.0, fast_weight=1.0), [1 / 3] * 3, atol=0.04)


def test_positions_of_a_rule_come_as_often_as_its_weight_says(tmp_path):
    games = []
    for rule in (0, 4):
        builder = GameBuilder(rule, 9, 9, opening=[], net_id="n", seed=1)
        builder.add(Flag.FULL, (0.3, 0.4, 0.3), [40], [1.0], 0.5)
        builder.play(40)
        games.append(builder.finish(DRAW, End.LENGTH))
    write_shard(tmp_path / "a.shard", games)

    def share_of_renju(*rules: str) -> float:
        window = ReplayBuffer(tmp_path, replace(CONFIG, rules=rules))
        window.refresh()
        return float((window.draw(np.random.default_rng(1), 4000).rules == 4).mean())

    assert share_of_renju() == pytest.approx(1 / 2, abs=0.04)
    assert share_of_renju("0:3") == pytest.approx(1 / 4, abs=0.04)
    assert share_of_renju("0", "4:4") == pytest.approx(4 / 5, abs=0.04)


def test_a_damaged_shard_is_reported_once_and_the_rest_is_used(tmp_path):
    write_shard(tmp_path / "a.shard", [random_game(1)])
    write_shard(tmp_path / "b.shard", [random_game(2)])
    (tmp_path / "a.shard").write_bytes((tmp_path / "b.shard").read_bytes()[:-30])
    said: list[str] = []
    window = ReplayBuffer(tmp_path, CONFIG, said.append)
    assert window.refresh() > 0
    window.refresh()
    assert len(said) == 1
    assert "a.shard" in said[0]


def test_batches_drawn_ahead_are_the_same(tmp_path):
    write_shard(tmp_path / "a.shard", [random_game(i, (9, 7)[i % 2]) for i in range(6)])
    window = ReplayBuffer(tmp_path, CONFIG)
    window.refresh()
    first, again = (np.random.default_rng(3) for _ in range(2))
    for count in (1, 4):
        window.draws_ahead = False
        plain = list(window.batches(first, 8, count))
        window.draws_ahead = True
        for a, b in zip(plain, window.batches(again, 8, count), strict=True):
            assert torch.equal(a.planes, b.planes) and torch.equal(a.policy, b.policy)
        assert first.bit_generator.state == again.bit_generator.state, "nothing is drawn that nobody gets"


def test_the_collector_of_garbage_leaves_records_alone(tmp_path):
    write_shard(tmp_path / "a.shard", [random_game(i, 7) for i in range(40)])
    window = ReplayBuffer(tmp_path, CONFIG)
    window.refresh()
    games = {id(game) for chunks in window._sizes.values() for c in chunks.chunks for game in c.games}
    assert not games & {id(thing) for thing in gc.get_objects()} and len(games) == 40


def test_an_empty_window_says_so(tmp_path):
    with pytest.raises(ValueError, match="window is empty"):
        ReplayBuffer(tmp_path, CONFIG).draw(np.random.default_rng(1), 4)


def test_one_surprise_is_not_drawn_without_end(tmp_path):
    """A position is drawn at most four times as often as the average, however surprising it was."""
    builder = GameBuilder(0, 9, 9, opening=[], net_id="n", seed=1)
    for index, point in enumerate(range(0, 60, 3)):
        builder.add(Flag.FULL, (0.4, 0.2, 0.4), [point], [1.0], 15.0 if index == 7 else 0.125)
        builder.play(point)
    window = ReplayBuffer(tmp_path, LearnerConfig(window_min=5, surprise=1.0))
    write_shard(tmp_path / "a.shard", [builder.finish(DRAW, End.LENGTH)])
    window.refresh()
    rng, hits, drawn = np.random.default_rng(2), 0, 4000
    for _ in range(drawn // 100):
        hits += int((window.draw(rng, 100).planes[:, 1:3].sum(axis=(1, 2, 3)) == 7).sum())
    others = 19 * 0.125 / ((19 * 0.125 + 15) / 20)  # what the rest weighs, over the mean
    assert hits / drawn == pytest.approx(4 / (4 + others), abs=0.03)


def test_the_window_lets_the_oldest_go(tmp_path):
    window = ReplayBuffer(tmp_path, LearnerConfig(window_min=50, window_share=0.25))
    for index in range(8):
        window.add(f"{index:06d}.shard", [random_game(index)])
    ((*_, names),) = window.state()["sizes"]
    assert names[-1] == "000007.shard" and names[0] > "000002.shard"
    assert len(window) < sum(len(Chunk([random_game(i)])) for i in range(8)) / 2

"""Game records: round trip, size, damage."""

import os
import zlib

import numpy as np
import pytest

from training.data import columns, records, shards
from training.data.imports import import_shards
from training.data.records import End, Flag, GameBuilder
from training.data.shards import RecordError, read_shard, write_shard


def random_game(seed: int, length: int = 30, entries: int = 12) -> records.SelfPlayRecord:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(9, 21))
    moves = rng.permutation(size * size)[: length + 4]
    opening, game_seed = moves[:4].tolist(), int(rng.integers(2**63)) * 2 + 1
    builder = GameBuilder(4, size, size, opening=opening, net_id=f"net-{seed % 3}", seed=game_seed)
    for ply in range(length):
        full = ply % 3 != 1
        n = int(rng.integers(1, 2 * entries)) if full else 0
        points = rng.permutation(size * size)[:n]
        target = rng.dirichlet(np.full(n, 0.3)) if n else []
        wdl = rng.dirichlet([1, 1, 1])
        builder.add(Flag.FULL if full else 0, wdl, points, target, float(rng.exponential(1)))
        builder.play(int(moves[4 + ply]))
    return builder.finish(seed % 3, End.FIVE)


def same(a: records.SelfPlayRecord, b: records.SelfPlayRecord) -> bool:
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in records.SelfPlayRecord.__dataclass_fields__
    )


def test_round_trip_is_exact(tmp_path):
    games = [random_game(seed, length=seed % 40) for seed in range(1, 60)]
    write_shard(tmp_path / "a.shard", games)
    back = read_shard(tmp_path / "a.shard")
    assert len(back) == len(games)
    assert all(same(a, b) for a, b in zip(games, back, strict=True))
    assert shards.read_counts(tmp_path / "a.shard") == (len(games), sum(g.positions for g in games))


def test_policy_target_survives_within_quantisation():
    points, target = np.array([30, 7, 99]), np.array([0.7, 0.25, 0.05])
    builder = GameBuilder(0, 15, 15, opening=[], net_id="n", seed=1)
    builder.add(Flag.FULL, (0.5, 0.3, 0.2))
    builder.play(3)
    builder.add(Flag.FULL, (0.2, 0.1, 0.7), points, target, 2.5)
    game = builder.finish(records.DRAW, End.BOARD_FULL)
    got_points, got = game.policy(1)
    assert got_points.tolist() == [7, 30, 99]
    np.testing.assert_allclose(got, [0.25, 0.7, 0.05], atol=0.003)
    assert game.policy(0)[0].size == 0
    np.testing.assert_allclose(game.root_wdl(), [[0.5, 0.3, 0.2], [0.2, 0.1, 0.7]], atol=0.005)
    assert game.surprise[1] == 40


def test_values_of_moves_survive_beside_the_policy_target(tmp_path):
    builder = GameBuilder(0, 15, 15, opening=[], net_id="n", seed=1)
    builder.add(Flag.FULL, (0.5, 0.3, 0.2), [30, 7], [0.75, 0.25], values={7: -1.0, 99: 0.25, 30: 1.5})
    builder.play(30)
    builder.add(Flag.FULL, (0.5, 0.3, 0.2), [8], [1.0])
    game = builder.finish(records.DRAW, End.BOARD_FULL)
    write_shard(tmp_path / "a.shard", [game])
    (back,) = read_shard(tmp_path / "a.shard")
    assert same(game, back)
    points, target = back.policy(0)
    assert points.tolist() == [7, 30]  # 99 has a value and no probability
    np.testing.assert_allclose(target, [0.25, 0.75], atol=0.003)
    points, values = back.action_values(0)
    assert points.tolist() == [7, 30, 99]
    np.testing.assert_allclose(values, [-1, 1, 0.25], atol=0.005)
    assert back.action_values(1)[0].size == 0 and back.policy(1)[0].tolist() == [8]


def test_deeply_nested_names_of_nets_are_damage():
    raw = shards._LENGTH.pack(100_000) + b"[" * 100_000
    payload = zlib.compress(raw, 1, -zlib.MAX_WBITS)
    head = shards._HEADER.pack(shards.FORMAT, shards.FEATURE_VERSION, 1, 1, len(raw), len(payload))
    with pytest.raises(RecordError, match=r"mine: .*recursion"):
        shards.decode(shards.MAGIC + head + payload + shards._digest(head + payload), "mine")


def test_long_targets_keep_the_largest_entries():
    target = np.linspace(1, 2, 200)
    points, weights = records.quantise_policy(np.arange(200), target)
    assert points.tolist() == list(range(200 - records.MAX_ENTRIES, 200))
    assert weights[-1] == 255


def test_outcome_is_seen_by_the_side_to_move_and_proofs_win():
    builder = GameBuilder(0, 9, 9, opening=[40], net_id="n", seed=1)  # white moves first after the opening
    for flags in (0, 0, Flag.PROVEN_LOSS, 0):
        builder.add(flags, (0.3, 0.4, 0.3))
    for point in (1, 2, 3):
        builder.play(point)
    assert builder.finish(1, End.PROVEN).z().tolist() == [1, -1, -1, -1]
    assert builder.finish(records.DRAW, End.LENGTH).z().tolist() == [0, 0, -1, 0]


def test_builder_refuses_missing_positions():
    builder = GameBuilder(0, 9, 9, opening=[], net_id="n", seed=1)
    builder.play(1)
    with pytest.raises(ValueError, match="0 positions for 1"):
        builder.finish(0, End.FIVE)


def test_a_million_positions_take_less_than_50_mb(tmp_path):
    games = [random_game(seed, entries=10) for seed in range(200)]
    size = write_shard(tmp_path / "a.shard", games)
    assert size / sum(g.positions for g in games) < 50


def test_damage_is_reported_and_skipped(tmp_path):
    for name in "abcd":
        write_shard(tmp_path / f"{name}.shard", [random_game(ord(name))])
    b, c = tmp_path / "b.shard", tmp_path / "c.shard"
    data = bytearray(b.read_bytes())
    data[len(data) // 2] ^= 4
    b.write_bytes(data)
    c.write_bytes(c.read_bytes()[:-20])
    (tmp_path / "e.shard").write_bytes(b"")
    (tmp_path / ".f.shard.1.tmp").write_bytes(b"half")
    reports: list[RecordError] = []
    paths = shards.list_shards(tmp_path)
    assert [p.name for p in paths] == [f"{n}.shard" for n in "abcde"]
    good = [path.stem for path, _ in shards.read_shards([*paths, tmp_path / "gone.shard"], reports.append)]
    assert good == ["a", "d"]
    assert len(reports) == 4
    assert all(name in str(r) for name, r in zip(("b.", "c.", "e.", "gone."), reports, strict=True))


def test_a_shard_of_feature_version_1_is_read(tmp_path, monkeypatch):
    game = random_game(1)
    monkeypatch.setattr(shards, "FEATURE_VERSION", 1)
    write_shard(tmp_path / "a.shard", [game])
    monkeypatch.undo()
    assert (tmp_path / "a.shard").read_bytes()[10:12] == b"\1\0"
    assert shards.read_counts(tmp_path / "a.shard")[0] == 1
    assert all(same(a, b) for a, b in zip(read_shard(tmp_path / "a.shard"), [game], strict=True))


def test_another_feature_version_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "FEATURE_VERSION", 99)
    write_shard(tmp_path / "a.shard", [random_game(1)])
    monkeypatch.undo()
    with pytest.raises(RecordError, match="feature version 99"):
        read_shard(tmp_path / "a.shard")
    with pytest.raises(RecordError, match="feature version 99"):
        shards.read_counts(tmp_path / "a.shard")


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_shard(tmp_path / "a.shard", [random_game(1)])
    assert list(tmp_path.iterdir()) == []


def test_the_newest_shards_of_elsewhere_are_imported(tmp_path):
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    for index in range(4):
        write_shard(there / f"{index:06d}-00.shard", [random_game(index)])
    each = random_game(0).positions
    assert import_shards([there], here, each + 1) == 2 * each
    taken = {path.read_bytes() for path in here.iterdir()}
    assert taken == {(there / f"{index:06d}-00.shard").read_bytes() for index in (2, 3)}


def test_a_header_that_was_changed_is_refused(tmp_path):
    """The compression has a check of its own; only the shard's covers the header."""
    path = tmp_path / "a.shard"
    game = random_game(3)
    write_shard(path, [game])
    data = bytearray(path.read_bytes())
    data[16] ^= 1  # the number of positions
    path.write_bytes(data)
    with pytest.raises(RecordError, match="checksum"):
        read_shard(path)


def test_the_first_format_keeps_its_order_of_columns():
    assert " ".join(columns._layout(1)) == (
        "rule width height opening winner end plies searched net seed moves flags root_wl surprise counts "
        "weights points"
    )


def test_blocks_of_a_shard_read_as_one(tmp_path):
    games = [random_game(seed, length=seed % 7) for seed in range(1, 30)]
    blocks = [shards.encode_block(games[i : i + 4]) for i in range(0, len(games), 4)]
    (tmp_path / "a.shard").write_bytes(shards.MAGIC + b"".join(blocks))
    back = read_shard(tmp_path / "a.shard")
    assert all(same(a, b) for a, b in zip(back, games, strict=True))
    assert shards.read_counts(tmp_path / "a.shard") == (len(games), sum(g.positions for g in games))


def test_a_game_that_goes_on_has_defaults_for_its_new_positions():
    game = random_game(5)
    longer = records.extended(game, [400], [{"flags": int(Flag.PROVEN_LOSS), "root_wl": [0, 255]}])
    assert longer.positions == game.positions + 1 and longer.moves.tolist() == [*game.moves.tolist(), 400]
    assert longer.root_wl[-1].tolist() == [0, 255] and longer.surprise[-1] == longer.counts[-1] == 0
    assert same(records.extended(game, [], []), game)

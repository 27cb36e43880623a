"""Encoded positions against the window's, a learner on them, labels of a teacher, what is refused."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import signal
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.helpers.training_games import random_game, random_planes
from training import offline
from training.data.encoded import encode, encode_games, read_part, read_sizes
from training.data.records import End, Flag, GameBuilder
from training.data.replay_buffer import Chunk, assemble
from training.data.shards import read_counts, write_shard
from training.data.siblings import siblings
from training.learn import checkpoint
from training.learn.averaged import load_averaged
from training.learn.encoded_dataset import EncodedDataset, write_labels
from training.learn.learner import Learner
from training.learn.losses import Targets, compute
from training.learn.teacher import Teacher
from training.net.line_stem import LineStem
from training.net.network import Heads, whole
from training.offline import main
from training.run import stopping
from training.run.bundle import pack
from training.settings.recipes import preset
from training.settings.resolve import make_config
from training.settings.schema import LearnerConfig, LossConfig, NetConfig
from training.settings.values import to_mapping

NET = NetConfig(blocks=2, channels=16, policy_channels=8, value_channels=8, value_hidden=16)
CONFIG = LearnerConfig(
    net=NET, batch=16, schedule="constant", lr=4e-3, warmup=1, bf16=False, seed=3, fast_weight=0.5
)
BOUNDED = (14, 15, 22)  # planes of points that a bounded solver names
SMALL = [
    *("--set", "learner.net.blocks=1", "--set", "learner.net.channels=16", "--set", "learner.batch=8"),
    *("--set", "learner.net.policy_channels=16", "--device", "cpu", "--processes", "1"),
]


def learner_of(folder: Path, config: LearnerConfig, run_dir: Path) -> Learner:
    return Learner(config, run_dir, "cpu", dataset=EncodedDataset([folder], config, torch.device("cpu")))


@pytest.fixture(autouse=True)
def chunk(monkeypatch) -> None:
    """Look at the clock more often: what is learned by the clock need not be much."""
    monkeypatch.setattr(offline, "_CHUNK", 4)


@pytest.fixture(scope="module")
def games():
    return [random_game(i, (9, 7)[i % 2], rule=(0, 1, 4)[i % 3]) for i in range(12)]


@pytest.fixture(scope="module")
def encoded(games, tmp_path_factory) -> Path:
    """Two shards and their encoded positions, made once."""
    made = tmp_path_factory.mktemp("encoded")
    (made / "records").mkdir()
    write_shard(made / "records" / "a.shard", games[:7])
    write_shard(made / "records" / "b.shard", games[7:])
    assert encode([made / "records"], made / "set", 1) == sum(g.positions for g in games)
    return made


@pytest.fixture
def folder(encoded, tmp_path) -> Path:
    """A copy of the encoded positions, to change."""
    shutil.copytree(encoded, tmp_path, dirs_exist_ok=True)
    return tmp_path / "set"


def test_encoded_positions_are_those_of_the_window(games, folder):
    count, sizes = read_sizes(folder)
    assert count == 12 and set(sizes) == {(9, 9), (7, 7)}
    for size, n in sizes.items():
        chunk = Chunk([g for g in games if (g.width, g.height) == size])
        batch = assemble([(chunk, i) for i in range(n)], size, np.zeros(n, np.int64))
        part = read_part(folder, size, n)
        bits = np.unpackbits(part.planes, axis=1)[:, : batch.planes[0].size]
        assert (bits.reshape(batch.planes.shape) == batch.planes).all()
        for name in ("policy", "reply"):
            target = getattr(part, name).astype(np.float32)
            target /= np.maximum(target.sum(axis=1, keepdims=True), 1)
            np.testing.assert_allclose(target, getattr(batch, name), atol=3e-3)
        assert (part.result == batch.z.argmax(axis=1)).all()
        assert np.abs(part.root / 255 - batch.root_wdl).max() <= 0.003
        assert (part.rule == batch.rules).all()
        for name, values in part.sampled.items():
            np.testing.assert_allclose(values, chunk.sampled[name], rtol=1e-3)


def test_drawn_positions_are_turned_as_the_window_turns_them(games, folder):
    resident = EncodedDataset([folder], CONFIG, torch.device("cpu"))
    group = next(g for g in resident._sizes if g.size == (9, 9))
    chunk = Chunk([g for g in games if g.width == 9])
    for symmetry in range(8):
        ends = group._cumulative / group._cumulative[-1]
        places = np.stack([ends.numpy() - 1e-9, np.full(group.count, (symmetry + 0.5) / 8)])
        drawn = group.draw(places)
        there = np.full(group.count, symmetry)
        turned = assemble([(chunk, i) for i in range(group.count)], (9, 9), there)
        sure = [c for c in range(turned.planes.shape[1]) if c not in BOUNDED]
        assert (drawn.planes.numpy()[:, sure] == turned.planes[:, sure]).all()
        np.testing.assert_allclose(drawn.policy.numpy(), turned.policy, atol=3e-3)
        np.testing.assert_allclose(drawn.reply.numpy(), turned.reply, atol=3e-3)
        np.testing.assert_array_equal(drawn.z.numpy(), turned.z)
        np.testing.assert_allclose(drawn.root_wdl.numpy(), turned.root_wdl, atol=5e-3)


def test_weights_decide_what_is_drawn(folder):
    only_policies = EncodedDataset([folder], replace(CONFIG, fast_weight=0.0), torch.device("cpu"))
    both = EncodedDataset([folder], replace(CONFIG, fast_weight=5.0), torch.device("cpu"))
    shares = []
    for resident in (only_policies, both):
        drawn = list(resident.batches(np.random.default_rng(1), 64, 20))
        assert {d.planes.shape[2] for d in drawn} == {7, 9}
        shares.append(torch.cat([d.policy.any(1) for d in drawn]).float().mean().item())
    assert shares[0] == 1.0 and 0.2 < shares[1] < 0.6


def test_a_learner_learns_from_them_and_goes_on(folder, tmp_path):
    config = replace(CONFIG, lr=0.02)
    once = learner_of(folder, config, tmp_path / "once")
    first = once.step(20)["policy"]
    last = once.step(100)["policy"]
    assert once.step(20)["policy"] < last < first
    twice = learner_of(folder, config, tmp_path / "twice")
    twice.step(20)
    twice.save()
    again = learner_of(folder, config, tmp_path / "twice")
    assert again.load() and again.batches == 20
    again.step(120)
    for name, value in once.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name


def test_labels_come_back_turned_like_the_position(folder):
    plain = EncodedDataset([folder], CONFIG, torch.device("cpu"))
    assert not plain.taught
    generator = torch.Generator().manual_seed(1)
    said: dict = {}
    for size, planes in [(s, planes) for s in plain.sizes for planes in plain.positions(s, 32)]:
        stones = planes[:, 1].flatten(1)  # so that turned labels can be told by turned planes
        noise = torch.rand(len(planes), 3, generator=generator)
        logs = torch.where(stones > 0, -1.0, -40.0)
        said.setdefault(size, []).append(Heads(logs, logs / 2, logs / 4, torch.log_softmax(noise, 1)))
    for size, heads in said.items():
        write_labels(folder, size, heads)
    labelled = EncodedDataset([folder], CONFIG, torch.device("cpu"))
    assert labelled.taught
    for drawn in labelled.batches(np.random.default_rng(2), 64, 6):
        stones = drawn.planes[:, 1].flatten(1) > 0
        assert torch.equal(drawn.taught.policy, torch.where(stones, -1.0, -255 / 16))
        assert torch.equal(drawn.taught.soft, torch.where(stones, -0.5, -255 / 16))
        assert torch.equal(drawn.taught.reply, torch.where(stones, -0.25, -10.0))
        np.testing.assert_allclose(drawn.taught.wdl.exp().sum(1), 1, atol=2e-3)
    assert not EncodedDataset([folder], CONFIG, torch.device("cpu"), labels=False).taught


def test_positions_of_several_folders(folder, games, tmp_path):
    (tmp_path / "more").mkdir()
    write_shard(tmp_path / "more" / "a.shard", games[:2])
    encode([tmp_path / "more"], tmp_path / "set2", 1)
    both = EncodedDataset([folder, tmp_path / "set2"], CONFIG, torch.device("cpu"))
    assert len(both) == sum(g.positions for g in [*games, *games[:2]]) and both.games_seen == 14
    second = EncodedDataset([tmp_path / "set2"], CONFIG, torch.device("cpu"))
    planes = {size: next(second.positions(size, 10**6)) for size in second.sizes}
    for size in both.sizes:
        found = next(both.positions(size, 10**6))
        assert torch.equal(found[len(found) - len(planes[size]) :], planes[size])
    heads = [Heads(*(torch.zeros(len(planes[size]), size[0] * size[1]) for _ in range(3)),
                   torch.zeros(len(planes[size]), 3)) for size in planes]  # fmt: skip
    for size, part in zip(planes, heads, strict=True):
        write_labels(tmp_path / "set2", size, [part])
    with pytest.raises(ValueError, match="no labels"):
        EncodedDataset([folder, tmp_path / "set2"], CONFIG, torch.device("cpu"))


def test_a_kept_teacher_says_nearly_the_same_in_half_the_bytes(folder, tmp_path, capsys):
    config = replace(CONFIG, net=replace(NET, channels=48))
    learner = learner_of(folder, config, tmp_path / "t")
    learner.step(4)
    learner.save()
    assert main(["keep", "--teacher", str(tmp_path / "t"), "--out", str(tmp_path / "kept")]) == 0
    path = checkpoint.newest_good(tmp_path / "kept", print)[0]
    assert path.stat().st_size < learner.save().stat().st_size / 5  # neither other weights nor the optimizer
    net, state = load_averaged(path)
    planes = next(learner.dataset.batches(np.random.default_rng(1), 16, 1)).planes
    learner.averaged.eval()
    with torch.no_grad():
        for mine, kept in zip(learner.averaged(planes), net(planes), strict=True):
            torch.testing.assert_close(mine, kept, rtol=0.02, atol=0.02)
    assert Teacher(path, net, state, torch.device("cpu")).sides == (7, 9)
    assert main(["keep", "--teacher", str(tmp_path / "no"), "--out", str(tmp_path / "other")]) == 1
    assert "neither a checkpoint" in capsys.readouterr().err
    assert main(["keep", "--teacher", str(tmp_path / "t"), "--out", str(tmp_path / "kept")]) == 2
    assert f"holds {path.name} already" in capsys.readouterr().err and path.exists()


def test_positions_that_are_never_drawn_are_counted(folder):
    said = []
    for weight in (0.5, 0.0):
        EncodedDataset([folder], replace(CONFIG, fast_weight=weight), torch.device("cpu"), report=said.append)
    count = sum(read_sizes(folder)[1].values())
    assert len(said) == 1 and f"of {count} positions are never learned from" in said[0]


def test_a_way_that_is_longer_now_is_gone_on(folder, tmp_path, capsys):
    learn = ["learn", "--positions", str(folder), *SMALL, "--no-export", "--run-dir"]
    batches = []
    for passes in ("1", "2"):
        assert main([*learn, str(tmp_path / "a"), "--passes", passes]) == 0
        batches.append(checkpoint.newest_good(tmp_path / "a" / "checkpoints", print)[1]["batches"])
    assert batches[1] >= 2 * batches[0] - 4
    assert main([*learn, str(tmp_path / "a"), "--minutes", "1"]) == 2
    assert "learned by --passes before" in capsys.readouterr().err
    for minutes in ("0.001", "0.004"):
        assert main([*learn, str(tmp_path / "b"), "--minutes", minutes]) == 0
        state = checkpoint.newest_good(tmp_path / "b" / "checkpoints", print)[1]
        batches.append(state["batches"])
    assert batches[3] > batches[2] and state["progress"] == 1


def test_teacher_and_student_by_command(folder, tmp_path, capsys):
    learn = ["learn", "--positions", str(folder), *SMALL]
    assert main([*learn, "--run-dir", str(tmp_path / "t"), "--minutes", "0.001", "--no-export"]) == 0
    label = ["label", "--positions", str(folder), "--teacher", str(tmp_path / "t"), "--device", "cpu"]
    assert main(label) == 0
    student = [*learn, "--run-dir", str(tmp_path / "s"), "--minutes", "0.001"]
    student += ["--set", "learner.net.kind=lines"]
    assert main(student) == 0
    card = (tmp_path / "s" / "nets" / "s.md").read_text()
    assert "7 to 9 a side" in card and "12 games" in card and "| training | 0 batches" not in card
    lines = [json.loads(line) for line in (tmp_path / "s" / "log.jsonl").read_text().splitlines()]
    assert lines[-1]["progress"] == 1.0 and "teacher_kl" in lines[-1]
    assert "labelled by" in capsys.readouterr().out
    batches = checkpoint.newest_good(tmp_path / "s" / "checkpoints", print)[1]["batches"]
    assert main(student) == 0  # over: nothing more is learned
    assert checkpoint.newest_good(tmp_path / "s" / "checkpoints", print)[1]["batches"] == batches


def test_the_mean_of_two_students_is_exported_without_learning(folder, tmp_path, capsys):
    learn = [
        "learn",
        "--positions",
        str(folder),
        *SMALL,
        "--set",
        "learner.net.kind=lines",
        "--processes",
        "1",
    ]
    nets = []
    for seed in (1, 2):
        run = tmp_path / f"s{seed}"
        steps = [*learn, "--run-dir", str(run), "--minutes", "0.001", "--set", f"learner.seed={seed}"]
        assert main([*steps, "--no-export", *(("--weights", str(tmp_path / "s1")) if seed == 2 else ())]) == 0
        nets.append(load_averaged(checkpoint.newest_good(run / "checkpoints", print)[0])[0].state_dict())
    shares = ["--weights", f"{tmp_path / 's1'}=3", "--weights", f"{tmp_path / 's2'}"]
    assert main([*learn, "--run-dir", str(tmp_path / "mean"), "--minutes", "0", *shares]) == 0
    assert (tmp_path / "mean" / "nets" / "mean.fp32.onnx").exists()
    path, state = checkpoint.newest_good(tmp_path / "mean" / "checkpoints", print)
    assert state["batches"] == 0
    mean = load_averaged(path)[0].state_dict()
    name = "policy_in.weight"
    assert not torch.equal(nets[0][name], nets[1][name])
    torch.testing.assert_close(mean[name], 0.75 * nets[0][name] + 0.25 * nets[1][name])
    before = path.read_bytes()
    assert main([*learn, "--run-dir", str(tmp_path / "mean"), "--minutes", "0"]) == 0
    assert path.read_bytes() == before and state["progress"] is None, "what is only exported can go on"
    assert main([*learn, "--run-dir", str(tmp_path / "mean"), "--minutes", "0.001", "--no-export"]) == 0
    assert checkpoint.newest_good(path.parent, print)[1]["batches"] > 0
    assert main([*learn, "--run-dir", str(tmp_path / "none"), "--minutes", "0"]) == 2
    assert "names no net" in capsys.readouterr().err


def _weights(run: Path) -> dict[str, torch.Tensor]:
    return load_averaged(checkpoint.newest_good(run / "checkpoints", print)[0])[0].state_dict()


def test_passes_learn_the_same_again_and_stopped_too(folder, tmp_path, monkeypatch, capsys):
    learn = ["learn", "--positions", str(folder), *SMALL, "--no-export", "--passes", "1.1", "--run-dir"]
    assert main([*learn, str(tmp_path / "a")]) == 0
    state = checkpoint.newest_good(tmp_path / "a" / "checkpoints", print)[1]
    count = sum(read_sizes(folder)[1].values())
    assert 0 <= state["batches"] - 1.1 * count / 8 < 4 and state["batches"] % 4 == 0
    assert state["progress"] == 1.0
    asked = itertools.count()

    @contextlib.contextmanager
    def stop_early():
        yield lambda: next(asked) >= 2

    with monkeypatch.context() as patch:
        patch.setattr(stopping, "stop_wish", stop_early)
        assert main([*learn, str(tmp_path / "b")]) == 1
    half = checkpoint.newest_good(tmp_path / "b" / "checkpoints", print)[1]
    assert 0 < half["batches"] < state["batches"] and "stopped" in capsys.readouterr().err
    assert main([*learn, str(tmp_path / "b")]) == 0
    for name, value in _weights(tmp_path / "a").items():
        assert torch.equal(value, _weights(tmp_path / "b")[name]), name


def test_labels_go_on_and_are_of_one_teacher(folder, tmp_path, capsys):
    for seed in (1, 2):
        learner = learner_of(folder, replace(CONFIG, seed=seed), tmp_path / f"t{seed}")
        learner.step(1)
        learner.save()
    label = ["label", "--positions", str(folder), "--device", "cpu", "--teacher"]
    assert main([*label, str(tmp_path / "t1")]) == 0
    assert "7x7:" in capsys.readouterr().out
    (folder / "9x9.taught-wdl.npy").unlink()  # as if stopped before it
    first = (folder / "7x7.taught-policy.npy").stat().st_mtime_ns
    assert main([*label, str(tmp_path / "t1")]) == 0
    said = capsys.readouterr().out
    assert "9x9:" in said and "7x7:" not in said
    assert (folder / "7x7.taught-policy.npy").stat().st_mtime_ns == first
    assert main([*label, str(tmp_path / "t2")]) == 1
    assert "another teacher labelled it" in capsys.readouterr().err


def test_a_stopped_learner_goes_on_with_the_same_command(folder, tmp_path, capsys):
    learn = ["learn", "--positions", str(folder), *SMALL, "--run-dir", str(tmp_path / "r"), "--no-export"]
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    assert main([*learn, "--minutes", "5"]) == 1
    assert "stopped" in capsys.readouterr().err
    state = checkpoint.newest_good(tmp_path / "r" / "checkpoints", print)[1]
    assert 0 < state["progress"] < 0.1
    late = {name: value for name, value in state.items() if name != "format"} | {"progress": 0.9}
    checkpoint.write_checkpoint(tmp_path / "r" / "checkpoints", state["batches"], late, 1)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    assert main([*learn, "--minutes", "5"]) == 1
    assert "continuing at batch" in capsys.readouterr().out
    after = checkpoint.newest_good(tmp_path / "r" / "checkpoints", print)[1]
    assert after["batches"] > state["batches"] and 0.9 < after["progress"] < 1


def test_positions_beside_the_games_are_behind_moves_that_were_considered(games):
    found = siblings(games, 0.5, 1)
    total = sum(game.positions for game in games)
    assert 0.3 * total < len(found) <= 0.5 * total + 4 * len(games)
    considered = {
        (*(int(p) for p in game.moves[: game.opening + row]), int(point))
        for game in games
        for row in range(game.positions)
        if game.flags[row] == Flag.FULL
        for point in game.policy(row)[0]
    }
    assert all(tuple(int(p) for p in one.moves) in considered for one in found)
    assert all(one.positions == 1 and not one.counts[0] for one in found)
    played = {tuple(int(p) for p in game.moves[:n]) for game in games for n in range(len(game.moves) + 1)}
    assert sum(tuple(int(p) for p in one.moves) not in played for one in found) > len(found) / 2
    assert [list(one.moves) for one in siblings(games, 0.5, 1)] == [list(one.moves) for one in found]
    assert not siblings(games, 0.0, 1)


def test_what_a_search_found_of_a_move_is_the_value_of_the_position_after_it():
    builder = GameBuilder(0, 9, 9, opening=[40], net_id="n", seed=1)
    values = {30: 0.5, 31: -1.0, 50: 0.2}
    builder.add(Flag.FULL, (0.5, 0, 0.5), [30, 31, 32], [0.6, 0.3, 0.1], values=values)
    game = builder.finish(0, End.FIVE)
    found = {int(one.moves[-1]): one for one in siblings([game], 4, 1, valued=True)}
    assert found.keys() == {30, 31}, "those that were considered and have a value"
    assert all(one.moves[0] == 40 and one.positions == 1 and not one.counts[0] for one in found.values())
    for point, one in found.items():
        worth = [(1 - values[point]) / 2, 0, (1 + values[point]) / 2]
        np.testing.assert_allclose(one.root_wdl()[0], worth, atol=0.01)


def test_a_position_that_was_not_played_has_its_searched_value_alone(tmp_path):
    builder = GameBuilder(0, 9, 9, opening=[40], net_id="n", seed=1)
    builder.add(Flag.FULL, (0.5, 0, 0.5), [30, 31], [0.6, 0.4], values={30: 0.5, 31: 0.5})
    (tmp_path / "records").mkdir()
    write_shard(tmp_path / "records" / "000001-00.shard", [builder.finish(0, End.FIVE)])
    arguments = ["encode", "--records", str(tmp_path / "records"), "--positions", str(tmp_path / "set")]
    assert main([*arguments, "--processes", "1", "--valued", "2"]) == 0
    config = replace(CONFIG, fast_weight=1)
    dataset = EncodedDataset([tmp_path / "set"], config, torch.device("cpu"))
    drawn = next(dataset.batches(np.random.default_rng(1), 64, 1))
    bare = ~drawn.policy.any(1)
    assert 0 < bare.sum() < 64
    np.testing.assert_allclose(drawn.z[bare], [[0.25, 0, 0.75]] * int(bare.sum()), atol=0.01)
    torch.testing.assert_close(drawn.root_wdl[bare], drawn.z[bare])
    assert (drawn.z[~bare].max(1).values == 1).all()


def test_only_a_teacher_says_what_positions_beside_the_games_are_worth(folder, tmp_path, capsys):
    encode_more = ["encode", "--records", str(tmp_path / "records"), "--processes", "1", "--beside"]
    assert main([*encode_more, "1", "--positions", str(tmp_path / "more")]) == 0
    sizes, all_sizes = read_sizes(folder)[1], read_sizes(tmp_path / "more")[1]
    assert all(all_sizes[size] > sizes[size] for size in sizes)
    bare = EncodedDataset([tmp_path / "more"], CONFIG, torch.device("cpu"))
    for drawn in bare.batches(np.random.default_rng(1), 64, 20):
        assert (drawn.root_wdl.sum(1) == 1).all() and (drawn.z.sum(1) == 1).all()
    learn = ["learn", "--positions", str(tmp_path / "more"), *SMALL, "--minutes", "0.001"]
    assert main([*learn, "--run-dir", str(tmp_path / "t"), "--no-export"]) == 0
    label = ["label", "--positions", str(tmp_path / "more"), "--teacher", str(tmp_path / "t")]
    assert main([*label, "--device", "cpu"]) == 0
    taught = EncodedDataset([tmp_path / "more"], CONFIG, torch.device("cpu"))
    drawn = next(taught.batches(np.random.default_rng(1), 256, 1))
    alone = drawn.root_wdl.sum(1) == 0
    assert 0.2 < alone.float().mean() < 0.8 and (drawn.z.sum(1) == (~alone).float()).all()
    assert not drawn.policy[alone].any()
    heads = Heads(*(torch.zeros(256, drawn.policy.shape[1], requires_grad=True) for _ in range(3)),
                  torch.zeros(256, 3, requires_grad=True))  # fmt: skip
    targets = Targets(drawn.policy, drawn.reply, drawn.z, drawn.root_wdl)
    loss, parts = compute(heads, drawn.planes, targets, LossConfig(root_mix=0.5, root_power=2.0))
    loss.backward()
    assert not heads.wdl.grad[alone].any() and heads.wdl.grad[~alone].any()
    assert parts["value"].item() == pytest.approx(np.log(3), rel=1e-5)
    heads.wdl.grad = None
    compute(heads, drawn.planes, targets, LossConfig(), drawn.taught, 0.75)[0].backward()
    assert heads.wdl.grad[alone].any()
    assert main([*encode_more, "9", "--positions", str(tmp_path / "new")]) == 2
    assert "--beside is 0 to 4" in capsys.readouterr().err


def test_what_is_refused(folder, tmp_path, capsys):
    def fails(*arguments: object) -> str:
        assert main([str(a) for a in arguments]) in (1, 2)
        return capsys.readouterr().err

    records, run = tmp_path / "records", tmp_path / "run"
    assert "already" in fails("encode", "--records", records, "--positions", folder)
    assert "no positions" in fails("encode", "--records", tmp_path / "none", "--positions", tmp_path / "new")
    assert "--processes" in fails(
        "encode", "--records", records, "--positions", tmp_path / "new", "--processes", -1
    )
    learn = ("learn", "--run-dir", run, *SMALL)
    assert "at least 0" in fails(*learn, "--positions", folder, "--minutes", -1)
    assert "no encoded positions" in fails(*learn, "--positions", tmp_path / "none", "--minutes", 1)
    assert "neither a checkpoint" in fails("label", "--positions", folder, "--teacher", tmp_path / "none")
    array = folder / "9x9.policy.npy"
    whole_file = array.read_bytes()
    array.write_bytes(whole_file[: len(whole_file) // 2])
    assert "9x9.policy.npy" in fails(*learn, "--positions", folder, "--minutes", 1)
    np.save(array, np.zeros((3, 81), np.uint8))
    assert "expected uint8" in fails(*learn, "--positions", folder, "--minutes", 1)
    with open(array, "wb") as file:  # says that it holds more than any memory
        np.lib.format.write_array_header_1_0(
            file, {"descr": "|u1", "fortran_order": False, "shape": (1 << 45, 81)}
        )
    assert "cannot be read" in fails(*learn, "--positions", folder, "--minutes", 1)
    array.write_bytes(whole_file)
    results = folder / "9x9.result.npy"
    np.save(results, np.full_like(np.load(results), 4))
    assert "neither win, draw nor loss" in fails(*learn, "--positions", folder, "--minutes", 1)
    table = json.loads((folder / "set.json").read_text())
    for wrong in ({"feature_version": 1}, {"sizes": [[9, 9]]}, {"sizes": [[99, 9, 3]]}, {"games": "x"}):
        (folder / "set.json").write_text(json.dumps(table | wrong))
        assert "encode the records again" in fails(*learn, "--positions", folder, "--minutes", 1)
    assert not (run / "checkpoints").exists()


def test_a_run_begins_with_the_weights_of_a_bundle(folder, tmp_path, capsys):
    learn = ["learn", "--positions", str(folder), *SMALL, "--no-export", "--run-dir"]
    assert main([*learn, str(tmp_path / "a"), "--passes", "0.5"]) == 0
    (tmp_path / "a" / "state.json").write_text("{}")
    pack(tmp_path / "a", tmp_path / "a.zip", 10**7)
    for weights, run in ((tmp_path / "a", "b"), (tmp_path / "a.zip", "c")):
        assert main([*learn, str(tmp_path / run), "--passes", "0.5", "--weights", str(weights)]) == 0
    for name, value in _weights(tmp_path / "b").items():
        assert torch.equal(value, _weights(tmp_path / "c")[name]), name
    (tmp_path / "a.zip").write_bytes(b"no bundle")
    assert main([*learn, str(tmp_path / "d"), "--passes", "1", "--weights", str(tmp_path / "a.zip")]) == 1
    assert "error: " in capsys.readouterr().err


def test_the_recipe_for_tuning_has_the_shape_of_the_net_that_ships():
    kept = Path(offline.__file__).parent / "checkpoints" / "r23-4x64.zip"
    with zipfile.ZipFile(kept) as bundle:
        stored = json.loads(bundle.read("config.json"))["config"]["learner"]
    tuned = to_mapping(make_config(preset("tune").settings).learner)
    assert tuned["net"] == stored["net"] and tuned["loss"].items() <= stored["loss"].items()
    assert tuned["lr"] < stored["lr"]


def test_shards_held_out_are_the_same_of_other_targets(games, tmp_path, capsys):
    def encode_some(source: str, to: str, held: str, *more: str) -> int:
        given = {"--records": source, "--positions": to, "--hold-out": held}
        paths = [text for name, value in given.items() for text in (name, str(tmp_path / value))]
        return main(["encode", *paths, "--processes", "1", *more])

    for source in ("deep", "plain"):
        (tmp_path / source).mkdir()
        for i in range(6):
            write_shard(tmp_path / source / f"{i}.shard", games[2 * i : 2 * i + 2])
        assert encode_some(source, f"{source}-set", f"{source}-held", "--hold-out-share", "0.3") == 0
    held = [sorted(p.name for p in (tmp_path / f"{source}-held").iterdir()) for source in ("deep", "plain")]
    assert held[0] == held[1] and 1 < len(held[0]) < 6
    total = sum(game.positions for game in games)
    there = sum(read_counts(path)[1] for path in (tmp_path / "deep-held").iterdir())
    assert there >= 0.3 * total and sum(read_sizes(tmp_path / "deep-set")[1].values()) == total - there
    for name in held[0]:
        assert (tmp_path / "deep-held" / name).read_bytes() == (tmp_path / "deep" / name).read_bytes()
    assert encode_some("deep", "more", "deep") == 1
    assert encode_some("deep", "more", "deep-held", "--hold-out-share", "0.1") == 1
    assert encode_some("deep", "more", "x", "--records", str(tmp_path / "plain")) == 1
    assert encode_some("deep", "more", "x", "--hold-out-share", "1") == 2
    said = capsys.readouterr().err
    for refused in ("records themselves", "would be learned from", "the same name", "below 1"):
        assert refused in said


def test_a_damaged_shard_is_left_out(games, tmp_path):
    (tmp_path / "records").mkdir()
    write_shard(tmp_path / "records" / "a.shard", games)
    (tmp_path / "records" / "b.shard").write_bytes(b"TNGSHARD but nothing else")
    said: list[str] = []
    assert encode([tmp_path / "records"], tmp_path / "set", 2, said.append) == sum(g.positions for g in games)
    assert len(said) == 1 and "b.shard" in said[0]
    assert encode_games([]) == {}


@pytest.mark.parametrize("size", [(9, 9), (15, 15), (7, 12), (12, 7)])
def test_lines_by_product_and_the_whole_table(size):
    torch.manual_seed(1)
    stem = LineStem(16, 32)
    planes = torch.from_numpy(random_planes(3, 10, *size)).contiguous(memory_format=torch.channels_last)
    rows = stem.rows_by_product(planes)
    assert torch.equal(rows, stem.rows(planes))
    table, place = stem.table_of(planes)
    torch.testing.assert_close(stem.whole_table()[rows].sum(3), table[place].sum(3), rtol=1e-5, atol=1e-5)


def test_a_depthwise_convolution_as_a_whole_one():
    torch.manual_seed(1)
    x, weight = torch.randn(2, 8, 9, 9), torch.randn(8, 1, 3, 3)
    torch.testing.assert_close(
        F.conv2d(x, whole(weight), padding=1), F.conv2d(x, weight, padding=1, groups=8), rtol=1e-5, atol=1e-5
    )

"""The learner: overfits what is tiny, resumes exactly, keeps its bounds, survives damage."""

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.encoding import FEATURE_VERSION
from tests.helpers.learner import CONFIG, learner_at, same_weights
from tests.helpers.training_games import random_game
from training.data.records import End, Flag, GameBuilder
from training.data.shards import write_shard
from training.learn import checkpoint
from training.learn.averaged import load_averaged
from training.learn.learner import DivergedError, Learner
from training.settings.schema import LearnerConfig, LossConfig, NetConfig
from training.settings.values import ConfigError, weighted_run
from training.workers.bench import learner_speed


@pytest.mark.parametrize("bf16", [False, True])
def test_overfits_a_tiny_set(tmp_path, bf16):
    config = replace(
        CONFIG, bf16=bf16, batch=12, lr=5e-3, schedule="constant", ema=0.9, surprise=0.0, weight_decay=0.0,
        loss=LossConfig(root_mix=0.0),
    )  # fmt: skip
    learner = Learner(config, tmp_path, "cpu")
    # No symmetry keeps the opening: else the target of a position would be ambiguous.
    builder = GameBuilder(0, 7, 7, opening=[8, 2, 19], net_id="n", seed=1)
    for point in (10, 3, 17, 45, 30):
        builder.add(Flag.FULL, (0.5, 0, 0.5), [point], [1.0])
        builder.play(point)
    write_shard(learner.records_dir / "a.shard", [builder.finish(1, End.LENGTH)])
    learner.dataset.refresh()
    first = learner.step(5)
    learner.step(150)
    last = learner.step(10)
    assert first["policy_kl"] > 1
    assert last["policy_kl"] < 0.1
    assert last["value"] < 0.05
    assert last["explained_variance"] > 0.95
    assert last["top1"] > 0.95
    averaged = learner.averaged(torch.from_numpy(learner.dataset.draw(np.random.default_rng(1), 1).planes))
    assert torch.softmax(averaged.wdl, 1).max() > 0.9


def test_every_tensor_of_a_batch_is_on_the_device_of_the_net(tmp_path):
    """On torch's device without data; like a GPU it takes no tensor from elsewhere, and it tells no value."""
    learner = learner_at(tmp_path)
    learner.device = torch.device("meta")
    learner.model.to("meta")
    learner.averaged.to("meta")
    learner.optimizer = torch.optim.AdamW(learner.model.parameters())
    learner.dataset._device = learner.device
    metrics = learner._batch(next(learner.dataset.batches(np.random.default_rng(1), 16, 1)))
    assert {value.device.type for value in metrics.values()} == {"meta"}
    assert all(p.device.type == "meta" and p.grad is not None for p in learner.model.parameters())


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_resuming_is_the_same_as_never_stopping(tmp_path, optimizer):
    config = replace(CONFIG, optimizer=optimizer)
    straight = learner_at(tmp_path / "one", config)
    straight.progress = 0.4
    straight.step(13)
    broken = learner_at(tmp_path / "two", config)
    broken.progress = 0.4
    broken.step(6)
    broken.save()
    resumed = Learner(config, tmp_path / "two", "cpu")
    assert resumed.load()
    assert resumed.dataset.refresh() == 0
    assert (resumed.batches, resumed.samples) == (6, 96)
    after = resumed.step(7)
    assert same_weights(straight.model, resumed.model)
    assert same_weights(straight.averaged, resumed.averaged)
    straight_rate, resumed_rate = straight.learning_rate(), resumed.learning_rate()
    assert straight_rate == resumed_rate
    assert after["batches"] == 13
    assert resumed.dataset.games_seen == straight.dataset.games_seen


def test_resuming_keeps_a_window_that_has_moved_on(tmp_path):
    config = replace(CONFIG, window_share=0.3, window_min=60)
    learner = learner_at(tmp_path, config)
    for n in range(6):
        write_shard(learner.records_dir / f"b{n}.shard", [random_game(50 + n, 9)])
        learner.dataset.refresh()
    learner.save()
    resumed = Learner(config, tmp_path, "cpu")
    resumed.load()
    assert resumed.dataset.state() == learner.dataset.state()
    assert resumed.dataset.refresh() == 0
    assert len(resumed.dataset) == len(learner.dataset) < learner.dataset.seen
    resumed.forget_lost()
    left = config.reuse * len(resumed.dataset) / config.batch
    assert resumed.allowance() <= left < config.reuse * resumed.dataset.seen / config.batch
    a, b = (x.dataset.draw(np.random.default_rng(2), 8) for x in (learner, resumed))
    np.testing.assert_array_equal(a.planes, b.planes)


def test_reuse_of_positions_is_bounded(tmp_path):
    learner = learner_at(tmp_path, replace(CONFIG, reuse=2.0))
    allowed = learner.allowance()
    assert allowed == int(2.0 * learner.dataset.seen / 16)
    learner.step(3)
    assert learner.allowance() == allowed - 3
    learner.settle()
    assert learner.allowance() == 0


def test_learning_rate_follows_its_schedule(tmp_path):
    def rates(schedule: str) -> list[float]:
        learner = Learner(replace(CONFIG, schedule=schedule, warmup=0, lr=1.0), tmp_path, "cpu")
        out = []
        for learner.progress in (0.0, 0.5, 0.59, 0.6, 0.84, 0.85, 1.0, 1.5):
            out.append(round(learner.learning_rate(), 4))
        return out

    assert rates("constant") == [1.0] * 8
    assert rates("cosine")[:2] == [1.0, 0.51]
    assert rates("cosine")[-2:] == [0.02, 0.02]
    learner = Learner(replace(CONFIG, warmup=10, lr=1.0), tmp_path, "cpu")
    assert learner.learning_rate() == pytest.approx(0.1)
    learner.batches, learner.progress = 1000, 0.5  # told by the clock
    assert learner.learning_rate() == pytest.approx(0.51)


def test_averaged_weights_follow_slowly(tmp_path):
    learner = learner_at(tmp_path, replace(CONFIG, ema=0.99, lr=0.01))
    start = [p.clone() for p in learner.model.parameters()]
    learner.step(30)

    def distance(others: Iterable[torch.Tensor]) -> float:
        pairs = zip(others, learner.model.parameters(), strict=True)
        return sum((a - b).abs().sum().item() for a, b in pairs)

    assert 0 < distance(learner.averaged.parameters()) < distance(start)
    assert not any(p.requires_grad for p in learner.averaged.parameters())


def test_normalisation_learns_its_statistics_and_keeps_them_at_the_end(tmp_path):
    learner = learner_at(tmp_path, replace(CONFIG, freeze_norm=0.5))
    norm = learner.model.blocks[0].first.norm
    means = [norm.running_mean.clone()]
    for learner.progress in (0.2, 0.6):
        learner.step(6)
        means.append(norm.running_mean.clone())
    assert not torch.equal(means[0], means[1])
    assert torch.equal(means[1], means[2])
    averaged = learner.averaged.blocks[0].first.norm
    assert not torch.equal(averaged.running_mean, means[0])
    assert not averaged.training


@pytest.mark.parametrize(("share", "kept"), [(0.0, True), (0.8, False), (1.0, False)])
def test_at_a_constant_rate_normalisation_keeps_its_statistics_only_from_the_start(tmp_path, share, kept):
    learner = learner_at(tmp_path, replace(CONFIG, schedule="constant", freeze_norm=share))
    before = learner.model.blocks[0].first.norm.running_mean.clone()
    learner.step(2)
    assert torch.equal(learner.model.blocks[0].first.norm.running_mean, before) is kept


def test_a_corrupt_checkpoint_falls_back_to_the_one_before_and_says_so(tmp_path):
    learner = learner_at(tmp_path)
    learner.step(2)
    good = learner.save()
    kept = [p.clone() for p in learner.model.parameters()]
    learner.step(2)
    bad = learner.save()
    bad.write_bytes(bad.read_bytes()[:-100])
    said: list[str] = []
    again = Learner(CONFIG, tmp_path, "cpu", said.append)
    assert again.load()
    assert again.batches == 2
    assert all(torch.equal(a, b) for a, b in zip(kept, again.model.parameters(), strict=True))
    assert len(said) == 1
    assert bad.name in said[0]
    with pytest.raises(checkpoint.CheckpointError, match="checksum"):
        load_averaged(bad)
    model, state = load_averaged(good)
    assert state["batches"] == 2
    assert not model.training


def test_only_the_newest_checkpoints_are_kept_and_none_means_a_fresh_start(tmp_path):
    learner = learner_at(tmp_path, replace(CONFIG, keep_checkpoints=2))
    assert not learner.load()
    for _ in range(4):
        learner.step()
        learner.save()
    names = [p.name for p in checkpoint.list_checkpoints(learner.checkpoints_dir)]
    assert names == ["step-000000003.ckpt", "step-000000004.ckpt"]


def test_a_full_disk_keeps_the_old_checkpoint(tmp_path, monkeypatch):
    learner = learner_at(tmp_path)
    learner.step()
    path = learner.save()

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    learner.step()
    with pytest.raises(OSError, match="No space"):
        learner.save()
    assert list(learner.checkpoints_dir.iterdir()) == [path]


def test_checkpoints_of_other_planes_or_nets_are_refused(tmp_path, monkeypatch):
    learner = learner_at(tmp_path)
    learner.save()
    with pytest.raises(checkpoint.CheckpointError, match="the settings ask for"):
        Learner(replace(CONFIG, net=NetConfig(blocks=1, channels=16)), tmp_path, "cpu").load()
    for module in ("learner", "averaged"):
        monkeypatch.setattr(f"training.learn.{module}.FEATURE_VERSION", 99)
    with pytest.raises(checkpoint.CheckpointError, match=f"version {FEATURE_VERSION}, this program has 99"):
        Learner(CONFIG, tmp_path, "cpu").load()


def test_a_loss_that_is_not_finite_stops_before_the_weights_change(tmp_path):
    learner = learner_at(tmp_path)
    with torch.no_grad():
        learner.model.value_out.bias[0] = float("nan")
    before = learner.model.stem.weight.clone()
    with pytest.raises(FloatingPointError):
        learner.step()
    assert torch.equal(before, learner.model.stem.weight)


@pytest.mark.parametrize("rate", [10.0, 1e6])
def test_a_hopeless_loss_ends_learning_at_once(tmp_path, rate):
    learner = learner_at(tmp_path)
    learner.step(4)
    learner.config = replace(learner.config, lr=rate, warmup=1)
    with pytest.raises(DivergedError) as caught:
        for _ in range(3):
            learner.step(4)
    assert "the loss is" in str(caught.value) and f"learner.lr={rate:g}" in str(caught.value)


@pytest.mark.parametrize("place", ["model", "averaged", "optimizer"])
def test_weights_that_are_not_finite_are_never_saved(tmp_path, place):
    learner = learner_at(tmp_path)
    learner.step(2)
    good = learner.save()
    learner.step(1)
    with torch.no_grad():
        if place == "optimizer":
            next(iter(learner.optimizer.state.values()))["exp_avg"][0] = float("inf")
        else:
            getattr(learner, place).stem.weight[0, 0] = float("nan")
    with pytest.raises(checkpoint.CheckpointError, match=f"{place}.* is not finite at step 3"):
        learner.save()
    assert checkpoint.list_checkpoints(learner.checkpoints_dir) == [good]


def test_spoilt_checkpoints_of_older_programs_are_passed_over_and_kept_aside(tmp_path, monkeypatch):
    config = replace(CONFIG, keep_checkpoints=2)
    learner = learner_at(tmp_path, config)
    learner.step(2)
    learner.save()
    learner.step(3)
    with torch.no_grad():
        learner.model.stem.weight[0, 0] = float("nan")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "not_finite", lambda state: "")
        bad = learner.save()
    said: list[str] = []
    again = Learner(config, tmp_path, "cpu", said.append)
    assert again.load() and again.batches == 2
    assert len(said) == 1 and bad.name in said[0] and "not finite" in said[0]
    for _ in range(2):
        again.step()
        again.save()
    names = sorted(path.name for path in learner.checkpoints_dir.iterdir())
    assert names == ["step-000000003.ckpt", "step-000000004.ckpt", f"{bad.name}.damaged"]


def test_the_same_seed_makes_the_same_net_and_leaves_the_global_generator_alone(tmp_path):
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    a, b = Learner(CONFIG, tmp_path, "cpu"), Learner(CONFIG, tmp_path, "cpu")
    assert torch.equal(torch.rand(1), expected)
    assert same_weights(a.model, b.model)
    assert not same_weights(a.model, Learner(replace(CONFIG, seed=4), tmp_path, "cpu").model)


def test_weights_of_several_runs_are_averaged_by_their_shares(tmp_path):
    paths = {}
    for seed, share in ((1, 1.0), (2, 3.0)):
        learner = learner_at(tmp_path / str(seed), replace(CONFIG, seed=seed))
        learner.step(2)
        paths[learner.save()] = share
    a, b = (load_averaged(path)[0].state_dict() for path in paths)
    mixed = learner_at(tmp_path / "mixed")
    mixed.adopt(paths)
    for name, value in mixed.averaged.state_dict().items():
        if value.is_floating_point():
            torch.testing.assert_close(value, 0.25 * a[name] + 0.75 * b[name])
    assert same_weights(mixed.model, mixed.averaged)
    assert not torch.equal(a["policy_in.weight"], b["policy_in.weight"])


def test_shares_of_runs_are_read_and_folders_may_hold_the_sign(tmp_path):
    assert weighted_run("runs/a") == (Path("runs/a"), 1.0)
    assert weighted_run("runs/a=0.25") == (Path("runs/a"), 0.25)
    odd = tmp_path / "lr=0.5"
    odd.mkdir()
    assert weighted_run(str(odd)) == (odd, 1.0)
    assert weighted_run(f"{odd}=2") == (odd, 2.0)
    for share in ("", "0", "-1", "inf", "nan", "half"):
        with pytest.raises(ConfigError, match="above 0"):
            weighted_run(f"runs/a={share}")


def test_gradients_are_clipped(tmp_path):
    learner = learner_at(tmp_path, replace(CONFIG, clip=0.01))
    metrics = learner.step(1)
    left = torch.cat([p.grad.flatten() for p in learner.model.parameters() if p.grad is not None])
    assert metrics["grad_norm"] > 0.02, "before clipping"
    assert float(left.norm()) == pytest.approx(0.01, rel=1e-3)


def test_averaged_weights_are_means_and_not_the_newest(tmp_path):
    learner = learner_at(tmp_path, replace(CONFIG, ema=0.9, lr=0.01, warmup=1))
    learner.batches = 100_000  # long ago: the decay is that of the settings
    before = [p.detach().clone() for p in learner.averaged.parameters()]
    learner.step(1)
    for old, new, mean in zip(before, learner.model.parameters(), learner.averaged.parameters(), strict=True):
        torch.testing.assert_close(mean, 0.9 * old + 0.1 * new.detach(), atol=1e-6, rtol=1e-4)
    assert not same_weights(learner.model, learner.averaged)


def test_the_bench_says_how_fast_the_learner_is(tmp_path):
    learner_at(tmp_path, games=4)
    config = LearnerConfig(net=NetConfig(kind="lines", blocks=1, channels=16), batch=8, window_min=10)
    said = learner_speed(config, tmp_path, "cpu", 0.2)
    found = re.fullmatch(
        r"learner of lines-1x16: (\d+) samples/s in batches of 8 \((\d+) a CPU second, \d+ s\)", said
    )
    assert found and int(found[1]) >= 8 and int(found[2]) >= 8
    assert not list(tmp_path.glob("checkpoints/*"))

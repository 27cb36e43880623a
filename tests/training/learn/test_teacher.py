"""A teacher: the mixed loss against its formula, a student that follows, what is refused."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.helpers.training_games import random_game
from training.data.replay_buffer import HostBatch
from training.data.shards import write_shard
from training.learn import checkpoint, losses
from training.learn.learner import Learner
from training.learn.teacher import Teacher
from training.net import trunk
from training.net.network import Heads
from training.selfplay import main
from training.settings.schema import LearnerConfig, NetConfig
from training.settings.values import ConfigError

TOWER = NetConfig(blocks=2, channels=16, policy_channels=8, value_channels=8, value_hidden=16)
LINES = replace(TOWER, kind="lines", line_hidden=16, policy_channels=16, value_channels=16)
CONFIG = LearnerConfig(
    net=TOWER, batch=16, schedule="constant", lr=4e-3, warmup=1, window_min=100, bf16=False, seed=3
)


def learner_at(run_dir: Path, config: LearnerConfig, sizes: tuple[int, ...] = (9, 7)) -> Learner:
    learner = Learner(config, run_dir, "cpu")
    if not list(learner.records_dir.iterdir()):
        games = [random_game(i, sizes[i % len(sizes)]) for i in range(8)]
        write_shard(learner.records_dir / "a.shard", games)
    learner.dataset.refresh()
    return learner


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose net has learned something."""
    run_dir = tmp_path_factory.mktemp("teacher")
    learner = learner_at(run_dir, CONFIG)
    learner.step(60)
    learner.save()
    return run_dir


def tensors(batch: HostBatch) -> tuple[torch.Tensor, losses.Targets]:
    arrays = (batch.policy, batch.reply, batch.z, batch.root_wdl)
    return torch.from_numpy(batch.planes), losses.Targets(*map(torch.from_numpy, arrays))


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max())
    return e / e.sum()


def cross_entropies(
    heads: Heads, batch: HostBatch, b: int, target: dict[str, np.ndarray]
) -> dict[str, float]:
    """Return each head's cross entropy for one position, in plain numpy, given its targets."""
    free = (batch.planes[b, 0] > 0) & (batch.planes[b, 1] + batch.planes[b, 2] == 0)
    free = free.ravel()
    out = {"wdl": -float(target["wdl"] @ np.log(softmax(heads.wdl[b].numpy())))}
    for name in ("policy", "soft", "reply"):
        p = softmax(getattr(heads, name)[b].numpy()[free])
        out[name] = -float(target[name][free] @ np.log(p))
    return out


@pytest.mark.parametrize("share", [0.0, 0.75, 1.0])
def test_the_loss_is_the_cross_entropy_with_mixed_targets(school, share):
    learner = learner_at(school, replace(CONFIG, seed=9))
    batch = learner.dataset.draw(np.random.default_rng(4), 12)
    batch.policy[0] = 0  # no search made a target here: only the teacher says something
    batch.reply[1] = 0
    planes, targets = tensors(batch)
    config = learner.config.loss
    with torch.no_grad():
        heads = learner.model.eval()(planes)
        taught = Heads(*(torch.randn_like(head) for head in heads))
        loss, parts = losses.compute(heads, planes, targets, config, taught, share)
        alone, records = losses.compute(heads, planes, targets, config)
    found: dict[str, list[float]] = {}
    for b in range(12):
        free = ((batch.planes[b, 0] > 0) & (batch.planes[b, 1] + batch.planes[b, 2] == 0)).ravel()
        said = {"wdl": softmax(taught.wdl[b].numpy())}
        for name in ("policy", "soft", "reply"):
            said[name] = np.zeros(free.size)
            said[name][free] = softmax(getattr(taught, name)[b].numpy()[free])
        for name, value in cross_entropies(heads, batch, b, said).items():
            found.setdefault(name, []).append(value)
    mean = {name: np.mean(values) for name, values in found.items()}
    teacher = mean["policy"] + config.value * mean["wdl"] + config.reply * mean["reply"]
    teacher += config.soft * mean["soft"]
    assert float(parts["teacher_loss"]) == pytest.approx(teacher, rel=1e-5)
    assert float(loss) == pytest.approx((1 - share) * float(alone) + share * teacher, rel=1e-5)
    assert float(parts["policy"]) == float(records["policy"]), "the figures of the records stay what they are"


@pytest.mark.parametrize("margin", [0, 1])
def test_a_line_net_teaches_by_the_passes_that_learn(tmp_path, margin):
    """And says the same as its modules, with any board and again with the memory of the board before."""
    config = replace(CONFIG, net=replace(LINES, margin=margin))
    learner = learner_at(tmp_path, config)
    learner.step(5)
    state = {"window": {"sizes": [[7, 7, 1, 0], [9, 9, 1, 0]]}}
    teacher = Teacher(tmp_path, copy.deepcopy(learner.model), state, torch.device("cpu"))
    if not trunk.able(config.net):
        pytest.skip("this processor has no passes")
    for seed in range(4):
        planes = torch.from_numpy(learner.dataset.draw(np.random.default_rng(seed), 6).planes)
        with torch.no_grad():
            expected = learner.model.eval()(planes)
        for said, by_modules in zip(teacher.predict(planes), expected, strict=True):
            torch.testing.assert_close(said, by_modules, rtol=1e-4, atol=1e-4)
            assert not said.requires_grad


def test_mixing_losses_is_mixing_targets(school):
    """Where every position has targets the two are one; the gradient too."""
    learner = learner_at(school, replace(CONFIG, seed=9))
    batch = learner.dataset.draw(np.random.default_rng(5), 16)
    planes, targets = tensors(batch)
    allowed = losses.playable(planes)[0]
    logits = torch.randn(16, batch.policy.shape[1])
    teacher = losses.log_policy(torch.randn_like(logits), allowed).exp()
    own = targets.policy / targets.policy.sum(1, keepdim=True).clamp_min(1e-9)
    rows = targets.policy.sum(1) > 0
    mixed = losses.policy_cross_entropy(logits[rows], (0.25 * own + 0.75 * teacher)[rows], allowed[rows])[0]
    parts = [losses.policy_cross_entropy(logits[rows], t[rows], allowed[rows])[0] for t in (own, teacher)]
    assert float(mixed) == pytest.approx(0.25 * float(parts[0]) + 0.75 * float(parts[1]), rel=1e-5)


@pytest.mark.parametrize("net", [TOWER, LINES])
def test_a_student_of_another_kind_follows_its_teacher(tmp_path, school, net):
    config = replace(CONFIG, net=net, teacher=str(school), teacher_share=1.0, seed=5, ema=0.9)
    learner = learner_at(tmp_path, config)
    first = learner.step(2)["teacher_kl"]
    learner.step(300)
    last = learner.step(5)["teacher_kl"]
    assert last < first / 5
    free = learner_at(tmp_path, replace(config, teacher=""))
    assert "teacher_kl" not in free.step(1)


def test_a_teacher_learns_nothing_and_is_in_no_checkpoint(tmp_path, school):
    learner = learner_at(tmp_path, replace(CONFIG, teacher=str(school)))
    teacher = learner._teacher
    assert isinstance(teacher, Teacher) and teacher.source.parent == school / "checkpoints"
    before = [value.clone() for value in teacher._net.state_dict().values()]
    learner.step(3)
    assert all(map(torch.equal, before, teacher._net.state_dict().values()))
    alone = learner_at(tmp_path / "alone", CONFIG)
    alone.step(3)
    assert learner.save().stat().st_size == pytest.approx(alone.save().stat().st_size, rel=0.02)
    assert learner_at(tmp_path, replace(CONFIG, teacher=str(teacher.source))).load()


def test_every_tensor_of_a_taught_batch_is_on_the_device_of_the_net(tmp_path, school):
    """On torch's device without data, which like a GPU takes no tensor from elsewhere."""
    learner = learner_at(tmp_path, replace(CONFIG, teacher=str(school)))
    teacher = learner._teacher
    assert teacher is not None
    learner.device = torch.device("meta")
    for net in (learner.model, learner.averaged, teacher._net):
        net.to("meta")
    learner.optimizer = torch.optim.AdamW(learner.model.parameters())
    learner.dataset._device = learner.device
    metrics = learner._batch(next(learner.dataset.batches(np.random.default_rng(1), 16, 1)))
    assert {"teacher_kl", "teacher_loss"} < set(metrics)
    assert {value.device.type for value in metrics.values()} == {"meta"}


def test_a_teacher_that_cannot_teach_is_refused(tmp_path, school, capsys):
    def error(teacher: Path) -> str:
        with pytest.raises(checkpoint.CheckpointError) as caught:
            learner_at(tmp_path / "student", replace(CONFIG, teacher=str(teacher)), (13,)).step(1)
        return str(caught.value)

    assert "neither a checkpoint nor a run" in error(tmp_path / "nowhere")
    good = checkpoint.list_checkpoints(school / "checkpoints")[-1]
    damaged = tmp_path / "step-000000001.ckpt"
    damaged.write_bytes(good.read_bytes()[:-5])
    assert f"{damaged}: checksum wrong" in error(damaged)
    old = checkpoint.write_checkpoint(
        tmp_path, 2, {**checkpoint.read_checkpoint(good), "feature_version": 0}, keep=9
    )
    assert f"{old}: made for feature version 0" in error(old)
    assert "has learned boards of 7 to 9 cells a side, the records have 13x13" in error(school)
    with pytest.raises(ConfigError, match=r"teacher_share must be 0 to 1, not 1\.5"):
        replace(CONFIG, teacher_share=1.5)
    run = ["--run-dir", str(tmp_path / "run"), "--preset", "smoke", "--device", "cpu"]
    assert main([*run, "--set", f"learner.teacher={tmp_path / 'nowhere'}"]) == 1
    assert "neither a checkpoint nor a run" in capsys.readouterr().err
    assert not (tmp_path / "run").exists(), "so the setting is not kept"

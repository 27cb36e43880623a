"""Processes that learn one net: what one learns alone, by command, and the end of one of them."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.helpers.training_games import random_game
from training.data.encoded import encode
from training.data.shards import write_shard
from training.learn import checkpoint
from training.learn.data_parallel import Group, start_workers
from training.learn.encoded_dataset import EncodedDataset
from training.learn.learner import Learner
from training.offline import main
from training.settings.schema import LearnerConfig, LossConfig, NetConfig

NET = NetConfig(kind="lines", blocks=2, channels=16, policy_channels=16, value_channels=16, value_hidden=16)
CONFIG = LearnerConfig(
    net=NET, batch=16, schedule="constant", lr=4e-3, warmup=1, bf16=False, seed=3, fast_weight=0.5
)
SMALL = [
    *("--set", "learner.net.blocks=1", "--set", "learner.net.channels=16", "--set", "learner.batch=8"),
    *("--set", "learner.net.policy_channels=16", "--device", "cpu"),
]


def learner_of(folder: Path, config: LearnerConfig, run_dir: Path) -> Learner:
    return Learner(config, run_dir, "cpu", dataset=EncodedDataset([folder], config, torch.device("cpu")))


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "records").mkdir()
    write_shard(tmp_path / "records" / "a.shard", [random_game(i, 9) for i in range(8)])
    encode([tmp_path / "records"], tmp_path / "set", 1)
    return tmp_path / "set"


def test_processes_learn_what_one_learns_alone(folder, tmp_path):
    config = replace(CONFIG, freeze_norm=0.0, threads=1, fast_weight=0.0, loss=LossConfig(reply=0.0))
    alone = learner_of(folder, config, tmp_path / "one")
    alone.save()
    group = Group(2, alone.model)
    learners = []
    for rank in range(2):
        learner = learner_of(folder, config, tmp_path / "one")
        assert learner.load()
        own = copy.copy(group)
        own.rank = rank
        learner.join(own)
        learners.append(learner)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda learner: learner.step(1)["batches"], learners)) == [1, 1]
    alone.step(1)
    first, second = (list(learner.model.parameters()) for learner in learners)
    for mine, a, b in zip(alone.model.parameters(), first, second, strict=True):
        assert torch.equal(a, b)
        assert (a.grad - mine.grad).norm() < 1e-4 * mine.grad.norm()
    assert [learner.samples for learner in learners] == [16, 16]


def test_two_processes_by_command(folder, tmp_path, capsys):
    learn = ["learn", "--positions", str(folder), *SMALL, "--run-dir", str(tmp_path / "r"), "--no-export"]
    learn += ["--set", "learner.net.kind=lines", "--minutes", "0.02", "--processes", "2"]
    assert main(learn) == 0
    path, state = checkpoint.newest_good(tmp_path / "r" / "checkpoints", print)
    assert state["progress"] == 1.0 and state["samples"] == 8 * state["batches"] > 0
    assert main(learn) == 0 and checkpoint.newest_good(path.parent, print)[1]["batches"] == state["batches"]
    assert main([*learn, "--processes", "-1"]) == 2
    assert "--processes is at least 0" in capsys.readouterr().err


def test_a_process_that_ends_is_an_error_and_not_a_wait(folder, tmp_path):
    learner = learner_of(folder, CONFIG, tmp_path / "r")
    learner.save()
    group = Group(2, learner.model)
    learner.join(group)
    with (
        pytest.raises(RuntimeError, match="has ended"),
        # the other process finds no positions
        start_workers(group, CONFIG, tmp_path / "r", [tmp_path / "nothing"], 4),
    ):
        group.broadcast(0.0)
        learner.step(4)
    with pytest.raises(ValueError, match="cannot share"):
        learner_of(folder, replace(CONFIG, batch=15), tmp_path / "r").join(group)

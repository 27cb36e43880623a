"""What the tests of learning share: a small learner with games."""

from __future__ import annotations

import torch

from tests.helpers.training_games import random_game
from training.data.shards import write_shard
from training.learn.learner import Learner
from training.settings.schema import LearnerConfig, NetConfig

NET = NetConfig(blocks=2, channels=16, policy_channels=8, value_channels=8, value_hidden=16)
CONFIG = LearnerConfig(net=NET, batch=16, warmup=5, window_min=100, bf16=False, seed=3)


def learner_at(run_dir, config: LearnerConfig = CONFIG, games: int = 8) -> Learner:
    learner = Learner(config, run_dir, "cpu")
    if games and not list(learner.records_dir.iterdir()):
        write_shard(learner.records_dir / "a.shard", [random_game(i, (9, 7)[i % 2]) for i in range(games)])
    learner.dataset.refresh()
    return learner


def same_weights(a: torch.nn.Module, b: torch.nn.Module) -> bool:
    return all(
        torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    )

"""Learning takes the steps that it took in 0.1.0: the same losses from the same games, recipe by recipe.

`python -m tests.compatibility.test_golden_learning` prints the table below anew.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.helpers.training_games import random_game
from training.data.encoded import encode
from training.data.replay_buffer import ReplayBuffer
from training.data.shards import write_shard
from training.learn.encoded_dataset import EncodedDataset
from training.learn.learner import Learner
from training.settings.recipes import preset
from training.settings.resolve import make_config

BATCHES, EVERY = 200, 40
SMALL = [
    "learner.net.blocks=1", "learner.net.channels=8", "learner.net.line_hidden=8", "learner.batch=8",
    "learner.net.policy_channels=4", "learner.net.value_channels=4", "learner.net.value_hidden=8",
    "learner.net.margin=0", "learner.window_min=100",
    "learner.teacher=", "learner.reuse=100",
]  # fmt: skip
LOSSES: dict[str, list[float]] = {
    "laptop": [8.421384, 8.429864, 8.228968, 8.310942, 8.191726],
    "gpu": [8.092499, 7.985631, 7.766921, 7.863895, 7.720038],
    "zero7-4x64": [8.778425, 8.418573, 8.428584, 8.327061, 8.305894],
    "laptop/offline": [8.510958, 8.451933, 8.527621, 8.232762, 8.290618],
}
"""Mean loss of each 40 batches."""


def losses(name: str, folder: Path) -> list[float]:
    """Learn `BATCHES` batches as a recipe says, but with a small net; return the means of the loss."""
    recipe, _, offline = name.partition("/")
    config = replace(make_config(preset(recipe).settings, SMALL).learner, bf16=False)
    records = folder / "records"
    if not records.exists():
        records.mkdir()
        games = [random_game(i, 6 + i % 2, rule=(0, 1, 4)[i % 3]) for i in range(24)]
        write_shard(records / "000001-00.shard", games)
    positions = [folder / "set"] if offline else []
    if offline and not positions[0].exists():
        encode([records], positions[0], 1, lambda line: None)
    cpu = torch.device("cpu")
    buffer = ReplayBuffer(records, config)
    buffer.refresh()
    dataset = EncodedDataset(positions, config, cpu) if positions else buffer
    learner = Learner(config, folder, "cpu", print, dataset)
    found = []
    for done in range(0, BATCHES, EVERY):
        learner.progress = done / BATCHES
        found.append(round(learner.step(EVERY)["loss"], 6))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("golden")


@pytest.mark.parametrize("name", LOSSES)
def test_a_recipe_learns_as_it_did(name, folder):
    assert losses(name, folder) == pytest.approx(LOSSES[name], rel=2e-3)


if __name__ == "__main__":
    names = sys.argv[1:] or list(LOSSES)
    with tempfile.TemporaryDirectory() as home:
        for name in names:
            print(f'    "{name}": {losses(name, Path(home))},')

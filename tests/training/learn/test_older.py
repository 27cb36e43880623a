"""What was learned for older planes: weights to begin with, no run to go on with."""

from dataclasses import replace

import pytest
import torch

from engine.encoding import FEATURE_VERSION, N_PLANES, PLANES_OF
from tests.helpers.learner import CONFIG, NET, learner_at
from tests.helpers.training_games import random_planes
from training.learn import checkpoint
from training.learn.averaged import load_averaged
from training.learn.learner import Learner


@pytest.mark.parametrize("kind", ["tower", "lines"])
def test_weights_for_older_planes_are_adopted_but_their_run_does_not_go_on(tmp_path, kind):
    config = replace(CONFIG, net=replace(NET, kind=kind, line_hidden=16))
    there, old = learner_at(tmp_path / "there", config), list(PLANES_OF[1])
    planes = torch.from_numpy(random_planes(1, 6, 9))
    there.step(2)
    name = "stem.planes.weight" if kind == "lines" else "stem.weight"
    new = [plane for plane in range(N_PLANES) if plane not in old]
    for net in (there.model, there.averaged):
        net.state_dict()[name][:, new] = 0  # as if the net had never seen them
    path = there.save()
    state = {**checkpoint.read_checkpoint(path), "feature_version": 1}
    for part in ("model", "averaged"):
        state[part] = {**state[part], name: state[part][name][:, old]}
    checkpoint.write_checkpoint(path.parent, there.batches, state, keep=1)

    averaged, _ = load_averaged(path)
    here = learner_at(tmp_path / "here", config)
    here.adopt({path: 1.0})
    with torch.no_grad():
        expected = there.averaged.eval()(planes)
        for net in (averaged, here.averaged.eval()):
            for one, other in zip(net(planes), expected, strict=True):
                torch.testing.assert_close(one, other)
    with pytest.raises(checkpoint.CheckpointError, match=f"version 1, this program has {FEATURE_VERSION}"):
        Learner(config, tmp_path / "there", "cpu").load()

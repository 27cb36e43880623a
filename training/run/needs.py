"""What a run must have before it starts, so that a start is refused before anything is written."""

from __future__ import annotations

from pathlib import Path

from training.data.shards import list_shards
from training.play.evaluators import UNIFORM
from training.run.state import State
from training.settings.schema import RunConfig
from training.settings.values import ConfigError

NO_RECORDS = "a run that begins with weights or pretrain_samples needs records: see --records"
NO_BEST = (
    "self_play_net is best, but no net of this run was promoted yet: use --set self_play_net=latest until "
    "one is (evaluation.every_minutes: how often to try)"
)


def check_needs(
    config: RunConfig, state: State, run_dir: Path, weights: bool, records: bool, best: bool
) -> None:
    """Refuse settings that ask for what a run does not have.

    Args:
        config: of the run.
        state: of the run.
        run_dir: of the run.
        weights: whether it begins with weights of other runs.
        records: whether it begins with records of other runs.
        best: whether it has a promoted net.

    Raises:
        ConfigError: there are no records to learn from, or no net to play with.
    """
    folder = run_dir / "records"
    there = records or list_shards(folder) or any(folder.glob("*.journal"))
    if (weights or config.pretrain_samples) and not state.pretrained and not there:
        raise ConfigError(NO_RECORDS)
    if config.self_play_net == "best" and state.cycle and state.net != UNIFORM and not best:
        raise ConfigError(NO_BEST)

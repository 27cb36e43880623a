"""What a run remembers between its parts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from training.play.evaluators import UNIFORM
from training.settings.schema import RunConfig


@dataclass(slots=True)
class State:
    """What a run remembers besides weights and records."""

    cycle: int = 0
    games: int = 0
    positions: int = 0
    elapsed_s: float = 0.0
    measured_s: float = 0.0
    net: str = UNIFORM
    pretrained: bool = False
    measured: list[str] = field(default_factory=list)


def read_state(run_dir: Path) -> State | None:
    """Return what a run remembers, None for a run without a past."""
    path = run_dir / "state.json"
    return State(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def has_played_enough(config: RunConfig, positions: int, elapsed_s: float) -> bool:
    """Return whether a run has come to the end that its settings name, by time or by positions."""
    late = bool(config.minutes) and elapsed_s >= 60 * config.minutes
    full = bool(config.total_positions) and positions >= config.total_positions
    return late or full


def is_over(config: RunConfig, state: State) -> bool:
    """Return whether a run that is not being trained has nothing left to do."""
    learned = state.pretrained or not config.pretrain_samples
    return learned and has_played_enough(config, state.positions, state.elapsed_s)

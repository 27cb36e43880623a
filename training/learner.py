"""The learner: games in, better weights out.

It reads the shards under `run_dir/records`, keeps a window of positions for each board size, takes batches
as long as bounded reuse allows, and writes checkpoints under `run_dir/checkpoints`.
"""

from __future__ import annotations

from pathlib import Path

from training.config import LearnerConfig


class Learner:
    """Trains one net on the records of a run."""

    def __init__(self, config: LearnerConfig, run_dir: Path, device: str = "auto") -> None:
        raise NotImplementedError

    def refresh(self) -> int:
        """Read shards that are new under `run_dir/records`; return the number of positions added."""
        raise NotImplementedError

    def allowance(self) -> int:
        """Return how many batches the positions seen so far allow in addition to those already taken."""
        raise NotImplementedError

    def step(self, batches: int = 1) -> dict[str, float]:
        """Take batches and return their mean metrics."""
        raise NotImplementedError

    def save(self) -> Path:
        """Write a checkpoint atomically and return its path."""
        raise NotImplementedError

    def load(self) -> bool:
        """Continue from the newest good checkpoint; False when there is none."""
        raise NotImplementedError

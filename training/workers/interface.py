"""The interface between a run and what plays for it: processes of this machine, or of many.

The loop asks for positions, for matches, for an end, and for nothing else. `LocalBackend` is the machine that
the run is on; `training.cluster` is the other implementation.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from training.measure.batched_match import MatchScore, MatchSpec
from training.play.game import Counters
from training.settings.play import Mix
from training.settings.schema import RunConfig
from training.settings.values import ConfigError


class WorkerError(RuntimeError):
    """Nobody can play, or a worker failed; the message says why."""


@dataclass(frozen=True, slots=True)
class CycleOrder:
    """What a cycle is to play.

    Attributes:
        cycle: names the shards.
        net: file or name of the evaluator.
        mix: boards and rules.
        positions: to search, by all workers together.
    """

    cycle: int
    net: str
    mix: Mix
    positions: int


class WorkerPool(Protocol):
    """Play what a run orders; finished games are in its `records` when `play` returns."""

    def plan(self, order: CycleOrder) -> None:
        """Tell what a cycle is to play before `play` asks for it, behind those that were planned before.

        Workers without work begin with it, while the run learns; `play` then waits for that. They may also
        take no notice.
        """

    def play(
        self, order: CycleOrder, on_progress: Callable[[int, int], None], stopped: Callable[[], bool]
    ) -> tuple[Counters, float, float]:
        """Wait until a cycle is played, as it was planned, or as it is told here if it was not.

        Args:
            order: what is to be played.
            on_progress: called with games and positions of this cycle so far.
            stopped: asked now and then; when true the players finish early (and cannot be used again).

        Returns:
            What was done, the seconds it took, the CPU seconds of all players.

        Raises:
            WorkerError: nobody can play, or games cannot be kept.
        """

    def poll(self) -> None:
        """Look after the players, now and then while the run does something else."""

    def play_match(self, spec: MatchSpec, stopped: Callable[[], bool]) -> MatchScore:
        """Play a match and return its whole result; with `stopped` it is cut short."""

    def metrics(self) -> dict[str, float]:
        """Return what is to be logged about the last `play`, besides what it counted."""

    def close(self) -> Counters:
        """End whatever plays and return what no `play` has told of; finished games are kept."""


SILENCE_S = 120.0
"""A worker that says nothing for so long is started again (*derived*: ten times the start of torch on a busy
machine of two cores; workers speak once a second, unless one step of their games takes longer)."""


@dataclass(frozen=True, slots=True)
class PoolConfig:
    """What players are told when a run takes them on.

    Attributes:
        run_dir: of the run; `records` exists.
        config: of the run.
        seed: of all games; each player derives its own.
        device: "cpu" or "cuda", for the nets of self-play.
        workers: processes that this machine would start.
        report: gets a line about whatever goes wrong and is mended.
        silence_s: a worker that says nothing for so long is started again.
    """

    run_dir: Path
    config: RunConfig
    seed: int
    device: str
    workers: int
    report: Callable[[str], None]
    silence_s: float = SILENCE_S


class Backend(Protocol):
    """Where games are played.

    Attributes:
        pauses: whether its games pause while this machine is timed.
    """

    pauses: bool

    def device(self, learner: str) -> str:
        """Return the device that nets play on, for a learner on this one."""

    def open(self, pool: PoolConfig) -> WorkerPool:
        """Take players on."""


RAY_COMMAND = f'{sys.executable} -m pip install "ray>=2.40"'
"""What installs Ray where this program runs. (The name "tengen" on PyPI is another program.)"""


def require_ray() -> None:
    """Refuse to go on without Ray.

    Raises:
        ConfigError: it is not installed.
    """
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(f"--ray needs Ray, which is not installed: {RAY_COMMAND}")

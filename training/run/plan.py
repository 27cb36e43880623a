"""What one call of `training.selfplay` has to do: a run, and before it those that its recipe builds on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from training.data.imports import import_shards, newest_shards
from training.learn.checkpoint import CheckpointError, find_checkpoint, list_checkpoints
from training.play.evaluators import UNIFORM
from training.run.bundle import is_bundle
from training.run.state import is_over, read_state
from training.settings.recipes import BEFORE, Recipe, earlier
from training.settings.resolve import make_config, read_stored
from training.settings.schema import RunConfig
from training.settings.values import ConfigError


@dataclass(frozen=True, slots=True)
class Plan:
    """One run.

    Attributes:
        run_dir: of the run.
        source: name of the preset, or of the recipe's file, that it is started with.
        config: its settings.
        weights: folders of runs, or checkpoints, whose weights it begins with, and their shares.
        records: `records` folders of runs whose games it begins with, the oldest first.
        records_positions: about so many of the newest of these; 0: all.
    """

    run_dir: Path
    source: str
    config: RunConfig
    weights: Mapping[Path, float] = field(default_factory=dict)
    records: Sequence[Path] = ()
    records_positions: int = 0

    def checkpoints(self, report: Callable[[str], None] = print) -> dict[Path, float]:
        """Return the checkpoints that `weights` names, those of runs the newest good ones, and their shares.

        Args:
            report: gets a line for each newer one that is damaged.

        Raises:
            ConfigError: a run has none, or it is a bundle.
        """
        found: dict[Path, float] = {}
        for place, share in self.weights.items():
            if is_bundle(place):
                raise ConfigError(f"{place} is a bundle: `training.bundle unpack` makes a run of it")
            try:
                newest = find_checkpoint(place, report)
            except CheckpointError as error:
                raise ConfigError(f"{error}: nothing to begin with") from error
            found[newest] = found.get(newest, 0.0) + share
        return found

    def check_records(self) -> None:
        """Look at what `take_records` would copy, without copying.

        Raises:
            RecordError: see `take_records`.
        """
        newest_shards(self.records, self.records_positions)

    def nothing_to_do(self) -> str:
        """Return why the run has nothing left to do; empty where it has something, if only a measurement."""
        state, stored = read_state(self.run_dir), read_stored(self.run_dir / "config.json")
        if state is None or stored is None or not is_over(self.config, state):
            return ""
        newest = state.net.partition(".")[0]
        if make_config(stored[1]) == self.config and state.net != UNIFORM and newest not in state.measured:
            return ""  # it was killed before its last net was measured
        limits = []
        if self.config.minutes:
            limits.append(f"minutes={self.config.minutes:g}, which counts all its parts")
        if self.config.total_positions:
            limits.append(f"total_positions={self.config.total_positions}")
        way_on = "--more-minutes N goes on for N minutes from here"
        if 0 < self.config.total_positions <= state.positions:
            way_on = "--set total_positions=N with a larger N goes on"
        return (
            f"{self.run_dir} has {state.elapsed_s / 60:.1f} minutes of training and {state.positions:,} "
            f"positions behind it, so that {' and '.join(limits)} leaves nothing to do; {way_on}"
        )

    def take_records(self) -> int:
        """Copy the games of `records` into the run's own; return the positions from elsewhere that it has.

        Raises:
            RecordError: see `newest_shards`.
        """
        own = self.run_dir / "records"
        own.mkdir(parents=True, exist_ok=True)
        return import_shards(self.records, own, self.records_positions)


def plan_run(
    recipe: Recipe, run_dir: Path, overrides: Sequence[str] = (), shared: Sequence[str] = (),
    report: Callable[[str], None] | None = None,
) -> list[Plan]:
    """Return what is left to do until a run of a recipe is over: the run, behind those that it builds on.

    A run that exists continues its stored settings. The runs that a recipe builds on are in `run_dir` with
    `BEFORE` behind its name, each under the name of its recipe. They are left out when they are over, and all
    of them when the run has a checkpoint already.

    Args:
        recipe: of the run.
        run_dir: of the run.
        overrides: `key=value` texts for the run.
        shared: the same for every run, such as those that describe the machine.
        report: gets a line about each setting of older releases that is ignored.

    Raises:
        ConfigError: see `earlier`, `make_config` and `read_stored`.
    """
    folder = run_dir.with_name(run_dir.name + BEFORE)
    begun = bool(list_checkpoints(run_dir / "checkpoints"))
    plans = []
    for one in [] if begun else earlier(recipe):
        plan = _plan(one, folder / one.name, folder, f"{one.name}.toml", shared, report)
        state = read_state(plan.run_dir)
        if state is None or not is_over(plan.config, state):
            plans.append(plan)
    own = recipe if not begun else Recipe(recipe.path, recipe.settings)
    return [*plans, _plan(own, run_dir, folder, recipe.source, [*shared, *overrides], report)]


def _plan(
    recipe: Recipe, run_dir: Path, folder: Path, source: str, overrides: Sequence[str],
    report: Callable[[str], None] | None,
) -> Plan:  # fmt: skip
    stored = read_stored(run_dir / "config.json")
    return Plan(
        run_dir,
        source,
        make_config(stored[1] if stored else recipe.settings, overrides, report),
        {folder / path.stem: share for path, share in recipe.weights().items()},
        [folder / path.stem / "records" for path in recipe.records()],
        recipe.start.records_positions,
    )

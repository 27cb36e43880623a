"""Train a net from zero by self-play: the whole loop in one command.

    python -m training.selfplay --run-dir runs/mine --preset laptop --minutes 60

Ctrl-C finishes cleanly; the same command continues a run. Settings of a run that exists are those it was
started with, changed by --set. A recipe is a file of settings (training/recipes has those of the presets);
where it builds on other runs, these are made first, next to the run. `--bench` measures the speed of
self-play and of the learner instead.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from training.files import console
from training.files.lock import DirectoryLock, LockError
from training.settings.recipes import BEFORE, Recipe, preset, preset_names, read_recipe
from training.settings.resolve import make_config, read_start, read_stored, store_config
from training.settings.schema import RunConfig, StartConfig
from training.settings.values import ConfigError, describe, to_mapping, weighted_runs

if TYPE_CHECKING:
    from training.run.plan import Plan
    from training.workers.interface import Backend


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = console.parser(
        "training.selfplay",
        __doc__,
        epilog=f"Settings of --set, as in learner.net.blocks=8, and their meaning:\n\n{describe(RunConfig)}",
    )
    parser.add_argument("--run-dir", type=Path, default=Path("runs/default"), help="folder (runs/default)")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--preset", choices=preset_names(), help="recipe of a new run by name (laptop)")
    source.add_argument("--config", type=Path, metavar="FILE", help="recipe of a new run as a TOML file")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, help="length of the run, resumed parts together; 0: no end")
    length.add_argument(
        "--more-minutes", type=float, metavar="N",
        help="end N minutes from what the run has behind it; the plain command then goes on to that end",
    )  # fmt: skip
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), help="of self-play and learner")
    parser.add_argument("--workers", type=int, help="self-play processes; 0: one a core")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting (repeatable)"
    )
    parser.add_argument(
        "--records",
        type=Path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="begin with the records of another run (repeatable, oldest first); see pretrain_samples",
    )
    parser.add_argument(
        "--records-positions",
        type=int,
        default=0,
        metavar="N",
        help="take only about the newest N positions of --records (all)",
    )
    parser.add_argument(
        "--weights",
        metavar="RUN[=SHARE]",
        action="append",
        default=[],
        help="begin with the weights of another run, or of a checkpoint, whose net has as many blocks or "
        "fewer; with --records; repeatable: the mean of runs that began with one another's weights",
    )
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="play on the machines of a Ray cluster: auto, or HOST:PORT of its head; this machine learns",
    )
    parser.add_argument("--show-config", action="store_true", help="print the resolved settings and stop")
    parser.add_argument("--bench", action="store_true", help="measure self-play and the learner and stop")
    parser.add_argument("--net", action="append", default=[], help="net file for --bench (repeatable)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement of --bench (20)")
    return parser.parse_args(argv)


def _recipe(args: argparse.Namespace) -> Recipe:
    """Return the recipe that the arguments name, or that the run was started with."""
    stored = None if args.bench else read_stored(args.run_dir / "config.json")
    before = args.run_dir.with_name(args.run_dir.name + BEFORE)
    if stored is None and before.exists() and not (args.config or args.preset or args.bench):
        raise ConfigError(f"{before} has runs that a recipe builds on: name it again (--config, --preset)")
    if args.config or args.preset or stored is None:
        recipe = read_recipe(args.config) if args.config else preset(args.preset or "laptop")
        if stored and stored[0] != recipe.source:
            raise ConfigError(
                f"{args.run_dir} was started with {stored[0]}; leave --preset and --config away"
            )
        return recipe
    return preset(stored[0]) if stored[0] in preset_names() else Recipe(Path(stored[0]), stored[1])


def _overrides(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return the `key=value` texts for the run itself, and those for every run that is made."""
    given = {name: getattr(args, name) for name in ("minutes", "device", "workers")}
    if args.more_minutes is not None:
        if not 0 < args.more_minutes < math.inf:
            raise ConfigError(f"--more-minutes must be a number above 0, not {args.more_minutes:g}")
        from training.run.state import State, read_state

        state = read_state(args.run_dir) or State()
        given["minutes"] = round(state.elapsed_s / 60 + args.more_minutes, 3)
    texts = {name: f"{name}={value}" for name, value in given.items() if value is not None}
    return [*args.set, *texts.values()], [text for name, text in texts.items() if name != "minutes"]


def _report(line: str) -> None:
    print(line, file=sys.stderr)


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 0, or 2 for a usage error, or 1 for a failure."""
    args = _arguments(argv)
    try:
        recipe = _recipe(args)
        if args.show_config or args.bench:
            stored = None if args.bench else read_stored(args.run_dir / "config.json")
            config = make_config(stored[1] if stored else recipe.settings, _overrides(args)[0], _report)
            if args.show_config:
                print(json.dumps(to_mapping(config), indent=1))
                return 0
            from training.workers.bench import bench

            return bench(config, args.net, args.seconds)
        return _train(args, recipe)
    except (ValueError, RuntimeError, OSError, FloatingPointError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, (ConfigError, LockError)) else 1


def _start(args: argparse.Namespace, recipe: Recipe) -> str:
    """Return the options that name what the run begins with from other runs; empty without any.

    Raises:
        ConfigError: the run was stopped before a checkpoint of its own held that, and it is not named again.
    """
    from training.learn.checkpoint import list_checkpoints

    folders = (("--weights", args.weights), ("--records", args.records))
    given = " and ".join(name for name, values in folders if values)
    if not given and recipe.start != StartConfig():
        given = "--preset" if recipe.source in preset_names() else "--config"
    wanted = read_start(args.run_dir / "config.json")
    if wanted and given != wanted and not list_checkpoints(args.run_dir / "checkpoints"):
        raise ConfigError(
            f"{args.run_dir} was stopped before its first checkpoint, so that nothing is left of what it "
            f"began with: give {wanted} as when it was started"
        )
    return given


def reach(address: str) -> Backend:
    """Return the cluster of Ray at an address.

    Raises:
        ConfigError: Ray is not installed.
        ClusterError: there is no cluster.
    """
    from training.workers.interface import require_ray

    require_ray()
    from training.cluster.pool import Cluster

    return Cluster(address)


def _train(args: argparse.Namespace, recipe: Recipe) -> int:
    from training.learn.checkpoint import find_checkpoint
    from training.net.network import choose_device
    from training.run.plan import plan_run
    from training.run.stopping import stop_wish

    if args.weights or args.records:  # in place of what the recipe would begin with
        recipe = dataclasses.replace(recipe, start=StartConfig())
    start = _start(args, recipe)
    own, shared = _overrides(args)
    *before, last = plan_run(recipe, args.run_dir, own, shared, _report)
    if nothing := last.nothing_to_do():
        raise ConfigError(nothing)
    if args.weights or args.records:
        last = dataclasses.replace(
            last, weights=weighted_runs(args.weights), records=args.records,
            records_positions=args.records_positions,
        )  # fmt: skip
        last.checkpoints(lambda line: None)  # refuse a run without one before anything is written
    choose_device(last.config.device)  # and a missing GPU
    if last.config.learner.teacher:
        find_checkpoint(Path(last.config.learner.teacher), lambda line: None)  # and a missing teacher
    backend = reach(args.ray) if args.ray else None  # and a cluster that is not there
    with stop_wish() as stopped:
        _run_plans([*before, last], start, backend, stopped)
    return 0


@contextlib.contextmanager
def _entered(run_dir: Path) -> Iterator[DirectoryLock]:
    """Lock a run directory, made when missing; where what follows is refused, it is as it was before."""
    new = not run_dir.exists()
    run_dir.mkdir(parents=True, exist_ok=True)
    path = run_dir / "lock"
    lock = DirectoryLock(path)
    try:
        yield lock
    except BaseException:
        if new:
            path.unlink(missing_ok=True)
            for folder in (run_dir / "records", run_dir):
                with contextlib.suppress(OSError):  # not there, or something is in it
                    folder.rmdir()
        raise


def _run_plans(
    plans: Sequence[Plan], start: str, backend: Backend | None, stopped: Callable[[], bool]
) -> None:
    """Make runs one after another, the last one the run itself, until it is over or stopped."""
    from training.loop import Run
    from training.run.display import Display

    display = Display()
    for plan in plans:
        weights = plan.checkpoints()
        plan.check_records()
        with _entered(plan.run_dir) as lock:
            run = Run(plan.config, plan.run_dir, stopped, display, weights, backend, bool(plan.records))
        # Nothing refuses this start any more: from here on the directory changes.
        stored = plan.run_dir / "config.json"
        named = start if plan is plans[-1] else "--config"
        store_config(stored, plan.source, plan.config, named if plan.weights or plan.records else "")
        if plan.records:
            positions = plan.take_records()
            store_config(stored, plan.source, plan.config, named if plan.weights else "")
            print(f"{positions} positions of {', '.join(map(str, plan.records))} are in the run's records")
        run.run()
        word = "stopped" if stopped() else "finished"
        display.say(f"{word} after {run.elapsed_s() / 60:.1f} minutes of training; run: {plan.run_dir}")
        del lock
        if stopped():
            break


if __name__ == "__main__":
    sys.exit(console.run(main))

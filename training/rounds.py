"""Play games from level openings and learn from their results: one round by one command.

    python -m training.rounds --run-dir runs/round1 --weights training/checkpoints/r23-4x64.zip
    python -m training.rounds --run-dir runs/round2 --weights runs/round1 --also runs/round1 \\
        --net runs/round1/nets/round1.fp32.onnx

A recipe (`training/recipes/rounds`, or a file) says which games; both players are the same net with another
setting of the search. Each step is a command of its own and is shown before it runs:

    training.balance            openings that are level, for each board and rule
    training.match              the games
    training.from_games         records with the results of the games
    training.offline encode     the positions as a net sees them
    training.offline label      what a teacher, the net of `--weights`, says of them
    training.offline learn      the net of `--weights` learns both, and is exported to RUN/nets

Stopped by Ctrl-C, the same command continues; steps that are done are not repeated. Games, records and
positions are in RUN/round, and `--also` adds the positions of an earlier round.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.limits import BrainLimits
from engine.cores import usable_cores
from engine.errors import EngineError
from engine.rules.rule import rule_from_text
from training import balance, bundle, from_games, match, offline
from training.files import console
from training.files.atomic import write_atomically
from training.files.foreign import read_table
from training.files.lock import DirectoryLock, LockError
from training.measure.balance import Balancer
from training.measure.players import EnginePlayer
from training.run import bundle as bundle_file
from training.settings.recipes import preset
from training.settings.resolve import make_config
from training.settings.round_recipe import GameSet, RoundRecipe, read_round_recipe, round_recipe_names
from training.settings.schema import NetConfig
from training.settings.values import ConfigError

_FOLDER = "round"
_DONE = "steps.json"
_SMALL = 15  # cells a side; below, `--small-teacher` labels


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a round.

    Attributes:
        module: whose `main` runs.
        arguments: of it.
        processes: arguments that change the time it takes alone.
        makes: folder that an attempt which was stopped leaves in pieces; removed before another one.
    """

    module: str
    arguments: tuple[str, ...]
    processes: tuple[str, ...] = ()
    makes: Path | None = None

    @property
    def key(self) -> str:
        """What it does, in one line."""
        return shlex.join([self.module, *self.arguments])

    @property
    def text(self) -> str:
        """The command as one line of a shell."""
        return f"python -m {shlex.join([self.module, *self.arguments, *self.processes])}"


_MAINS: dict[str, Callable[[list[str]], int]] = {
    "training.balance": balance.main,
    "training.bundle": bundle.main,
    "training.match": match.main,
    "training.from_games": from_games.main,
    "training.offline": offline.main,
}


def steps(recipe: RoundRecipe, args: argparse.Namespace) -> Iterator[Step]:
    """Yield the steps of a round in order.

    Args:
        recipe: the games, and how to learn.
        args: of the command.
    """
    work = args.run_dir / _FOLDER
    weights = args.weights
    if bundle_file.is_bundle(weights):
        weights = work / "weights"
        yield Step("training.bundle", ("unpack", str(args.weights), str(weights)), makes=weights)
    for name, games in recipe.games.items():
        yield from _play(recipe, name, games, work, args)
    positions = [folder for run in args.also for folder in round_positions(run)]
    teacher = args.teacher or weights
    for part, labels in (("", teacher), ("-small", args.small_teacher or teacher)):
        played = [
            str(work / f"{name}.games.jsonl")
            for name, games in recipe.games.items()
            if (games.size < _SMALL) == bool(part)
        ]
        if not played:
            continue
        records, encoded = work / f"records{part}", work / f"positions{part}"
        yield Step("training.from_games", (*played, "--out", str(records)), makes=records)
        encode = "encode", "--records", str(records), "--positions", str(encoded)
        yield Step("training.offline", encode, makes=encoded)
        yield Step("training.offline", ("label", "--positions", str(encoded), "--teacher", str(labels)))
        positions.append(encoded)
    learn = ["learn", "--run-dir", str(args.run_dir), "--preset", recipe.learn.preset]
    learn += ["--passes", f"{recipe.learn.passes:g}", "--weights", str(weights)]
    for folder in positions:
        learn += ["--positions", str(folder)]
    for setting in recipe.learn.set:
        learn += ["--set", setting]
    yield Step("training.offline", tuple(learn))


def _play(
    recipe: RoundRecipe, name: str, games: GameSet, work: Path, args: argparse.Namespace
) -> Iterator[Step]:
    openings, workers = work / f"{name}.txt", str(args.workers)
    board = ("--size", str(games.size), "--rule", str(int(rule_from_text(games.rule))))
    make = (
        "--out", str(openings), "--count", str(games.pairs), "--stones", games.stones,
        "--spread", str(games.spread), "--simulations", str(recipe.opening_simulations),
        "--most", f"{recipe.most:g}", *board, "--seed", str(recipe.seed), "--net", args.net,
    )  # fmt: skip
    yield Step("training.balance", make, ("--workers", workers))
    player = f"engine:net={args.net},nodes={recipe.simulations}"
    play = (
        "--a", player, "--b", f"{player},{recipe.other}", "--names", "one,other", "--openings", str(openings),
        *board, "--games", str(2 * games.pairs), "--json", str(work / f"{name}.json"), "--quiet",
    )  # fmt: skip
    yield Step("training.match", play, ("--concurrency", workers))


def check(plan: Sequence[Step], recipe: RoundRecipe, args: argparse.Namespace) -> None:
    """Find before the games what would stop a round after hours.

    Raises:
        ValueError: weights or a teacher are missing, a setting of the learning or of an opening is wrong.
        EngineError: a net or a setting of a player is wrong.
    """
    config = make_config(preset(recipe.learn.preset).settings, recipe.learn.set)
    _check_nets(recipe, args, config.learner.net)
    if not recipe.learn.passes > 0:
        raise ConfigError(f"learn.passes must be above 0, not {recipe.learn.passes:g}")
    first, *_ = [
        balance.config_of(balance.parse(step.arguments)) for step in plan if step.module == "training.balance"
    ]
    Balancer(first, lambda line: None).close()  # loads the net
    EnginePlayer(f"net={args.net},nodes={recipe.simulations},{recipe.other}", BrainLimits(), seed=0).close()


def _check_nets(recipe: RoundRecipe, args: argparse.Namespace, shape: NetConfig) -> None:
    """Find weights that the net to learn has no place for, and boards that a teacher has not learned.

    Raises:
        ValueError: there are such, or a run has no weights.
    """
    import torch

    from training.learn.averaged import load_averaged
    from training.learn.checkpoint import find_checkpoint
    from training.learn.teacher import Teacher
    from training.net.grow import placement

    for name, run in (("--teacher", args.teacher), ("--small-teacher", args.small_teacher)):
        if run is not None and bundle_file.is_bundle(run):
            raise ConfigError(f"{name} {run} is a bundle: `training.bundle unpack` makes a run of it")
    labels = {False: args.teacher or args.weights, True: args.small_teacher or args.teacher or args.weights}
    for run in dict.fromkeys([args.weights, *labels.values()]):
        with tempfile.TemporaryDirectory() as folder:
            place = run
            if bundle_file.is_bundle(run):
                place = Path(folder) / "run"
                bundle_file.unpack(run, place)
            source = find_checkpoint(place)
            net, state = load_averaged(source)
        if run == args.weights:
            try:
                placement(net.config, shape)
            except ValueError as error:
                raise ConfigError(f"{run} cannot go on as {recipe.learn.preset}: {error}") from error
        low, high = Teacher(source, net, state, torch.device("cpu")).sides
        for name, games in recipe.games.items():
            if labels[games.size < _SMALL] == run and not low <= games.size <= high:
                raise ConfigError(
                    f"{run} has learned boards of {low} to {high} cells a side and cannot label the games "
                    f"{name} on {games.size}: --teacher or --small-teacher names another run"
                )


def round_positions(run: Path) -> list[Path]:
    """Return the folders of positions of an earlier round.

    Raises:
        ValueError: it has none.
    """
    found = [path for part in ("", "-small") if (path := run / _FOLDER / f"positions{part}").is_dir()]
    if not found:
        raise ValueError(f"--also {run}: no round with positions there")
    return found


def _steps_done(path: Path, plan: Sequence[Step]) -> list[str]:
    """Return the keys of the steps that a round has behind it.

    Raises:
        ValueError: the file is no list of them, or these were other steps.
    """
    if not path.exists():
        return []
    done = read_table(path).get("steps")
    if not isinstance(done, list) or not all(isinstance(key, str) for key in done):
        raise ValueError(f"{path}: no list of steps; without the file all are repeated")
    for step, key in zip(plan, done, strict=False):
        if step.key != key:
            raise ValueError(f"{path.parent} was begun otherwise:\n  then: {key}\n  now:  {step.key}")
    return done


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = console.parser("training.rounds", __doc__)
    parser.add_argument("--run-dir", type=Path, required=True, help="folder of the round and its net")
    parser.add_argument("--weights", type=Path, required=True, help="run, checkpoint or bundle to begin with")
    names = ", ".join(round_recipe_names())
    parser.add_argument("--recipe", default="two-hours", help=f"a file, or one of {names} (two-hours)")
    parser.add_argument("--net", default="default", help="that plays: file, or name in engine/nets (default)")
    parser.add_argument("--teacher", type=Path, help="run that labels positions (that of --weights)")
    parser.add_argument(
        "--small-teacher", type=Path, metavar="RUN", help=f"likewise on boards under {_SMALL} cells a side"
    )
    parser.add_argument(
        "--also", type=Path, action="append", default=[], metavar="RUN", help="an earlier round (repeatable)"
    )
    parser.add_argument("--workers", type=int, default=0, help="processes that play; 0: one a core (0)")
    parser.add_argument("--show", action="store_true", help="print the commands and do nothing")
    args = parser.parse_args(arguments)
    args.workers = args.workers or usable_cores()
    return args


@console.command(ValueError, OSError, LockError, EngineError)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 when it was stopped (the same command continues), 2 for an error."""
    args = _arguments(arguments)
    if args.workers < 1:
        raise ConfigError("--workers must be at least 0")
    recipe = read_round_recipe(args.recipe)
    plan = list(steps(recipe, args))
    if args.show:
        print("\n".join(step.text for step in plan))
        return 0
    check(plan, recipe, args)
    work = args.run_dir / _FOLDER
    work.mkdir(parents=True, exist_ok=True)
    _lock = DirectoryLock(work / "lock")
    done = _steps_done(work / _DONE, plan)
    for number, step in enumerate(plan[len(done) :], start=len(done) + 1):
        print(f"step {number} of {len(plan)}: {step.text}", file=sys.stderr, flush=True)
        if step.makes:
            shutil.rmtree(step.makes, ignore_errors=True)
        status = _MAINS[step.module](list(step.arguments + step.processes))
        if status:
            return status
        done.append(step.key)
        write_atomically(work / _DONE, json.dumps({"steps": done}, indent=1).encode())
    return 0


if __name__ == "__main__":
    sys.exit(console.run(main))

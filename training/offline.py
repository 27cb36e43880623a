"""Train on recorded games for a given time or number of positions, without self-play; minutes on a GPU.

    python -m training.offline encode --records runs/mine/records --positions runs/set
    python -m training.offline learn --positions runs/set --run-dir runs/teacher --preset gpu --minutes 5
    python -m training.offline label --positions runs/set --teacher runs/teacher
    python -m training.offline learn --positions runs/set --run-dir runs/student --minutes 5 \\
        --set learner.net.kind=lines --set learner.teacher_share=0.75
    python -m training.offline encode --records runs/deep --positions runs/deep-set --hold-out runs/held
    python -m training.offline learn --positions runs/deep-set --run-dir runs/tuned --preset tune \\
        --passes 4 --weights training/checkpoints/r23-4x64.zip

`encode` makes arrays of all positions, `label` writes next to them what a net says of each. `learn` takes as
many batches as the minutes allow, the learning rate falls to its end with the clock, and the net is exported
at the end. Where positions are labelled, `learner.teacher_share` of all targets is what the teacher said.
Stopped by Ctrl-C, the same command continues (`label` behind the last size of board that was done; `encode`
begins again). A self-play run begins with such a net by `--weights runs/student`. With `--passes` in place of
`--minutes` one process learns the same from the same positions each time, so that two sets of targets can be
compared; `training.holdout judge --records` judges nets on what `--hold-out` kept back.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena.timing_lock import pause_while_timed
from engine.errors import NetError
from training.files import console
from training.files.lock import DirectoryLock, LockError
from training.files.naming import shown_name
from training.settings.recipes import preset, preset_names
from training.settings.resolve import make_config, read_stored, store_config
from training.settings.values import ConfigError, weighted_runs

if TYPE_CHECKING:
    from training.export.card import Origin
    from training.learn.data_parallel import Group
    from training.learn.learner import Learner
    from training.run.log import RunLog

_CHUNK = 32  # batches between two looks at clock and stop flag
_SAVE_S = 60.0  # seconds between two checkpoints
_SHOW_S = 10.0  # seconds between two lines
_SLABS = {"cuda": 1024, "cpu": 64}  # positions that are labelled at a time; on a core, what its cache holds
_MOST_BESIDE = 4  # positions for each of the games'; more than four moves of one are not taken
_MOST_LEAVES = 16  # likewise: as many as are taken of one search
_KEEP = "write the averaged net of a run alone, the matrices in 16 bits: a teacher to keep"


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = console.parser("training.offline", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, what: str, several: bool = False) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=what, description=what)
        sub.add_argument(
            "--positions", type=Path, required=True, action="append" if several else "store",
            help="folder of encoded positions" + " (repeatable)" * several,
        )  # fmt: skip
        return sub

    encode = command("encode", "encode all positions of records")
    encode.add_argument(
        "--records", type=Path, action="append", required=True, help="folder of shards (repeatable)"
    )
    encode.add_argument(
        "--beside", type=float, default=0.0, metavar="SHARE",
        help="sibling positions, after moves that searches considered, a position; a teacher labels them (0)",
    )  # fmt: skip
    encode.add_argument(
        "--valued", type=float, default=0.0, metavar="SHARE",
        help="likewise, after moves of which the search kept a value, which is learned (0)",
    )  # fmt: skip
    encode.add_argument(
        "--leaves", type=float, default=0.0, metavar="SHARE",
        help="as many leaves of searches for each of the games' positions, for a teacher to label (0)",
    )  # fmt: skip
    encode.add_argument(
        "--net", default="default", metavar="NAME", help="that searches for them (the one that ships)"
    )
    encode.add_argument("--processes", type=int, default=0, help="side by side; 0: one a core (0)")
    encode.add_argument(
        "--hold-out", type=Path, metavar="FOLDER",
        help="keep some shards back and copy them there; of folders with the same names, the same ones",
    )  # fmt: skip
    encode.add_argument(
        "--hold-out-share", type=float, default=0.1, metavar="SHARE", help="of all positions (0.1)"
    )
    learn = command("learn", "learn from encoded positions by the clock or by passes", several=True)
    learn.add_argument("--run-dir", type=Path, required=True, help="folder of checkpoints and the net")
    learn.add_argument("--preset", choices=preset_names(), default="laptop", help="settings (laptop)")
    length = learn.add_mutually_exclusive_group(required=True)
    length.add_argument("--minutes", type=float, help="of learning, resumed parts together; 0: only export")
    length.add_argument(
        "--passes",
        type=float,
        metavar="N",
        help="samples to take for each position, whatever the time; rounded up to whole rounds of 32 batches",
    )
    learn.add_argument(
        "--weights", metavar="RUN[=SHARE]", action="append", default=[],
        help="begin with the weights of a run, a checkpoint or a bundle; repeatable: the mean of runs that "
        "began with the same",
    )  # fmt: skip
    learn.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="as of training.selfplay"
    )
    learn.add_argument(
        "--processes", type=int, default=0, help="that share each batch; 0: one a core for a line net (0)"
    )
    learn.add_argument("--no-export", action="store_true", help="leave the net in its checkpoint")
    label = command("label", "write the labels of a net next to the positions")
    label.add_argument("--teacher", type=Path, required=True, help="checkpoint, or a run that has one")
    keep = commands.add_parser("keep", help=_KEEP, description=_KEEP)
    keep.add_argument("--teacher", type=Path, required=True, help="checkpoint, or a run that has one")
    keep.add_argument("--out", type=Path, required=True, help="folder of the checkpoint")
    for sub in (learn, label):
        sub.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="(auto)")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 0, or 2 for a usage error, or 1 for a failure."""
    args = _arguments(argv)
    try:
        {"encode": _encode, "learn": _learn, "label": _label, "keep": _keep}[args.command](args)
    except KeyboardInterrupt:
        print("stopped; the same command continues", file=sys.stderr)
        return 1
    except (ValueError, RuntimeError, OSError, FloatingPointError, NetError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, (ConfigError, LockError, NetError)) else 1
    return 0


def _encode(args: argparse.Namespace) -> None:
    from engine.evaluator.make import net_path
    from training.data.encoded import Extra, encode, hold_out
    from training.play.leaves import Leaves
    from training.workers.cores import cpu_count

    if args.processes < 0:
        raise ConfigError(f"--processes is at least 0, not {args.processes}")
    started_s = time.monotonic()
    processes = args.processes or cpu_count()
    for name in ("beside", "valued"):
        if not 0 <= getattr(args, name) <= _MOST_BESIDE:
            raise ConfigError(f"--{name} is 0 to {_MOST_BESIDE}, not {getattr(args, name)}")
    if not 0 <= args.leaves <= _MOST_LEAVES:
        raise ConfigError(f"--leaves is 0 to {_MOST_LEAVES}, not {args.leaves}")
    if not 0 < args.hold_out_share < 1:
        raise ConfigError(f"--hold-out-share is above 0 and below 1, not {args.hold_out_share}")
    more = Leaves(args.leaves, str(net_path(args.net))) if args.leaves else None
    held = hold_out(args.records, args.hold_out_share, args.hold_out) if args.hold_out else ()
    extra = Extra(args.beside, args.valued, more)
    count = encode(args.records, args.positions, processes, _say, extra, held)
    _say(f"{count} positions in {args.positions}, {time.monotonic() - started_s:.0f} s")


def _label(args: argparse.Namespace) -> None:
    import torch

    from training.learn.averaged import load_averaged
    from training.learn.checkpoint import find_checkpoint
    from training.learn.encoded_dataset import EncodedDataset, begin_labels, write_labels
    from training.learn.losses import log_policy, playable
    from training.learn.teacher import Teacher
    from training.net.network import Heads, choose_device
    from training.settings.schema import LearnerConfig

    device, source = choose_device(args.device), find_checkpoint(args.teacher, _say)
    teacher = Teacher(source, *load_averaged(source), device)
    started_s = time.monotonic()
    positions = EncodedDataset([args.positions], LearnerConfig(fast_weight=1), device, labels=False)
    done = begin_labels(args.positions, source)
    for size in positions.sizes:
        if size in done:
            continue
        said = []
        for planes in positions.positions(size, _SLABS[device.type]):
            pause_while_timed(_say)
            heads = teacher.predict(planes.contiguous(memory_format=torch.channels_last))
            allowed, free = playable(planes)
            policies = log_policy(heads.policy, allowed).half(), log_policy(heads.soft, allowed).half()
            reply = log_policy(heads.reply, free).half()
            said.append(Heads(*policies, reply, torch.log_softmax(heads.wdl, 1)))
        write_labels(args.positions, size, said)
        _say(f"{size[0]}x{size[1]}: {len(torch.cat([heads.wdl for heads in said]))} positions")
    _say(f"labelled by {source}, {time.monotonic() - started_s:.0f} s")


def _keep(args: argparse.Namespace) -> None:
    from training.learn.averaged import load_averaged, slim
    from training.learn.checkpoint import find_checkpoint, list_checkpoints, write_checkpoint

    if there := list_checkpoints(args.out):
        raise ConfigError(f"{args.out} holds {there[-1].name} already: choose another folder")
    _, state = load_averaged(find_checkpoint(args.teacher, _say))
    path = write_checkpoint(args.out, int(state["batches"]), slim(state), 1)
    load_averaged(path)
    _say(f"{path}, {path.stat().st_size} bytes")


def _learn(args: argparse.Namespace) -> None:
    import torch

    from training.learn.data_parallel import Group, start_workers
    from training.learn.encoded_dataset import EncodedDataset
    from training.learn.learner import Learner
    from training.net.network import choose_device
    from training.run.log import RunLog
    from training.run.stopping import stop_wish

    learns = _is_to_learn(args)
    config = make_config(preset(args.preset).settings, [*args.set, f"minutes={args.minutes or 0}"], _say)
    stored = args.run_dir / "config.json"
    if (before := read_stored(stored)) and before[0] != args.preset:
        raise ConfigError(f"{args.run_dir} was started with {before[0]}, not {args.preset}")
    args.run_dir.mkdir(parents=True, exist_ok=True)
    lock = DirectoryLock(args.run_dir / "lock")
    torch.backends.cudnn.benchmark = True  # the same few shapes again and again
    dataset = EncodedDataset(args.positions, config.learner, choose_device(args.device), report=_say)
    learner = Learner(config.learner, args.run_dir, args.device, _say, dataset)
    if there := learner.load():
        _say(f"continuing at batch {learner.batches}")
        _stretch(learner, args, before)
    elif args.weights:
        _adopt(learner, args.weights)
    elif not learns:
        raise ConfigError("--minutes 0 learns nothing, and --weights names no net to export")
    if learns or not there:
        store_config(stored, args.preset, config)
    if not learns and not there:
        learner.save()
    log = RunLog(args.run_dir)
    with stop_wish() as stopped, contextlib.ExitStack() as stack:
        group = None
        if learns and (processes := _processes(args.processes, learner)) > 1:
            if not learner.batches:
                learner.save()  # what the others begin with
            group = Group(processes, learner.model)
            learner.join(group)
            stack.enter_context(start_workers(group, learner.config, args.run_dir, args.positions, _CHUNK))
        if learns:
            way = _count(learner, args.passes) if args.passes else _clock(learner, 60 * args.minutes)
            _by_progress(learner, way, log, stopped, group)
        stack.close()
        log.close()
        if stopped():
            raise KeyboardInterrupt
    if not args.no_export:
        name = shown_name(args.run_dir)
        exported = learner.export(args.run_dir / "nets", name, _origin(learner, name))
        _say(f"{exported.fp32}, {learner.samples} samples of {len(learner.dataset)} positions")
    del lock


def _stretch(learner: Learner, args: argparse.Namespace, before: tuple[str, dict[str, Any]] | None) -> None:
    """Let a run that has a longer way now go on where it is.

    Raises:
        ConfigError: the way was counted in passes, and is counted in minutes now, or the other way round.
    """
    minutes = float(before[1].get("minutes", 0)) if before else 0.0
    if learner.progress is None or args.minutes == 0:
        return
    done = learner.progress
    if bool(args.minutes) != bool(minutes):
        raise ConfigError(f"{args.run_dir} learned by {'--minutes' if minutes else '--passes'} before")
    if args.minutes:
        learner.progress = min(1.0, learner.progress * minutes / args.minutes)
    else:
        learner.progress = _count(learner, args.passes)(0.0)
    if learner.progress != done:
        learner.save()  # with what config.json is about to say


def _is_to_learn(args: argparse.Namespace) -> bool:
    """Return whether anything is to be learned; False: only exported."""
    if args.passes is not None and not 0 < args.passes < float("inf"):
        raise ConfigError(f"--passes is above 0, not {args.passes}")
    if args.minutes is not None and not 0 <= args.minutes < float("inf"):
        raise ConfigError(f"--minutes is at least 0, not {args.minutes}")
    return bool(args.minutes != 0)


def _origin(learner: Learner, name: str) -> Origin:
    from training.export.card import Origin

    return Origin(
        training_steps=learner.batches,
        games=learner.dataset.games_seen,
        positions=learner.dataset.seen,
        description=f"The run {name}, from encoded positions",
        data=f"{learner.dataset.seen:,} encoded positions of {learner.dataset.games_seen:,} games.",
        sizes=learner.dataset.sides(),
    )


def _processes(asked: int, learner: Learner) -> int:
    """Return how many processes learn: by default one a core where a net trains in one thread."""
    from training.net import trunk
    from training.workers.cores import cpu_count

    if asked < 0:
        raise ConfigError(f"--processes is at least 0, not {asked}")
    if learner.progress == 1:
        return 1  # nothing is left to learn
    one = learner.device.type != "cpu" or not trunk.able(learner.config.net)
    wanted = asked or (1 if one else cpu_count())
    return next(n for n in range(wanted, 0, -1) if learner.config.batch % n == 0)


def _adopt(learner: Learner, texts: list[str]) -> None:
    """Give a learner the weights of runs, or of their bundles, each with its share."""
    from training.learn.checkpoint import find_checkpoint
    from training.run.bundle import is_bundle, unpack

    with tempfile.TemporaryDirectory() as folder:
        found: dict[Path, float] = {}
        for number, (run, share) in enumerate(weighted_runs(texts).items()):
            place = run
            if is_bundle(run):
                place = Path(folder) / str(number)
                unpack(run, place)
            found[find_checkpoint(place, _say)] = share
        learner.adopt(found)


Done = Callable[[float], float]
"""Returns the share of the way that is done, 0 to 1, from the seconds of pauses so far."""


def _clock(learner: Learner, seconds: float) -> Done:
    """Return how far a learner is by the clock, that of earlier parts counted."""
    started_s = time.monotonic() - seconds * (learner.progress or 0.0)
    return lambda paused_s: min(1.0, (time.monotonic() - started_s - paused_s) / seconds)


def _count(learner: Learner, passes: float) -> Done:
    """Return how far a learner is by its batches, so that each time it takes the same ones."""
    rounds = math.ceil(passes * len(learner.dataset) / learner.config.batch / _CHUNK)
    return lambda _: min(1.0, learner.batches / (rounds * _CHUNK))


def _by_progress(
    learner: Learner, done: Done, log: RunLog, stopped: Callable[[], bool], group: Group | None
) -> None:
    """Learn until all is done or `stopped`; then save."""
    learner.progress = learner.progress or 0.0
    paused_s = 0.0
    shown_s = saved_s = time.monotonic()
    samples = learner.samples
    while learner.progress < 1 and not stopped():
        paused_s += pause_while_timed(_say, stopped)
        if group:
            group.broadcast(learner.progress)
        metrics = learner.step(_CHUNK)
        now_s = time.monotonic()
        learner.progress = done(paused_s)
        if now_s - shown_s >= _SHOW_S or learner.progress == 1:
            rate = (learner.samples - samples) / max(now_s - shown_s, 1e-9)
            log.event("learn", progress=learner.progress, samples_per_s=rate, **metrics)
            parts = ", ".join(f"{name} {metrics[name]:.4f}" for name in ("loss", "policy", "value", "lr"))
            _say(f"{learner.progress:6.1%} {learner.samples} samples, {rate:.0f} a second: {parts}")
            shown_s, samples = now_s, learner.samples
        if now_s - saved_s >= _SAVE_S:
            learner.save()
            saved_s = now_s
    learner.save()


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(console.run(main))

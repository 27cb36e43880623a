"""Train a net from zero by self-play: the whole loop in one command.

    python -m training.selfplay --run-dir runs/mine --preset laptop --minutes 60

Ctrl-C finishes cleanly; the same command continues a run. Settings of a run that exists are those it was
started with, changed by --set. `--bench` measures the speed of self-play instead.
"""

from __future__ import annotations

import argparse
import dataclasses
import signal
import sys
from pathlib import Path
from types import FrameType

from training.files.lock import DirectoryLock, LockError
from training.settings.resolve import PRESETS, make_config, read_stored, store_config
from training.settings.schema import RunConfig
from training.settings.values import ConfigError, describe, positive


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m training.selfplay",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"Settings of --set, as in learner.net.blocks=8, and their meaning:\n\n{describe(RunConfig)}",
    )
    parser.add_argument("--run-dir", type=Path, default=Path("runs/default"), help="folder (runs/default)")
    parser.add_argument("--preset", choices=sorted(PRESETS), help="settings of a new run (laptop)")
    parser.add_argument("--minutes", type=float, help="length of the run, resumed parts together; 0: no end")
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
        help="begin with the weights of another run, whose net has as many blocks or fewer; with --records; "
        "repeatable: the mean of runs that began with one another's weights",
    )
    parser.add_argument("--show-config", action="store_true", help="print the resolved settings and stop")
    parser.add_argument("--bench", action="store_true", help="measure the speed of self-play and stop")
    parser.add_argument("--net", action="append", default=[], help="net file for --bench (repeatable)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement of --bench (20)")
    return parser.parse_args(argv)


def _config(args: argparse.Namespace) -> tuple[str, RunConfig]:
    stored = None if args.bench else read_stored(args.run_dir / "config.json")
    if stored and args.preset and args.preset != stored[0]:
        raise ConfigError(f"{args.run_dir} was started with --preset {stored[0]}; leave --preset away")
    preset = stored[0] if stored else args.preset or "laptop"
    overrides = list(args.set)
    for name in ("minutes", "device", "workers"):
        if getattr(args, name) is not None:
            overrides.append(f"{name}={getattr(args, name)}")
    return preset, make_config(preset, overrides, stored[1] if stored else None)


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 0, or 2 for a usage error, or 1 for a failure."""
    args = _arguments(argv)
    try:
        preset, config = _config(args)
        if args.show_config:
            import json

            print(json.dumps(dataclasses.asdict(config), indent=1))
            return 0
        if args.bench:
            from training.crew.bench import bench

            return bench(config, args.net, args.seconds)
        return _train(args, preset, config)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, (ConfigError, LockError)) else 1


def parse_share(text: str) -> tuple[Path, float]:
    """Return folder and share of `RUN` (1) or `RUN=SHARE`; a folder's own name may hold "=".

    Raises:
        ConfigError: the share is not a number above 0.
    """
    folder, sign, share = text.rpartition("=")
    if not sign or Path(text).is_dir():
        return Path(text), 1.0
    return Path(folder), positive(share, f"--weights {text}: the share")


def _train(args: argparse.Namespace, preset: str, config: RunConfig) -> int:
    from training.data.imports import import_shards
    from training.learn.checkpoint import list_checkpoints
    from training.net.network import choose_device

    run_dir: Path = args.run_dir
    weights: dict[Path, float] = {}
    for text in args.weights:
        folder, share = parse_share(text)
        found = list_checkpoints(folder / "checkpoints")
        if not found:
            raise ConfigError(f"--weights {text}: no checkpoint there")
        weights[found[-1]] = weights.get(found[-1], 0.0) + share
    choose_device(config.device)  # refuse a missing GPU before anything is written
    run_dir.mkdir(parents=True, exist_ok=True)
    lock = DirectoryLock(run_dir / "lock")
    store_config(run_dir / "config.json", preset, config)
    if args.records:
        (run_dir / "records").mkdir(exist_ok=True)
        positions = import_shards(args.records, run_dir / "records", args.records_positions)
        print(f"{positions} positions of {', '.join(map(str, args.records))} are in the run's records")
    from training.loop import Run
    from training.run.display import Display

    stop = False

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal stop
        if stop:
            signal.signal(number, signal.SIG_DFL)
        stop = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    display = Display()
    run = Run(config, run_dir, lambda: stop, display, weights)
    run.run()
    word = "stopped" if stop else "finished"
    display.say(f"{word} after {run.elapsed_s() / 60:.1f} minutes of training; run: {run_dir}")
    del lock
    return 0


if __name__ == "__main__":
    sys.exit(main())

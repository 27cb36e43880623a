"""Make the net of a run the one that ships: export it with a card that says what is known about it.

    python -m training.ship runs/mine --name mine-4x32 --strength "..." --limits "..." --default

The averaged weights of the run's newest checkpoint are exported and compared with torch once more; a net that
does not compute the same is refused. The newest records calibrate it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from training.checkpoint import CheckpointError
from training.config import ConfigError
from training.export import Exported, ExportError, Origin
from training.learner import Learner
from training.loop import State
from training.records import write_atomically
from training.run_config import RunConfig, make_config, read_stored

NETS = Path(__file__).resolve().parent.parent / "engine" / "nets"


def ship(run_dir: Path, out: Path, name: str, strength: str, limits: str, device: str = "cpu") -> Exported:
    """Export the averaged net of a run's newest checkpoint.

    Args:
        run_dir: of the run.
        out: folder for the files.
        name: of the files.
        strength, limits: for the card; see `Origin`.
        device: of torch.

    Raises:
        ConfigError: no run there.
        CheckpointError: it has no checkpoint that fits.
        ExportError: the files do not compute what the net computes.
    """
    stored = read_stored(run_dir / "config.json")
    if stored is None:
        raise ConfigError(f"{run_dir}: no run there")
    config = make_config(stored[0], [], stored[1])
    learner = Learner(config.learner, run_dir, device, lambda line: print(line, file=sys.stderr))
    if not learner.load():
        raise CheckpointError(f"{run_dir} has no readable checkpoint")
    state = State(**json.loads((run_dir / "state.json").read_text(encoding="utf-8")))
    return learner.export(out, name, _origin(config, learner, state, strength, limits))


def _origin(config: RunConfig, learner: Learner, state: State, strength: str, limits: str) -> Origin:
    return Origin(
        training_steps=learner.batches,
        games=learner.window.games_seen,
        positions=learner.window.seen,
        description="Learned from zero by self-play; no games, moves or weights from elsewhere.",
        data=f"{learner.window.games_seen:,} games of self-play, of which {state.games:,} in its last run "
        f"({state.elapsed_s / 3600:.1f} hours), with Gumbel root search of {config.play.simulations} "
        "simulations. `training/RUNS.md` has the runs with their commands.",
        strength=strength,
        limits=limits,
        sizes=config.side_range(),
        rules=tuple(sorted(rule for rule, _ in config.mix(False).rules)),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 when nothing was exported."""
    parser = argparse.ArgumentParser(
        prog="python -m training.ship",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("--name", required=True, help="of the files")
    parser.add_argument("--out", type=Path, default=NETS, help="folder of the files (engine/nets)")
    for field in dataclasses.fields(Origin):
        if field.name in ("strength", "limits"):
            parser.add_argument(f"--{field.name}", default=field.default, help="for the card")
    parser.add_argument("--default", action="store_true", help="make it the net that the brain plays with")
    args = parser.parse_args(arguments)
    try:
        exported = ship(args.run, args.out, args.name, args.strength, args.limits)
        if args.default:
            write_atomically(args.out / "default.txt", f"{exported.fastest.name}\n".encode())
    except (ConfigError, CheckpointError, ExportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{exported.fastest} ({exported.net_id}): {exported.differences}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Make the net of a run the one that ships: export it with a card that says what is known about it.

    python -m training.ship runs/mine --name mine-4x32 --strength "..." --limits "..." --default
    python -m training.ship runs/mine --export c000012 --name mine-4x32 --strength "..." --default

The averaged weights of the run's newest checkpoint are exported and compared with torch once more; a net that
does not compute the same is refused. The newest records calibrate it. With `--export` a file that the run
exported before, the one that was measured, gets its name and card instead; its weights stay what they are.
A run that went on from another one's weights knows only its own boards: `--sizes` names those of both.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import onnx

from training.checkpoint import CheckpointError
from training.config import ConfigError
from training.export import Exported, ExportError, Origin, paragraphs
from training.learner import Learner
from training.loop import State
from training.records import write_atomically
from training.run_config import RunConfig, make_config, read_stored

NETS = Path(__file__).resolve().parent.parent / "engine" / "nets"
DESCRIPTION = "Learned from zero by self-play; no games, moves or weights from elsewhere."
Sizes = tuple[int, int]
_BOARDS = re.compile(r"\| boards \| .* \|")  # of the card's table


def ship(
    run_dir: Path, out: Path, name: str, strength: str, limits: str, sizes: Sizes | None = None,
    device: str = "cpu",
) -> Exported:  # fmt: skip
    """Export the averaged net of a run's newest checkpoint.

    Args:
        run_dir: of the run.
        out: folder for the files.
        name: of the files.
        strength, limits: for the card; see `Origin`.
        sizes: shortest and longest side of the boards it learned on; None: those of the run.
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
    origin = _origin(config, learner, state, strength, limits)
    return learner.export(out, name, dataclasses.replace(origin, sizes=sizes or origin.sizes))


def ship_export(
    run_dir: Path, export: str, out: Path, name: str, strength: str, limits: str, sizes: Sizes | None = None
) -> Path:
    """Copy an export of a run under another name, with a card of its own.

    Args:
        run_dir: of the run.
        export: name of the export in the run's `nets`, as `c000012`.
        out, name, strength, limits, sizes: as for `ship`.

    Returns:
        The file to play with on a CPU.

    Raises:
        ConfigError: the run has no such export.
    """
    files = sorted((run_dir / "nets").glob(f"{export}.*.onnx"))
    card = run_dir / "nets" / f"{export}.md"
    if not files or not card.is_file():
        raise ConfigError(f"{run_dir}: no export {export} there")
    out.mkdir(parents=True, exist_ok=True)
    old_id = new_id = ""
    for file in files:
        model = onnx.load_from_string(file.read_bytes())
        metadata = {entry.key: entry.value for entry in model.metadata_props}
        old_id, new_id = metadata["net_id"], f"{name}-{metadata['net_id'].rpartition('-')[2]}"
        metadata |= {"net_id": new_id, "description": DESCRIPTION}
        if sizes is not None:
            metadata["sizes"] = f"{sizes[0]}-{sizes[1]}"
        onnx.helper.set_model_props(model, metadata)
        write_atomically(out / f"{name}{file.name.removeprefix(export)}", model.SerializeToString())
    table = card.read_text(encoding="utf-8").partition("| | |")[2].partition("**Data.**")[0]
    table = table.replace(old_id, new_id)
    if sizes is not None:
        table = _BOARDS.sub(f"| boards | {sizes[0]} to {sizes[1]} a side |", table)
    data = f"Export {export} of the run {run_dir.name}. `training/RUNS.md` has the runs with their commands."
    text = f"# {name}\n\n{DESCRIPTION}\n\n| | |{table}{paragraphs(data, strength, limits)}"
    write_atomically(out / f"{name}.md", text.encode())
    return out / f"{name}{files[-1].name.removeprefix(export)}"  # int8 where there is one: f comes before i


def _sizes(text: str) -> Sizes:
    low, _, high = text.partition("-")
    if not (low.isdecimal() and high.isdecimal() and 5 <= int(low) <= int(high) <= 22):
        raise argparse.ArgumentTypeError(f"{text!r} is not LOW-HIGH, sides from 5 to 22")
    return int(low), int(high)


def _origin(config: RunConfig, learner: Learner, state: State, strength: str, limits: str) -> Origin:
    return Origin(
        training_steps=learner.batches,
        games=learner.window.games_seen,
        positions=learner.window.seen,
        description=DESCRIPTION,
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
    parser.add_argument("--export", help="an export in the run's nets, instead of the newest checkpoint")
    parser.add_argument("--out", type=Path, default=NETS, help="folder of the files (engine/nets)")
    for field in dataclasses.fields(Origin):
        if field.name in ("strength", "limits"):
            parser.add_argument(f"--{field.name}", default=field.default, help="for the card")
    parser.add_argument(
        "--sizes", type=_sizes, metavar="LOW-HIGH", help="sides of the boards it learned on (the run's)"
    )
    parser.add_argument("--default", action="store_true", help="make it the net that the brain plays with")
    args = parser.parse_args(arguments)
    try:
        if args.export:
            file = ship_export(
                args.run, args.export, args.out, args.name, args.strength, args.limits, args.sizes
            )
            said = str(file)
        else:
            exported = ship(args.run, args.out, args.name, args.strength, args.limits, args.sizes)
            file, said = exported.fastest, f"{exported.fastest} ({exported.net_id}): {exported.differences}"
        if args.default:
            write_atomically(args.out / "default.txt", f"{file.name}\n".encode())
    except (ConfigError, CheckpointError, ExportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(said)
    return 0


if __name__ == "__main__":
    sys.exit(main())

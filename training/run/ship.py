"""The net of a run under another name, with its own card. `training.ship` is the command."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import onnx

from training.export.card import Origin, paragraphs
from training.export.export import Exported
from training.files.atomic import write_atomically
from training.learn.checkpoint import CheckpointError
from training.learn.learner import Learner
from training.run.state import State, read_state
from training.settings.resolve import make_config, read_stored
from training.settings.schema import RunConfig
from training.settings.values import ConfigError

NETS = Path(__file__).resolve().parents[2] / "engine" / "nets"
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
    config = make_config(stored[1])
    settings = dataclasses.replace(config.learner, teacher="")  # it may be gone, and is not exported
    learner = Learner(settings, run_dir, device, lambda line: print(line, file=sys.stderr))
    if not learner.load():
        raise CheckpointError(f"{run_dir} has no readable checkpoint")
    state = read_state(run_dir)
    if state is None:
        raise ConfigError(
            f"{run_dir} has no state.json, so it is no self-play: --export {run_dir.name} ships its export"
        )
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
    if not files:
        raise ConfigError(f"{run_dir}: no export {export} there")
    if not card.is_file():
        raise ConfigError(f"{card}: missing, the card of the export")
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
    data = f"Export {export} of the run {run_dir.name}. `training/RUNS.md` lists the runs."
    text = f"# {name}\n\n{DESCRIPTION}\n\n| | |{table}{paragraphs(data, strength, limits)}"
    write_atomically(out / f"{name}.md", text.encode())
    return out / f"{name}{files[-1].name.removeprefix(export)}"  # int8 where there is one: f comes before i


def _origin(config: RunConfig, learner: Learner, state: State, strength: str, limits: str) -> Origin:
    return Origin(
        training_steps=learner.batches,
        games=learner.dataset.games_seen,
        positions=learner.dataset.seen,
        description=DESCRIPTION,
        data=f"{learner.dataset.games_seen:,} games of self-play, of which {state.games:,} in its last run "
        f"({state.elapsed_s / 3600:.1f} hours), with Gumbel root search of {config.play.simulations} "
        "simulations. `training/RUNS.md` lists the runs.",
        strength=strength,
        limits=limits,
        sizes=config.side_range(),
        rules=tuple(sorted(rule for rule, _ in config.mix().rules)),
    )

"""State of a run between its parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from training.files.foreign import ForeignFileError, is_count, is_list_of, is_number, read_table
from training.measure.gate import EXPORT, is_export
from training.play.evaluators import UNIFORM
from training.settings.schema import RunConfig

_NET = re.compile(rf"{UNIFORM}|{EXPORT.pattern}\.(fp32\.onnx|int8\.onnx|pt)")
_MAX_SPOILT = 2000  # characters


@dataclass(slots=True)
class State:
    """State of a run besides weights and records.

    Attributes:
        cycle: number of the newest one.
        games, positions: of self-play in this run.
        elapsed_s, measured_s: seconds of training, all parts together: so far, at the last measurement.
        net: file in `nets` that self-play uses, or `uniform`.
        pretrained: whether learning from given records is over.
        measured: exports that were measured, oldest first.
        spoilt: why the last part ended, if learning had spoilt the weights; else empty.
    """

    cycle: int = 0
    games: int = 0
    positions: int = 0
    elapsed_s: float = 0.0
    measured_s: float = 0.0
    net: str = UNIFORM
    pretrained: bool = False
    measured: list[str] = field(default_factory=list)
    spoilt: str = ""


_ALLOWED: dict[str, Callable[[Any], bool]] = {
    "cycle": is_count,
    "games": is_count,
    "positions": is_count,
    "elapsed_s": lambda value: is_number(value) and value >= 0,
    "measured_s": lambda value: is_number(value) and value >= 0,
    "net": lambda value: isinstance(value, str) and _NET.fullmatch(value) is not None,
    "pretrained": lambda value: isinstance(value, bool),
    "measured": lambda value: is_list_of(value, is_export),
    "spoilt": lambda value: isinstance(value, str) and len(value) <= _MAX_SPOILT,
}


def parse_state(table: dict[str, Any], source: Path | str) -> State:
    """Return the state that a table holds.

    Args:
        table: as in `state.json`.
        source: of it, for messages.

    Raises:
        ForeignFileError: an unknown name, or a value that a run cannot have written.
    """
    for name, value in table.items():
        if name not in _ALLOWED:
            raise ForeignFileError(f"{source}: unknown entry {name!r:.80}")
        if not _ALLOWED[name](value):
            raise ForeignFileError(f"{source}: {name} cannot be {value!r:.80}")
    return State(**table)


def read_state(run_dir: Path) -> State | None:
    """Return the state of a run, None for a new one.

    Raises:
        ForeignFileError: see `parse_state`.
    """
    path = run_dir / "state.json"
    return parse_state(read_table(path), path) if path.exists() else None


def resume_state(run_dir: Path) -> State:
    """Return the state that a run continues with: as it was stored, in a cycle whose name was not used.

    Raises:
        ForeignFileError: see `parse_state`.
    """
    state = read_state(run_dir) or State()
    # A cycle that was killed half-way may have left shards; its name must not be used again.
    cycles = [int(p.name[:6]) for p in (run_dir / "records").glob("[0-9]*") if p.name[:6].isdigit()]
    state.cycle = max([state.cycle, *cycles])
    return state


def has_played_enough(config: RunConfig, positions: int, elapsed_s: float) -> bool:
    """Return whether a run has come to the end that its settings name, by time or by positions."""
    late = bool(config.minutes) and elapsed_s >= 60 * config.minutes
    full = bool(config.total_positions) and positions >= config.total_positions
    return late or full


def is_over(config: RunConfig, state: State) -> bool:
    """Return whether a run that is not being trained has nothing left to do."""
    learned = state.pretrained or not config.pretrain_samples
    return learned and has_played_enough(config, state.positions, state.elapsed_s)

"""What a run remembers between its parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from training.play.evaluators import UNIFORM


@dataclass(slots=True)
class State:
    """What a run remembers besides weights and records."""

    cycle: int = 0
    games: int = 0
    positions: int = 0
    elapsed_s: float = 0.0
    measured_s: float = 0.0
    net: str = UNIFORM
    pretrained: bool = False
    measured: list[str] = field(default_factory=list)

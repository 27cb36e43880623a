"""What a refereed game is made of: its terms, what happened, and the summary over many games."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

Cell = tuple[int, int]
"""Column and row, 0-based from the top left."""

COLD_START_MS = 1000.0
"""The first move of a process includes its start, so a shorter turn limit is not applied to it (derived:
the judge's own tolerance)."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What two players agree on before a game.

    Attributes:
        number: index of the game in its run; `number % 2` says who has black.
        opening: cells that are already played, black first.
        turn_ms, match_ms, tolerance_ms: limits as the managers announce and enforce them.
        max_memory: bytes, 0 for no limit.
        seed: of whatever the manager chooses at random (takebacks, pauses).
    """

    number: int
    size: int
    rule: int
    opening: tuple[Cell, ...] = ()
    turn_ms: int = 1000
    match_ms: int = 180_000
    tolerance_ms: int = 1000
    max_memory: int = 367_001_600
    seed: int = 0


@dataclass(frozen=True, slots=True)
class MoveTime:
    """Time of one move.

    `cold` marks the first move of a process, whose clock includes the process start. `queued_ms` is how long
    the brain's threads were ready to run but had no core: at most so much of an overshoot is the machine's
    (at most, since waiting within the time that the brain meant to use delays nothing).
    """

    game: int
    ply: int
    player: int
    limit_ms: float
    elapsed_ms: float
    cold: bool
    queued_ms: float = 0.0

    @property
    def overshoot_ms(self) -> float:
        return self.elapsed_ms - self.limit_ms


@dataclass(frozen=True, slots=True)
class Incident:
    """Something a manager would hold against a player."""

    kind: str
    player: int
    game: int
    ply: int
    detail: str


@dataclass(slots=True)
class JudgedGame:
    """One game. `winner` is a player index, or None for a draw or an abandoned game."""

    terms: Terms
    black: int
    moves: list[Cell] = field(default_factory=list)
    winner: int | None = None
    end: str = "unfinished"
    times: list[MoveTime] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    private_bytes: int = 0
    exit_ms: list[float] = field(default_factory=list)
    starved: int = 0
    """Answers that were late only because the brain's threads waited for a core; no incidents."""

    def to_move(self) -> int:
        return (self.black + len(self.moves)) % 2

    def report(self, kind: str, player: int, detail: str) -> None:
        self.incidents.append(Incident(kind, player, self.terms.number, len(self.moves), detail))


class Forfeit(Exception):
    """The player to move has lost by what it did; the incident is already reported."""


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(round(share * len(ordered), 6)) - 1)]


def _spread(values: Sequence[float]) -> dict[str, float]:
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
    return {"n": len(values), **{name: round(percentile(values, s), 2) for name, s in shares.items()}}


def summarise(records: Iterable[JudgedGame], names: Sequence[str]) -> dict[str, object]:
    """Return the figures of a run, ready for JSON: times in ms, memory in MiB, players by name."""
    games = list(records)
    kinds = collections.Counter((names[i.player], i.kind) for game in games for i in game.incidents)
    summary: dict[str, object] = {
        "games": len(games),
        "moves": sum(len(game.times) for game in games),
        "ends": dict(collections.Counter(game.end for game in games)),
        "results": {
            **{f"{name} wins": sum(game.winner == i for game in games) for i, name in enumerate(names)},
            "no winner": sum(game.winner is None for game in games),
        },
        "incidents": {f"{name}: {kind}": count for (name, kind), count in sorted(kinds.items())},
        "starved": sum(game.starved for game in games),
        "private_mib_max": round(max((game.private_bytes for game in games), default=0) / 2**20, 1),
    }
    times = [t for game in games for t in game.times]
    for title, values in (
        ("overshoot_ms", [t.overshoot_ms for t in times if not t.cold]),
        ("overshoot_less_queueing_ms", [t.overshoot_ms - t.queued_ms for t in times if not t.cold]),
        ("cold_move_elapsed_ms", [t.elapsed_ms for t in times if t.cold]),
        ("cold_move_less_queueing_ms", [t.elapsed_ms - t.queued_ms for t in times if t.cold]),
    ):
        if values:
            summary[title] = _spread(values)
    exits = [ms for game in games for ms in game.exit_ms]
    if exits:
        summary["exit_ms"] = _spread(exits)
    return summary


def as_json(records: Iterable[JudgedGame]) -> list[dict[str, object]]:
    return [asdict(record) for record in records]

"""Measurement of nets during training: yardsticks, one Elo scale, the decision to promote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arena.elo import Estimate, estimate, rate
from engine.rules.rule import Rule
from training.files.foreign import ForeignFileError, is_list_of, is_number, read_table
from training.measure.batched_match import MatchPlayer, MatchScore, MatchSpec
from training.settings.schema import EvaluationConfig

ANCHOR = "uniform"
"""Player at Elo 0: even priors with the same solver and number of simulations."""
EXPORT = re.compile(r"c[0-9]{6,9}")
"""Name of an export of a run; its files have more behind a dot."""
_PLAYER = re.compile(r"[a-z][a-z0-9]{0,15}(:[0-9]{1,9})?|[0-9]{1,2}")
"""Name of a player of the scale (an export, a yardstick), or a size."""
_BEATEN = 0.98
_REPEATS = 2


@dataclass(slots=True)
class Standings:
    """All results of a run on its main board, as plain data.

    Attributes:
        results: "first|second" -> [points of first, games].
        yardsticks: "name|size" -> scores of the nets measured, in order.
        best: name of the promoted net, empty before the first.
    """

    results: dict[str, list[float]] = field(default_factory=dict)
    yardsticks: dict[str, list[float]] = field(default_factory=dict)
    best: str = ""

    def add(self, first: str, second: str, points: float, games: int) -> None:
        """Count a match."""
        old = self.results.setdefault(f"{first}|{second}", [0.0, 0])
        old[0] += points
        old[1] += games

    def ratings(self) -> dict[str, tuple[float, float]]:
        """Return Elo and 95 % half width of every player; `uniform` (else `random`, else the oldest) is 0."""
        pairs = {}
        for key, (points, games) in self.results.items():
            first, _, second = key.partition("|")
            if games:
                pairs[first, second] = (points, int(games))
        players = {name for pair in pairs for name in pair}
        anchor = next((name for name in (ANCHOR, "random") if name in players), None)
        return rate(pairs, anchor or min(players)) if pairs else {}

    def wanted(self, name: str, size: int) -> bool:
        """Return whether results against a yardstick are still informative."""
        scores = self.yardsticks.get(f"{name}|{size}", [])
        return len(scores) < _REPEATS or min(scores[-_REPEATS:]) < _BEATEN


@dataclass(frozen=True, slots=True)
class Planned:
    """A match to be played for a candidate; `on_scale` results enter the ratings."""

    spec: MatchSpec
    on_scale: bool
    decides: bool


def plan(
    config: EvaluationConfig, standings: Standings, name: str, nets: Mapping[str, str], seed: int
) -> Iterable[Planned]:
    """Return the matches that measure a candidate.

    Args:
        config: sizes, opponents, numbers.
        standings: so far.
        name: of the candidate.
        nets: name -> net file, of all nets that can still be played; the candidate and the best are in it.
        seed: of openings.
    """
    me = MatchPlayer(name, nets[name], config.simulations)
    for size in config.sizes:
        for yardstick in config.yardsticks:
            if standings.wanted(yardstick, size):
                other = MatchPlayer(yardstick, yardstick, config.simulations)
                pairs = config.yardstick_pairs
                spec = MatchSpec(me, other, size, size, Rule.FREESTYLE, pairs, seed=seed, stones=4)
                yield Planned(spec, size == config.size, False)
    rivals = [standings.best] if standings.best in nets and standings.best != name else []
    # An older one as well ties the scale together over longer times.
    older = [n for n in nets if n not in (name, standings.best)]
    for rival in rivals + older[-1:]:
        other = MatchPlayer(rival, nets[rival], config.simulations)
        pairs = config.pairs if rival == standings.best else max(1, config.pairs // 2)
        spec = MatchSpec(me, other, config.size, config.size, Rule.FREESTYLE, pairs, seed=seed + 1)
        yield Planned(spec, True, rival == standings.best)


def record(standings: Standings, planned: Planned, result: MatchScore) -> dict[str, Any]:
    """Enter a result into the standings and return it as a line for the log."""
    spec = planned.spec
    found: Estimate = estimate([pair for pair in result.pairs if pair])
    points = found.score * found.games
    if planned.on_scale:
        standings.add(spec.a.name, spec.b.name, points, found.games)
    if not spec.b.net.endswith((".onnx", ".pt")):
        standings.yardsticks.setdefault(f"{spec.b.name}|{spec.width}", []).append(found.score)
    return {
        "a": spec.a.name, "b": spec.b.name, "size": spec.width, "rule": spec.rule, "games": found.games,
        "score": found.score, "low": found.score_low, "high": found.score_high,
        "simulations": spec.a.simulations, "plies": result.plies / max(1, found.games),
        "black": result.black_points / max(1, found.games), "depth": result.depth,
    }  # fmt: skip


def read_standings(path: Path) -> Standings:
    """Return the standings of a run, empty ones without a file.

    Raises:
        ForeignFileError: see `parse_standings`.
    """
    return parse_standings(read_table(path), path) if path.exists() else Standings()


def is_export(value: object) -> bool:
    """Return whether a value of JSON is the name of an export."""
    return isinstance(value, str) and EXPORT.fullmatch(value) is not None


def parse_standings(table: dict[str, Any], source: Path | str) -> Standings:
    """Return the standings that a table holds.

    Args:
        table: as in `standings.json`.
        source: of it, for messages.

    Raises:
        ForeignFileError: an unknown name, or a value that a run cannot have written.
    """
    unknown = sorted(set(table) - {"results", "yardsticks", "best"})
    if unknown:
        raise ForeignFileError(f"{source}: unknown entry {unknown[0]!r:.80}")
    results, yardsticks, best = table.get("results", {}), table.get("yardsticks", {}), table.get("best", "")
    if best != "" and not is_export(best):
        raise ForeignFileError(f"{source}: best cannot be {best!r:.80}")
    for name, entries in (("results", results), ("yardsticks", yardsticks)):
        if not isinstance(entries, dict):
            raise ForeignFileError(f"{source}: {name} is no table")
        for key, values in entries.items():
            parts = key.split("|")
            fits = len(parts) == 2 and all(map(_PLAYER.fullmatch, parts)) and is_list_of(values, is_number)
            if not fits or (name == "results" and not (len(values) == 2 and 0 <= values[0] <= values[1])):
                raise ForeignFileError(f"{source}: {name} cannot hold {key!r:.80}: {values!r:.80}")
    return Standings(results, yardsticks, best)

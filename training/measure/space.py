"""Ranges of engine settings, and a journal of games between candidates; see `training.survey`."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.limits import BrainLimits
from arena.match_config import MatchConfig
from arena.match_runner import play_index
from engine.config import EngineConfig
from engine.errors import ConfigError
from engine.search.params import SearchParams
from engine.timing.params import ClockParams

JOURNAL = "games.jsonl"
_GROUPS: dict[str, Any] = {"": EngineConfig(), "search": SearchParams(), "clock": ClockParams()}


class SpaceError(ValueError):
    """A space or a run that cannot be used; the message names the file."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting to fit.

    Attributes:
        name: key of `EngineConfig.from_mapping`, as `search.c_puct`.
        low, high: its range.
        start: where to begin, the default of the brain that plays.
        log: whether ratios count instead of differences.
        whole: whether it takes whole numbers only.
    """

    name: str
    low: float
    high: float
    start: float
    log: bool = False
    whole: bool = False

    def part(self, value: float) -> float:
        """Return where a value is in the range, 0 to 1."""
        low, high, value = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return (value - low) / (high - low)

    def value(self, part: float) -> float:
        """Return the value at a part of the range."""
        low, high = (math.log(v) if self.log else v for v in (self.low, self.high))
        value = low + min(1.0, max(0.0, part)) * (high - low)
        value = math.exp(value) if self.log else value
        return round(value) if self.whole else float(f"{value:.4g}")


def read_space(path: Path) -> tuple[Setting, ...]:
    """Return the settings of a TOML file: `"search.c_puct" = { low = 0.5, high = 2.5 }`, one a line.

    Raises:
        SpaceError: it is no such file, a name is unknown, or a range makes no sense.
        OSError: it cannot be read.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        found = tuple(_setting(name, entry) for name, entry in table.items())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, SpaceError, ConfigError, TypeError) as error:
        raise SpaceError(f"{path}: {error}") from error
    if len(found) < 2:
        raise SpaceError(f"{path}: at least two settings; a single one is compared by training.match")
    return found


def _setting(name: str, entry: Any) -> Setting:
    if not isinstance(entry, dict) or not {"low", "high"} <= set(entry) <= {"low", "high", "log"}:
        raise SpaceError(f'"{name}" needs {{ low = NUMBER, high = NUMBER }}, and may have log = true')
    low, high = entry["low"], entry["high"]
    group, _, key = name.rpartition(".")
    config = getattr(_GROUPS[group], key, None) if group in _GROUPS else None
    if isinstance(config, bool) or not isinstance(config, int | float):
        raise SpaceError(f'"{name}" is no setting that is a number')
    if not all(isinstance(v, int | float) and math.isfinite(v) for v in (low, high)) or not low < high:
        raise SpaceError(f'"{name}": low and high are numbers, low below high')
    log = entry.get("log", False)
    if log and low <= 0:
        raise SpaceError(f'"{name}": with log, low is above 0')
    if not low <= config <= high:
        raise SpaceError(f'"{name}": the default {config} lies outside of {low} to {high}')
    for value in (low, high):
        replace(_GROUPS[group], **{key: type(config)(value)})  # its own check of the range
    return Setting(name, low, high, float(config), bool(log), isinstance(config, int))


@dataclass(frozen=True, slots=True)
class SpaceConfig:
    """What makes a survey; surveys with the same fields ask for the same candidates.

    Attributes:
        settings: to fit.
        match: the games: openings, limits, board, rule; a and b are settings of both players, `engine:` ones.
        pairs: of games a candidate, each on an opening of its own.
        seed: of the candidates.
    """

    settings: tuple[Setting, ...]
    match: MatchConfig
    pairs: int = 1
    seed: int = 1

    def player(self, parts: Sequence[float]) -> str:
        """Return the text of a candidate."""
        given = ",".join(
            f"{s.name}={s.value(part):g}" for s, part in zip(self.settings, parts, strict=True)
        )
        return f"{self.match.a}{'' if self.match.a.endswith(':') else ','}{given}"

    def head(self, openings: list[tuple[int, ...]]) -> dict[str, Any]:
        """Return all of it as plain data, which the journal of a run begins with."""
        return {
            "settings": [[s.name, s.low, s.high, s.start, s.log] for s in self.settings],
            "match": self.match.settings(openings),
            "pairs": self.pairs, "population": 0, "seed": self.seed,
        }  # fmt: skip


def read_games(path: Path, head: dict[str, Any]) -> tuple[dict[tuple[int, int, int], float], int]:
    """Return a journal's games, (generation, candidate, index) -> score, and the bytes of its whole lines.

    A last line that was cut short is left out.

    Raises:
        SpaceError: it belongs to another run, or is damaged.
        OSError: it cannot be read.
    """
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    if not whole:
        return {}, 0
    first, *lines = whole.decode("utf-8", "replace").splitlines()
    if first != json.dumps(head):
        raise SpaceError(f"{path} belongs to a run with other settings, openings or limits")
    scores: dict[tuple[int, int, int], float] = {}
    for number, line in enumerate(lines, 2):
        try:
            generation, candidate, index, score = json.loads(line)
            scores[int(generation), int(candidate), int(index)] = {0: 0.0, 1: 0.5, 2: 1.0}[score]
        except (ValueError, TypeError, KeyError) as error:
            raise SpaceError(f"{path}:{number} is damaged: {error!r}") from error
    return scores, len(whole) + 1


class Journal:
    """Every game of a run, one line each, written as it ends."""

    def __init__(self, path: Path, head: dict[str, Any]) -> None:
        """Begin a journal, or continue one that was stopped.

        Raises:
            SpaceError: it belongs to another run, or is damaged.
            OSError: it cannot be read or written.
        """
        self.scores, whole = read_games(path, head) if path.exists() else ({}, 0)
        self._file = open(path, "r+b" if path.exists() else "w+b")  # noqa: SIM115 - closed by `close`
        self._file.seek(whole)
        self._file.truncate()
        if not whole:
            self._file.write(json.dumps(head).encode() + b"\n")
            self._file.flush()

    def add(self, generation: int, candidate: int, index: int, score: float) -> None:
        """Keep a game."""
        self.scores[generation, candidate, index] = score
        self._file.write(json.dumps([generation, candidate, index, round(2 * score)]).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Release the file."""
        self._file.close()


def play_candidate(
    config: SpaceConfig, parts: Sequence[float], candidate: int, index: int, opening: tuple[int, ...]
) -> tuple[int, int, float]:
    """Play game `index` of a candidate; returns candidate, index and its score."""
    _, game = play_index(replace(config.match, a=config.player(parts)), opening, index)
    return candidate, index, 0.5 if game.winner == 2 else float(game.winner == index % 2)


def limits_of(turn_ms: int | None, nodes: int | None, memory: int) -> tuple[BrainLimits, BrainLimits]:
    """Return the limits of both sides."""
    limits = BrainLimits(turn_ms=turn_ms, max_nodes=nodes, max_memory=memory)
    return limits, limits

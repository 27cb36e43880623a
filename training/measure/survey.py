"""Survey of settings: every pair of games has random values of all settings, and one fit uses all games.

Each game says something about every setting at once, so that a dozen of them cost no more games than one.
The score of a pair is fitted by a quadratic in the settings that is 1/2 at the defaults, by ridge regression
(https://en.wikipedia.org/wiki/Response_surface_methodology). `training.survey` is the command.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from arena.match_config import list_openings
from arena.pool import as_done, executor
from training.measure.space import JOURNAL, Journal, SpaceConfig, SpaceError, play_candidate, read_games

ELO_PER_SCORE = 694.9
"""Elo of a difference in score near 1/2 (derived: 1600 / ln 10)."""
PRIOR_ELO = 120.0
"""What a setting is expected to matter over its range, as a standard deviation of slope and curvature
(derived: settings that were compared one by one were seldom worth more than 60 over half of theirs); two
settings together half of that."""
NOISE = 0.125
"""Variance of a pair's score where nothing else is known (derived: two games without draws, independent)."""
STARTS, SWEEPS = 16, 8
"""Of the way to where the fit is highest (derived: more find nothing higher)."""
SAMPLES = 400
"""Draws from the fit's distribution that intervals are read from."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a survey says of one setting, the others at their defaults.

    Attributes:
        name: of the setting.
        values: from the least of its range to the greatest.
        elo: against the default at these.
        low, high: 95 % interval of each.
        best: value where the mean of the fit is highest, all settings together.
    """

    name: str
    values: tuple[float, ...]
    elo: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    best: float


@dataclass(frozen=True, slots=True)
class Survey:
    """What all games say.

    Attributes:
        games: that were read.
        effects: one a setting.
        elo, low, high: of the best settings together against the defaults, by the fit; too high by what the
            choice owes to luck.
    """

    games: int
    effects: tuple[Effect, ...]
    elo: float
    low: float
    high: float


def survey(config: SpaceConfig, folder: Path, games: int) -> Iterator[int]:
    """Play pairs until there are so many games; yield how many there are after each.

    Pair k of a seed has always the same settings and opening; the same call continues where it was stopped.

    Raises:
        SpaceError: the folder holds another run.
        OpeningError: a damaged list of openings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    openings = list_openings(replace(config.match, games=2))
    if openings is None:
        raise SpaceError("openings from a list are needed: most random ones are decided")
    journal = Journal(folder / JOURNAL, config.head(openings))
    try:
        todo = (
            (config, parts_of(config, pair), pair, index, openings[pair % len(openings)])
            for pair in range(games // 2)
            for index in (0, 1)
            if (0, pair, index) not in journal.scores
        )
        with executor(config.match.concurrency, processes=config.match.concurrency > 1) as pool:
            for pair, index, score in as_done(pool, config.match.concurrency, play_candidate, todo):
                journal.add(0, pair, index, score)
                yield len(journal.scores)
    finally:
        journal.close()


def parts_of(config: SpaceConfig, pair: int) -> list[float]:
    """Return the settings that a pair is played with, as parts of their ranges."""
    generator = np.random.default_rng([config.seed, pair])
    return [float(part) for part in generator.random(len(config.settings))]


def read(config: SpaceConfig, folder: Path) -> Survey:
    """Fit the games that have been played.

    Raises:
        SpaceError: the folder holds another run, or no finished pair.
        OpeningError, OSError: as `survey`.
    """
    head = config.head(list_openings(replace(config.match, games=2)) or [])
    games, _ = read_games(folder / JOURNAL, head)
    pairs = sorted(pair for _, pair, index in games if index and (0, pair, 0) in games)
    if not pairs:
        raise SpaceError(f"{folder}: no finished pair")
    scores = [(games[0, pair, 0] + games[0, pair, 1]) / 2 for pair in pairs]
    start = np.array([s.part(s.start) for s in config.settings])
    at = np.array([parts_of(config, pair) for pair in pairs])
    return fit(config, at - start, np.array(scores), start)


def _basis(x: np.ndarray) -> np.ndarray:
    """Return linear, square and mixed terms, (n, d) -> (n, d + d + d(d-1)/2)."""
    first, second = np.triu_indices(x.shape[1], 1)
    return np.concatenate([x, x * x, x[:, first] * x[:, second]], axis=1)


def fit(config: SpaceConfig, x: np.ndarray, scores: np.ndarray, start: np.ndarray) -> Survey:
    """Fit scores of pairs by their settings.

    Args:
        config: what was played.
        x: float[n, d], settings of each pair, in parts of the ranges from the defaults.
        scores: float[n], 0 to 1.
        start: float[d], the defaults, in parts of the ranges.
    """
    d = x.shape[1]
    terms = _basis(x)
    prior = np.full(terms.shape[1], PRIOR_ELO / ELO_PER_SCORE)
    prior[2 * d :] /= 2
    noise = (float(np.sum((scores - 0.5) ** 2)) + NOISE) / (len(scores) + 1)
    precision = terms.T @ terms / noise + np.diag(1 / prior**2)
    mean = np.linalg.solve(precision, terms.T @ (scores - 0.5) / noise)
    root = np.linalg.cholesky(np.linalg.inv(precision))
    draws = mean + np.random.default_rng(0).standard_normal((SAMPLES, len(mean))) @ root.T

    def elo(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        seen = _basis(points)
        low, high = np.quantile(draws @ seen.T, (0.025, 0.975), axis=0)
        return ELO_PER_SCORE * (seen @ mean), ELO_PER_SCORE * low, ELO_PER_SCORE * high

    best = _highest(mean, -start, 1 - start)
    effects = []
    for i, setting in enumerate(config.settings):
        parts = np.linspace(0, 1, 5)
        points = np.zeros((len(parts), d))
        points[:, i] = parts - start[i]
        mid, low, high = (tuple(round(float(v), 1) for v in row) for row in elo(points))
        values = tuple(setting.value(float(part)) for part in parts)
        effects.append(Effect(setting.name, values, mid, low, high, setting.value(float(best[i] + start[i]))))
    gain = [round(float(v[0]), 1) for v in elo(best[None])]
    return Survey(2 * len(scores), tuple(effects), *gain)


def _highest(mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return where in a box the quadratic is highest: one setting after the other, from many starts."""
    generator = np.random.default_rng(0)
    x = low + generator.random((STARTS, len(low))) * (high - low)
    x[0] = 0
    grid = np.linspace(low, high, 41)
    for _ in range(SWEEPS):
        for i in range(len(low)):
            points = np.repeat(x[:, None], len(grid), axis=1)
            points[:, :, i] = grid[:, i]
            values = (_basis(points.reshape(-1, len(low))) @ mean).reshape(len(x), len(grid))
            x[:, i] = grid[np.argmax(values, axis=1), i]
    best: np.ndarray = x[int(np.argmax(_basis(x) @ mean))]
    return best


def lines_of(found: Survey) -> Sequence[str]:
    """Return a survey as a table."""
    lines = [f"{found.games} games; Elo against the default, the other settings at theirs"]
    for effect in found.effects:
        curve = "  ".join(
            f"{value:g}: {elo:+.0f} [{low:+.0f}, {high:+.0f}]"
            for value, elo, low, high in zip(effect.values, effect.elo, effect.low, effect.high, strict=True)
        )
        lines.append(f"{effect.name}: {curve}; together {effect.best:g}")
    gain = f"{found.elo:+.0f} [{found.low:+.0f}, {found.high:+.0f}]"
    lines.append(f"together {gain} by the fit, to be confirmed")
    return lines

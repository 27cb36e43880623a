"""Balanced openings, drawn from a seed and searched; `training.balance` is the command."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import count as count_from
from pathlib import Path

from arena.openings import central_area, is_quiet, random_opening, read_openings
from engine.config import EngineConfig
from engine.engine import Engine
from engine.rules.geometry import symmetries, transform_point
from engine.rules.rule import Rule
from engine.timing.budget import SearchLimits
from training.files.atomic import write_atomically

FIRST_SHARE = 25
"""Part of the simulations that a first look takes (derived: most are not level, which is soon seen)."""
LOOK = 16
"""Simulations of a look at each place of the last stone (derived: little more than the net's opinion)."""
PLACES = 3
"""Places of the last stone that are searched, the most level first (derived: others are rarely better)."""
AHEAD = 16
"""Candidates a worker that are judged at a time (derived: keeps workers busy, loses seconds when stopped)."""


@dataclass(frozen=True, slots=True)
class BalanceConfig:
    """What makes a list; lists with the same fields are the same.

    Attributes:
        width, height, rule: the board.
        fewest, most: stones of an opening, drawn evenly between these.
        spread: largest distance of a stone from the centre, in columns and rows.
        simulations: of each search, behind a first one of a part of them, which may see twice as much.
        level: largest |win - loss| that counts as level, 0 to 1.
        net: a file, or a name in `engine/nets`.
        seed: of the candidates.
    """

    width: int = 15
    height: int = 15
    rule: int = 0
    fewest: int = 4
    most: int = 4
    spread: int = 3
    simulations: int = 20_000
    level: float = 0.1
    net: str = "default"
    seed: int = 1

    def candidate(self, index: int) -> tuple[int, ...]:
        """Return the points of candidate `index`, black first; a `Balancer` moves the last one."""
        rng = random.Random(f"{self.seed} {index}")
        stones = rng.randint(self.fewest, self.most)
        return random_opening(rng, self.width, self.height, self.rule, stones, self.spread)


def canonical(points: Sequence[int], width: int, height: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return what openings that are the same up to symmetry and order of moves have in common.

    Args:
        points: of the stones in playing order, black first.

    Returns:
        Ascending points of black and of white, under the symmetry that makes them smallest.
    """

    def under(symmetry: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        moved = [transform_point(p, width, height, symmetry) for p in points]
        return tuple(sorted(moved[::2])), tuple(sorted(moved[1::2]))

    return min(under(symmetry) for symmetry in symmetries(width, height))


class Balancer:
    """Searches which candidates are balanced; one engine a process."""

    def __init__(self, config: BalanceConfig, log: Callable[[str], None] = lambda line: None) -> None:
        """Load the net.

        Raises:
            EngineError: a net that cannot be used.
        """
        self._config = config
        self._engine = Engine(EngineConfig(net=config.net, seed=config.seed), log=log)
        _ = self._engine.net_name  # loads it

    def opening(self, index: int) -> tuple[int, ...] | None:
        """Return candidate `index`, its last stone where it balances best, None if none does.

        A balanced opening is unsolved and nearly even by the searches of every stage.
        """
        config = self._config
        for points in self._most_level(config.candidate(index)[:-1]):
            first = config.simulations // FIRST_SHARE
            if first and not self._is_level(points, first, 2 * config.level):
                continue
            if self._is_level(points, config.simulations, config.level):
                return points
        return None

    def close(self) -> None:
        """Release the engine."""
        self._engine.close()

    def _most_level(self, points: tuple[int, ...]) -> list[tuple[int, ...]]:
        config = self._config
        found = []
        for last in central_area(config.width, config.height, config.spread):
            whole = (*points, last)
            if is_quiet(whole, config.width, config.height, config.rule):
                imbalance = self._imbalance(whole, LOOK)
                if imbalance is not None:
                    found.append((imbalance, whole))
        return [whole for _, whole in sorted(found)[:PLACES]]

    def _is_level(self, points: Sequence[int], simulations: int, most: float) -> bool:
        imbalance = self._imbalance(points, simulations)
        return imbalance is not None and imbalance <= most

    def _imbalance(self, points: Sequence[int], simulations: int) -> float | None:
        """Return |win - loss| as a search sees it, None where it is solved."""
        # A new game each time: what an earlier search left must not decide.
        engine, config = self._engine, self._config
        engine.new_game(config.width, config.height, Rule(config.rule))
        engine.set_position([(p, i & 1) for i, p in enumerate(points)], len(points) & 1)
        result = engine.think(SearchLimits(max_nodes=simulations), engine.clock.now_s())
        return None if result.proven is not None else abs(result.q)


_balancer: Balancer | None = None


def _start(config: BalanceConfig) -> None:
    global _balancer  # noqa: PLW0603 - one engine a worker process
    _balancer = Balancer(config)


def _opening(index: int) -> tuple[int, ...] | None:
    assert _balancer is not None
    return _balancer.opening(index)


def level_openings(
    config: BalanceConfig, first: int = 0, workers: int = 1
) -> Generator[tuple[int, tuple[int, ...] | None]]:
    """Yield (index, opening or None) for the candidates from `first` on, in order, without end."""
    if workers == 1:
        judge = Balancer(config)
        try:
            for index in count_from(first):
                yield index, judge.opening(index)
        finally:
            judge.close()
    with ProcessPoolExecutor(workers, initializer=_start, initargs=(config,)) as pool:
        try:
            for start in count_from(first, AHEAD * workers):
                chunk = range(start, start + AHEAD * workers)
                yield from zip(chunk, pool.map(_opening, chunk), strict=True)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def as_offsets(points: Sequence[int], width: int, height: int) -> str:
    """Return an opening as `dx,dy` pairs from the centre."""
    return ", ".join(f"{p % width - width // 2},{p // width - height // 2}" for p in points)


class OpeningList:
    """A list that is being made, with the progress that lets it continue."""

    def __init__(self, path: Path, config: BalanceConfig) -> None:
        """Begin a list, or continue with one that was stopped.

        Raises:
            ValueError: the file belongs to a list with other settings.
            OpeningError: the file is damaged.
        """
        self.path, self._config = path, config
        self._progress = path.with_name(path.name + ".progress")
        self.next_index = 0
        self.found: list[tuple[int, ...]] = []
        if self._progress.exists():
            try:
                state = json.loads(self._progress.read_text(encoding="utf-8"))
                settings, self.next_index = state["settings"], int(state["next"])
                lines = int(state["found"])
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{self._progress} is damaged; delete it to begin anew") from error
            if settings != asdict(config):
                raise ValueError(f"{self._progress} belongs to a list with other settings")
            if lines:
                self.found = read_openings(path, config.width, config.height, config.rule)[:lines]
                if len(self.found) != lines:
                    raise ValueError(f"{path} is shorter than {self._progress} says; delete both")
        self._seen = {canonical(points, config.width, config.height) for points in self.found}

    def take(self, index: int, points: tuple[int, ...] | None) -> bool:
        """Count a candidate; return whether it is a new opening of the list."""
        self.next_index = index + 1
        if points is None:
            return False
        key = canonical(points, self._config.width, self._config.height)
        if key in self._seen:
            return False
        self._seen.add(key)
        self.found.append(points)
        self.save()
        return True

    def save(self) -> None:
        """Write list and progress; the list first, since the progress counts its lines."""
        self._write(self.path, self.found)
        state = {"settings": asdict(self._config), "next": self.next_index, "found": len(self.found)}
        write_atomically(self._progress, json.dumps(state).encode())

    def finish(self, halves: bool) -> list[Path]:
        """Drop the progress; with `halves` put every other opening into FILE.fit and FILE.final instead.

        Returns:
            The files that were written.
        """
        paths = [self.path]
        if halves:
            name = self.path.name.removesuffix(".txt")
            paths = [self.path.with_name(f"{name}-{half}.txt") for half in ("fit", "final")]
            for at, path in enumerate(paths):
                self._write(path, self.found[at::2])
            self.path.unlink()
        self._progress.unlink(missing_ok=True)
        return paths

    def _write(self, path: Path, openings: Sequence[Sequence[int]]) -> None:
        text = "".join(f"{as_offsets(p, self._config.width, self._config.height)}\n" for p in openings)
        write_atomically(path, text.encode())

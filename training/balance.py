"""Make lists of level openings: random stones near the centre that a long search calls even.

    python -m training.balance --out openings.txt --count 50 --size 15 --rule freestyle
    python -m training.balance --out openings.txt --count 500 --halves --workers 2

One opening a line, `dx,dy` pairs from the centre (size // 2), black first, as Piskvork and `training.match`
read them. On openings that are won for a side the better player often only splits a pair, so that matches
make differences look smaller than they are. Short searches do not see who wins: of 15 openings that 400
simulations of an early net called level, nine were not so for longer searches.

Candidate number k of a seed is always the same, and so is the verdict on it (searches are limited in
simulations), whatever the number of workers. What was found is written as it is found; the same command goes
on where it was stopped (FILE.progress holds the number of the next candidate and goes away at the end). No
two openings of a list are the same under a symmetry of the board.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import count as count_from
from pathlib import Path

from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import EngineError
from engine.options import parse_rule, parse_size
from engine.rules.geometry import symmetries, transform_point
from engine.rules.rule import Rule
from engine.timing.budget import SearchLimits
from training.openings import OpeningError, random_opening, read_openings
from training.records import write_atomically

FIRST_SHARE = 25
"""Part of the simulations that a first look takes (derived: most are not level, which is soon seen)."""
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
        """Return the points of candidate `index`, black first."""
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


class Judge:
    """Says which candidates are level; one engine a process."""

    def __init__(self, config: BalanceConfig, log: Callable[[str], None] = lambda line: None) -> None:
        """Load the net.

        Raises:
            EngineError: a net that cannot be used.
        """
        self._config = config
        self._engine = Engine(EngineConfig(net=config.net, seed=config.seed), log=log)

    def opening(self, index: int) -> tuple[int, ...] | None:
        """Return candidate `index` if searches call it level and unsolved, else None."""
        config, points = self._config, self._config.candidate(index)
        first = config.simulations // FIRST_SHARE
        if first and not self._is_level(points, first, 2 * config.level):
            return None
        return points if self._is_level(points, config.simulations, config.level) else None

    def close(self) -> None:
        """Release the engine."""
        self._engine.close()

    def _is_level(self, points: Sequence[int], simulations: int, most: float) -> bool:
        # A new game each time: what an earlier search left must not decide.
        engine, config = self._engine, self._config
        engine.new_game(config.width, config.height, Rule(config.rule))
        engine.set_position([(p, i & 1) for i, p in enumerate(points)], len(points) & 1)
        result = engine.think(SearchLimits(max_nodes=simulations), engine.clock.now_s())
        return result.proven is None and abs(result.q) <= most


_judge: Judge | None = None


def _start(config: BalanceConfig) -> None:
    global _judge  # noqa: PLW0603 - one engine a worker process
    _judge = Judge(config)


def _opening(index: int) -> tuple[int, ...] | None:
    assert _judge is not None
    return _judge.opening(index)


def level_openings(
    config: BalanceConfig, first: int = 0, workers: int = 1
) -> Generator[tuple[int, tuple[int, ...] | None]]:
    """Yield (index, opening or None) for the candidates from `first` on, in order, without end."""
    if workers == 1:
        judge = Judge(config)
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
    """A list on its way into a file, with what is needed to go on."""

    def __init__(self, path: Path, config: BalanceConfig) -> None:
        """Begin a list, or go on with one that was stopped.

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


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m training.balance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    parser.add_argument("--count", type=int, default=50, help="openings (50)")
    parser.add_argument("--halves", action="store_true", help="write NAME-fit.txt and NAME-final.txt instead")
    parser.add_argument("--stones", default="4", metavar="N[-M]", help="stones of an opening (4)")
    parser.add_argument("--spread", type=int, default=3, help="largest distance from the centre (3)")
    parser.add_argument("--size", type=parse_size, default=(15, 15), help="board, N or WxH (15)")
    parser.add_argument("--rule", type=parse_rule, default=0, help="number or name (freestyle)")
    parser.add_argument("--simulations", type=int, default=20_000, help="of each search (20000)")
    parser.add_argument("--most", type=float, default=0.1, help="largest |win - loss| (0.1)")
    parser.add_argument("--net", default="default", help="a file, or a name in engine/nets (default)")
    parser.add_argument("--seed", type=int, default=1, help="of the candidates (1)")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    return parser.parse_args(arguments)


def _config_of(args: argparse.Namespace) -> BalanceConfig:
    fewest, _, most = args.stones.partition("-")
    config = BalanceConfig(
        args.size[0], args.size[1], int(args.rule), int(fewest), int(most or fewest), args.spread,
        args.simulations, args.most, args.net, args.seed,
    )  # fmt: skip
    if min(args.count, args.simulations, args.workers, config.fewest, config.spread) < 1:
        raise ValueError("--count, --stones, --spread, --simulations and --workers are at least 1")
    if config.most < config.fewest or config.most >= (2 * config.spread + 1) ** 2:
        raise ValueError(f"--stones {args.stones}: not so many within --spread {config.spread}")
    if not 0 < config.level <= 1:
        raise ValueError("--most is above 0 and at most 1")
    return config


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 when it was stopped (the same command goes on), 2 for an error."""
    args = _arguments(arguments)
    try:
        config = _config_of(args)
        Judge(config, lambda line: print(line, file=sys.stderr)).close()  # a bad net is an error here
        wanted = OpeningList(args.out, config)
        judged = level_openings(config, wanted.next_index, args.workers)
        while len(wanted.found) < args.count:
            index, points = next(judged)
            if wanted.take(index, points) and sys.stderr.isatty():
                print(f"\r{len(wanted.found)}/{args.count} of {index + 1}", end="", file=sys.stderr)
        judged.close()
        written = wanted.finish(args.halves)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 1
    except (ValueError, OSError, EngineError, OpeningError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    names = " and ".join(map(str, written))
    print(f"{names}: {len(wanted.found)} openings of {wanted.next_index} candidates")
    return 0


if __name__ == "__main__":
    sys.exit(main())

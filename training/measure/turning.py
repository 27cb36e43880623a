"""Turning points: positions where lost games were decided, and how many simulations a search needs to see it.

A turning point is the loser's last balanced move and the winner's reply. A search starts before the move and
after the reply, and runs until it sees what the game showed later. The number of simulations that this takes
compares settings of the search in minutes, where games at long clocks take days.
`training.turning` is the command.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Literal

from engine.config import EngineConfig
from engine.evaluator.make import make_evaluator
from engine.resources import search_params
from engine.rules._board import Board
from engine.rules.rule import Rule
from engine.search.mcts import Search
from engine.search.stoppers import NodeLimit, SearchState
from training.files.atomic import write_atomically
from training.files.foreign import read_bounded

FALL = 0.2
"""Utility (win minus loss) by which a score must move to count: an expected score of 0.1 (protocol)."""
REFERENCE_SIMULATIONS = 64
"""Of the search whose score is the reference, by the settings that made the suite (protocol)."""
TREE_MIB = 256
"""Memory of the tree that the searches of a measurement have, unless told otherwise."""
MAX_BYTES = 16 << 20
"""Largest file of a suite."""
_RESAMPLES = 2000  # of the bootstrap; an end of the interval moves by 2 % of its width

Half = Literal["fit", "confirm"]
Side = Literal["before", "behind"]
SIDES: tuple[Side, ...] = ("before", "behind")


class SuiteError(ValueError):
    """A suite cannot be read or made; the message says why."""


@dataclass(frozen=True, slots=True)
class TurningPoint:
    """Where a lost game turned. Points are `y * width + x`, black first, colours alternate.

    Attributes:
        source: name of the game.
        rule, width, height: as of `engine.rules`.
        moves: from the empty board to the loser's last balanced move, that move included.
        answer: the winner's reply.
        before, behind: utility for the loser, who is to move in front of its move and after the answer, by a
            search of `REFERENCE_SIMULATIONS`; None where that search has seen the turn already.
        half: settings are chosen on `fit`, and confirmed on `confirm`.
    """

    source: str
    rule: int
    width: int
    height: int
    moves: tuple[int, ...]
    answer: int
    before: float | None
    behind: float | None
    half: Half

    def position(self, side: Side) -> Board:
        """Return the position before the loser's move, or after the answer; the loser is to move."""
        moves = self.moves[:-1] if side == "before" else (*self.moves, self.answer)
        stones = [(p, i & 1) for i, p in enumerate(moves)]
        return Board.from_stones(self.width, self.height, self.rule, stones)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a search saw of one position.

    Attributes:
        index: of the turning point in the suite.
        side: before the loser's move, or after the answer.
        simulations: until it saw the turn; the limit where it did not.
        seen: whether it did.
    """

    index: int
    side: Side
    simulations: int
    seen: bool


class TurnStopper:
    """Stops a search at the first check that sees the turn. Checks come after fixed numbers of
    simulations."""

    def __init__(self, point: TurningPoint, side: Side) -> None:
        reference = point.before if side == "before" else point.behind
        assert reference is not None
        self._move = point.moves[-1] if side == "before" else -1
        self._low = reference - FALL
        self.seen = False

    def should_stop(self, state: SearchState) -> str | None:
        """Return a reason at a proof, at a score that fell by `FALL`, or when another move leads."""
        if state.updated_at != state.simulations or state.simulations == 0:
            return None
        self.seen = (
            state.proven is not None
            or (self._move >= 0 and state.best_point != self._move)
            or state.best_q <= self._low
        )
        return "turn seen" if self.seen else None


def read_suite(path: Path) -> list[TurningPoint]:
    """Read a suite, a JSON object a line.

    Raises:
        SuiteError: damaged, or a position that cannot be.
        OSError: it cannot be read.
    """
    points = []
    for number, line in enumerate(read_bounded(path, MAX_BYTES).decode("utf-8", "replace").splitlines(), 1):
        try:
            table = json.loads(line)
            point = TurningPoint(**{**table, "moves": tuple(table["moves"])})
            board = point.position("behind")
            known = [value for value in (point.before, point.behind) if value is not None]
            if point.half not in ("fit", "confirm") or not board.ply or not all(map(math.isfinite, known)):
                raise ValueError("no half, no stones or no score")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise SuiteError(f"{path}, line {number}: no turning point ({error})") from None
        points.append(point)
    if not points:
        raise SuiteError(f"{path}: empty")
    return points


def write_suite(path: Path, points: Sequence[TurningPoint]) -> None:
    """Write a suite, atomically."""
    text = "".join(json.dumps(asdict(point), separators=(",", ":")) + "\n" for point in points)
    write_atomically(path, text.encode())


def with_references(points: Iterable[TurningPoint], config: EngineConfig) -> list[TurningPoint]:
    """Return the points with the scores of short searches, halves in turn; without what is seen at once."""
    evaluator, params = make_evaluator(config, 0), search_params(config, 0)
    out: list[TurningPoint] = []
    for point in points:
        scores: list[float | None] = []
        for side in SIDES:
            search = Search(params, memory_bytes=16 << 20)
            result = search.search(point.position(side), evaluator, [NodeLimit(REFERENCE_SIMULATIONS)])
            most = max(result.candidates, key=lambda move: move.visits)
            seen = result.proven is not None or (side == "before" and most.point != point.moves[-1])
            scores.append(None if seen or most.q <= FALL - 1 else most.q)
        if any(score is not None for score in scores):
            half: Half = "confirm" if len(out) % 2 else "fit"
            out.append(replace(point, before=scores[0], behind=scores[1], half=half))
    return out


def watch(
    suite: Sequence[TurningPoint], config: EngineConfig, limit: int, workers: int = 1,
    tree_mib: int = TREE_MIB,
) -> list[Sighting]:  # fmt: skip
    """Search the positions of each turning point from an empty tree until the turn is seen.

    Args:
        suite: the turning points.
        config: net, vector path and settings of the search.
        limit: simulations at most.
        workers: processes; the result does not depend on them.
        tree_mib: memory of the tree, MiB.
    """
    tasks: list[tuple[int, Side]] = []
    for index, point in enumerate(suite):
        tasks += [(index, side) for side in SIDES if getattr(point, side) is not None]
    if workers == 1:
        _begin(suite, config, limit, tree_mib)
        return [_watch_one(task) for task in tasks]
    with ProcessPoolExecutor(workers, initializer=_begin, initargs=(suite, config, limit, tree_mib)) as pool:
        return list(pool.map(_watch_one, tasks))


_WORK: list[Callable[[tuple[int, Side]], Sighting]] = []  # of this process


def _begin(suite: Sequence[TurningPoint], config: EngineConfig, limit: int, tree_mib: int) -> None:
    evaluator = make_evaluator(config, 0)
    search = Search(search_params(config, 0), memory_bytes=tree_mib << 20)

    def work(task: tuple[int, Side]) -> Sighting:
        index, side = task
        search.clear()
        stopper = TurnStopper(suite[index], side)
        result = search.search(suite[index].position(side), evaluator, [stopper, NodeLimit(limit)])
        seen = stopper.seen or result.proven is not None
        return Sighting(index, side, min(limit, result.simulations), seen)

    _WORK[:] = [work]


def _watch_one(task: tuple[int, Side]) -> Sighting:
    return _WORK[0](task)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a configuration needs.

    Attributes:
        median: simulations, with the bounds of a 95 % interval by turning points.
        seen: share of the positions whose turn was seen within the limit.
    """

    median: tuple[float, float, float]
    seen: float


def summary(sightings: Sequence[Sighting], seed: int = 1) -> Summary:
    """Summarise; the bootstrap draws turning points, whose two positions belong together."""
    groups = _groups(sightings)
    value = median(s.simulations for s in sightings)
    low, high = _bootstrap(groups, lambda drawn: median(s.simulations for s in drawn), seed)
    return Summary((value, low, high), sum(s.seen for s in sightings) / len(sightings))


def ratio(a: Sequence[Sighting], b: Sequence[Sighting], seed: int = 1) -> tuple[float, float, float]:
    """Return by what factor `a` needs more simulations than `b` in the geometric mean, with a 95 % interval.

    Args:
        a, b: of the same suite and limit. What was not seen counts as the limit, so that a ratio is nearer
            to 1 than it would be with a higher limit.
        seed: of the bootstrap.
    """
    logs = {
        (x.index, x.side): math.log(max(1, x.simulations) / max(1, y.simulations))
        for x, y in zip(a, b, strict=True)
    }

    def mean(drawn: Sequence[Sighting]) -> float:
        return math.exp(sum(logs[s.index, s.side] for s in drawn) / len(drawn))

    return (mean(a), *_bootstrap(_groups(a), mean, seed))


def _groups(sightings: Sequence[Sighting]) -> list[list[Sighting]]:
    groups: dict[int, list[Sighting]] = {}
    for sighting in sightings:
        groups.setdefault(sighting.index, []).append(sighting)
    return list(groups.values())


def _bootstrap(
    groups: list[list[Sighting]], statistic: Callable[[Sequence[Sighting]], float], seed: int
) -> tuple[float, float]:
    rng = random.Random(seed)
    draws = (rng.choices(groups, k=len(groups)) for _ in range(_RESAMPLES))
    values = sorted(statistic([s for group in draw for s in group]) for draw in draws)
    return values[_RESAMPLES // 40], values[-_RESAMPLES // 40]


def names_of(suite: Sequence[TurningPoint]) -> dict[str, int]:
    """Return how many turning points there are of each rule and board."""
    counts: dict[str, int] = {}
    for point in suite:
        name = f"{Rule(point.rule).name.lower()} {point.width}x{point.height}"
        counts[name] = counts.get(name, 0) + 1
    return counts

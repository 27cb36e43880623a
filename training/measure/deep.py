"""Positions of a hold-out: drawn from games, labelled by deep searches or as records have them;
`training.holdout` is the command."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import random
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from arena.journal import read_journal
from arena.openings import is_playable
from arena.pool import executor
from arena.timing_lock import pause_while_timed
from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import PositionError
from engine.games.files import SUFFIXES, load_game
from engine.games.record import NO_LEGAL_MOVE, GameRecord
from engine.rules.rule import Rule
from engine.timing.budget import SearchLimits
from training.data.records import Flag
from training.data.shards import RecordError, list_shards, read_shards
from training.files.atomic import write_atomically
from training.measure.balance import canonical
from training.measure.holdout import HoldoutError, Position

FEWEST_STONES = 4
"""A position has at least so many stones (derived: openings are given by hand)."""
ENDED = ("five", "draw", NO_LEGAL_MOVE)
"""Reasons of games whose result says something of their positions."""
MOST_MOVES = 40
"""Moves of the deep search that are kept, the most visited ones (derived: the others have < 0.1 % each)."""


@dataclass(frozen=True, slots=True)
class DeepConfig:
    """What makes the labels.

    Attributes:
        simulations: of each search, from an empty tree.
        net: a file, or a name in `engine/nets`.
        seed: of the draw and of the searches.
    """

    simulations: int = 50_000
    net: str = "default"
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Game:
    """A finished game that positions are drawn from; points from the empty board, black first."""

    source: str
    width: int
    height: int
    rule: int
    opening: int
    points: tuple[int, ...]
    winner: int


def read_games(folder: Path, on_skip: Callable[[str], None]) -> Iterator[tuple[Path, GameRecord]]:
    """Yield the .psq and .sgf files below a folder with what they hold, in order of their names.

    Of a game that was saved in both formats it is the .sgf, since a .psq does not say its rule.
    """
    found = sorted(p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES)
    named = {p.with_suffix("") for p in found if p.suffix.lower() == ".sgf"}
    for path in found:
        if path.suffix.lower() == ".psq" and path.with_suffix("") in named:
            continue
        try:
            game = load_game(path)
        except (PositionError, OSError) as error:
            on_skip(f"{path}: {error}")
            continue
        if game.alternates:
            yield path, game
        else:
            on_skip(f"{path}: somebody passed, or stones were set up")


def saved_games(folder: Path, on_skip: Callable[[str], None]) -> Iterator[Game]:
    """Yield the finished games of a folder of .psq and .sgf files, in order of their names."""
    for _, game in read_games(folder, on_skip):
        if game.reason in ENDED:
            yield Game(
                folder.name, game.width, game.height, game.rule, game.opening_stones,
                tuple(game.points), game.winner,
            )  # fmt: skip


def match_games(file: Path) -> Iterator[Game]:
    """Yield the games of a match file (`arena.journal`) that ended by a five or a draw, in order.

    Raises:
        GameJournalError: the file is none, or damaged.
        OSError: it cannot be read.
    """
    settings, games = read_journal(file)
    for _, game in sorted(games.items()):
        if game.reason in ENDED:
            yield Game(
                file.name, game.width, game.height, int(settings["rule"]), game.opening_stones,
                tuple(game.points), game.winner,
            )  # fmt: skip


def recorded_games(folder: Path, on_skip: Callable[[str], None]) -> Iterator[Game]:
    """Yield the self-play games of a folder of shards, in order."""

    def damaged(error: RecordError) -> None:
        on_skip(str(error))

    for _, games in read_shards(list_shards(folder), damaged):
        for game in games:
            yield Game(
                "self-play", game.width, game.height, game.rule, game.opening,
                tuple(int(p) for p in game.moves), int(game.winner),
            )  # fmt: skip


def recorded_positions(
    folder: Path, seed: int, on_skip: Callable[[str], None] = lambda line: None
) -> list[Position]:
    """Return positions of self-play with the policy targets, values and results that a learner would take.

    One a game, drawn at random from those that were searched in full and not proven. `q` is empty, since
    records do not hold the utilities of moves.
    """
    rng = random.Random(seed)
    found = []
    for _, games in read_shards(list_shards(folder), lambda error: on_skip(str(error))):
        for game in games:
            rows = [i for i in range(game.positions) if game.flags[i] == Flag.FULL and game.counts[i]]
            if not rows:
                continue
            row = rng.choice(rows)
            points, share = game.policy(row)
            order = np.argsort(-share, kind="stable")
            win, even, loss = (float(chance) for chance in game.root_wdl()[row])
            found.append(
                Position(
                    game.width, game.height, game.rule, folder.name,
                    tuple(int(p) for p in game.moves[: game.opening + row]), int(game.z()[row]),
                    (win, even, loss), tuple(int(p) for p in points[order]),
                    tuple(float(v) for v in share[order]), (),
                )
            )  # fmt: skip
    return found


def draw(games: Sequence[Game], count: int, seed: int) -> list[tuple[Game, int]]:
    """Return (game, stones) of `count` positions at most: one a game, games in random order.

    No two are the same under a symmetry of the board.
    """
    rng = random.Random(seed)
    order = list(range(len(games)))
    rng.shuffle(order)
    found: list[tuple[Game, int]] = []
    seen = set()
    for i in order:
        game = games[i]
        first = max(FEWEST_STONES, game.opening)
        if len(found) == count or first >= len(game.points):
            continue
        stones = rng.randrange(first, len(game.points))
        moves = game.points[:stones]
        key = (game.width, game.height, game.rule, *canonical(moves, game.width, game.height))
        if key not in seen and is_playable(moves, game.width, game.height, game.rule):
            seen.add(key)
            found.append((game, stones))
    return found


class Labeller:
    """Searches positions; one engine a process."""

    def __init__(self, config: DeepConfig, log: Callable[[str], None] = lambda line: None) -> None:
        """Load the net.

        Raises:
            EngineError: a net that cannot be used.
        """
        self._config = config
        self._engine = Engine(EngineConfig(net=config.net, seed=config.seed), log=log)

    def close(self) -> None:
        """Release the engine."""
        self._engine.close()

    def label(self, game: Game, stones: int) -> Position | None:
        """Return the position with the result of a deep search; None where that solves it."""
        pause_while_timed()
        engine = self._engine
        moves = game.points[:stones]
        engine.new_game(game.width, game.height, Rule(game.rule))
        engine.set_position([(p, i & 1) for i, p in enumerate(moves)], stones & 1)
        result = engine.nbest(
            game.width * game.height, SearchLimits(max_nodes=self._config.simulations), engine.clock.now_s()
        )
        moved = sorted((c for c in result.candidates if c.visits > 0), key=lambda c: -c.visits)
        total = sum(c.visits for c in moved)
        if result.proven is not None or total == 0:
            return None
        kept = moved[:MOST_MOVES]
        z = 0 if game.winner not in (0, 1) else 1 if game.winner == stones & 1 else -1
        win, even, loss = (round(chance, 4) for chance in result.wdl)
        return Position(
            game.width, game.height, game.rule, game.source, moves, z, (win, even, loss),
            tuple(c.point for c in kept), tuple(round(c.visits / total, 5) for c in kept),
            tuple(round(c.q, 4) for c in kept),
        )  # fmt: skip


@functools.cache
def _labeller(config: DeepConfig) -> Labeller:
    return Labeller(config)


def _label(config: DeepConfig, game: Game, stones: int) -> Position | None:
    return _labeller(config).label(game, stones)


def labels(config: DeepConfig, drawn: Sequence[tuple[Game, int]], workers: int) -> Generator[Position | None]:
    """Yield the results of deep searches of drawn positions, in their order; None for a solved one.

    Raises:
        HoldoutError: a worker process ended, for instance for lack of memory.
    """
    if workers == 1:
        with contextlib.closing(Labeller(config)) as labeller:
            for game, stones in drawn:
                yield labeller.label(game, stones)
        return
    games, stones_of = [game for game, _ in drawn], [stones for _, stones in drawn]
    with executor(workers, processes=True) as pool:
        try:
            yield from pool.map(_label, itertools.repeat(config), games, stones_of)
        except BrokenExecutor as error:
            raise HoldoutError("a worker process ended (memory?); the same command continues") from error


class Progress:
    """Labels of a set that is being made: one line a drawn position, in order, null for a solved one."""

    def __init__(self, path: Path, config: DeepConfig, drawn: int) -> None:
        """Begin, or continue with what was stopped.

        Raises:
            HoldoutError: the file belongs to other settings, or is damaged.
            OSError: it cannot be read.
        """
        self.path = path
        self.lines: list[object] = []
        self._head = json.dumps({**asdict(config), "drawn": drawn})
        if path.exists():
            head, *rest = path.read_text(encoding="utf-8").splitlines()
            if head != self._head:
                raise HoldoutError(f"{path} belongs to a set with other settings or games; delete it")
            try:
                self.lines = [json.loads(line) for line in rest]
            except json.JSONDecodeError as error:
                raise HoldoutError(f"{path} is damaged ({error}); delete it") from error

    def add(self, position: Position | None) -> None:
        """Add the label of the next position, and write all."""
        self.lines.append(None if position is None else position.to_json())
        text = "\n".join([self._head, *(json.dumps(line) for line in self.lines)])
        write_atomically(self.path, text.encode())


def gather(
    games: Iterable[Path], records: Iterable[Path], on_skip: Callable[[str], None]
) -> tuple[list[Game], list[Game]]:
    """Return the games of folders of saved games or files of matches, and those of folders of shards.

    Raises:
        GameJournalError: a file is none of a match, or damaged.
        OSError: a file cannot be read.
    """
    played: list[Game] = []
    for path in games:
        played += saved_games(path, on_skip) if path.is_dir() else match_games(path)
    recorded = [game for folder in records for game in recorded_games(folder, on_skip)]
    return played, recorded

"""Searches for a game at the terminal; Ctrl-C ends a search early instead of the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine.config import EngineConfig
from engine.engine import Engine, Swap2Answer
from engine.games.review import ReviewedMove, review
from engine.levels import STRONGEST
from engine.play.engines import Engines
from engine.play.game import Game
from engine.search.result import SearchResult
from engine.timing.budget import SearchLimits

T = TypeVar("T")

TICK_S = 0.1
"""Seconds between ticks (derived: a clock that shows tenths)."""


@dataclass(frozen=True, slots=True)
class Thought(Generic[T]):
    """Result of a search, and whether Ctrl-C ended it."""

    value: T
    interrupted: bool
    elapsed_s: float


class Thinker:
    """Searches for a person's game. Called from the main thread only, since it catches Ctrl-C."""

    def __init__(
        self, config: EngineConfig, *, log: Callable[[str], None], tick: Callable[[float], None]
    ) -> None:
        """Load the net.

        Args:
            config: settings of the engine; `level` and what it sets must have their defaults.
            log: receives messages about errors that the engine handled.
            tick: called with the seconds spent, about every TICK_S during a search.

        Raises:
            NetError: the net cannot be loaded.
        """
        self._tick = tick
        self._engines = Engines(config, log=log)

    def engine(self, level: int) -> Engine:
        """Return the engine of a level."""
        return self._engines.engine(level)

    def move(self, game: Game, level: int, time_s: float) -> Thought[SearchResult]:
        """Choose a move for the side to move."""
        engine = self._engines.placed(game, level)
        limits, arrival_s = _limits(time_s), engine.clock.now_s()
        return self.watched(lambda stop: engine.think(limits, arrival_s, stop=stop))

    def analyse(self, game: Game, time_s: float, count: int) -> Thought[SearchResult]:
        """Return the best moves at full strength."""
        engine = self._engines.placed(game, STRONGEST)
        limits, arrival_s = _limits(time_s), engine.clock.now_s()
        return self.watched(lambda stop: engine.nbest(count, limits, arrival_s, stop=stop))

    def swap2(self, game: Game, level: int, time_s: float) -> Thought[Swap2Answer]:
        """Answer the query of swap2 that the stones of the game imply."""
        engine = self.engine(level)
        engine.new_game(game.board.width, game.board.height, game.rule)
        limits, arrival_s = _limits(time_s), engine.clock.now_s()
        return self.watched(lambda stop: engine.swap2(game.points, limits, arrival_s, stop=stop))

    def review(
        self, game: Game, time_s: float, on_move: Callable[[ReviewedMove], None]
    ) -> Thought[list[ReviewedMove]]:
        """Review every move of the game at full strength; `on_move` is called in another thread."""
        engine, record = self.engine(STRONGEST), game.record(("black", "white"))
        return self.watched(lambda stop: review(engine, record, _limits(time_s), on_move, stop))

    def close(self) -> None:
        """Close all engines."""
        self._engines.close()

    def watched(self, work: Callable[[threading.Event], T]) -> Thought[T]:
        """Run work in a thread, so that this one can handle Ctrl-C and show the time."""
        stop = threading.Event()
        outcome: list[T] = []
        failure: list[BaseException] = []

        def run() -> None:
            try:
                outcome.append(work(stop))
            except BaseException as error:
                failure.append(error)

        clock = self.engine(STRONGEST).clock
        began_s = clock.now_s()
        thread = threading.Thread(target=run, name="thinking", daemon=True)
        with _ctrl_c_sets(stop):
            thread.start()
            while thread.is_alive():
                thread.join(TICK_S)
                if thread.is_alive():
                    self._tick(clock.now_s() - began_s)
        if failure:
            raise failure[0]
        return Thought(outcome[0], stop.is_set(), clock.now_s() - began_s)


@contextmanager
def _ctrl_c_sets(stop: threading.Event) -> Iterator[None]:
    """Make Ctrl-C set an event during a search."""
    before = signal.signal(signal.SIGINT, lambda number, frame: stop.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _limits(time_s: float) -> SearchLimits:
    return SearchLimits(turn_ms=max(1, round(1000 * time_s)))

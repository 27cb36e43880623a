"""Engines for games with people: one a level, all with the same net."""

from __future__ import annotations

from collections.abc import Callable, Collection

from engine.config import MAX_THREADS, EngineConfig
from engine.engine import Engine
from engine.evaluator.make import make_evaluator
from engine.levels import STRONGEST
from engine.play.game import Game


class Engines:
    """Creates the engine of a level on first use."""

    def __init__(self, config: EngineConfig, *, log: Callable[[str], None]) -> None:
        """Load the net.

        Args:
            config: settings of every engine; `level` and what it sets must have their defaults.
            log: receives messages about errors that the engine handled.

        Raises:
            NetError: the net cannot be loaded.
        """
        self._config = config.replace(overhead_ms=0, level=None)
        self._log = log
        self._evaluator = make_evaluator(self._config, config.seed or 0)
        self._engines: dict[int, Engine] = {}
        self._max_threads = MAX_THREADS
        self.engine(STRONGEST).warm_up()

    def engine(self, level: int) -> Engine:
        """Return the engine of a level, 1 to 10; the next call for the level returns the same one."""
        if level not in self._engines:
            config = self._config.replace(level=None if level == STRONGEST else level)
            engine = Engine(config, evaluator=self._evaluator, log=self._log)
            engine.limit_threads(self._max_threads)
            self._engines[level] = engine
        return self._engines[level]

    def placed(self, game: Game, level: int) -> Engine:
        """Return the engine of a level with the position of a game."""
        engine = self.engine(level)
        engine.new_game(game.board.width, game.board.height, game.rule)
        engine.set_position(game.stones, game.board.to_move)
        return engine

    def limit_threads(self, most: int) -> None:
        """Let searches have at most so many threads for now, also the running one (any thread)."""
        self._max_threads = most
        for engine in list(self._engines.values()):
            engine.limit_threads(most)

    def keep(self, levels: Collection[int]) -> None:
        """Close all engines but those of these levels and the strongest."""
        for level in [n for n in self._engines if n not in levels and n != STRONGEST]:
            self._engines.pop(level).close()

    def close(self) -> None:
        """Close all engines."""
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()

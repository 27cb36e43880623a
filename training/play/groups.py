"""Many games of self-play at once: groups of one board size, whose shares follow what is to be played."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from engine.evaluator.base import Evaluator
from engine.threats._solver import Solver
from training.data.records import SelfPlayRecord
from training.play.batch import LeafBatch
from training.play.game import Counters, SelfPlayGame
from training.play.regret import Mistakes
from training.settings.play import Mix, PlayConfig

SOLVER_TABLE_LOG2 = 16  # 2.5 MB a group of games; enough for the budgets of `PlayConfig`

# Rounds before another group's turn; in the kernel those of a game in a row, its tree in the cache.
BATCH_ROUNDS = 8
KERNEL_ROUNDS = 256  # tuned: 64 play 0.94 times as many positions, 8 0.83 times, 400 as many


class GameGroup:
    """Games of one board size that share batches."""

    def __init__(
        self,
        config: PlayConfig,
        size: tuple[int, int],
        games: int,
        rules: Sequence[tuple[int, float]],
        seed: int,
        on_record: Callable[[SelfPlayRecord], None],
        net_id: Callable[[], str],
    ) -> None:
        self.counters = Counters()
        self.reseed(seed)
        chances = np.array([weight for _, weight in rules], float)
        chances /= chances.sum()
        codes = np.array([rule for rule, _ in rules])

        def next_game() -> tuple[int, int]:
            return int(self._rng.integers(2**63)), int(self._rng.choice(codes, p=chances))

        solver, mistakes = Solver(SOLVER_TABLE_LOG2), Mistakes()
        self.games = [
            SelfPlayGame(config, size, next_game, on_record, solver, self.counters, net_id, mistakes)
            for _ in range(games)
        ]
        self._batch = LeafBatch(games, *size)

    def reseed(self, seed: int) -> None:
        """Draw the games that begin from here on from another seed."""
        self._rng = np.random.Generator(np.random.PCG64(seed))

    def step(self, evaluator: Evaluator) -> None:
        """Do some searches in every game."""
        rounds = KERNEL_ROUNDS if evaluator.backend else BATCH_ROUNDS
        self.counters.evaluations += self._batch.step(self.games, evaluator, rounds)


class GameGroups:
    """Groups of several sizes; their shares of positions follow the weights of the mix."""

    def __init__(self, config: PlayConfig, games: int, seed: int) -> None:
        """Make a worker without games.

        Args:
            config: of search and openings.
            games: in each group.
            seed: of everything random here.
        """
        self._config, self._games, self._seed = config, games, seed
        self._groups: dict[tuple[tuple[int, int], tuple[tuple[int, float], ...]], GameGroup] = {}
        self._generation = 0
        self._mix: Mix | None = None
        self._begun: list[int] = []  # moves of each group when the mix was first played
        self.finished: list[SelfPlayRecord] = []
        self.on_record: Callable[[SelfPlayRecord], None] = self.finished.append
        self._evaluator: Evaluator | None = None

    def use(self, evaluator: Evaluator) -> None:
        """Change the net; games in flight continue with it."""
        self._evaluator = evaluator

    def reseed(self, seed: int) -> None:
        """Draw the games that begin from here on from another seed; those in flight continue."""
        self._seed, self._generation = seed, 0
        for group in self._groups.values():
            group.reseed(self._next_seed())

    def play(self, mix: Mix, positions: int, stop: Callable[[], bool]) -> Counters:
        """Play until so many positions were searched, or `stop`; return what was done.

        Games that are not over stay for the next call. Shares of sizes are kept over all calls with the same
        mix: a single one may be too short for them.
        """
        assert self._evaluator
        groups = [self._group((w, h), mix.rules) for w, h, _ in mix.sizes]
        weights = [weight for _, _, weight in mix.sizes]
        before = [dataclasses.replace(group.counters) for group in groups]
        if mix != self._mix:
            self._mix, self._begun = mix, [group.counters.moves for group in groups]

        def share(i: int) -> float:
            return (groups[i].counters.moves - self._begun[i]) / weights[i]

        end = sum(group.counters.moves for group in groups) + positions
        while sum(group.counters.moves for group in groups) < end and not stop():
            groups[min(range(len(groups)), key=share)].step(self._evaluator)
        done = Counters()
        for group, old in zip(groups, before, strict=True):
            done.add(group.counters)
            done.add(old, -1)
        return done

    def _group(self, size: tuple[int, int], rules: tuple[tuple[int, float], ...]) -> GameGroup:
        key = (size, rules)
        if key not in self._groups:
            seed = self._next_seed()
            self._groups[key] = GameGroup(
                self._config,
                size,
                self._games,
                rules,
                seed,
                lambda record: self.on_record(record),  # noqa: PLW0108  (on_record changes)
                self._net_id,
            )
        return self._groups[key]

    def _next_seed(self) -> int:
        self._generation += 1
        return int(np.random.SeedSequence([self._seed, self._generation]).generate_state(1, np.uint64)[0])

    def _net_id(self) -> str:
        assert self._evaluator
        return self._evaluator.name

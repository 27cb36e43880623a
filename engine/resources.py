"""The net and the tree: loaded on first use, sized by the memory limit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.config import MAX_THREADS, SEARCH_PREFIX, EngineConfig, convert
from engine.cores import usable_cores
from engine.errors import ConfigError
from engine.evaluator.base import Evaluator
from engine.memory import MIN_TREE_BYTES, private_bytes, tree_bytes
from engine.ranges import shown
from engine.rules._board import MAX_SIDE
from engine.rules.rule import Rule, rule_name
from engine.timing.clock import Clock

if TYPE_CHECKING:
    from engine.search.mcts import Search
    from engine.search.params import SearchParams

UNKNOWN_PRIVATE_BYTES = 64 << 20
"""Assumed for interpreter, runtime and net where the system does not say (derived: twice what Linux says)."""
THREAD_BYTES = 512 << 10
"""Of a thread of the search: its board, its stack as far as it is used, its part of the runtime (derived:
200 KiB of board and simulation, the rest to spare)."""
SOLVER_ENTRY_BYTES = 40
"""Bytes a position in the solver's tables, which are allocated on first use (derived: see `Solver`)."""


class Resources:
    """Owns evaluator and search of one engine."""

    def __init__(
        self,
        config: EngineConfig,
        seed: int,
        clock: Clock,
        evaluator: Evaluator | None = None,
        log: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Load nothing yet; `evaluator` replaces the configured net, `log` takes lines for users."""
        self._config = config
        self._seed = seed
        self._clock = clock
        self._evaluator = evaluator
        self._search: Search | None = None
        self._memory_bytes = config.memory_bytes
        self._held_bytes = UNKNOWN_PRIVATE_BYTES
        self._helper_bytes = THREAD_BYTES
        self._possible_threads = 1
        self._log = log
        self._noted_rules: set[int] = set()
        self._threads = config.threads
        self._max_threads = MAX_THREADS
        self._noted_threads: set[str] = set()

    def note_rule(self, rule: int) -> None:
        """Say once, by `log`, if nets see a rule as another one."""
        seen_as = Rule(rule).spec.seen_as
        if seen_as is not None and rule not in self._noted_rules:
            self._noted_rules.add(rule)
            self._log(f"nets see {rule_name(rule)} as {rule_name(seen_as)}; moves and proofs follow the rule")

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator; loaded on first use.

        Raises:
            NetError: the net is missing, damaged or foreign.
        """
        if self._evaluator is None:
            from engine.evaluator.make import make_evaluator

            self._evaluator = make_evaluator(self._config, self._seed)
        return self._evaluator

    @property
    def search(self) -> Search:
        """The search with its tree; created on first use, after the net, whose memory counts.

        Raises:
            NetError: as in `evaluator`.
            ConfigError: an override of a search parameter is unknown or bad.
        """
        if self._search is None:
            from engine.search.mcts import Search

            params = search_params(self._config, self._seed)
            if self._evaluator is None:
                _ = self.evaluator
            self._held_bytes = private_bytes() or UNKNOWN_PRIVATE_BYTES
            if self._config.solver:
                self._held_bytes += SOLVER_ENTRY_BYTES << params.solver_table_log2
            self._helper_bytes = THREAD_BYTES
            if self._config.solver:
                self._helper_bytes += SOLVER_ENTRY_BYTES << params.solver_table_log2
            backend = self.evaluator.backend
            if backend is not None:
                self._helper_bytes += backend.thread_bytes(MAX_SIDE * MAX_SIDE)
            self._search = Search(
                params, MIN_TREE_BYTES, solver=self._config.solver, now_s=self._clock.now_s, log=self._log
            )
            self.set_threads(self._threads)
        return self._search

    def set_threads(self, wanted: int) -> str | None:
        """Set the threads of the searches from now on.

        Returns:
            why it is fewer than wanted, for users; None: it is not. Also told by `log`, each text once.
        """
        self._threads = wanted
        search = self.search
        cores = usable_cores()
        threads, remark = wanted, None
        if wanted > 1 and self.evaluator.backend is None:
            threads = 1
            remark = f"this net searches with one thread, not {wanted}: it is called from Python"
        elif wanted > cores:
            threads = cores
            remark = (
                f"threads: {wanted} are more than the {cores} core{'s' * (cores > 1)} that this process may "
                f"use; searching with {threads}"
            )
        if remark is not None and remark not in self._noted_threads:
            self._noted_threads.add(remark)
            self._log(remark)
        self._possible_threads = threads
        search.threads = min(threads, self._max_threads)
        search.set_memory(self._tree_bytes())
        return remark

    def limit_threads(self, most: int) -> None:
        """Let searches have at most so many threads for now, also the running one (any thread)."""
        self._max_threads = most
        if self._search is not None:
            self._search.threads = min(self._possible_threads, most)

    def set_memory(self, max_bytes: int | None) -> int | None:
        """Limit the private memory of the process, bytes; None or 0: no limit.

        Returns:
            The bytes that it needs at least if the limit is lower, else None.
        """
        self._memory_bytes = max_bytes or None
        self.search.set_memory(self._tree_bytes())
        needed = self._held_bytes + self._reserved_bytes() + MIN_TREE_BYTES
        return needed if self._memory_bytes is not None and self._memory_bytes < needed else None

    def clear(self) -> None:
        """Clear the tree, the solver and the cache of evaluations."""
        from engine.evaluator.cache import CachedEvaluator

        if self._search is not None:
            self._search.clear()
        if isinstance(self._evaluator, CachedEvaluator):
            self._evaluator.clear()

    def drop_search(self) -> None:
        """Drop the tree, which may be damaged; the next use creates a new one."""
        self._search = None

    def close(self) -> None:
        """Free the net and the tree."""
        self._search = None
        self._evaluator = None

    def _tree_bytes(self) -> int:
        return tree_bytes(self._memory_bytes, self._held_bytes, self._reserved_bytes())

    def _reserved_bytes(self) -> int:
        """Return how much the cache of evaluations and the threads besides the first may take."""
        from engine.evaluator.cache import CachedEvaluator

        cache = self._evaluator.max_bytes if isinstance(self._evaluator, CachedEvaluator) else 0
        helpers = self._possible_threads - 1
        return cache + helpers * self._helper_bytes


def search_params(config: EngineConfig, seed: int) -> SearchParams:
    """Return the parameters of the search: defaults, then the overrides of the configuration.

    Raises:
        ConfigError: an override is unknown, not a number or out of its range.
    """
    from engine.search.params import SearchParams

    kinds = {f.name: type(f.default) for f in dataclasses.fields(SearchParams)}
    values: dict[str, Any] = {"seed": seed & 0x7FFF_FFFF}
    for name, text in config.search.items():
        if name not in kinds:
            raise ConfigError(
                f"unknown search parameter {SEARCH_PREFIX}{shown(name)}; known: {', '.join(sorted(kinds))}"
            )
        values[name] = convert(SEARCH_PREFIX + name, text, kinds[name])
    try:
        return SearchParams(**values)
    except ConfigError as error:
        raise ConfigError(f"{SEARCH_PREFIX}{error}") from None

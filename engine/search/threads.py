"""The threads of a search besides the one that started it: started with it, ended with it.

Each runs `_threads.Helper.run`, a loop of the kernel without the GIL. Nobody waits for one: the tree tells
them that the search is over, and each ends within one simulation of getting a core. One that has not ended
when the next search begins has no part in that.
"""

from __future__ import annotations

import _thread
import contextlib
import time
from collections.abc import Callable, Iterator

from engine.evaluator._backend import KernelBackend
from engine.search._threads import MAX_THREADS, Helper, begin_threads, end_threads
from engine.search._tree import Tree
from engine.threats._solver import Solver


class HelperThreads:
    """Makes and keeps the helpers of one tree."""

    def __init__(
        self, tree: Tree, solver_table_log2: int | None, log: Callable[[str], None] = lambda text: None
    ) -> None:
        """Start nothing yet.

        Args:
            tree: what they search.
            solver_table_log2: size of the tables of each helper's solver; None: no solver.
            log: receives a line if a thread cannot be started.
        """
        self._tree = tree
        self._solver_table_log2 = solver_table_log2
        self._log = log
        self._helpers: list[Helper] = []
        self._late: list[Helper] = []  # of another evaluator, not ended yet
        self._searching: list[Helper] = []
        self._source: KernelBackend | None = None  # of the backends of the helpers

    @contextlib.contextmanager
    def searching(self, threads: int, backend: KernelBackend | None, *, vct: bool) -> Iterator[int]:
        """Let helpers search the tree meanwhile; yield how many threads search, this one included.

        Args:
            threads: how many are wanted, this one included.
            backend: evaluates leaves; helpers get backends of their own from it. None, or one that only one
                thread can use: no helpers.
            vct: see `Tree.run`.

        Raises:
            ValueError: at the end, if a helper met an evaluation that is not finite.
        """
        ready = self._ready(min(threads, MAX_THREADS) - 1, backend) if threads > 1 else []
        if not ready:
            yield 1
            return
        begin_threads(self._tree, ready, vct=vct)
        try:
            started = self._start(ready)
            self._searching = ready[:started]
            yield 1 + started
        finally:
            self._searching = []
            end_threads(self._tree)

    def _ready(self, count: int, backend: KernelBackend | None) -> list[Helper]:
        """Return helpers that are not busy, new ones if need be."""
        if backend is not self._source:
            self._late += [helper for helper in self._helpers if helper.busy]
            self._helpers, self._source = [], backend
        self._late = [helper for helper in self._late if helper.busy]
        if backend is None:
            return []
        ready = [helper for helper in self._helpers if not helper.busy][:count]
        while len(ready) < count and len(self._helpers) < 2 * count:
            try:
                own = backend.for_thread()
                if own is None:
                    break
                log2 = self._solver_table_log2
                helper = Helper(self._tree, own, Solver(log2) if log2 is not None else None)
            except MemoryError:
                self._log(f"no memory for more than {1 + len(ready)} threads")
                break
            self._helpers.append(helper)
            ready.append(helper)
        return ready

    def _start(self, helpers: list[Helper]) -> int:
        """Start the threads; return how many started."""
        for i, helper in enumerate(helpers):
            try:
                _thread.start_new_thread(helper.run, ())  # unlike Thread.start it does not wait for a core
            except RuntimeError:
                for other in helpers[i:]:
                    other.abandon()
                self._log(
                    f"the system starts no more threads: searching with {1 + i}, not {1 + len(helpers)}"
                )
                return i
        return len(helpers)

    def limit(self, threads: int) -> None:
        """Let no more than so many threads, this one included, go on with the running search."""
        while len(self._searching) >= threads > 0:
            self._searching.pop().withdraw()

    def join(self, timeout_s: float) -> bool:
        """Wait until all helpers have ended; return False if the time was too short."""
        until_s = time.monotonic() + timeout_s
        return all(
            [helper.join(max(0.0, until_s - time.monotonic())) for helper in self._helpers + self._late]
        )

    def clear(self) -> None:
        """Clear the tables of the solvers."""
        for helper in self._helpers:
            helper.clear()

    @property
    def memory_bytes(self) -> int:
        """Memory of the helpers that were made so far."""
        return sum(helper.memory_bytes for helper in self._helpers)

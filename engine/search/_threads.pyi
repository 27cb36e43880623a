"""Typed interface of helpers: the threads of a search besides the main one, which started it."""

from collections.abc import Sequence

from engine.evaluator._backend import KernelBackend
from engine.search._tree import Tree
from engine.threats._solver import Solver

MAX_THREADS: int
"""Most threads of a search."""

class Helper:
    """What one more thread needs to search a tree: board, solver tables, a backend of its own."""

    def __init__(self, tree: Tree, backend: KernelBackend, solver: Solver | None = None) -> None:
        """Make a helper of a tree.

        Args:
            backend: no other thread uses it; see `KernelBackend.for_thread`.
            solver: of this helper alone; None: none, as in `Tree`.
        """
    def run(self) -> None:
        """Search until the search is over. Call it once after each `begin_threads`, in a thread."""
    def abandon(self) -> None:
        """Give up a search that has begun, in place of `run`."""
    def withdraw(self) -> None:
        """Tell it that its part of the running search is over; called by the thread that began the search."""
    @property
    def busy(self) -> bool:
        """Whether it has begun a search and not ended it."""
    def join(self, timeout_s: float = -1) -> bool:
        """Wait until it is not busy; False if that took longer than the time given."""
    def clear(self) -> None:
        """Clear the tables of its solver, if it is not busy."""
    @property
    def memory_bytes(self) -> int:
        """Memory that it takes, bytes, at most."""

def begin_threads(tree: Tree, helpers: Sequence[Helper], *, vct: bool = True) -> None:
    """Let helpers search a tree from now on; the caller then runs `Helper.run` of each in a thread.

    They do nothing until `Tree.run` is told a limit.

    Args:
        helpers: of this tree, not busy.
        vct: as in `run`.

    Raises:
        ValueError: no root, the threads have begun already, or a helper does not fit.
    """
def end_threads(tree: Tree) -> None:
    """End the search of the helpers without waiting for them: what they have in flight is dropped.

    Each ends within one simulation of getting a core and does not touch the tree any more. Does nothing
    when none search.

    Raises:
        ValueError: a helper met an evaluation that is not finite, or no probabilities.
    """

def thread_counters(tree: Tree) -> dict[str, float]:
    """Return what threads did since `reset_counters`.

    collisions: selections that met a leaf which another thread was evaluating; duplicates: evaluations
    that were wasted because another thread had finished the leaf; cancelled: simulations whose path was
    freed; locks, contended: times that the lock was taken, and was not free; held_s, wait_s: time that it
    was held, and that threads waited for it, seconds.
    """

# cython: language_level=3
"""Helpers: the threads of a search besides the main one, which started it. See `kernel/state.pxd`."""
from engine.evaluator._backend cimport KernelBackend
from engine.rules._board cimport MAX_POINTS, Board, BoardState
from engine.search._tree cimport Tree, raise_for_status
from engine.search.kernel.flight cimport MAX_THREADS
from engine.search.kernel.lock cimport tengen_lock_acquire, tengen_lock_release
from engine.search.kernel.state cimport (
    BAD_EVALUATION, INCONSISTENT, Counters, TreeState, Worker, lock_tree, unlock_tree,
)
from engine.threats._solver cimport Solver

import _thread

cdef enum:
    OWN_SOLVER_LOG2 = 8     # solver table of a helper without a solver (derived: 4 KB)

globals().update(MAX_THREADS=MAX_THREADS)


cdef class Helper:
    """What one more thread needs to search a tree; see the stub file for the contract of each method."""
    cdef Worker worker
    cdef Tree tree
    cdef Solver solver
    cdef Board board                # a copy of the root's
    cdef KernelBackend backend
    cdef bint vct
    cdef object running             # a lock that is held from `begin_threads` until the thread ends

    def __cinit__(self, Tree tree not None, KernelBackend backend not None, solver=None):
        if backend.callback.evaluate == NULL:
            raise ValueError("a backend without a callback")
        self.tree = tree
        self.backend = backend
        self.solver = Solver(OWN_SOLVER_LOG2) if solver is None else solver
        self.solver.state.owner = <void*>&self.worker      # for `descend.search_is_over`
        self.worker.solver = <void*>self.solver
        self.worker.tree = <void*>&tree.state
        self.worker.threaded = self.worker.is_helper = True
        self.running = _thread.allocate_lock()

    cdef prepare(self, bint vct):
        """Begin a search of the tree; `run` or `abandon` must follow."""
        self.running.acquire()
        self.board = self.tree.board.copy()
        self.worker.board = self.board.state
        self.worker.generation = self.tree.state.generation
        self.worker.flight.active = self.worker.flight.cancelled = False
        self.worker.oom_retries = self.worker.waits = 0
        self.vct = vct

    def run(self):
        cdef TreeState* t = &self.tree.state
        cdef int status
        try:
            with nogil:
                status = self.tree.run_worker(&self.worker, &self.backend.callback, self.vct)
                if status == BAD_EVALUATION or status == INCONSISTENT:
                    lock_tree(t, &self.worker)
                    if self.worker.generation == t.generation:
                        t.failure = status
                    unlock_tree(t, &self.worker)
        finally:
            self.running.release()

    def abandon(self):
        self.running.release()

    def withdraw(self):
        cdef TreeState* t = &self.tree.state
        with nogil:
            lock_tree(t, &t.main)
            self.worker.generation = -1
            unlock_tree(t, &t.main)

    @property
    def busy(self):
        return self.running.locked()

    def join(self, timeout_s=-1):
        if not self.running.acquire(timeout=timeout_s):
            return False
        self.running.release()
        return True

    def clear(self):
        if not self.busy:
            self.solver.clear()

    @property
    def memory_bytes(self):
        cdef int points = self.tree.board.state.points if self.tree.board is not None else MAX_POINTS
        return sizeof(Worker) + sizeof(BoardState) + self.solver.memory_bytes + self.backend.thread_bytes(points)


def begin_threads(Tree tree not None, helpers, *, bint vct=True):
    cdef TreeState* t = &tree.state
    cdef Helper helper
    cdef int i
    tree.require_root()
    if t.main.threaded:
        raise ValueError("the threads of this tree have begun already")
    if len(helpers) >= MAX_THREADS:
        raise ValueError(f"a search has at most {MAX_THREADS} threads")
    for helper in helpers:
        if helper.tree is not tree or helper.busy:
            raise ValueError("a helper is busy, or belongs to another tree")
    tengen_lock_acquire(&t.lock)    # for helpers that have not heard yet that their search is over
    t.generation += 1
    tengen_lock_release(&t.lock)
    t.main.threaded = True
    t.main.generation = t.generation
    t.main.flight.active = t.main.flight.cancelled = False
    t.main.waits = 0
    t.failure = 0
    t.max_simulations = t.counters.simulations + 1
    t.flights.n = 1 + len(helpers)
    t.flights.of[0] = &t.main.flight
    for i, helper in enumerate(helpers, 1):
        helper.prepare(vct)
        t.flights.of[i] = &helper.worker.flight


def end_threads(Tree tree not None):
    cdef TreeState* t = &tree.state
    if not t.main.threaded:
        return
    with nogil:
        lock_tree(t, &t.main)
        t.generation += 1
        t.main.generation = t.generation
        t.flights.n = 0
        unlock_tree(t, &t.main)
    t.main.threaded = False
    raise_for_status(t.failure, "")


def thread_counters(Tree tree not None):
    cdef Counters* counters = &tree.state.counters
    return {
        "collisions": counters.collisions, "duplicates": counters.duplicates, "cancelled": counters.cancelled,
        "locks": counters.lock_times.locks, "contended": counters.lock_times.contended,
        "held_s": counters.lock_times.held_ns * 1e-9, "wait_s": counters.lock_times.wait_ns * 1e-9,
    }

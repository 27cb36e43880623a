# cython: language_level=3
"""The search tree, as `_threads` sees it."""
from libc.stdint cimport uint64_t

from engine.evaluator._backend cimport EvalCallback
from engine.rules._board cimport Board
from engine.search.kernel.node cimport Edge
from engine.search.kernel.state cimport TreeState, Worker
from engine.threats._solver cimport Solver

# Raise the exception of a bad status; `whose` says more in its message.
cdef int raise_for_status(int status, str whose) except -1


cdef class Tree:
    cdef TreeState state
    cdef readonly object params
    cdef Solver solver              # of leaves, or a small own one for the planes
    cdef Board board                # None: no root
    cdef object rng                 # of the root noise
    cdef int n_held                 # how often the main thread holds the lock

    cdef int require_root(self) except -1
    cdef int simulate_once(self, EvalCallback* callback, int root_move) except -1
    cdef int check_planes(self, float[:, :, :, ::1] planes, uint64_t[::1] keys, int rows) except -1
    cdef int run_worker(self, Worker* worker, EvalCallback* callback, bint vct) noexcept nogil
    # of the root
    cdef int n_moves(self)
    cdef int n_edges(self)
    cdef Edge* edge(self, int i)
    cdef object by_move(self, list values, fill, dtype)
    cdef int point(self, int i)
    cdef int prove_edge(self, int point, int proven, int distance) except -1

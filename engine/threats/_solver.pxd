# cython: language_level=3
"""Threat solver as the search tree calls it; `_solver.pyx` defines VCF and VCT."""
cimport cython
from libc.stdint cimport int64_t, uint16_t

from engine.rules._board cimport BoardState
from engine.threats.kernel.state cimport SolverResult, SolverState, Threat


@cython.final
cdef class Solver:
    cdef SolverState state
    cdef object poll                # `stop` of the running `solve`: Callable[[], bool] or None

    # Solve VCF for `attacker`, as if it were to move; `b` is restored on return. Never allocates.
    cdef void vcf(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil
    # Solve VCT; otherwise as `vcf`.
    cdef void vct(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil
    # Solve VCT for `attacker` with the defender to move, and write to `points` (MAX_POINTS places) the legal
    # moves of the defender that may refute the win found: every other move is proven to lose.
    # Return how many, or -1 unless `out` is a win. At most `node_budget` nodes each for win and defences.
    cdef int vct_defences(
        self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out, uint16_t* points
    ) noexcept nogil
    # Find out whether the side not to move threatens a VCF, and which moves may stop it; return the nodes
    # spent. At most `node_budget` for the win, and as many for all defences together.
    cdef int64_t threat(self, BoardState* b, int64_t node_budget, Threat* out) noexcept nogil
    # Clear the tables.
    cpdef void clear(self) noexcept nogil

    cdef list winning_line(self, BoardState* b, bint vct, int64_t node_budget)

# cython: language_level=3
"""Threat solver: what the search tree calls. Definitions of VCF and VCT stand in `_solver.pyx`."""
cimport cython
from libc.stdint cimport int64_t, uint16_t

from engine.rules._board cimport BoardState
from engine.threats.kernel.state cimport SolverResult, SolverState, Threat


@cython.final
cdef class Solver:
    cdef SolverState state
    cdef object poll                # of the running `solve`: Callable[[], bool] or None: end the call?

    # Solve for `attacker`, as if it were his turn; `b` is as before on return. `vcf` never allocates.
    cdef void vcf(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil
    # The same with fours and threes.
    cdef void vct(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil
    # Solve for `attacker` although it is the other's turn, and write to `points` (MAX_POINTS places) the
    # legal moves of the defender that may refute the win found: every other move is proven to lose.
    # Returns how many, or -1 unless `out` is a win. At most `node_budget` nodes each for win and defences.
    cdef int vct_defences(
        self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out, uint16_t* points
    ) noexcept nogil
    # Look whether the side that is not to move threatens to win by fours, and what may stop it; returns the
    # placements tried. At most `node_budget` for the win, and as many for all that may stop it.
    cdef int64_t threat(self, BoardState* b, int64_t node_budget, Threat* out) noexcept nogil
    # Forget everything.
    cpdef void clear(self) noexcept nogil

    cdef list winning_line(self, BoardState* b, bint threes, int64_t node_budget)

# cython: language_level=3
"""Threat solver: what the search tree calls. Definitions of VCF and VCT stand in `_solver.pyx`."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from engine.rules._board cimport BoardState

cdef enum:
    SOLVER_NONE = -1        # space exhausted: there is no win of this kind
    SOLVER_UNKNOWN = 0      # the budget is spent, or stop was asked for
    SOLVER_WIN = 1

cdef struct SolverResult:
    int verdict             # SOLVER_*
    int distance            # of a win: plies until the five stands (odd), at most; else 0
    int move                # the attacker's first point of a win, else -1
    int64_t nodes           # placements tried

cdef struct FourEntry:      # what is known of a position with the attacker to move (VCF)
    uint64_t key
    uint16_t move           # of the win
    uint8_t failed          # no win with this many fours or fewer; 255: none at all
    uint8_t fours           # fours of the win found, the five not counted; 255: no win known
    uint32_t work           # placements below; replacement keeps the dearer entry

cdef struct ProofEntry:     # proof and disproof number of a position (VCT), of the attacker's win
    uint64_t key
    uint32_t proof          # 0: the attacker wins
    uint32_t disproof       # 0: he does not
    uint32_t work           # placements below
    uint16_t distance       # of a proven win: plies until the five stands, at most
    uint16_t move           # of a proven win, with the attacker to move

cdef struct Child:          # a move of an open VCT node
    uint32_t proof
    uint32_t disproof
    uint16_t point
    uint16_t distance


@cython.final
cdef class Solver:
    cdef FourEntry* four_table
    cdef ProofEntry* proof_table    # allocated by the first VCT
    cdef Child* children            # stack of the open VCT nodes' moves; likewise
    cdef uint16_t* moves            # stack of the open VCF nodes' moves
    cdef uint32_t* seen             # by point: the node that met it last
    cdef uint32_t stamp
    cdef uint64_t mask              # table entries - 1
    cdef int64_t nodes              # of the running call
    cdef int64_t limit              # the call's node budget
    cdef int64_t next_poll          # node count at which `poll` is asked
    cdef uint64_t* keys             # hash change of a stone, by colour * MAX_POINTS + point (VCT)
    cdef int keys_width             # width of the boards that these are of
    cdef uint64_t turn_key          # hash change of the side to move
    cdef bint polling               # whether there is a `poll`
    cdef object poll                # Callable[[], bool] or None: end the running call?
    cdef volatile int stop_flag     # set from any thread: end every call as unknown, until it is zero again
    cdef int attacker               # of the running call
    cdef bint legality              # renju: black's forbidden points matter
    cdef bint shortest              # look for the shortest VCF, however long that takes; False for the tree
    cdef int tables                 # what placements keep up to date

    # Solve for `attacker`, as if it were his turn; `b` is as before on return. `vcf` never allocates.
    cdef void vcf(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil
    # The same with fours and threes.
    cdef void vct(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil
    # Solve for `attacker` although it is the other's turn, and write to `points` (MAX_POINTS places) the
    # legal moves of the defender that may refute the win found: every other move is proven to lose.
    # Returns how many, or -1 unless `out` is a win. At most `node_budget` nodes each for win and defences.
    cdef int vcf_defences(
        self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out, uint16_t* points
    ) noexcept nogil
    cdef int vct_defences(
        self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out, uint16_t* points
    ) noexcept nogil
    # Forget everything.
    cpdef void clear(self) noexcept nogil

    cdef void begin(self, BoardState* b, int attacker, int64_t node_budget) noexcept nogil
    cdef bint spent(self) noexcept nogil
    cdef bint ask_poll(self) noexcept nogil
    cdef FourEntry* find_four(self, uint64_t key) noexcept nogil
    cdef void keep_four(self, uint64_t key, int failed, int fours, int move, int64_t work) noexcept nogil
    cdef int fours(self, BoardState* b, int limit, uint16_t* stack, uint16_t* best) noexcept nogil
    cdef int deepen(
        self, BoardState* b, int limit, int64_t node_budget, int64_t shorten_budget, uint16_t* best
    ) noexcept nogil
    cdef int answers(self, BoardState* b, uint16_t* out) noexcept nogil
    cdef bint mark_refuters(self, BoardState* b, int fours, uint8_t* marks) noexcept nogil
    cdef bint mark_win(self, BoardState* b, int move, int fours, uint8_t* marks) noexcept nogil
    cdef void mark_legality(self, BoardState* b, int point, uint8_t* marks) noexcept nogil
    cdef int threat(self, BoardState* b, uint8_t* marks) noexcept nogil
    cdef int open_attack(self, BoardState* b, Child* children, ProofEntry* out) noexcept nogil
    cdef int open_defence(self, BoardState* b, Child* children, ProofEntry* out) noexcept nogil
    cdef bint prove(
        self, BoardState* b, uint32_t proof_limit, uint32_t disproof_limit, Child* children, ProofEntry* out
    ) noexcept nogil
    cdef void load_proof(self, uint64_t key, ProofEntry* out) noexcept nogil
    cdef void keep_proof(self, ProofEntry* entry, int64_t work) noexcept nogil
    cdef bint begin_threes(self, BoardState* b) noexcept nogil
    cdef void solve_now(
        self, BoardState* b, bint threes, bint shortest, int64_t node_budget, SolverResult* out
    ) noexcept nogil
    cdef int defend(
        self, BoardState* b, int attacker, bint threes, int64_t node_budget, SolverResult* out, uint16_t* points
    ) noexcept nogil
    cdef int longest_answer(self, BoardState* b, bint threes, int64_t node_budget) noexcept nogil
    cdef list winning_line(self, BoardState* b, bint threes, int64_t node_budget)

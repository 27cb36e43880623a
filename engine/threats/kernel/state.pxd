# cython: language_level=3
"""Data of a solver, and the budget of the running call."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from engine.rules._board cimport MAX_POINTS, TABLES_ALL, TABLES_FOURS, BoardState

cdef enum:
    SOLVER_NONE = -1        # space exhausted: there is no win of this kind
    SOLVER_UNKNOWN = 0      # out of budget, or stopped
    SOLVER_WIN = 1

cdef enum:
    EXHAUSTED = -1          # no win, however many fours
    CUTOFF = -2             # no win within the limit of fours
    ABORTED = -3            # out of budget or stopped: nothing is known
    MAX_FOURS = 250         # more than fit on a board
    NO_WIN = 255            # `failed` of an exhausted position; `fours` where no win is known
    INFINITE = 1 << 28      # a proof number out of reach
    POLL_NODES = 1024       # nodes between calls of `poll` (derived: 0.3 ms, at most 1 ms)

cdef extern from *:
    """
    #define TENGEN_NO_POLL (((long long)1) << 62)
    #define TENGEN_WHITE_ATTACKS 0x9E3779B97F4A7C15ULL
    """
    const int64_t NO_POLL "TENGEN_NO_POLL"
    const uint64_t WHITE_ATTACKS "TENGEN_WHITE_ATTACKS"     # in keys: entries of white as the attacker

cdef struct SolverResult:
    int verdict             # SOLVER_*
    int distance            # of a win: plies to the five (odd), an upper bound; else 0
    int longest             # the same after any move of the defender that is proven to lose (`solve_defences`)
    int move                # the attacker's first point of a win, else -1
    int64_t nodes           # placements tried

cdef struct Threat:         # VCF of the side not to move, if the side to move passes
    bint found              # the other fields are valid only then
    int distance            # plies to the five, an upper bound; the pass is not counted
    int longest             # the same after any move that is proven to lose, which is not counted
    int move                # first move of the VCF
    int n                   # legal moves that may stop it: every other move is proven to lose
    uint16_t points[484]    # these moves, ascending

cdef struct VcfEntry:      # 16 bytes: bounds of a position with the attacker to move (VCF)
    uint64_t key
    uint16_t move           # of the win
    uint8_t failed          # no win with this many fours or fewer; NO_WIN: none at all
    uint8_t fours           # fours of the win found, the five not counted; NO_WIN: none known
    uint32_t work           # nodes of its subtree; replacement prefers the entry with more

cdef struct ProofEntry:     # 24 bytes: proof and disproof number of a position (VCT), of the attacker's win
    uint64_t key
    uint32_t proof          # 0: the attacker wins
    uint32_t disproof       # 0: the attacker has no VCT
    uint32_t work           # nodes of its subtree
    uint16_t distance       # of a proven win: plies to the five, an upper bound
    uint16_t move           # of a proven win, with the attacker to move

cdef struct Child:          # a move of an expanded VCT node
    uint32_t proof
    uint32_t disproof
    uint16_t point
    uint16_t distance

cdef struct SolverState:
    # memory
    VcfEntry* vcf_table
    ProofEntry* proof_table     # allocated by the first call for a VCT
    uint64_t mask               # table entries - 1
    uint16_t* moves             # stack: moves of the VCF nodes on the path
    Child* children             # stack: moves of the VCT nodes on the path; allocated as above
    uint32_t* seen              # by point: stamp of the node that listed it last
    uint32_t stamp
    uint64_t* keys              # Zobrist keys by colour * MAX_POINTS + point (VCT)
    int keys_width              # width of the boards that they belong to
    uint64_t turn_key           # Zobrist key of the side to move
    # the running call
    int64_t nodes
    int64_t limit               # its node budget
    int64_t next_poll           # node count at which `poll` is asked
    bint (*poll)(void* owner) noexcept nogil    # whether to end the call; may be NULL
    void* owner
    volatile int stop_flag      # set by any thread: end every call as unknown, until it is zero again
    int attacker
    bint shortest               # look for the shortest VCF, however long that takes; False in the tree
    int tables                  # TABLES_* that placements update


cdef inline void begin(SolverState* s, BoardState* b, int attacker, int64_t node_budget) noexcept nogil:
    """Reset the counters of a call."""
    s.attacker = attacker
    s.nodes = 0
    s.limit = node_budget
    s.next_poll = 0 if s.poll != NULL else NO_POLL
    s.tables = TABLES_ALL if b.forbids[0] or b.forbids[1] else TABLES_FOURS
    if s.stamp > 0xF0000000U:
        s.stamp = 0
        memset(s.seen, 0, MAX_POINTS * sizeof(uint32_t))


cdef inline bint should_stop(SolverState* s) noexcept nogil:
    """Return whether the running call must end without a result."""
    return s.nodes >= s.limit or s.stop_flag or (s.nodes >= s.next_poll and call_poll(s))


cdef inline bint call_poll(SolverState* s) noexcept nogil:
    """Call `poll`; return whether to stop."""
    s.next_poll = s.nodes + POLL_NODES
    if s.poll(s.owner):
        s.stop_flag = 1
    return s.stop_flag

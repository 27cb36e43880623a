# cython: language_level=3
"""What a solver holds, and the budget of the running call."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from engine.rules._board cimport MAX_POINTS, TABLES_ALL, TABLES_FOURS, BoardState

cdef enum:
    SOLVER_NONE = -1        # space exhausted: there is no win of this kind
    SOLVER_UNKNOWN = 0      # the budget is spent, or stop was asked for
    SOLVER_WIN = 1

cdef enum:
    EXHAUSTED = -1          # no win, however many fours
    CUT = -2                # no win within the limit of fours
    ABORTED = -3            # budget spent or stopped: nothing is known
    MAX_FOURS = 250         # more than a board has room for
    NEVER = 255             # `failed` of an exhausted position; `fours` where no win is known
    INFINITE = 1 << 28      # a proof number out of reach
    POLL_NODES = 4096       # nodes between two questions whether to stop

cdef extern from *:
    """
    #define TENGEN_NO_POLL (((long long)1) << 62)
    #define TENGEN_WHITE_ATTACKS 0x9E3779B97F4A7C15ULL
    """
    const int64_t NO_POLL "TENGEN_NO_POLL"
    const uint64_t WHITE_ATTACKS "TENGEN_WHITE_ATTACKS"     # tells the attackers' entries apart

cdef struct SolverResult:
    int verdict             # SOLVER_*
    int distance            # of a win: plies until the five stands (odd), at most; else 0
    int move                # the attacker's first point of a win, else -1
    int64_t nodes           # placements tried

cdef struct Threat:         # of the side that is not to move: to win by fours if the other one passed
    bint found              # the rest has a meaning only then
    int distance            # plies until its five stands, at most, the pass not counted
    int move                # its first one
    int n                   # of legal moves that may stop it: every other one is proven to lose
    uint16_t points[484]    # these, ascending

cdef struct FourEntry:      # 16 bytes: what is known of a position with the attacker to move (VCF)
    uint64_t key
    uint16_t move           # of the win
    uint8_t failed          # no win with this many fours or fewer; 255: none at all
    uint8_t fours           # fours of the win found, the five not counted; 255: no win known
    uint32_t work           # placements below; replacement keeps the dearer entry

cdef struct ProofEntry:     # 24 bytes: proof and disproof number of a position (VCT), of the attacker's win
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

cdef struct SolverState:
    # memory
    FourEntry* four_table
    ProofEntry* proof_table     # allocated by the first VCT
    uint64_t mask               # table entries - 1
    uint16_t* moves             # stack of the open VCF nodes' moves
    Child* children             # stack of the open VCT nodes' moves; allocated by the first VCT
    uint32_t* seen              # by point: the node that met it last
    uint32_t stamp
    uint64_t* keys              # hash change of a stone, by colour * MAX_POINTS + point (VCT)
    int keys_width              # width of the boards that these are of
    uint64_t turn_key           # hash change of the side to move
    # the running call
    int64_t nodes
    int64_t limit               # its node budget
    int64_t next_poll           # node count at which `poll` is asked
    bint (*poll)(void* owner) noexcept nogil    # end the call? NULL: nobody is asked
    void* owner
    volatile int stop_flag      # set from any thread: end every call as unknown, until it is zero again
    int attacker
    bint shortest               # look for the shortest VCF, however long that takes; False for the tree
    int tables                  # what placements keep up to date


cdef inline void begin(SolverState* s, BoardState* b, int attacker, int64_t node_budget) noexcept nogil:
    """Begin a call."""
    s.attacker = attacker
    s.nodes = 0
    s.limit = node_budget
    s.next_poll = 0 if s.poll != NULL else NO_POLL
    s.tables = TABLES_ALL if b.forbids[0] or b.forbids[1] else TABLES_FOURS
    if s.stamp > 0xF0000000U:
        s.stamp = 0
        memset(s.seen, 0, MAX_POINTS * sizeof(uint32_t))


cdef inline bint spent(SolverState* s) noexcept nogil:
    """Whether the running call must end without an answer."""
    return s.nodes >= s.limit or s.stop_flag or (s.nodes >= s.next_poll and ask_poll(s))


cdef inline bint ask_poll(SolverState* s) noexcept nogil:
    """Ask whether to stop."""
    s.next_poll = s.nodes + POLL_NODES
    if s.poll(s.owner):
        s.stop_flag = 1
    return s.stop_flag

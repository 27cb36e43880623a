# cython: language_level=3
"""The tree's memory: its records and the arena that holds them. How they are used stands in `_growth.pyx`."""
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    CHUNK_BITS = 14         # 16,384 units, 256 KiB a chunk
    CHUNK_UNITS = 16384
    UNIT_BYTES = 16
    MAX_BLOCK = 1040        # units; the largest block, 512 EdgeStats, takes 1024
    NODE_UNITS = 5
    FIRST_ROOM = 2          # EdgeStats of a node's first block
    NO_MOVE = 0xFFFF

cdef enum:
    PROVEN_NONE = 0
    PROVEN_WIN = 1          # for the side to move of a node, for the mover of an edge
    PROVEN_LOSS = 2
    PROVEN_DRAW = 3

# A place in the arena: chunk << CHUNK_BITS | 16-byte unit within it; 0 is nothing.
ctypedef uint32_t Ref

cdef struct Node:           # 80 bytes
    double value_sum        # W: utilities for the side to move; moves proven to lose are left out
    double draw_sum
    int32_t visits          # simulations that came here; the next node of the dead list in a dead node
    int32_t weight          # evaluations in the sums
    Ref moves               # block of `n_moves` priors (float), then points (uint16); 0: not expanded
    Ref stats               # block of `n_visited` EdgeStats
    float raw_win           # the evaluator's answer; negative: not asked
    float raw_draw
    float settled_prior     # prior of the moves that are proven
    float tail_prior        # prior of each legal move that is not stored
    uint16_t n_moves        # moves stored; the visited ones first
    uint16_t n_legal
    uint16_t n_visited
    uint16_t stats_room
    uint16_t distance       # plies until a proven game is over
    uint16_t proof_move     # of a result that was proven without children, else NO_MOVE
    uint8_t proven
    uint8_t solver_level    # solver calls made here; SOLVER_DONE: no more
    uint8_t has_draw        # a move is proven to draw: the value is at least 0
    uint8_t head_ready      # the best unvisited move stands at index n_visited
    uint64_t key            # hash of the position; 0: it cannot be found by `find`
    Ref next_alike          # next node of the same bucket
    uint16_t references     # moves that lead here, and one for the root
    uint8_t shared          # several moves led here, now or once: their edges count for themselves
    uint8_t mark            # used while the graph is walked as a whole

cdef struct EdgeStat:       # 32 bytes
    double q                # for the mover
    int32_t visits
    Ref child
    float prior
    int32_t weight          # evaluations that this move has brought to its node
    float draw              # their mean chance of a draw
    uint16_t distance       # plies from the parent until a proven game is over
    uint8_t proven
    int8_t best             # `best_raw` of the child for the mover


cdef class Arena:
    cdef char** chunks
    cdef int n_chunks, max_chunks, chunk    # taken from the system, allowed, in use
    cdef int wanted_chunks          # allowed from the next `clear` on
    cdef int unit                   # next free unit of the chunk in use
    cdef int64_t free_units         # in free lists
    cdef Ref free_lists[1040]       # by size in units
    cdef Ref dead                   # subtrees to be freed
    cdef Ref root
    cdef int64_t n_nodes
    cdef Ref* buckets               # heads of the lists of nodes with like keys
    cdef int64_t n_buckets, n_keyed  # a power of two or 0; nodes in the lists
    cdef int common_units           # size of the latest block of moves
    cdef int cramped                # simulations that failed for lack of memory since the last success

    cdef inline char* at(self, Ref ref) noexcept nogil:
        return self.chunks[ref >> CHUNK_BITS] + (<int64_t>(ref & (CHUNK_UNITS - 1))) * UNIT_BYTES

    cdef Ref take(self, int units) noexcept nogil
    cdef void give(self, Ref ref, int units) noexcept nogil
    cdef bint next_chunk(self) noexcept nogil
    cdef Ref find(self, uint64_t key) noexcept nogil
    cdef void enter(self, Ref ref, uint64_t key) noexcept nogil
    cdef void leave(self, Ref ref) noexcept nogil
    cdef void more_buckets(self) noexcept nogil
    cdef void release(self, Ref ref) noexcept nogil
    cdef void bury(self, Ref ref) noexcept nogil
    cdef void reclaim(self, int limit) noexcept nogil
    cdef void strip(self, Node* node) noexcept nogil
    cdef bint collapse_one(self) noexcept nogil
    cdef void keep_proof(self, Node* node) noexcept nogil
    cdef bint make_room(self) noexcept nogil
    cdef bint condense(self) noexcept nogil
    cdef void forget(self) noexcept nogil
    cdef Ref new_node(self) noexcept nogil
    cdef bint grow_stats(self, Node* node) noexcept nogil
    cdef int best_edge(self, Node* node) noexcept nogil


cdef inline Node* node_at(Arena arena, Ref ref) noexcept nogil:
    return <Node*>arena.at(ref)


cdef inline float* priors_of(Arena arena, const Node* node) noexcept nogil:
    return <float*>arena.at(node.moves)


cdef inline uint16_t* moves_of(Arena arena, const Node* node) noexcept nogil:
    return <uint16_t*>(arena.at(node.moves) + node.n_moves * sizeof(float))


cdef inline EdgeStat* stats_of(Arena arena, const Node* node) noexcept nogil:
    return <EdgeStat*>arena.at(node.stats)


cdef inline int moves_units(int n) noexcept nogil:
    """Units of a block of moves; few different sizes, so that freed blocks fit again."""
    cdef int units = (n * 6 + UNIT_BYTES - 1) // UNIT_BYTES
    return units if units <= 12 else (units + 15) & ~15


cdef inline int stats_units(int room) noexcept nogil:
    return room * 2


cdef inline double node_value(const Node* node) noexcept nogil:
    """Mean utility for the side to move, not below a draw that is proven."""
    cdef double q = node.value_sum / node.weight if node.weight > 0 else 0.0
    return q if q > 0 or not node.has_draw else 0.0


cdef inline int opposite(int proven) noexcept nogil:
    return PROVEN_LOSS if proven == PROVEN_WIN else PROVEN_WIN if proven == PROVEN_LOSS else proven


cdef inline double exact_q(int proven) noexcept nogil:
    return 1.0 if proven == PROVEN_WIN else -1.0 if proven == PROVEN_LOSS else 0.0

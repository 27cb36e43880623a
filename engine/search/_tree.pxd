# cython: language_level=3
"""Search kernel: the records of the tree. How they are used stands in `_tree.pyx`."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from engine.rules._board cimport Board, BoardState
from engine.threats._solver cimport Solver

cdef enum:
    IDLE = 0
    LEAF = 1
    SOLVED = 2
    NOTHING_LEFT = 3
    FULL = 4
    SKIP = -1
    BAD_MOVE = -2           # inside: the forced root move does not exist

cdef enum:
    PROVEN_NONE = 0
    PROVEN_WIN = 1          # for the side to move of a node, for the mover of an edge
    PROVEN_LOSS = 2
    PROVEN_DRAW = 3

cdef enum:
    KERNEL_NONE = 0
    KERNEL_UNIFORM = 1
    KERNEL_HASHED = 2

# A place in the arena: chunk << CHUNK_BITS | 16-byte unit within it; 0 is nothing.
ctypedef uint32_t Ref

cdef struct Node:           # 64 bytes
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

cdef struct EdgeStat:       # 24 bytes
    double q                # for the mover
    int32_t visits
    Ref child
    float prior
    uint16_t distance       # plies from the parent until a proven game is over
    uint8_t proven

cdef class Tree:
    # settings
    cdef readonly object params
    cdef Solver solver              # None: no leaf solver
    cdef object rng
    cdef double c_puct, c_puct_log, c_puct_base, fpu_reduction, fpu_reduction_root, inverse_temperature
    cdef int edge_cap, vcf_growth
    cdef int64_t leaf_vcf_nodes, max_vcf_nodes
    # arena
    cdef char** chunks
    cdef int n_chunks, max_chunks, chunk    # taken from the system, allowed, in use
    cdef int wanted_chunks          # allowed from the next `clear` on
    cdef int unit                   # next free unit of the chunk in use
    cdef int64_t free_units         # in free lists
    cdef Ref free_lists[1024]       # by size in units
    cdef Ref dead                   # subtrees to be freed
    cdef int64_t n_nodes
    cdef int common_units           # size of the latest block of moves
    cdef int cramped                # simulations that failed for lack of memory since the last success
    # position
    cdef Board board                # at the root between simulations
    cdef Ref root
    cdef int tables                 # what placements keep up to date
    cdef Ref kept, kept_parent      # best way down to a new root that `descend` found
    cdef int kept_index
    # the simulation under way
    cdef bint pending               # a leaf waits for its evaluation
    cdef int depth, chain           # edges walked; forced moves behind them
    cdef Ref path[486]
    cdef uint16_t path_edge[486]
    cdef uint16_t chain_move[486]
    cdef Ref leaf                   # node to be expanded, 0: a new one
    cdef int found_proven, found_distance, found_move   # what `examine` found
    cdef int solver_level
    cdef int n_candidates
    cdef uint16_t candidates[484]
    cdef float logits[484]
    cdef double weights[484]
    cdef float new_priors[484]
    cdef uint64_t keys[484]
    # root noise
    cdef double noise_epsilon       # 0: none
    cdef bint noisy                 # the root's priors carry noise; `clean` has them without
    cdef float clean[484]           # by point
    cdef double noise[484]          # by point, not normalised
    # counters
    cdef readonly int64_t simulations, evaluations, solved_leaves, solver_nodes, depth_sum
    cdef readonly int depth_max
    cdef public bint stop

    cdef int need_root(self) except -1
    cdef int need_edges(self) except -1
    cdef int prove_edge(self, int point, int proven, int distance) except -1
    cdef int check_planes(self, float[:, :, :, ::1] planes, uint64_t[::1] keys, int rows) except -1
    cdef char* at(self, Ref ref) noexcept nogil
    cdef Ref take(self, int units) noexcept nogil
    cdef void give(self, Ref ref, int units) noexcept nogil
    cdef bint next_chunk(self) noexcept nogil
    cdef void bury(self, Ref ref) noexcept nogil
    cdef void reclaim(self, int limit) noexcept nogil
    cdef void strip(self, Node* node) noexcept nogil
    cdef bint collapse_one(self) noexcept nogil
    cdef bint make_room(self) noexcept nogil
    cdef bint condense(self) noexcept nogil
    cdef void keep_proof(self, Node* node) noexcept nogil
    cdef void forget(self) noexcept nogil
    cdef int examine(self, BoardState* b) noexcept nogil
    cdef void list_legal(self, BoardState* b) noexcept nogil
    cdef bint solve(self, BoardState* b, int level) noexcept nogil
    cdef int choose(self, Ref ref, BoardState* b) noexcept nogil
    cdef void ready_head(self, Node* node) noexcept nogil
    cdef bint grow_stats(self, Node* node) noexcept nogil
    cdef void widen(self, Node* node, BoardState* b) noexcept nogil
    cdef int find_move(self, Node* node, int move) noexcept nogil
    cdef int begin(self, int root_move, float* planes, uint64_t* key) noexcept nogil
    cdef int walk(self, int root_move, float* planes, uint64_t* key) noexcept nogil
    cdef int finish_walk(self, BoardState* b, int found, float* planes, uint64_t* key) noexcept nogil
    cdef bint compute_priors(self, const float* logits, bint by_point) noexcept nogil
    cdef Ref new_node(self) noexcept nogil
    cdef bint fill_moves(self, Node* node, bint all_moves) noexcept nogil
    cdef bint attach(self) noexcept nogil
    cdef int expand_leaf(self, const float* logits, bint by_point, const float* wdl) noexcept nogil
    cdef bint prove_leaf(self) noexcept nogil
    cdef void backup(self, Node* leaf, bint changed, int d_weight, double d_value, double d_draw) noexcept nogil
    cdef bint settle(self, Node* node, EdgeStat* stat) noexcept nogil
    cdef int best_edge(self, Node* node) noexcept nogil
    cdef int simulate(self, int kind, uint64_t seed) noexcept nogil
    cdef void mix_noise(self) noexcept nogil
    cdef void unmix_noise(self) noexcept nogil
    cdef bint root_ready(self) noexcept nogil
    cdef uint64_t digest(self, Ref ref, uint64_t h) noexcept nogil
    cdef void descend(self, Ref parent, int index, Ref ref, int colour, set own, set other)

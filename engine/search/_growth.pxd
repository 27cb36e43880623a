# cython: language_level=3
"""How the tree grows: one simulation. Explanations stand in `_growth.pyx`."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t

from engine.rules._board cimport Board, BoardState
from engine.search._arena cimport Arena, EdgeStat, Node, Ref
from engine.threats._solver cimport Solver

cdef enum:
    IDLE = 0
    LEAF = 1
    SOLVED = 2
    NOTHING_LEFT = 3
    FULL = 4
    SKIP = -1
    BAD_MOVE = -2           # inside: the forced root move does not exist


cdef class Growth(Arena):
    # settings
    cdef readonly object params
    cdef Solver solver              # None: no leaf solver
    cdef double c_puct, c_puct_log, c_puct_base, fpu_reduction, fpu_reduction_root, inverse_temperature
    cdef double minimax_share
    cdef int edge_cap
    cdef bint transpositions        # whether positions reached in several ways share a node
    cdef int64_t leaf_vcf_nodes, tree_vct_visits, tree_vct_nodes, max_tree_vct_nodes
    # position
    cdef Board board                # at the root between simulations
    cdef int tables                 # what placements keep up to date
    cdef bint threes                # whether the tree's nodes are solved by VCT
    # the simulation under way
    cdef bint pending               # a leaf waits for its evaluation
    cdef int depth, chain           # edges walked; forced moves behind them
    cdef Ref path[486]
    cdef uint16_t path_edge[486]
    cdef uint16_t chain_move[486]
    cdef uint64_t chain_key[487]    # hashes of the new positions: behind the walk, behind each forced move
    cdef Ref leaf                   # node to be expanded, 0: a new one
    cdef Ref joined                 # known node behind the chain, 0: none
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

    cdef void list_legal(self, BoardState* b) noexcept nogil
    cdef int examine(self, BoardState* b) noexcept nogil
    cdef int64_t solver_visits(self, int level) noexcept nogil
    cdef bint solve_fours(self, BoardState* b) noexcept nogil
    cdef bint solve_threes(self, Node* node, BoardState* b) noexcept nogil
    cdef bint narrow(self, Node* node, const uint16_t* points, int n, int distance) noexcept nogil
    cdef void take_back(self, Node* node, EdgeStat* stat) noexcept nogil
    cdef int best_raw(self, Node* node) noexcept nogil
    cdef void carry(
        self, Node* node, EdgeStat* stat, Node* child, int* d_weight, double* d_value, double* d_draw
    ) noexcept nogil
    cdef void withdraw(
        self, EdgeStat* stat, Node* child, int* d_weight, double* d_value, double* d_draw
    ) noexcept nogil
    cdef void back_up_known(self, Node* child) noexcept nogil
    cdef void new_edge(self, Node* node, Ref child) noexcept nogil
    cdef bint known(self, EdgeStat* stat, Node* child) noexcept nogil
    cdef void ready_head(self, Node* node) noexcept nogil
    cdef void widen(self, Node* node, BoardState* b) noexcept nogil
    cdef int choose(self, Ref ref, BoardState* b) noexcept nogil
    cdef int find_move(self, Node* node, int move) noexcept nogil
    cdef int begin(self, int root_move, float* planes, uint64_t* key) noexcept nogil
    cdef int walk(self, int root_move, float* planes, uint64_t* key) noexcept nogil
    cdef int finish_walk(self, BoardState* b, int found, float* planes, uint64_t* key) noexcept nogil
    cdef bint compute_priors(self, const float* logits, bint by_point) noexcept nogil
    cdef bint fill_moves(self, Node* node, bint all_moves) noexcept nogil
    cdef bint attach(self) noexcept nogil
    cdef int expand_leaf(self, const float* logits, bint by_point, const float* wdl) noexcept nogil
    cdef bint prove_leaf(self) noexcept nogil
    cdef bint settle(self, Node* node, EdgeStat* stat) noexcept nogil
    cdef void backup(
        self, Node* leaf, bint changed, int d_weight, double d_value, double d_draw
    ) noexcept nogil
    cdef int simulate(self, int kind, uint64_t seed) noexcept nogil
    cdef bint root_ready(self) noexcept nogil
    cdef void mix_noise(self) noexcept nogil
    cdef void unmix_noise(self) noexcept nogil

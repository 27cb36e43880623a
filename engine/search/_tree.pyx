# cython: language_level=3
"""Search kernel: PUCT over an arena of nodes, with proven results.

A simulation walks down by `choose`, decides at the new position whether the rules settle it (`examine`) or the
solver does (`solve`), else asks for an evaluation; `attach` puts the new nodes into the tree and `backup` carries
the value up. A position with a single sensible move (the block of a five) is never evaluated: the walk goes on.

Moves of a node lie in one block; only visited ones have an `EdgeStat`, and they come first. Unvisited moves differ
in nothing but the prior, so `choose` compares all visited moves with the one best unvisited. Proven moves
take no more simulations and their prior is shared by the others. One that loses counts as if it were illegal: what
it had brought to the averages above is taken back. One that draws is a lower bound for its node. Visits are never
taken back, they count effort.

The arena hands out 16-byte units from chunks; freed blocks go to lists by size. A new root costs O(1): what is
left behind is buried as a whole and freed bit by bit when room is needed. When the arena is full, the least
visited grandchildren are stripped.

PUCT is that of AlphaZero (https://arxiv.org/abs/1712.01815) with growing exploration and reduced first-play
urgency as in KataGo (https://github.com/lightvector/KataGo); proofs travel as in MCTS-Solver
(https://dke.maastrichtuniversity.nl/m.winands/documents/uctloa.pdf).
"""
from libc.math cimport frexp, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from engine._encoding cimport N_PLANES, encode_planes
from engine.rules._board cimport (
    BLACK, EMPTY, MAX_POINTS, SHAPE_DOUBLE_FOUR, SHAPE_FORK, TABLES_ALL, TABLES_FOURS, Board, BoardState, Line,
    board_any_five, board_five_points, board_forbidden, board_place, board_shapes, board_undo, count32, lowest32,
    lowest64,
)
from engine.threats._solver cimport SOLVER_NONE, SOLVER_WIN, Solver, SolverResult

import numpy as np

from engine.search.params import SearchParams

globals().update(
    IDLE=IDLE, LEAF=LEAF, SOLVED=SOLVED, NOTHING_LEFT=NOTHING_LEFT, FULL=FULL, SKIP=SKIP,
    PROVEN_NONE=PROVEN_NONE, PROVEN_WIN=PROVEN_WIN, PROVEN_LOSS=PROVEN_LOSS, PROVEN_DRAW=PROVEN_DRAW,
    KERNEL_NONE=KERNEL_NONE, KERNEL_UNIFORM=KERNEL_UNIFORM, KERNEL_HASHED=KERNEL_HASHED,
)

cdef enum:
    CHUNK_BITS = 14         # 16,384 units, 256 KiB a chunk
    CHUNK_UNITS = 16384
    UNIT_BYTES = 16
    MAX_BLOCK = 1024        # units; the largest block, 512 EdgeStats, takes 768
    NODE_UNITS = 4
    FIRST_ROOM = 2          # EdgeStats of a node's first block
    RESERVE_UNITS = 4096    # free units before a simulation begins; enough for all but absurdly long chains
    NO_MOVE = 0xFFFF
    SOLVER_DONE = 255
    # answers of `examine`
    POSITION_OPEN = 0       # candidates are listed
    POSITION_FORCED = 1     # found_move is the only one
    POSITION_PROVEN = 2     # found_* hold the result

cdef double LOG2E = 1.4426950408889634
cdef double LN2 = 0.6931471805599453
cdef double SQRT_HALF = 0.7071067811865476
cdef double MIN_REMAIN = 1e-6   # least prior that is left when all likely moves are refuted


cdef void exp_negative(double* x, int n) noexcept nogil:
    """Replace each x <= 0 by e ** x, to 2e-7, from plain arithmetic: the same bits on every machine (libm's differ).

    Short loops without a branch, so that compilers use vector instructions.
    """
    cdef uint64_t powers[484]   # bits of 2 ** k
    cdef int k[484]
    cdef double halves[484]
    cdef double r
    cdef int i
    for i in range(n):
        r = x[i] if x[i] > -80.0 else -80.0
        k[i] = <int>(r * LOG2E - 0.5)
        r = r - k[i] * LN2
        x[i] = 1.0 + r * (
            1.0 + r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720)))))
        )
    for i in range(n):
        powers[i] = <uint64_t>(k[i] + 1023) << 52
    memcpy(halves, powers, n * sizeof(double))
    for i in range(n):
        x[i] = halves[i] * x[i]


cdef inline double log_positive(double x) noexcept nogil:
    """Natural logarithm for x >= 1, to 1e-8, from plain arithmetic."""
    cdef int k
    cdef double m = frexp(x, &k), s, z
    if m < SQRT_HALF:
        m = m * 2.0
        k -= 1
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    return 2.0 * s * (1.0 + z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9))))) + k * LN2


cdef inline uint64_t mix64(uint64_t z) noexcept nogil:
    """Finish a SplitMix64 step (https://prng.di.unimi.it/splitmix64.c)."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL
    return z ^ (z >> 31)


cdef void kernel_judge(
    int kind, uint64_t seed, uint64_t key, const uint16_t* points, int n, float* logits, float* wdl
) noexcept nogil:
    """Answer as `engine.evaluator.uniform` or `engine.evaluator.hashed` do, with logits of `n` points only."""
    cdef uint64_t state, bits, draw, rest, win
    cdef int i
    if kind == KERNEL_UNIFORM:
        memset(logits, 0, n * sizeof(float))
        wdl[0] = 0
        wdl[1] = 1
        wdl[2] = 0
        return
    state = mix64(key ^ mix64(seed))
    for i in range(n):
        bits = mix64(state + <uint64_t>(points[i] + 1) * 0x9E3779B97F4A7C15ULL)
        logits[i] = <float><int32_t>(bits >> 40) * <float>(4.0 / 1048576)
    bits = mix64(state)
    draw = bits & 0xFFFF
    rest = (1 << 20) - draw
    win = rest // 4 + ((((bits >> 16) & 0xFFFF) * (rest // 2)) >> 16)
    wdl[0] = <float><int32_t>win * <float>(1.0 / 1048576)
    wdl[1] = <float><int32_t>draw * <float>(1.0 / 1048576)
    wdl[2] = <float><int32_t>(rest - win) * <float>(1.0 / 1048576)


cdef uint64_t kth_largest(uint64_t* a, int n, int k) noexcept nogil:
    """Return the k-th largest (k from 1) of n different numbers; reorders them (Hoare's quickselect)."""
    cdef int low = 0, high = n - 1, i, j
    cdef uint64_t pivot, t
    k -= 1
    while low < high:
        pivot = a[(low + high) >> 1]
        i = low
        j = high
        while i <= j:
            while a[i] > pivot:
                i += 1
            while a[j] < pivot:
                j -= 1
            if i <= j:
                t = a[i]
                a[i] = a[j]
                a[j] = t
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return a[k]


cdef inline float* priors_of(Tree tree, const Node* node) noexcept nogil:
    return <float*>tree.at(node.moves)


cdef inline uint16_t* moves_of(Tree tree, const Node* node) noexcept nogil:
    return <uint16_t*>(tree.at(node.moves) + node.n_moves * sizeof(float))


cdef inline EdgeStat* stats_of(Tree tree, const Node* node) noexcept nogil:
    return <EdgeStat*>tree.at(node.stats)


cdef inline Node* node_at(Tree tree, Ref ref) noexcept nogil:
    return <Node*>tree.at(ref)


cdef inline int moves_units(int n) noexcept nogil:
    """Units of a block of moves; few different sizes, so that freed blocks fit again."""
    cdef int units = (n * 6 + UNIT_BYTES - 1) // UNIT_BYTES
    return units if units <= 12 else (units + 15) & ~15


cdef inline int stats_units(int room) noexcept nogil:
    return room * 3 // 2


cdef inline double node_value(const Node* node) noexcept nogil:
    """Mean utility for the side to move, not below a draw that is proven."""
    cdef double q = node.value_sum / node.weight
    return q if q > 0 or not node.has_draw else 0.0


cdef inline int opposite(int proven) noexcept nogil:
    return PROVEN_LOSS if proven == PROVEN_WIN else PROVEN_WIN if proven == PROVEN_LOSS else proven


cdef inline double exact_q(int proven) noexcept nogil:
    return 1.0 if proven == PROVEN_WIN else -1.0 if proven == PROVEN_LOSS else 0.0


cdef class Tree:
    """A search tree; see the stub file for the contract of each method."""

    def __cinit__(self, params=None, memory_bytes=67_108_864, solver=None):
        self.params = SearchParams() if params is None else params
        self.solver = solver
        self.rng = np.random.default_rng(self.params.seed)
        self.c_puct = self.params.c_puct
        self.c_puct_log = self.params.c_puct_log
        self.c_puct_base = self.params.c_puct_base
        self.fpu_reduction = self.params.fpu_reduction
        self.fpu_reduction_root = self.params.fpu_reduction_root
        self.inverse_temperature = 1.0 / self.params.policy_temperature
        self.edge_cap = self.params.edge_cap or MAX_POINTS
        self.common_units = NODE_UNITS
        self.leaf_vcf_nodes = self.params.leaf_vcf_nodes if solver is not None else 0
        self.vcf_growth = self.params.vcf_growth
        self.max_vcf_nodes = self.params.max_vcf_nodes
        self.memory_bytes = memory_bytes
        self.forget()

    def __dealloc__(self):
        cdef int i
        for i in range(self.n_chunks):
            free(self.chunks[i])
        free(self.chunks)

    # --- arena --------------------------------------------------------------------------------------------------

    cdef inline char* at(self, Ref ref) noexcept nogil:
        return self.chunks[ref >> CHUNK_BITS] + (<int64_t>(ref & (CHUNK_UNITS - 1))) * UNIT_BYTES

    cdef bint next_chunk(self) noexcept nogil:
        """Go on in the next chunk, from the system if need be."""
        cdef char* fresh
        if self.chunk + 1 >= self.n_chunks:
            if self.n_chunks >= self.max_chunks:
                return False
            fresh = <char*>malloc(CHUNK_UNITS * UNIT_BYTES)
            if fresh == NULL:
                return False
            self.chunks[self.n_chunks] = fresh
            self.n_chunks += 1
        if self.chunk >= 0 and self.unit < CHUNK_UNITS:
            self.give((<Ref>self.chunk << CHUNK_BITS) | <Ref>self.unit, CHUNK_UNITS - self.unit)
        self.chunk += 1
        self.unit = 1 if self.chunk == 0 else 0     # reference 0 means nothing
        return True

    cdef Ref take(self, int units) noexcept nogil:
        """Allocate a block; 0 when there is none."""
        cdef Ref ref
        cdef int k
        if self.free_lists[units] == 0 and self.dead != 0:
            self.reclaim(4)
        if self.free_lists[units] == 0:
            if self.unit + units <= CHUNK_UNITS or self.next_chunk():
                ref = (<Ref>self.chunk << CHUNK_BITS) | <Ref>self.unit
                self.unit += units
                return ref
            while self.dead != 0 and self.free_lists[units] == 0:
                self.reclaim(16)
        k = units
        if self.free_lists[k] == 0:     # cut the largest block, so that common sizes last
            k = MAX_BLOCK - 1
            while k > units and self.free_lists[k] == 0:
                k -= 1
            if k == units:
                return 0
        ref = self.free_lists[k]
        self.free_lists[k] = (<Ref*>self.at(ref))[0]
        self.free_units -= k
        if k > units:
            self.give(ref + <Ref>units, k - units)
        return ref

    cdef void give(self, Ref ref, int units) noexcept nogil:
        """Free a block. Blocks never cross chunks, so `ref` plus units stays valid."""
        if ref == 0 or units >= MAX_BLOCK:
            return
        (<Ref*>self.at(ref))[0] = self.free_lists[units]
        self.free_lists[units] = ref
        self.free_units += units

    cdef void bury(self, Ref ref) noexcept nogil:
        """Put a subtree on the list of those to be freed."""
        node_at(self, ref).visits = <int32_t>self.dead
        self.dead = ref

    cdef void strip(self, Node* node) noexcept nogil:
        """Free a node's moves and bury its children; its own value and proof stay."""
        cdef EdgeStat* stats
        cdef int i
        if node.stats != 0:
            stats = stats_of(self, node)
            for i in range(node.n_visited):
                if stats[i].child != 0:
                    self.bury(stats[i].child)
            self.give(node.stats, stats_units(node.stats_room))
        self.give(node.moves, moves_units(node.n_moves))
        node.moves = node.stats = 0
        node.n_moves = node.n_visited = node.stats_room = 0
        node.settled_prior = 0
        node.has_draw = 0
        node.head_ready = 0

    cdef void reclaim(self, int limit) noexcept nogil:
        """Free up to `limit` buried nodes."""
        cdef Ref ref
        while limit > 0 and self.dead != 0:
            ref = self.dead
            self.dead = <Ref>node_at(self, ref).visits
            self.strip(node_at(self, ref))
            self.give(ref, NODE_UNITS)
            self.n_nodes -= 1
            limit -= 1

    cdef bint collapse_one(self) noexcept nogil:
        """Strip a node that is visited little and has no grandchildren; False if there is none but the root."""
        cdef Node* node
        cdef EdgeStat* stats
        cdef Ref ref = self.root, least
        cdef int i, least_visits
        if ref == 0:
            return False
        while True:
            node = node_at(self, ref)
            least = 0
            least_visits = 0
            stats = stats_of(self, node)
            for i in range(node.n_visited):
                if stats[i].child != 0 and (least == 0 or stats[i].visits < least_visits):
                    if node_at(self, stats[i].child).moves != 0:
                        least = stats[i].child
                        least_visits = stats[i].visits
            if least == 0:
                break
            ref = least
        if ref == self.root:
            return False
        self.keep_proof(node)
        self.strip(node)
        return True

    cdef void keep_proof(self, Node* node) noexcept nogil:
        """Remember the move of a proof whose moves are about to be forgotten."""
        cdef int i
        if node.proven != PROVEN_NONE and node.proof_move == NO_MOVE:
            i = self.best_edge(node)
            if i >= 0:
                node.proof_move = moves_of(self, node)[i]

    cdef bint make_room(self) noexcept nogil:
        """See to it that a simulation finds memory; False if the arena is too small."""
        cdef int tries = 64
        cdef int64_t fresh
        while True:
            fresh = <int64_t>(self.max_chunks - 1 - self.chunk) * CHUNK_UNITS + CHUNK_UNITS - self.unit
            if fresh >= RESERVE_UNITS:
                return True
            if fresh + self.free_units >= RESERVE_UNITS and (tries <= 0 or (
                self.free_lists[NODE_UNITS] != 0 and self.free_lists[self.common_units] != 0
                and self.free_lists[stats_units(FIRST_ROOM)] != 0 and self.free_lists[2 * stats_units(FIRST_ROOM)] != 0
            )):
                return True
            tries -= 1
            if self.dead != 0:
                self.reclaim(64)
            elif not self.collapse_one():
                return fresh + self.free_units >= RESERVE_UNITS

    cdef bint condense(self) noexcept nogil:
        """Keep nothing but the root, its moves and their values, in an arena without fragments."""
        cdef Node* root = node_at(self, self.root)
        cdef EdgeStat* stats
        cdef Node* children
        cdef char* saved
        cdef Node head
        cdef int n = root.n_visited, i
        cdef int64_t moves_bytes = root.n_moves * 6, stats_bytes = n * sizeof(EdgeStat)
        cdef bint noisy = self.noisy
        cdef double noise_epsilon = self.noise_epsilon
        saved = <char*>malloc(8 + moves_bytes + stats_bytes + n * sizeof(Node))
        if saved == NULL:
            return False
        children = <Node*>saved
        stats = <EdgeStat*>(saved + n * sizeof(Node))
        if n > 0:
            memcpy(stats, self.at(root.stats), stats_bytes)
        if root.moves != 0:
            memcpy(saved + n * sizeof(Node) + stats_bytes, self.at(root.moves), moves_bytes)
        for i in range(n):
            if stats[i].child != 0:
                self.keep_proof(node_at(self, stats[i].child))
                children[i] = node_at(self, stats[i].child)[0]
        head = root[0]
        self.forget()
        self.noisy = noisy
        self.noise_epsilon = noise_epsilon
        self.root = self.new_node()
        root = node_at(self, self.root)
        root[0] = head
        root.stats = 0
        root.stats_room = 0
        if head.moves != 0:
            root.moves = self.take(moves_units(head.n_moves))
            memcpy(self.at(root.moves), saved + n * sizeof(Node) + stats_bytes, moves_bytes)
        root.n_visited = 0
        for i in range(n):
            self.grow_stats(root)
            root.n_visited += 1
            if stats[i].child != 0:
                stats[i].child = self.new_node()
                children[i].moves = children[i].stats = 0
                node_at(self, stats[i].child)[0] = children[i]
                self.strip(node_at(self, stats[i].child))
            stats_of(self, root)[i] = stats[i]
        free(saved)
        return True

    cdef void forget(self) noexcept nogil:
        memset(self.free_lists, 0, sizeof(self.free_lists))
        self.free_units = 0
        self.cramped = 0
        self.dead = 0
        self.root = 0
        self.n_nodes = 0
        self.chunk = -1
        self.unit = CHUNK_UNITS
        self.pending = False
        self.noisy = False
        self.noise_epsilon = 0

    # --- positions ----------------------------------------------------------------------------------------------

    cdef void list_legal(self, BoardState* b) noexcept nogil:
        """List the moves of the side to move, ascending."""
        cdef uint8_t suspect[484]
        cdef uint32_t mask
        cdef int p, i, n = 0
        if not (b.renju and b.to_move == BLACK):
            for p in range(b.points):
                self.candidates[n] = <uint16_t>p
                n += b.cells[p] == EMPTY
            self.n_candidates = n
            return
        # Only a fork, a double four or a line with five stones can make a foul.
        board_shapes(b, BLACK, suspect)
        for p in range(b.points):
            suspect[p] = suspect[p] & (SHAPE_FORK | SHAPE_DOUBLE_FOUR)
        for i in range(b.n_lines):
            if count32(b.lines[i].stones[BLACK]) >= 5:
                mask = b.lines[i].empty
                while mask:
                    suspect[b.point_at[i][lowest32(mask)]] = 1
                    mask &= mask - 1
        for p in range(b.points):
            if b.cells[p] == EMPTY and not (suspect[p] and board_forbidden(b, p)):
                self.candidates[n] = <uint16_t>p
                n += 1
        self.n_candidates = n

    cdef int examine(self, BoardState* b) noexcept nogil:
        """Settle a position by fives alone, else list its moves."""
        cdef int own = b.to_move, other = 1 - b.to_move, n, i, k, p
        cdef uint64_t words
        cdef uint32_t mask
        cdef uint16_t fives[2]
        cdef uint8_t tried[484]
        self.found_proven = PROVEN_LOSS
        self.found_distance = 2
        self.found_move = NO_MOVE
        if b.n_empty == 0:
            self.found_proven = PROVEN_DRAW
            self.found_distance = 0
            return POSITION_PROVEN
        p = board_any_five(b, own)
        if p >= 0:
            self.found_proven = PROVEN_WIN
            self.found_distance = 1
            self.found_move = p
            return POSITION_PROVEN
        p = board_any_five(b, other)
        if p < 0:
            self.list_legal(b)
            if self.n_candidates == 0:      # renju: every move is a foul
                p = 0
                while b.cells[p] != EMPTY:
                    p += 1
                self.found_move = p
                return POSITION_PROVEN
            return POSITION_OPEN
        if not b.caro:
            n = board_five_points(b, other, fives, 2)
            for i in range(n):
                if not (b.renju and own == BLACK and board_forbidden(b, fives[i])):
                    self.found_move = fives[i]
            if self.found_move == NO_MOVE:      # renju: the block is a foul; so is the whole defence
                self.list_legal(b)
                self.found_move = self.candidates[0] if self.n_candidates else p
                return POSITION_PROVEN
            return POSITION_FORCED if n == 1 else POSITION_PROVEN
        # Caro: a stone at the end of a five stops it as well, if it makes both ends blocked. Try all near cells.
        memset(tried, 0, b.points)
        for i in range(3):
            words = b.with_five[other][i]
            while words:
                k = i * 64 + lowest64(words)
                words &= words - 1
                mask = b.lines[k].five[other]
                mask |= mask << 1 | mask >> 1 | mask << 2 | mask >> 2 | mask << 3 | mask >> 3 | mask << 4 | mask >> 4 | mask << 5 | mask >> 5
                mask &= b.lines[k].empty
                while mask:
                    tried[b.point_at[k][lowest32(mask)]] = 1
                    mask &= mask - 1
        n = 0
        for k in range(b.points):
            if tried[k]:
                board_place(b, k, own, TABLES_FOURS)
                if board_any_five(b, other) < 0:
                    self.candidates[n] = <uint16_t>k
                    n += 1
                board_undo(b)
        self.n_candidates = n
        if n == 0:
            self.found_move = p
            return POSITION_PROVEN
        if n == 1:
            self.found_move = self.candidates[0]
            return POSITION_FORCED
        return POSITION_OPEN

    cdef bint solve(self, BoardState* b, int level) noexcept nogil:
        """Look for a win by fours with the budget of a level; sets found_* and solver_level."""
        cdef SolverResult result
        cdef int64_t budget = self.leaf_vcf_nodes
        cdef int i
        for i in range(level):
            budget *= self.vcf_growth
        if budget > self.max_vcf_nodes and level > 0:
            self.solver_level = SOLVER_DONE
            return False
        self.solver.vcf(b, b.to_move, budget, &result)
        self.solver_nodes += result.nodes
        self.solver_level = SOLVER_DONE if result.verdict == SOLVER_NONE else level + 1
        if result.verdict != SOLVER_WIN:
            return False
        self.found_proven = PROVEN_WIN
        self.found_distance = result.distance
        self.found_move = result.move
        return True

    # --- selection ----------------------------------------------------------------------------------------------

    cdef void ready_head(self, Node* node) noexcept nogil:
        """Bring the unvisited move with the highest prior (the lowest point among equals) to index n_visited."""
        cdef float* priors = priors_of(self, node)
        cdef uint16_t* moves = moves_of(self, node)
        cdef int first = node.n_visited, best = first, i
        cdef float prior
        cdef uint16_t move
        for i in range(first + 1, node.n_moves):
            if priors[i] > priors[best] or (priors[i] == priors[best] and moves[i] < moves[best]):
                best = i
        prior = priors[best]
        move = moves[best]
        priors[best] = priors[first]
        moves[best] = moves[first]
        priors[first] = prior
        moves[first] = move
        node.head_ready = 1

    cdef bint grow_stats(self, Node* node) noexcept nogil:
        """See to it that one more move can be visited."""
        cdef int room
        cdef Ref fresh
        if node.n_visited < node.stats_room:
            return True
        room = node.stats_room * 2 if node.stats_room else FIRST_ROOM
        fresh = self.take(stats_units(room))
        if fresh == 0:
            return False
        if node.stats != 0:
            memcpy(self.at(fresh), self.at(node.stats), node.n_visited * sizeof(EdgeStat))
            self.give(node.stats, stats_units(node.stats_room))
        node.stats = fresh
        node.stats_room = <uint16_t>room
        return True

    cdef void widen(self, Node* node, BoardState* b) noexcept nogil:
        """Store the legal moves that are not stored yet. Nothing happens when there is no room."""
        cdef uint8_t known[484]
        cdef uint16_t* moves
        cdef float* priors
        cdef Ref fresh
        cdef int n = node.n_legal, i, k = node.n_moves
        if self.examine(b) != POSITION_OPEN or self.n_candidates != n:
            return
        fresh = self.take(moves_units(n))
        if fresh == 0:
            return
        priors = <float*>self.at(fresh)
        moves = <uint16_t*>(self.at(fresh) + n * sizeof(float))
        memcpy(priors, priors_of(self, node), k * sizeof(float))
        memcpy(moves, moves_of(self, node), k * sizeof(uint16_t))
        memset(known, 0, b.points)
        for i in range(k):
            known[moves[i]] = 1
        for i in range(n):
            if not known[self.candidates[i]]:
                priors[k] = node.tail_prior
                moves[k] = self.candidates[i]
                k += 1
        self.give(node.moves, moves_units(node.n_moves))
        node.moves = fresh
        node.n_moves = <uint16_t>n
        node.head_ready = 0

    cdef int choose(self, Ref ref, BoardState* b) noexcept nogil:
        """Index of the move to follow; n_visited for a new one; -1 when memory does not allow any."""
        cdef Node* node = node_at(self, ref)
        cdef EdgeStat* stats
        cdef double n, scale, remain, score, best_score = -1e30, explored = 0, fpu
        cdef int i, best = -1
        if node.n_visited == node.n_moves and node.n_moves < node.n_legal:
            self.widen(node, b)
        if node.n_legal == 1:
            return 0 if node.n_visited == 1 or self.grow_stats(node) else -1
        n = node.visits
        remain = 1.0 - node.settled_prior
        if remain < MIN_REMAIN:
            remain = MIN_REMAIN
        scale = (self.c_puct + self.c_puct_log * log_positive(1.0 + n / self.c_puct_base)) * sqrt(n) / remain
        stats = stats_of(self, node)
        for i in range(node.n_visited):
            if stats[i].proven != PROVEN_NONE:
                continue
            explored += stats[i].prior
            score = stats[i].q + scale * stats[i].prior / (1.0 + stats[i].visits)
            if score > best_score:
                best_score = score
                best = i
        if node.n_visited < node.n_moves:
            if not node.head_ready:
                self.ready_head(node)
            fpu = node_value(node)
            fpu -= (self.fpu_reduction_root if ref == self.root else self.fpu_reduction) * sqrt(explored / remain)
            if fpu < -1.0:
                fpu = -1.0
            score = fpu + scale * priors_of(self, node)[node.n_visited]
            if score > best_score and self.grow_stats(node):
                best = node.n_visited
        return best

    cdef int find_move(self, Node* node, int move) noexcept nogil:
        """Index of a move of a node, -1 if it has no such move; an unvisited one is brought to index n_visited."""
        cdef uint16_t* moves = moves_of(self, node)
        cdef float* priors = priors_of(self, node)
        cdef float prior
        cdef int i, first = node.n_visited
        for i in range(node.n_moves):
            if moves[i] == move:
                break
        else:
            return -1
        if i <= first:
            return i
        prior = priors[i]
        priors[i] = priors[first]
        priors[first] = prior
        moves[i] = moves[first]
        moves[first] = <uint16_t>move
        node.head_ready = 0
        return first

    cdef int begin(self, int root_move, float* planes, uint64_t* key) noexcept nogil:
        """Start a simulation; finish it at once if its leaf is settled. Returns a status."""
        cdef int status
        if self.cramped == 0:
            status = self.walk(root_move, planes, key)
            if status != FULL:
                return status
        self.pending = False
        if self.cramped > 1 or self.root == 0 or not self.condense():
            return FULL
        self.cramped += 1       # until a simulation succeeds
        return self.walk(root_move, planes, key)

    cdef int walk(self, int root_move, float* planes, uint64_t* key) noexcept nogil:
        """Walk to a leaf, judge it, come back."""
        cdef BoardState* b = self.board.state
        cdef Node* node
        cdef Ref ref = self.root
        cdef int i, found = -1
        cdef int64_t threshold
        self.pending = False
        self.depth = self.chain = 0
        self.leaf = 0
        if ref != 0 and node_at(self, ref).proven != PROVEN_NONE:
            return NOTHING_LEFT
        if not self.make_room():
            return FULL
        while ref != 0:
            node = node_at(self, ref)
            if node.moves == 0:
                self.leaf = ref
                break
            if self.depth == 0 and root_move >= 0:
                i = self.find_move(node, root_move)
                if i < 0:
                    return BAD_MOVE
                if i < node.n_visited and stats_of(self, node)[i].proven != PROVEN_NONE:
                    return NOTHING_LEFT
                if i == node.n_visited and not self.grow_stats(node):
                    return FULL
            else:
                if self.leaf_vcf_nodes > 0 and node.solver_level < SOLVER_DONE and node.n_legal > 1:
                    threshold = 1
                    for i in range(node.solver_level):
                        threshold *= self.vcf_growth * self.vcf_growth
                    if node.visits >= threshold:
                        if self.solve(b, node.solver_level):
                            self.leaf = ref
                            found = POSITION_PROVEN
                            break
                        node.solver_level = <uint8_t>self.solver_level
                i = self.choose(ref, b)
                if i < 0:
                    for i in range(self.depth):
                        board_undo(b)
                    return FULL
            self.path[self.depth] = ref
            self.path_edge[self.depth] = <uint16_t>i
            self.depth += 1
            ref = 0
            if i < node.n_visited:
                ref = stats_of(self, node)[i].child
            board_place(b, moves_of(self, node)[i], b.to_move, self.tables)
        return self.finish_walk(b, found, planes, key)

    cdef int finish_walk(self, BoardState* b, int found, float* planes, uint64_t* key) noexcept nogil:
        """Judge the position that the walk came to, after the moves that it forces."""
        cdef int i
        if found < 0:
            self.solver_level = 0
            found = self.examine(b)
            while found == POSITION_FORCED:
                self.chain_move[self.chain] = <uint16_t>self.found_move
                self.chain += 1
                board_place(b, self.found_move, b.to_move, self.tables)
                found = self.examine(b)
            if found == POSITION_OPEN and self.leaf_vcf_nodes > 0 and self.solve(b, 0):
                found = POSITION_PROVEN
        if found == POSITION_OPEN:
            key[0] = b.hash
            if planes != NULL:
                encode_planes(b, planes)
            self.pending = True
        for i in range(self.depth + self.chain):
            board_undo(b)
        if found == POSITION_OPEN:
            return LEAF
        return SOLVED if self.prove_leaf() else FULL

    # --- expansion and backup -----------------------------------------------------------------------------------

    cdef bint compute_priors(self, const float* logits, bint by_point) noexcept nogil:
        """Softmax over the candidates. Logits are by point, or in the order of candidates."""
        cdef double total = 0, inverse, top
        cdef double* weights = self.weights
        cdef int n = self.n_candidates, i
        cdef bint wrong = False
        for i in range(n):
            weights[i] = logits[self.candidates[i]] if by_point else logits[i]
        top = weights[0]
        for i in range(1, n):
            if weights[i] > top:
                top = weights[i]
        for i in range(n):
            weights[i] = (weights[i] - top) * self.inverse_temperature
            wrong |= not weights[i] <= 0    # not a number
        if wrong:
            return False
        exp_negative(weights, n)
        for i in range(n):
            total += weights[i]
        inverse = 1.0 / total
        for i in range(n):
            self.new_priors[i] = <float>(weights[i] * inverse)
        return True

    cdef Ref new_node(self) noexcept nogil:
        cdef Ref ref = self.take(NODE_UNITS)
        if ref != 0:
            memset(self.at(ref), 0, sizeof(Node))
            node_at(self, ref).proof_move = NO_MOVE
            node_at(self, ref).raw_win = -1
            self.n_nodes += 1
        return ref

    cdef bint fill_moves(self, Node* node, bint all_moves) noexcept nogil:
        """Give a node its candidates, the best by prior or all."""
        cdef int n = self.n_candidates, i, k = 0, first = 0
        cdef bint stays
        cdef uint32_t top = 0, bucket
        cdef uint64_t least
        cdef double tail = 0
        cdef float* priors
        cdef uint16_t* moves
        cdef uint32_t bits[484]
        cdef uint8_t buckets[484]
        cdef uint16_t counts[64]
        cdef uint16_t kept[484]
        cdef int stored = n if all_moves or n <= self.edge_cap else self.edge_cap, wanted = stored
        cdef Ref ref = self.take(moves_units(stored))
        self.common_units = moves_units(stored)
        if ref == 0:
            return False
        priors = <float*>self.at(ref)
        moves = <uint16_t*>(self.at(ref) + stored * sizeof(float))
        if stored == n:
            memcpy(priors, self.new_priors, n * sizeof(float))
            memcpy(moves, self.candidates, n * sizeof(uint16_t))
        else:
            # Positive floats order like their bits. Buckets of a quarter octave find roughly where the cut lies;
            # within its bucket a key decides, in which the lower point is the greater of two equal priors.
            memcpy(bits, self.new_priors, n * sizeof(float))
            memset(counts, 0, sizeof(counts))
            for i in range(n):
                top = bits[i] if bits[i] > top else top
            for i in range(n):
                bucket = (top - bits[i]) >> 21
                buckets[i] = <uint8_t>(bucket if bucket < 63 else 63)
            for i in range(n):
                counts[buckets[i]] += 1
            while counts[first] < wanted:
                wanted -= counts[first]
                first += 1
            for i in range(n):
                self.keys[k] = (<uint64_t>bits[i] << 16) | <uint64_t>(0xFFFF - self.candidates[i])
                k += buckets[i] == first
            least = kth_largest(self.keys, k, wanted)
            k = 0
            for i in range(n):
                kept[k] = <uint16_t>i
                stays = ((<uint64_t>bits[i] << 16) | <uint64_t>(0xFFFF - self.candidates[i])) >= least
                k += stays
                tail += 0.0 if stays else self.new_priors[i]
            for k in range(stored):
                priors[k] = self.new_priors[kept[k]]
                moves[k] = self.candidates[kept[k]]
            node.tail_prior = <float>(tail / (n - stored))
        node.moves = ref
        node.n_moves = <uint16_t>stored
        node.n_legal = <uint16_t>n
        return True

    cdef bint attach(self) noexcept nogil:
        """Make the nodes of the walk's end, without moves in the last one; all or nothing.

        Afterwards `path` and `depth` lead to `leaf` through the chain.
        """
        cdef Node* node
        cdef EdgeStat* stat
        cdef int j, i, start = self.depth
        cdef bint ok = True
        for j in range(self.chain + 1):
            self.path[start + j] = self.leaf if j == 0 and self.leaf != 0 else self.new_node()
            if self.path[start + j] == 0:
                ok = False
            elif j < self.chain:
                node = node_at(self, self.path[start + j])
                node.moves = self.take(moves_units(1))
                node.n_moves = 1
                node.stats = self.take(stats_units(FIRST_ROOM))
                node.stats_room = FIRST_ROOM
                ok = node.moves != 0 and node.stats != 0
            if not ok:
                for i in range(j + 1):
                    if self.path[start + i] != 0:
                        self.strip(node_at(self, self.path[start + i]))
                        if self.path[start + i] != self.leaf:
                            self.give(self.path[start + i], NODE_UNITS)
                            self.n_nodes -= 1
                return False
        for j in range(self.chain):
            node = node_at(self, self.path[start + j])
            node.n_legal = node.n_visited = 1
            priors_of(self, node)[0] = 1
            moves_of(self, node)[0] = self.chain_move[j]
            stat = stats_of(self, node)
            memset(stat, 0, sizeof(EdgeStat))
            stat.child = self.path[start + j + 1]
            stat.prior = 1
            self.path_edge[start + j] = 0
        if start == 0:
            self.root = self.path[0]
        elif self.leaf == 0:
            node = node_at(self, self.path[start - 1])
            stat = &stats_of(self, node)[node.n_visited]
            memset(stat, 0, sizeof(EdgeStat))
            stat.child = self.path[start]
            stat.prior = priors_of(self, node)[node.n_visited]
            node.n_visited += 1
            node.head_ready = 0
        self.depth += self.chain
        self.leaf = self.path[self.depth]
        return True

    cdef int expand_leaf(self, const float* logits, bint by_point, const float* wdl) noexcept nogil:
        """Finish the pending simulation: LEAF when done, FULL, or BAD_MOVE for an answer that is not finite."""
        cdef Node* node
        cdef Ref moves
        cdef double value = <double>wdl[0] - <double>wdl[2], draw = wdl[1]
        cdef Node filled
        cdef bint at_root = self.depth + self.chain == 0
        self.pending = False
        if not (-1.001 <= value <= 1.001 and -0.001 <= draw <= 1.001) or not self.compute_priors(logits, by_point):
            return BAD_MOVE
        memset(&filled, 0, sizeof(Node))
        if not self.fill_moves(&filled, at_root):
            self.cramped += 1
            return FULL
        moves = filled.moves
        if not self.attach():
            self.give(moves, moves_units(filled.n_moves))
            self.cramped += 1
            return FULL
        node = node_at(self, self.leaf)
        node.moves = moves
        node.n_moves = filled.n_moves
        node.n_legal = filled.n_legal
        node.tail_prior = filled.tail_prior
        node.raw_win = wdl[0]
        node.raw_draw = wdl[1]
        node.solver_level = <uint8_t>self.solver_level
        node.visits += 1
        node.weight += 1
        node.value_sum += value
        node.draw_sum += draw
        self.evaluations += 1
        if at_root and self.noise_epsilon > 0:
            self.mix_noise()
        self.backup(node, False, 1, value, draw)
        return LEAF

    cdef bint prove_leaf(self) noexcept nogil:
        """Back up the result that was found at the walk's end."""
        cdef Node* node
        if not self.attach():
            return False
        node = node_at(self, self.leaf)
        node.proven = <uint8_t>self.found_proven
        node.distance = <uint16_t>self.found_distance
        node.proof_move = <uint16_t>self.found_move
        node.visits += 1
        self.solved_leaves += 1
        self.backup(node, True, 0, 0, 0)
        return True

    cdef bint settle(self, Node* node, EdgeStat* stat) noexcept nogil:
        """Draw the conclusion of one more proven move; True if it proves the node."""
        cdef EdgeStat* stats
        cdef int i, distance = 0, proven = PROVEN_LOSS
        if stat.proven == PROVEN_WIN:
            node.proven = PROVEN_WIN
            node.distance = stat.distance
            return True
        if node.n_visited < node.n_legal:
            return False
        stats = stats_of(self, node)
        for i in range(node.n_visited):
            if stats[i].proven == PROVEN_NONE:
                return False
            if stats[i].proven == PROVEN_DRAW:
                proven = PROVEN_DRAW
        for i in range(node.n_visited):
            if stats[i].proven == proven and stats[i].distance > distance:
                distance = stats[i].distance
        node.proven = <uint8_t>proven
        node.distance = <uint16_t>distance
        return True

    cdef void backup(self, Node* leaf, bint changed, int d_weight, double d_value, double d_draw) noexcept nogil:
        """Carry one simulation from the end of the path to the root.

        Args:
            leaf: node at the end of the path, already up to date.
            changed: it has just been proven; then the rest says nothing and is worked out here.
            d_weight, d_value, d_draw: what the simulation added to the node's sums, seen by its side to move.
        """
        cdef Node* child = leaf
        cdef Node* node
        cdef EdgeStat* stat
        cdef int i
        for i in range(self.depth - 1, -1, -1):
            node = node_at(self, self.path[i])
            stat = &stats_of(self, node)[self.path_edge[i]]
            node.visits += 1
            stat.visits += 1
            if changed:
                stat.proven = <uint8_t>opposite(child.proven)
                stat.distance = child.distance + 1
                stat.q = exact_q(stat.proven)
                # The child's sums are as they were before this simulation.
                node.settled_prior += stat.prior
                if stat.proven == PROVEN_LOSS:
                    d_weight = -child.weight
                    d_value = -child.value_sum
                    d_draw = -child.draw_sum
                elif stat.proven == PROVEN_DRAW:
                    node.has_draw = 1
                    d_weight = 1
                    d_value = -child.value_sum
                    d_draw = child.weight + 1 - child.draw_sum
                    child.weight += 1
                    child.value_sum = 0
                    child.draw_sum = child.weight
                changed = self.settle(node, stat)
                if changed:
                    child = node
                    continue
            else:
                stat.q = -node_value(child)
            d_value = -d_value
            node.weight += d_weight
            node.value_sum += d_value
            node.draw_sum += d_draw
            child = node
        self.cramped = 0
        self.simulations += 1
        self.depth_sum += self.depth
        if self.depth > self.depth_max:
            self.depth_max = self.depth

    cdef int simulate(self, int kind, uint64_t seed) noexcept nogil:
        """One simulation with an evaluator of the kernel."""
        cdef uint64_t key
        cdef float wdl[3]
        cdef int status = self.begin(-1, NULL, &key)
        if status == LEAF:
            kernel_judge(kind, seed, key, self.candidates, self.n_candidates, self.logits, wdl)
            status = self.expand_leaf(self.logits, False, wdl)
        return status

    # --- reading ------------------------------------------------------------------------------------------------

    cdef int best_edge(self, Node* node) noexcept nogil:
        """Index of the move that a node would play, -1 if it knows none."""
        cdef EdgeStat* s
        cdef int i, best = -1, draw = -1, wanted = node.proven
        cdef double rank, best_rank = -1e300
        if node.n_visited == 0:
            return -1
        s = stats_of(self, node)
        for i in range(node.n_visited):
            if s[i].proven == PROVEN_DRAW:
                draw = i
            if s[i].proven != wanted:
                continue
            if wanted == PROVEN_WIN:
                rank = -<double>s[i].distance
            elif wanted == PROVEN_LOSS:
                rank = s[i].distance + 1e-9 * s[i].visits
            else:
                rank = s[i].visits + 0.25 * s[i].q
            if rank > best_rank:
                best_rank = rank
                best = i
        if draw >= 0 and wanted == PROVEN_NONE and (best < 0 or s[best].q < 0):
            return draw
        return best

    cdef bint root_ready(self) noexcept nogil:
        return self.root != 0 and node_at(self, self.root).moves != 0

    cdef uint64_t digest(self, Ref ref, uint64_t h) noexcept nogil:
        cdef Node* node = node_at(self, ref)
        cdef EdgeStat* stats
        cdef uint64_t bits
        cdef int i
        memcpy(&bits, &node.value_sum, sizeof(double))
        h = mix64(h ^ bits ^ (<uint64_t>node.visits << 32) ^ <uint64_t>node.weight)
        h = mix64(h + node.proven + (<uint64_t>node.distance << 8) + (<uint64_t>node.n_visited << 32))
        if node.stats != 0:
            stats = stats_of(self, node)
            for i in range(node.n_visited):
                h = mix64(h ^ moves_of(self, node)[i])
                if stats[i].child != 0:
                    h = self.digest(stats[i].child, h)
        return h

    # --- root noise ---------------------------------------------------------------------------------------------

    cdef void mix_noise(self) noexcept nogil:
        """Mix the noise into the priors of the expanded root, which have none."""
        cdef Node* node = node_at(self, self.root)
        cdef float* priors = priors_of(self, node)
        cdef uint16_t* moves = moves_of(self, node)
        cdef EdgeStat* stats = stats_of(self, node)
        cdef double total = 0
        cdef int i
        for i in range(node.n_moves):
            self.clean[moves[i]] = priors[i]
            total += self.noise[moves[i]]
        self.noisy = True
        node.settled_prior = 0
        node.head_ready = 0
        for i in range(node.n_moves):
            priors[i] = <float>(
                (1 - self.noise_epsilon) * priors[i] + self.noise_epsilon * self.noise[moves[i]] / total
            )
            if i < node.n_visited:
                stats[i].prior = priors[i]
                if stats[i].proven != PROVEN_NONE:
                    node.settled_prior += priors[i]

    cdef void unmix_noise(self) noexcept nogil:
        cdef Node* node
        cdef EdgeStat* stats
        cdef int i
        if not self.noisy:
            return
        self.noisy = False
        node = node_at(self, self.root)
        if node.moves == 0:
            return
        stats = stats_of(self, node)
        node.settled_prior = 0
        node.head_ready = 0
        for i in range(node.n_moves):
            priors_of(self, node)[i] = self.clean[moves_of(self, node)[i]]
            if i < node.n_visited:
                stats[i].prior = priors_of(self, node)[i]
                if stats[i].proven != PROVEN_NONE:
                    node.settled_prior += stats[i].prior

    def add_root_noise(self, double epsilon, double alpha_total=10.83, seed=None):
        rng = self.rng if seed is None else np.random.default_rng(seed)
        cdef int i
        cdef double[::1] gamma
        self.need_root()
        self.unmix_noise()
        self.noise_epsilon = epsilon
        if epsilon <= 0:
            return
        self.list_legal(self.board.state)
        gamma = rng.standard_gamma(alpha_total / max(1, self.n_candidates), self.board.state.points) + 1e-12
        for i in range(self.board.state.points):
            self.noise[i] = gamma[i]
        if self.root_ready():
            self.mix_noise()

    # --- position -----------------------------------------------------------------------------------------------

    cdef int need_root(self) except -1:
        if self.board is None:
            raise ValueError("the tree has no root yet")
        return 0

    def set_root(self, Board board, int max_plies=6):
        cdef BoardState* to = board.state
        cdef BoardState* old
        cdef int p
        if to.winner != EMPTY or to.n_empty == 0:
            raise ValueError("the game is over")
        self.pending = False
        self.unmix_noise()
        self.noise_epsilon = 0
        self.kept = self.kept_parent = 0
        if self.root != 0:
            old = self.board.state
            added = (set(), set())
            fits = old.width == to.width and old.height == to.height and old.rule == to.rule
            if fits and 0 <= old.n_empty - to.n_empty <= max_plies:
                for p in range(old.points):
                    if old.cells[p] != to.cells[p]:
                        if old.cells[p] != EMPTY or to.cells[p] > 1:
                            fits = False
                            break
                        added[to.cells[p]].add(p)
                own, other = added[old.to_move], added[1 - old.to_move]
                ahead = len(own) - len(other)
                if fits and ahead == (old.to_move != to.to_move):
                    self.descend(0, 0, self.root, old.to_move, own, other)
        self.board = board.copy()
        if self.kept == 0:
            self.clear()
            self.board = board.copy()
            return 0
        if self.kept != self.root:
            stats_of(self, node_at(self, self.kept_parent))[self.kept_index].child = 0
            self.bury(self.root)
            self.root = self.kept
        node = node_at(self, self.root)
        if node.moves != 0 and node.n_moves < node.n_legal:
            self.widen(node, self.board.state)
        return node.visits

    cdef void descend(self, Ref parent, int index, Ref ref, int colour, set own, set other):
        """Find the most visited node behind all the stones, played in turn in any order."""
        cdef Node* node = node_at(self, ref)
        cdef EdgeStat* stats
        cdef int i
        if not own:     # `other` is empty as well, since the sides take turns
            if self.kept == 0 or node.visits > node_at(self, self.kept).visits:
                self.kept = ref
                self.kept_parent = parent
                self.kept_index = index
            return
        if node.stats == 0:
            return
        stats = stats_of(self, node)
        for i in range(node.n_visited):
            move = moves_of(self, node)[i]
            if move in own and stats[i].child != 0:
                self.descend(ref, i, stats[i].child, 1 - colour, other, own - {move})

    def clear(self):
        cdef int i
        for i in range(self.wanted_chunks, self.n_chunks):
            free(self.chunks[i])
        self.n_chunks = min(self.n_chunks, self.wanted_chunks)
        self.max_chunks = self.wanted_chunks
        self.forget()
        self.board = None

    def trim(self):
        cdef int i
        self.clear()
        for i in range(self.n_chunks):
            free(self.chunks[i])
        self.n_chunks = 0

    @property
    def memory_bytes(self):
        return <int64_t>self.wanted_chunks * CHUNK_UNITS * UNIT_BYTES

    @memory_bytes.setter
    def memory_bytes(self, value):
        cdef int wanted
        cdef char** chunks
        if value < 1 << 20:
            raise ValueError(f"a tree needs at least 1 MiB, not {value} bytes")
        wanted = int(min(value, 1 << 36) // (CHUNK_UNITS * UNIT_BYTES))
        chunks = <char**>calloc(max(wanted, self.n_chunks), sizeof(char*))
        if chunks == NULL:
            raise MemoryError("no memory for a tree")
        if self.n_chunks:
            memcpy(chunks, self.chunks, self.n_chunks * sizeof(char*))
        free(self.chunks)
        self.chunks = chunks
        self.wanted_chunks = wanted
        self.max_chunks = max(wanted, self.n_chunks)

    # --- simulations --------------------------------------------------------------------------------------------

    cdef int check_planes(self, float[:, :, :, ::1] planes, uint64_t[::1] keys, int rows) except -1:
        cdef BoardState* b = self.board.state
        if planes.shape[0] < rows or keys.shape[0] < rows:
            raise ValueError(f"planes and keys must have at least {rows} rows")
        if planes.shape[1] != N_PLANES or planes.shape[2] != b.height or planes.shape[3] != b.width:
            raise ValueError(f"planes must be [B, {N_PLANES}, {b.height}, {b.width}]")
        return 0

    def select(self, float[:, :, :, ::1] planes, uint64_t[::1] keys, int root_move=-1):
        cdef int status
        self.need_root()
        self.check_planes(planes, keys, 1)
        self.tables = TABLES_ALL
        with nogil:
            status = self.begin(root_move, &planes[0, 0, 0, 0], &keys[0])
        if status == BAD_MOVE:
            raise ValueError(f"point {root_move} is no move of the root")
        return status

    def expand(self, policy, wdl):
        cdef const float[::1] logits = policy.reshape(-1)
        cdef const float[::1] chances = wdl.reshape(-1)
        if not self.pending:
            raise ValueError("no leaf is pending")
        if logits.shape[0] != self.board.state.points or chances.shape[0] != 3:
            raise ValueError(f"policy must be [{self.board.state.points}] and wdl [3]")
        if self.expand_leaf(&logits[0], True, &chances[0]) == BAD_MOVE:
            raise ValueError("the evaluator's answer is not finite, or no chances")

    def run(self, int simulations, int kernel_kind, uint64_t kernel_seed=0):
        cdef int done = 0, status
        self.need_root()
        if kernel_kind != KERNEL_UNIFORM and kernel_kind != KERNEL_HASHED:
            raise ValueError(f"the kernel has no evaluator of kind {kernel_kind}")
        # Open threes matter only for black's forbidden points.
        self.tables = TABLES_ALL if self.board.state.renju else TABLES_FOURS
        self.stop = False
        with nogil:
            while done < simulations and not self.stop:
                status = self.simulate(kernel_kind, kernel_seed)
                if status == LEAF or status == SOLVED:
                    done += 1
                elif status != FULL or self.cramped > 1:
                    break
        return done

    # --- the root -----------------------------------------------------------------------------------------------

    @property
    def has_root(self):
        return self.root != 0

    @property
    def visits(self):
        return node_at(self, self.root).visits if self.root != 0 else 0

    @property
    def proven(self):
        return node_at(self, self.root).proven if self.root != 0 else PROVEN_NONE

    @property
    def distance(self):
        return node_at(self, self.root).distance if self.root != 0 else 0

    @property
    def forced(self):
        return self.root_ready() and node_at(self, self.root).n_legal == 1

    @property
    def wdl(self):
        cdef Node* node
        cdef double q, draw
        if self.root == 0:
            return (0.0, 1.0, 0.0)
        node = node_at(self, self.root)
        if node.proven != PROVEN_NONE:
            q, draw = exact_q(node.proven), float(node.proven == PROVEN_DRAW)
        elif node.weight == 0:
            q, draw = 0.0, 1.0
        else:
            draw = node.draw_sum / node.weight
            q = min(max(node_value(node), draw - 1), 1 - draw)
        return ((1 - draw + q) / 2, draw, (1 - draw - q) / 2)

    @property
    def raw_wdl(self):
        cdef Node* node
        if self.root == 0:
            return None
        node = node_at(self, self.root)
        if node.raw_win < 0:
            return None
        return (node.raw_win, node.raw_draw, 1.0 - node.raw_win - node.raw_draw)

    def moves(self):
        cdef int i, n = node_at(self, self.root).n_moves if self.root_ready() else 0
        out = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] view = out
        for i in range(n):
            view[i] = moves_of(self, node_at(self, self.root))[i]
        return out

    def priors(self):
        cdef int i, n = node_at(self, self.root).n_moves if self.root_ready() else 0
        cdef Node* node
        out = np.empty(n, dtype=np.float32)
        cdef float[::1] view = out
        for i in range(n):
            node = node_at(self, self.root)
            view[i] = self.clean[moves_of(self, node)[i]] if self.noisy else priors_of(self, node)[i]
        return out

    def edge_visits(self):
        cdef int i, n = node_at(self, self.root).n_moves if self.root_ready() else 0
        out = np.zeros(n, dtype=np.int32)
        cdef int32_t[::1] view = out
        for i in range(node_at(self, self.root).n_visited if n else 0):
            view[i] = stats_of(self, node_at(self, self.root))[i].visits
        return out

    def edge_q(self):
        cdef int i, n = node_at(self, self.root).n_moves if self.root_ready() else 0
        out = np.full(n, np.nan)
        cdef double[::1] view = out
        for i in range(node_at(self, self.root).n_visited if n else 0):
            view[i] = stats_of(self, node_at(self, self.root))[i].q
        return out

    def edge_draw(self):
        cdef int i, n = node_at(self, self.root).n_moves if self.root_ready() else 0
        cdef EdgeStat* stat
        cdef Node* child
        out = np.full(n, np.nan)
        cdef double[::1] view = out
        for i in range(node_at(self, self.root).n_visited if n else 0):
            stat = &stats_of(self, node_at(self, self.root))[i]
            if stat.proven != PROVEN_NONE:
                view[i] = stat.proven == PROVEN_DRAW
            elif stat.child != 0:
                child = node_at(self, stat.child)
                view[i] = child.draw_sum / child.weight
        return out

    def edge_proven(self):
        cdef int i, n = node_at(self, self.root).n_moves if self.root_ready() else 0
        out = np.zeros(n, dtype=np.int8)
        for i in range(node_at(self, self.root).n_visited if n else 0):
            out[i] = stats_of(self, node_at(self, self.root))[i].proven
        return out

    def edge_distance(self):
        cdef int i, n = node_at(self, self.root).n_moves if self.root_ready() else 0
        out = np.zeros(n, dtype=np.int32)
        for i in range(node_at(self, self.root).n_visited if n else 0):
            out[i] = stats_of(self, node_at(self, self.root))[i].distance
        return out

    def proof_move(self):
        cdef Node* node
        cdef int i
        if self.root == 0 or node_at(self, self.root).proven == PROVEN_NONE:
            return -1
        node = node_at(self, self.root)
        i = self.best_edge(node)
        if i >= 0:
            return moves_of(self, node)[i]
        return -1 if node.proof_move == NO_MOVE else node.proof_move

    def top_two(self):
        cdef Node* node
        cdef EdgeStat* stats
        cdef int i, best, second = 0
        if not self.root_ready():
            return (-1, 0, 0.0, 0)
        node = node_at(self, self.root)
        best = self.best_edge(node)
        if best < 0:
            self.ready_head(node)
            return (moves_of(self, node)[node.n_visited], 0, node.value_sum / max(1, node.weight), 0)
        stats = stats_of(self, node)
        for i in range(node.n_visited):
            if i != best and stats[i].proven != PROVEN_LOSS and stats[i].visits > second:
                second = stats[i].visits
        return (moves_of(self, node)[best], stats[best].visits, stats[best].q, second)

    def open_moves(self):
        cdef Node* node
        cdef int i, n
        if not self.root_ready():
            return 0
        node = node_at(self, self.root)
        n = node.n_legal
        for i in range(node.n_visited):
            n -= stats_of(self, node)[i].proven == PROVEN_LOSS
        return n

    def pv(self, int first=-1, int limit=64):
        cdef Ref ref = self.root
        cdef Node* node
        cdef int i
        line = []
        while ref != 0 and len(line) < limit:
            node = node_at(self, ref)
            if node.moves == 0 or node.n_visited == 0:
                i = -1
            elif not line and first >= 0:
                for i in range(node.n_visited):
                    if moves_of(self, node)[i] == first:
                        break
                else:
                    return [first]
            else:
                i = self.best_edge(node)
            if i < 0:
                if node.proven in (PROVEN_WIN, PROVEN_LOSS) and node.proof_move != NO_MOVE:
                    line.append(node.proof_move)
                break
            line.append(moves_of(self, node)[i])
            ref = stats_of(self, node)[i].child
        return line

    def exclude(self, points, int distance):
        self.need_edges()
        for point in points:
            self.prove_edge(point, PROVEN_LOSS, distance)

    cdef int need_edges(self) except -1:
        if not self.root_ready():
            raise ValueError("the root is not expanded")
        return 0

    cdef int prove_edge(self, int point, int proven, int distance) except -1:
        """Set the result of a root move and draw the conclusion. An edge that is proven already takes the distance."""
        cdef Node* node = node_at(self, self.root)
        cdef EdgeStat* stat
        cdef Node* child = NULL
        cdef int i = self.find_move(node, point)
        if i < 0:
            raise ValueError(f"point {point} is no move of the root")
        if i == node.n_visited:
            if not self.grow_stats(node):
                raise MemoryError("no memory for a root move")
            stat = &stats_of(self, node)[i]
            memset(stat, 0, sizeof(EdgeStat))
            stat.prior = priors_of(self, node)[i]
            node.n_visited += 1
            node.head_ready = 0
        stat = &stats_of(self, node)[i]
        if stat.child != 0:
            child = node_at(self, stat.child)
            child.distance = <uint16_t>(distance - 1)
        stat.distance = <uint16_t>distance
        if stat.proven == PROVEN_NONE:
            stat.proven = <uint8_t>proven
            stat.q = exact_q(proven)
            if child != NULL:
                child.proven = <uint8_t>opposite(proven)
            if proven == PROVEN_LOSS:
                node.settled_prior += stat.prior
                if child != NULL:
                    node.weight -= child.weight
                    node.value_sum += child.value_sum
                    node.draw_sum -= child.draw_sum
        self.settle(node, stat)
        return 0

    def prove(self, int proven, int distance, int move):
        cdef Node* node
        self.need_root()
        if proven == PROVEN_WIN and self.root_ready():
            self.prove_edge(move, proven, distance)
            return
        if self.root == 0:
            self.root = self.new_node()
            if self.root == 0:
                raise MemoryError("no memory for a root")
        node = node_at(self, self.root)
        self.unmix_noise()
        self.strip(node)
        node.proven = <uint8_t>proven
        node.distance = <uint16_t>distance
        node.proof_move = <uint16_t>move

    # --- numbers ------------------------------------------------------------------------------------------------

    def reset_counters(self):
        self.simulations = self.evaluations = self.solved_leaves = self.solver_nodes = self.depth_sum = 0
        self.depth_max = 0

    @property
    def nodes(self):
        return self.n_nodes

    @property
    def memory_used(self):
        return <int64_t>self.n_chunks * CHUNK_UNITS * UNIT_BYTES

    def signature(self):
        return self.digest(self.root, 0) if self.root != 0 else 0

    def dump(self, max_nodes=1_000_000):
        cdef Node* node
        cdef int i
        out = []
        stack = [((), self.root)] if self.root != 0 else []
        while stack and len(out) < max_nodes:
            path, ref = stack.pop()
            node = node_at(self, ref)
            edges = [
                (moves_of(self, node)[i], stats_of(self, node)[i].visits) for i in range(node.n_visited)
            ]
            out.append(
                (path, node.visits, node.weight, node.value_sum, node.proven, node.distance, node.n_moves, tuple(edges))
            )
            for i in range(node.n_visited - 1, -1, -1):
                if stats_of(self, node)[i].child != 0:
                    stack.append(((*path, edges[i][0]), stats_of(self, node)[i].child))
        return out


cdef class _Pointers:
    """Plain pointers to the trees of a batch, for loops without the GIL."""
    cdef void** trees
    cdef int n
    cdef list keep

    def __cinit__(self, trees, int n_status):
        cdef int i
        cdef Tree tree
        cdef BoardState* first = NULL
        self.keep = list(trees)
        self.n = len(self.keep)
        if self.n == 0 or self.n != n_status:
            raise ValueError(f"{self.n} trees, {n_status} statuses")
        self.trees = <void**>malloc(self.n * sizeof(void*))
        if self.trees == NULL:
            raise MemoryError("no memory for a batch")
        for i in range(self.n):
            tree = self.keep[i]
            tree.need_root()
            if first == NULL:
                first = tree.board.state
            if tree.board.state.width != first.width or tree.board.state.height != first.height:
                raise ValueError("the trees of a batch must have boards of one size")
            self.trees[i] = <void*>tree

    def __dealloc__(self):
        free(self.trees)


def gather(
    trees, float[:, :, :, ::1] planes, uint64_t[::1] keys, int32_t[::1] status, root_moves=None, int tries=1
):
    cdef _Pointers batch = _Pointers(trees, <int>status.shape[0])
    cdef int32_t[::1] forced = None
    cdef int i, k, n = 0, answer = IDLE, wrong = -1
    cdef int move = -1
    cdef bint with_moves = root_moves is not None
    if with_moves:
        forced = root_moves
        if forced.shape[0] != batch.n:
            raise ValueError(f"root_moves must have {batch.n} entries")
    (<Tree>batch.trees[0]).check_planes(planes, keys, batch.n)
    with nogil:
        for i in range(batch.n):
            if status[i] == SKIP:
                continue
            if with_moves:
                move = forced[i]
            (<Tree>batch.trees[i]).tables = TABLES_ALL
            for k in range(tries):
                answer = (<Tree>batch.trees[i]).begin(move, &planes[n, 0, 0, 0], &keys[n])
                if answer != SOLVED:
                    break
            status[i] = answer
            if answer == LEAF:
                n += 1
            elif answer == BAD_MOVE:
                wrong = i
    if wrong >= 0:
        raise ValueError(f"point {forced[wrong]} is no move of the root of tree {wrong}")
    return n


def scatter(trees, const float[:, ::1] policy, const float[:, ::1] wdl, int32_t[::1] status):
    cdef _Pointers batch = _Pointers(trees, <int>status.shape[0])
    cdef int i, n = 0, wrong = -1
    for i in range(batch.n):
        if status[i] == LEAF:
            n += 1
            if not (<Tree>batch.trees[i]).pending:
                raise ValueError(f"tree {i} has no pending leaf")
    if policy.shape[0] < n or wdl.shape[0] < n or wdl.shape[1] != 3:
        raise ValueError(f"policy and wdl must have at least {n} rows")
    if policy.shape[1] != (<Tree>batch.trees[0]).board.state.points:
        raise ValueError("policy has a wrong number of points")
    n = 0
    with nogil:
        for i in range(batch.n):
            if status[i] == LEAF:
                if (<Tree>batch.trees[i]).expand_leaf(&policy[n, 0], True, &wdl[n, 0]) == BAD_MOVE:
                    wrong = i
                status[i] = IDLE
                n += 1
    if wrong >= 0:
        raise ValueError(f"the evaluator's answer for tree {wrong} is not finite, or no chances")


def kernel_evaluate(int kernel_kind, uint64_t kernel_seed, uint64_t key, int points):
    cdef uint16_t all_points[484]
    cdef int i
    logits = np.empty(points, dtype=np.float32)
    wdl = np.empty(3, dtype=np.float32)
    cdef float[::1] logits_view = logits
    cdef float[::1] wdl_view = wdl
    for i in range(points):
        all_points[i] = <uint16_t>i
    kernel_judge(kernel_kind, kernel_seed, key, all_points, points, &logits_view[0], &wdl_view[0])
    return logits, wdl

# cython: language_level=3
"""Search kernel: how a tree grows by PUCT, with proven results.

A simulation walks down by `choose`, decides at the new position whether the rules settle it (`examine`) or the
solver does (`solve_fours`), else asks for an evaluation; `attach` puts the new nodes into the tree and `backup`
carries the value up. A position with a single sensible move (the block of a five) is never evaluated: the walk
goes on.

At a new position the solver looks for wins by fours (`solve_fours`). A node that is visited often is also solved by
fours and threes (`solve_threes`), again and again with budgets that follow its visits; where the opponent threatens
to win by fours, only the moves that may stop him are kept (`narrow`). Below a quiet move that prepares a win, the
values of a small net are wrong until its answers have been refuted one by one; this is how that happens quickly.

Moves of a node lie in one block; only visited ones have an `EdgeStat`, and they come first. Unvisited moves
differ in nothing but the prior, so `choose` compares all visited moves with the one best unvisited. Proven moves
take no more simulations and their prior is shared by the others. One that loses counts as if it were illegal:
what it had brought to the averages above is taken back. One that draws is a lower bound for its node. Visits are
never taken back, they count effort.

PUCT is that of AlphaZero (https://arxiv.org/abs/1712.01815) with growing exploration and reduced first-play
urgency as in KataGo (https://github.com/lightvector/KataGo); proofs travel as in MCTS-Solver
(https://dke.maastrichtuniversity.nl/m.winands/documents/uctloa.pdf).
"""
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from engine._encoding cimport encode_planes
from engine.rules._board cimport (
    BLACK, EMPTY, MAX_POINTS, SHAPE_DOUBLE_FOUR, SHAPE_FORK, TABLES_FOURS, BoardState, board_any_five,
    board_five_points, board_forbidden, board_place, board_shapes, board_undo, count32, lowest32, lowest64,
)
from engine.search._arena cimport (
    FIRST_ROOM, NO_MOVE, NODE_UNITS, PROVEN_DRAW, PROVEN_LOSS, PROVEN_NONE, PROVEN_WIN, Arena, EdgeStat, Node,
    Ref, exact_q, moves_of, moves_units, node_at, node_value, opposite, priors_of, stats_of, stats_units,
)
from engine.search._maths cimport exp_negative, kernel_judge, kth_largest, log_positive
from engine.threats._solver cimport SOLVER_NONE, SOLVER_WIN, SolverResult

from engine.search.params import SearchParams

cdef enum:
    SOLVER_DONE = 255
    # answers of `examine`
    POSITION_OPEN = 0       # candidates are listed
    POSITION_FORCED = 1     # found_move is the only one
    POSITION_PROVEN = 2     # found_* hold the result

cdef double MIN_REMAIN = 1e-6   # least prior that is left when all likely moves are refuted


cdef class Growth(Arena):
    """Simulations over one position; `engine.search._tree.Tree` is its Python face."""

    def __cinit__(self, params=None, memory_bytes=67_108_864, solver=None):
        self.params = SearchParams() if params is None else params
        self.solver = solver
        self.c_puct = self.params.c_puct
        self.c_puct_log = self.params.c_puct_log
        self.c_puct_base = self.params.c_puct_base
        self.fpu_reduction = self.params.fpu_reduction
        self.fpu_reduction_root = self.params.fpu_reduction_root
        self.inverse_temperature = 1.0 / self.params.policy_temperature
        self.edge_cap = self.params.edge_cap or MAX_POINTS
        self.leaf_vcf_nodes = self.params.leaf_vcf_nodes if solver is not None else 0
        self.tree_vct_visits = self.params.tree_vct_visits
        self.tree_vct_nodes = self.params.tree_vct_nodes if self.leaf_vcf_nodes > 0 else 0
        self.max_tree_vct_nodes = self.params.max_tree_vct_nodes

    # --- positions -----------------------------------------------------------------------------------------

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
        # Caro: a stone at the end of a five stops it as well, if both ends are blocked then. Try near cells.
        memset(tried, 0, b.points)
        for i in range(3):
            words = b.with_five[other][i]
            while words:
                k = i * 64 + lowest64(words)
                words &= words - 1
                mask = b.lines[k].five[other]
                for _ in range(5):      # the end of a five lies at most five cells from any of its cells
                    mask |= mask << 1 | mask >> 1
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

    cdef int64_t solver_visits(self, int level) noexcept nogil:
        """Visits from which on a node is solved at a level above 0."""
        return self.tree_vct_visits << 2 * (level - 1)

    cdef bint solve_fours(self, BoardState* b) noexcept nogil:
        """Look for a win by fours at a new leaf, level 0; sets found_* and solver_level."""
        cdef SolverResult result
        self.solver.vcf(b, b.to_move, self.leaf_vcf_nodes, &result)
        self.solver_nodes += result.nodes
        self.solver_level = 1
        if result.verdict != SOLVER_WIN:
            return False
        self.found_proven = PROVEN_WIN
        self.found_distance = result.distance
        self.found_move = result.move
        return True

    cdef bint solve_threes(self, Node* node, BoardState* b) noexcept nogil:
        """Look for a win by fours and threes at a node, and for the moves that stop one of the opponent's.

        With the budget of the node's level, which rises. Sets found_* if the node is decided.
        """
        cdef SolverResult result
        cdef uint16_t points[484]
        cdef int64_t budget = self.tree_vct_nodes * self.solver_visits(node.solver_level)
        cdef int verdict, n
        if budget > self.max_tree_vct_nodes:
            node.solver_level = SOLVER_DONE
            return False
        node.solver_level += 1
        self.solver.vct(b, b.to_move, budget, &result)
        self.solver_nodes += result.nodes
        if result.verdict == SOLVER_WIN:
            self.found_proven = PROVEN_WIN
            self.found_distance = result.distance
            self.found_move = result.move
            return True
        verdict = result.verdict
        # What stops a win by fours has a short list; behind another win, each move would have to be tried.
        self.solver.vcf(b, 1 - b.to_move, budget, &result)
        self.solver_nodes += result.nodes
        if result.verdict == SOLVER_WIN:
            n = self.solver.vct_defences(b, 1 - b.to_move, budget, &result, points)
            self.solver_nodes += result.nodes
            if n >= 0 and not self.narrow(node, points, n, result.distance + 1):
                self.found_proven = PROVEN_LOSS
                self.found_distance = result.distance + 1
                self.found_move = NO_MOVE
                return True
        elif verdict == SOLVER_NONE and result.verdict == SOLVER_NONE:
            node.solver_level = SOLVER_DONE
        return False

    cdef bint narrow(self, Node* node, const uint16_t* points, int n, int distance) noexcept nogil:
        """Forget the unvisited moves of a node that are not among `points`, and settle the visited ones: they lose.

        Their prior is shared by the others, as that of moves proven to lose. Returns False if nothing is left
        that might not lose; without memory the unvisited ones stay.

        Args:
            points: the `n` moves that may not lose.
            distance: plies until the game is over behind any other move.
        """
        cdef uint8_t wanted[484]
        cdef EdgeStat* stats = stats_of(self, node) if node.n_visited else NULL
        cdef float* old_priors = priors_of(self, node)
        cdef uint16_t* old_moves = moves_of(self, node)
        cdef float* priors
        cdef uint16_t* moves
        cdef Ref fresh
        cdef int i, k = node.n_visited
        cdef double dropped = 0
        cdef bint left = False
        memset(wanted, 0, sizeof(wanted))
        for i in range(n):
            wanted[points[i]] = 1
        for i in range(node.n_visited):
            if stats[i].proven == PROVEN_NONE and not wanted[old_moves[i]]:
                stats[i].proven = PROVEN_LOSS
                stats[i].distance = <uint16_t>distance
                stats[i].q = exact_q(PROVEN_LOSS)
                node.settled_prior += stats[i].prior
                if stats[i].child != 0:
                    self.take_back(node, node_at(self, stats[i].child))
                    node_at(self, stats[i].child).proven = PROVEN_WIN
                    node_at(self, stats[i].child).distance = <uint16_t>(distance - 1)
            elif stats[i].proven != PROVEN_LOSS:
                left = True
            k -= wanted[old_moves[i]]
            wanted[old_moves[i]] = 0
        k += n
        if k > node.n_visited:
            left = True
        if not left:
            return False
        fresh = self.take(moves_units(k))
        if fresh == 0:
            return True
        priors = <float*>self.at(fresh)
        moves = <uint16_t*>(self.at(fresh) + k * sizeof(float))
        memcpy(priors, old_priors, node.n_visited * sizeof(float))
        memcpy(moves, old_moves, node.n_visited * sizeof(uint16_t))
        k = node.n_visited
        for i in range(node.n_visited, node.n_moves):
            if wanted[old_moves[i]]:
                wanted[old_moves[i]] = 0
                priors[k] = old_priors[i]
                moves[k] = old_moves[i]
                k += 1
            else:
                dropped += old_priors[i]
        dropped += node.tail_prior * (node.n_legal - node.n_moves)
        for i in range(n):
            if wanted[points[i]]:
                priors[k] = node.tail_prior
                moves[k] = points[i]
                k += 1
                dropped -= node.tail_prior
        self.give(node.moves, moves_units(node.n_moves))
        node.moves = fresh
        node.n_moves = node.n_legal = <uint16_t>k
        node.settled_prior += <float>dropped
        node.head_ready = 0
        return True

    cdef void take_back(self, Node* node, Node* child) noexcept nogil:
        """Take what a move that loses had brought out of the averages of its node, the end of the path, and above."""
        cdef Node* above
        cdef double d_value = child.value_sum
        cdef int i
        node.weight -= child.weight
        node.value_sum += d_value
        node.draw_sum -= child.draw_sum
        for i in range(self.depth - 1, -1, -1):
            d_value = -d_value
            above = node_at(self, self.path[i])
            above.weight -= child.weight
            above.value_sum += d_value
            above.draw_sum -= child.draw_sum
            stats_of(self, above)[self.path_edge[i]].q = -node_value(node)
            node = above

    # --- selection -----------------------------------------------------------------------------------------

    cdef void ready_head(self, Node* node) noexcept nogil:
        """Bring the unvisited move with the highest prior (the lowest point among equals) to n_visited."""
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
        cdef double n, scale, remain, score, best_score = -1e30, explored = 0, fpu, reduction
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
            reduction = self.fpu_reduction_root if ref == self.root else self.fpu_reduction
            fpu -= reduction * sqrt(explored / remain)
            if fpu < -1.0:
                fpu = -1.0
            score = fpu + scale * priors_of(self, node)[node.n_visited]
            if score > best_score and self.grow_stats(node):
                best = node.n_visited
        return best

    cdef int find_move(self, Node* node, int move) noexcept nogil:
        """Index of a node's move, -1 if it has no such move; an unvisited one is brought to n_visited."""
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
                # The root has a solver of its own.
                if self.threes and self.depth > 0 and node.solver_level < SOLVER_DONE and node.n_legal > 1:
                    if node.visits >= self.solver_visits(node.solver_level) and self.solve_threes(node, b):
                        self.leaf = ref
                        found = POSITION_PROVEN
                        break
                i = self.choose(ref, b)
                if i < 0:
                    for _ in range(self.depth):
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
        if found < 0:
            self.solver_level = 0
            found = self.examine(b)
            while found == POSITION_FORCED:
                self.chain_move[self.chain] = <uint16_t>self.found_move
                self.chain += 1
                board_place(b, self.found_move, b.to_move, self.tables)
                found = self.examine(b)
            if found == POSITION_OPEN and self.leaf_vcf_nodes > 0 and self.solve_fours(b):
                found = POSITION_PROVEN
        if found == POSITION_OPEN:
            key[0] = b.hash
            if planes != NULL:
                encode_planes(b, planes)
            self.pending = True
        for _ in range(self.depth + self.chain):
            board_undo(b)
        if found == POSITION_OPEN:
            return LEAF
        return SOLVED if self.prove_leaf() else FULL

    # --- expansion and backup ------------------------------------------------------------------------------

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
            # Positive floats order like their bits. Buckets of a quarter octave find roughly where the cut
            # lies; within its bucket a key decides, in which the lower point is the greater of two equals.
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
        """Finish the pending simulation: LEAF when done, FULL, or BAD_MOVE for a senseless answer."""
        cdef Node* node
        cdef Ref moves
        cdef double value = <double>wdl[0] - <double>wdl[2], draw = wdl[1]
        cdef Node filled
        cdef bint at_root = self.depth + self.chain == 0
        self.pending = False
        if not (-1.001 <= value <= 1.001 and -0.001 <= draw <= 1.001):
            return BAD_MOVE
        if not self.compute_priors(logits, by_point):
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

    cdef void backup(
        self, Node* leaf, bint changed, int d_weight, double d_value, double d_draw
    ) noexcept nogil:
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

    # --- the root ------------------------------------------------------------------------------------------

    cdef bint root_ready(self) noexcept nogil:
        return self.root != 0 and node_at(self, self.root).moves != 0

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

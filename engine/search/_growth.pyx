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

The same position, reached by moves in another order, is the same node. A move that leads to a node with more visits
than the move has itself brings the node's mean to the nodes above, without a new evaluation, until it has caught up;
the node's account of such a move is its visits times that mean (`carry`). The idea of both is KataGo's
(https://github.com/lightvector/KataGo/blob/master/docs/GraphSearch.md).

A move is worth the mean of what was found behind it, and for a share (`minimax_share`) what the net says of the end
of the best line there, each side taking its best move: one refutation counts at once, not only when it has got most
of the visits. These are the implicit minimax backups of Lanctot and others (https://arxiv.org/abs/1406.0486).

PUCT is that of AlphaZero (https://arxiv.org/abs/1712.01815) with growing exploration and reduced first-play
urgency as in KataGo (https://github.com/lightvector/KataGo); proofs travel as in MCTS-Solver
(https://dke.maastrichtuniversity.nl/m.winands/documents/uctloa.pdf).
"""
from libc.math cimport sqrt
from libc.stdint cimport int8_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
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

cdef double BEST_UNIT = 1.0 / 127     # of `EdgeStat.best`
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
        self.minimax_share = self.params.minimax_share
        self.inverse_temperature = 1.0 / self.params.policy_temperature
        self.edge_cap = self.params.edge_cap or MAX_POINTS
        self.transpositions = self.params.transpositions
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
                node.settled_prior += stats[i].prior
                if stats[i].child != 0:
                    self.take_back(node, &stats[i])
                    node_at(self, stats[i].child).proven = PROVEN_WIN
                    node_at(self, stats[i].child).distance = <uint16_t>(distance - 1)
                stats[i].proven = PROVEN_LOSS
                stats[i].distance = <uint16_t>distance
                stats[i].q = exact_q(PROVEN_LOSS)
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

    cdef void take_back(self, Node* node, EdgeStat* stat) noexcept nogil:
        """Take what a move that loses had brought out of the averages of its node, the end of the path, and above."""
        cdef Node* above
        cdef int d_weight = 0, i
        cdef double d_value = 0, d_draw = 0
        self.withdraw(stat, node_at(self, stat.child), &d_weight, &d_value, &d_draw)
        node.weight += d_weight
        node.value_sum += d_value
        node.draw_sum += d_draw
        for i in range(self.depth - 1, -1, -1):
            above = node_at(self, self.path[i])
            self.carry(above, &stats_of(self, above)[self.path_edge[i]], node, &d_weight, &d_value, &d_draw)
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
            score = stats[i].q
            if self.minimax_share > 0:
                score += self.minimax_share * (stats[i].best * BEST_UNIT - score)
            score += scale * stats[i].prior / (1.0 + stats[i].visits)
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
        self.leaf = self.joined = 0
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
            if ref == 0 and self.transpositions:
                ref = self.find(b.hash)
                if ref != 0:
                    self.new_edge(node, ref)
            if ref != 0 and self.known(&stats_of(self, node)[i], node_at(self, ref)):
                for _ in range(self.depth):
                    board_undo(b)
                self.back_up_known(node_at(self, ref))
                return SOLVED
        return self.finish_walk(b, found, planes, key)

    cdef void new_edge(self, Node* node, Ref child) noexcept nogil:
        """Make the next unvisited move of a node, for which there is room, a visited one that leads to a child."""
        cdef EdgeStat* stat = &stats_of(self, node)[node.n_visited]
        memset(stat, 0, sizeof(EdgeStat))
        stat.child = child
        stat.prior = priors_of(self, node)[node.n_visited]
        node.n_visited += 1
        node.head_ready = 0
        if node_at(self, child).visits > 0:     # known before
            node_at(self, child).references += 1
            node_at(self, child).shared = 1

    cdef bint known(self, EdgeStat* stat, Node* child) noexcept nogil:
        """Whether a node can tell a move that led to it more than the move has heard."""
        return child.proven != PROVEN_NONE or (child.shared and stat.visits < child.visits)

    cdef int finish_walk(self, BoardState* b, int found, float* planes, uint64_t* key) noexcept nogil:
        """Judge the position that the walk came to, after the moves that it forces."""
        if found < 0:
            self.solver_level = 0
            self.chain_key[0] = b.hash
            found = self.examine(b)
            while found == POSITION_FORCED:
                self.chain_move[self.chain] = <uint16_t>self.found_move
                self.chain += 1
                board_place(b, self.found_move, b.to_move, self.tables)
                self.chain_key[self.chain] = b.hash
                if self.transpositions:
                    self.joined = self.find(b.hash)
                    if self.joined != 0:
                        break   # held below: taking memory may free what only dead nodes refer to
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
        if self.joined != 0:
            node_at(self, self.joined).references += 1
            if not self.attach():
                self.release(self.joined)
                return FULL
            self.release(self.joined)
            self.back_up_known(node_at(self, self.joined))
            return SOLVED
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

        The last one may be known already (`joined`). Afterwards `path` and `depth` lead to `leaf` through the chain.
        """
        cdef Node* node
        cdef Ref ref
        cdef int j, i, start = self.depth
        cdef bint ok = True
        for j in range(self.chain + 1):
            if j == self.chain and self.joined != 0:
                self.path[start + j] = self.joined
            else:
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
            node.n_legal = 1
            priors_of(self, node)[0] = 1
            moves_of(self, node)[0] = self.chain_move[j]
            self.new_edge(node, self.path[start + j + 1])
            self.path_edge[start + j] = 0
        if start == 0:
            self.root = self.path[0]
        elif self.leaf == 0:
            self.new_edge(node_at(self, self.path[start - 1]), self.path[start])
        if self.transpositions:
            for j in range(self.chain + 1):
                ref = self.path[start + j]
                if ref != self.leaf and ref != self.joined:
                    self.enter(ref, self.chain_key[j])
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

    cdef void withdraw(
        self, EdgeStat* stat, Node* child, int* d_weight, double* d_value, double* d_draw
    ) noexcept nogil:
        """Tell what a node's sums lose without a move, and let the move forget it."""
        if child.shared:
            d_weight[0] = -stat.weight
            d_value[0] = -stat.weight * stat.q
            d_draw[0] = -stat.weight * <double>stat.draw
        else:
            d_weight[0] = -child.weight
            d_value[0] = child.value_sum
            d_draw[0] = -child.draw_sum
        stat.weight = 0

    cdef int best_raw(self, Node* node) noexcept nogil:
        """What the net says of the end of the best line that was walked from a node, for its side to move, in 127ths.

        The best move is the one whose best line is best; moves that are proven to lose do not count.
        """
        cdef EdgeStat* stats
        cdef int best = -128, i
        if node.n_visited > 0:
            stats = stats_of(self, node)
            for i in range(node.n_visited):
                if stats[i].proven == PROVEN_DRAW and best < 0:
                    best = 0
                elif stats[i].proven == PROVEN_NONE and stats[i].visits > 0 and stats[i].best > best:
                    best = stats[i].best
        if best == -128:
            if node.raw_win < 0:
                return -127
            best = <int>(127.0 * (2.0 * node.raw_win + node.raw_draw - 1.0))
        return best

    cdef void carry(
        self, Node* node, EdgeStat* stat, Node* child, int* d_weight, double* d_value, double* d_draw
    ) noexcept nogil:
        """Carry a change of a child's sums over to its node.

        A child that has but one way to it hands on what it got. Of another one, a move takes the mean, as many
        times as its visits are worth.

        Args:
            d_weight, d_value, d_draw: in, what was added to the child; out, what was added to the node.
        """
        cdef int64_t weight = child.weight
        cdef double old_value, old_draw, draw
        draw = child.draw_sum / child.weight if child.weight > 0 else 0.0
        if not child.shared:
            stat.q = -node_value(child)
            d_value[0] = -d_value[0]
        else:
            if stat.visits < child.visits and weight > 0:
                weight = (weight * stat.visits + child.visits // 2) // child.visits
                if weight < 1:
                    weight = 1
            old_value = stat.weight * stat.q
            old_draw = stat.weight * <double>stat.draw
            stat.q = -node_value(child)
            draw = <float>draw
            d_weight[0] = <int>weight - stat.weight
            d_value[0] = weight * stat.q - old_value
            d_draw[0] = weight * draw - old_draw
        if self.minimax_share > 0:
            stat.best = <int8_t>-self.best_raw(child)
        stat.weight = <int32_t>weight
        stat.draw = <float>draw
        node.weight += d_weight[0]
        node.value_sum += d_value[0]
        node.draw_sum += d_draw[0]

    cdef void back_up_known(self, Node* child) noexcept nogil:
        """Finish a simulation that came to a node which knows more than the move that led to it."""
        self.backup(child, child.proven != PROVEN_NONE, 0, 0, 0)

    cdef void backup(
        self, Node* leaf, bint changed, int d_weight, double d_value, double d_draw
    ) noexcept nogil:
        """Carry one simulation from the end of the path to the root.

        Args:
            leaf: node at the end of the path, already up to date.
            changed: it is proven, which the last move of the path does not know yet; then the rest says nothing
                and is worked out here.
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
                # The child's sums are as they were before this simulation.
                if child.proven == PROVEN_WIN:
                    self.withdraw(stat, child, &d_weight, &d_value, &d_draw)
                elif child.proven == PROVEN_DRAW:
                    node.has_draw = 1
                    if child.shared:
                        self.withdraw(stat, child, &d_weight, &d_value, &d_draw)
                        stat.weight = 1 - d_weight
                        d_weight = 1
                        d_draw += stat.weight
                    else:
                        d_weight = 1
                        d_value = child.value_sum
                        d_draw = child.weight + 1 - child.draw_sum
                        child.weight += 1
                        child.value_sum = 0
                        child.draw_sum = child.weight
                        stat.weight = child.weight
                    stat.draw = 1
                stat.proven = <uint8_t>opposite(child.proven)
                stat.distance = child.distance + 1
                stat.q = exact_q(stat.proven)
                node.settled_prior += stat.prior
                changed = self.settle(node, stat)
                if changed:
                    child = node
                    continue
                node.weight += d_weight
                node.value_sum += d_value
                node.draw_sum += d_draw
            else:
                self.carry(node, stat, child, &d_weight, &d_value, &d_draw)
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

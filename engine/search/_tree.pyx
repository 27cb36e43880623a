# cython: language_level=3
"""The search tree as Python sees it: roots, batches, reading. Growing stands in `_growth.pyx`."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from engine._encoding cimport N_PLANES
from engine.evaluator._lines cimport LineNet
from engine.rules._board cimport EMPTY, MAX_POINTS, TABLES_ALL, TABLES_FOURS, Board, BoardState
from engine.search._arena cimport (
    NO_MOVE, PROVEN_DRAW, PROVEN_LOSS, PROVEN_NONE, PROVEN_WIN, Arena, EdgeStat, Node, Ref, exact_q, moves_of,
    node_at, node_value, opposite, priors_of, stats_of,
)
from engine.search._growth cimport BAD_MOVE, FULL, IDLE, LEAF, NOTHING_LEFT, SKIP, SOLVED, Growth
from engine.search._maths cimport KERNEL_HASHED, KERNEL_NONE, KERNEL_UNIFORM, kernel_judge, mix64

import numpy as np

globals().update(
    IDLE=IDLE, LEAF=LEAF, SOLVED=SOLVED, NOTHING_LEFT=NOTHING_LEFT, FULL=FULL, SKIP=SKIP,
    PROVEN_NONE=PROVEN_NONE, PROVEN_WIN=PROVEN_WIN, PROVEN_LOSS=PROVEN_LOSS, PROVEN_DRAW=PROVEN_DRAW,
    KERNEL_NONE=KERNEL_NONE, KERNEL_UNIFORM=KERNEL_UNIFORM, KERNEL_HASHED=KERNEL_HASHED,
)


cdef class Tree(Growth):
    """A search tree; see the stub file for the contract of each method."""

    def __cinit__(self, params=None, memory_bytes=67_108_864, solver=None):
        self.rng = np.random.default_rng(self.params.seed)

    # --- position ------------------------------------------------------------------------------------------

    cdef int need_root(self) except -1:
        if self.board is None:
            raise ValueError("the tree has no root yet")
        return 0

    cdef int need_edges(self) except -1:
        if not self.root_ready():
            raise ValueError("the root is not expanded")
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
        self.kept = 0
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
                    self.descend(self.root, old.to_move, own, other)
        self.board = board.copy()
        if self.kept == 0:
            self.clear()
            self.board = board.copy()
            return 0
        if self.kept != self.root:
            node_at(self, self.kept).references += 1
            self.release(self.root)
            self.root = self.kept
        node = node_at(self, self.root)
        if node.moves != 0 and node.n_moves < node.n_legal:
            self.widen(node, self.board.state)
        return node.visits

    cdef void descend(self, Ref ref, int colour, set own, set other):
        """Find the most visited node behind all the stones, played in turn in any order."""
        cdef Node* node = node_at(self, ref)
        cdef EdgeStat* stats
        cdef int i
        if not own:     # `other` is empty as well, since the sides take turns
            if self.kept == 0 or node.visits > node_at(self, self.kept).visits:
                self.kept = ref
            return
        if node.stats == 0:
            return
        stats = stats_of(self, node)
        for i in range(node.n_visited):
            move = moves_of(self, node)[i]
            if move in own and stats[i].child != 0:
                self.descend(stats[i].child, 1 - colour, other, own - {move})

    def clear(self):
        Arena.clear(self)
        self.pending = self.noisy = False
        self.noise_epsilon = 0
        self.board = None

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

    # --- simulations ---------------------------------------------------------------------------------------

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
        self.threes = self.tree_vct_nodes > 0
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
        self.threes = False
        self.stop = False
        with nogil:
            while done < simulations and not self.stop:
                status = self.simulate(kernel_kind, kernel_seed)
                if status == LEAF or status == SOLVED:
                    done += 1
                elif status != FULL or self.cramped > 1:
                    break
        return done

    def run_net(self, int simulations, LineNet net not None):
        cdef int done = 0, status = LEAF
        cdef uint64_t key
        cdef float planes[N_PLANES * MAX_POINTS]
        cdef float wdl[3]
        cdef BoardState* b
        self.need_root()
        if net.net.x == NULL:
            raise ValueError("line net: not built")
        b = self.board.state
        self.tables = TABLES_ALL
        self.threes = self.tree_vct_nodes > 0
        self.stop = False
        with nogil:
            while done < simulations and not self.stop:
                status = self.begin(-1, planes, &key)
                if status == LEAF:
                    net.judge(planes, b.width, b.height, self.logits, wdl)
                    status = self.expand_leaf(self.logits, True, wdl)
                if status == LEAF or status == SOLVED:
                    done += 1
                elif status != FULL or self.cramped > 1:
                    break
        if status == BAD_MOVE:
            raise ValueError("the net's answer is not finite, or no chances")
        return done

    # --- the root ------------------------------------------------------------------------------------------

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
        out = np.full(n, np.nan)
        cdef double[::1] view = out
        for i in range(node_at(self, self.root).n_visited if n else 0):
            stat = &stats_of(self, node_at(self, self.root))[i]
            if stat.proven != PROVEN_NONE:
                view[i] = stat.proven == PROVEN_DRAW
            elif stat.child != 0:
                view[i] = stat.draw
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

    def visited_edges(self):
        cdef Node* node
        cdef EdgeStat* stats
        cdef int i
        if not self.root_ready():
            return []
        node = node_at(self, self.root)
        stats = stats_of(self, node)
        return [
            (moves_of(self, node)[i], stats[i].visits, stats[i].q, stats[i].proven)
            for i in range(node.n_visited)
        ]

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

    cdef int prove_edge(self, int point, int proven, int distance) except -1:
        """Set the result of a root move and draw the conclusion; a proven one takes just the distance."""
        cdef Node* node = node_at(self, self.root)
        cdef EdgeStat* stat
        cdef Node* child = NULL
        cdef int d_weight, i = self.find_move(node, point)
        cdef double d_value, d_draw
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
            if proven == PROVEN_LOSS:
                node.settled_prior += stat.prior
                if child != NULL:
                    self.withdraw(stat, child, &d_weight, &d_value, &d_draw)
                    node.weight += d_weight
                    node.value_sum += d_value
                    node.draw_sum += d_draw
            stat.proven = <uint8_t>proven
            stat.q = exact_q(proven)
            if child != NULL:
                child.proven = <uint8_t>opposite(proven)
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

    # --- numbers -------------------------------------------------------------------------------------------

    def reset_counters(self):
        self.simulations = self.evaluations = self.solved_leaves = self.solver_nodes = self.depth_sum = 0
        self.depth_max = 0

    def signature(self):
        if self.root == 0:
            return 0
        h = self.digest(self.root, 0)
        self.unmark(self.root)
        return h

    cdef uint64_t digest(self, Ref ref, uint64_t h) noexcept nogil:
        """Mix a node and, the first time, what lies below it into `h`; leaves marks behind."""
        cdef Node* node = node_at(self, ref)
        cdef EdgeStat* stats
        cdef uint64_t bits
        cdef int i
        if node.mark:
            return mix64(h ^ node.key)
        node.mark = 1
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

    cdef void unmark(self, Ref ref) noexcept nogil:
        cdef Node* node = node_at(self, ref)
        cdef int i
        node.mark = 0
        for i in range(node.n_visited):
            ref = stats_of(self, node)[i].child
            if ref != 0 and node_at(self, ref).mark:
                self.unmark(ref)

    def check(self):
        cdef Node* node
        cdef Ref ref
        cdef int i
        ways = {self.root: 1}
        dead = set()
        ref = self.dead
        while ref != 0:
            dead.add(ref)
            ref = <Ref>node_at(self, ref).visits
        stack = [self.root] if self.root != 0 else []
        while stack:
            ref = stack.pop()
            node = node_at(self, ref)
            if ref in dead:
                raise AssertionError(f"node {ref} is about to be freed")
            if node.key != 0 and self.find(node.key) != ref:
                raise AssertionError(f"node {ref} cannot be found by its position")
            if node.n_visited > min(node.stats_room, node.n_moves) or node.n_moves > node.n_legal:
                raise AssertionError(f"node {ref} has {node.n_visited} edges of {node.n_moves} moves")
            for i in range(node.n_visited):
                child = stats_of(self, node)[i].child
                if child == 0:
                    continue
                if child not in ways:
                    stack.append(child)
                ways[child] = ways.get(child, 0) + 1
        for ref, count in ways.items():
            if ref != 0 and node_at(self, ref).references < count:
                raise AssertionError(f"node {ref}: {node_at(self, ref).references} references of {count}")

    def dump(self, max_nodes=1_000_000):
        cdef Node* node
        cdef int i
        out = []
        seen = set()
        stack = [((), self.root)] if self.root != 0 else []
        while stack and len(out) < max_nodes:
            path, ref = stack.pop()
            if ref in seen:
                continue
            seen.add(ref)
            node = node_at(self, ref)
            edges = [
                (moves_of(self, node)[i], stats_of(self, node)[i].visits) for i in range(node.n_visited)
            ]
            out.append((
                path, node.visits, node.weight, node.value_sum, node.proven, node.distance, node.n_moves,
                tuple(edges),
            ))
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
    cdef int i, n = 0, answer = IDLE, wrong = -1
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
            (<Tree>batch.trees[i]).threes = (<Tree>batch.trees[i]).tree_vct_nodes > 0
            for _ in range(tries):
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

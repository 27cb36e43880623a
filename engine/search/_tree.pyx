# cython: language_level=3
"""Python interface of the search tree. The parts are in `kernel/`; start reading at `kernel/simulate.pxd`."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from engine.evaluator._backend cimport EvalCallback, KernelBackend
from engine.planes cimport PLANE_COUNT
from engine.rules._board cimport EMPTY, MAX_POINTS, Board, BoardState
from engine.search.kernel.backup cimport CONSISTENT, check_node
from engine.search.kernel.expand cimport MoveList
from engine.search.kernel.graph cimport clear_graph, find_node
from engine.search.kernel.inspect cimport clear_marks, graph_digest
from engine.search.kernel.leaf cimport list_legal
from engine.search.kernel.lock cimport (
    tengen_lock_acquire, tengen_lock_destroy, tengen_lock_init, tengen_lock_release, tengen_lock_spin,
)
from engine.search.kernel.node cimport (
    NO_MOVE, PROVEN_DRAW, PROVEN_LOSS, PROVEN_NONE, PROVEN_WIN, Edge, Node, best_edge, edges_of, exact_q,
    moves_of, moves_units, node_at, node_value, priors_of, unpack_prior,
)
from engine.search.kernel.node_memory cimport CHUNK_UNITS, UNIT_BYTES, Ref, apply_limit, free_chunks, set_limit
from engine.search.kernel.noise cimport mix_noise, remove_noise
from engine.search.kernel.root cimport (
    BestMove, best_child, count_open_moves, find_descendant, has_moves, move_root, prove_move, prove_root, root_of,
)
from engine.search.kernel.select cimport MINIMAX_UNIT
from engine.search.kernel.simulate cimport deferred_callback, expand_deferred, run
from engine.search.kernel.state cimport (
    BAD_EVALUATION, BAD_MOVE, EVALUATED, FULL, IDLE, INCONSISTENT, LEAF, NOTHING_LEFT, SOLVED, TreeState, Worker,
)
from engine.threats._solver cimport Solver

import numpy as np

from engine.search.params import SearchParams

cdef enum:
    SKIP = -1               # set by the caller of `gather`
    MIN_MEMORY = 1 << 20
    OWN_SOLVER_LOG2 = 8     # solver table of a tree without a solver (derived: 4 KB)

globals().update(
    IDLE=IDLE, LEAF=LEAF, SOLVED=SOLVED, NOTHING_LEFT=NOTHING_LEFT, FULL=FULL, SKIP=SKIP, EVALUATED=EVALUATED,
    PROVEN_NONE=PROVEN_NONE, PROVEN_WIN=PROVEN_WIN, PROVEN_LOSS=PROVEN_LOSS, PROVEN_DRAW=PROVEN_DRAW,
)

INCONSISTENCIES = {1: "weight", 2: "values", 3: "draws", 4: "visits", 5: "edges"}


cdef int raise_for_status(int status, str whose) except -1:
    """Raise the exception of a bad status."""
    if status == BAD_EVALUATION:
        raise ValueError(f"the evaluation{whose} is not finite, or no probabilities")
    if status == INCONSISTENT:
        raise AssertionError(f"a simulation left inconsistent node statistics{whose}")
    return 0


cdef int require_callback(KernelBackend backend) except -1:
    if backend.callback.evaluate == NULL:
        raise ValueError("a backend without a callback")
    return 0


cdef class Tree:
    """A search tree; see the stub file for the contract of each method."""

    def __cinit__(self, params=None, memory_bytes=67_108_864, solver=None):
        self.params = SearchParams() if params is None else params
        self.solver = Solver(OWN_SOLVER_LOG2) if solver is None else solver
        self.state.main.solver = <void*>self.solver
        self.rng = np.random.default_rng(self.params.seed)
        self.state.settings = self.params.kernel_settings(MAX_POINTS, solver=solver is not None)
        tengen_lock_init(&self.state.lock)
        self.memory_bytes = memory_bytes
        clear_graph(&self.state.graph)

    def __dealloc__(self):
        free_chunks(&self.state.graph.memory, 0)
        free(self.state.graph.memory.chunks)
        free(self.state.graph.memory.ends)
        free(self.state.graph.buckets)
        tengen_lock_destroy(&self.state.lock)

    # --- position ------------------------------------------------------------------------------------------

    cdef int require_root(self) except -1:
        if self.board is None:
            raise ValueError("the tree has no root yet")
        return 0

    def set_root(self, Board board, int max_plies=6):
        cdef Ref kept
        if board.state.winner != EMPTY or board.state.n_empty == 0:
            raise ValueError("the game is over")
        self.state.main.simulation.pending = False
        remove_noise(&self.state.graph.memory, self.state.graph.root, &self.state.noise)
        self.state.noise.epsilon = 0
        kept = find_descendant(&self.state, board.state, max_plies)
        if kept == 0:
            self.clear()
        self.board = board.copy()
        self.state.main.board = self.board.state
        self.state.graph.common_units = moves_units(min(self.state.settings.edge_cap, board.state.points))
        if kept == 0:
            return 0
        move_root(&self.state, kept)
        return root_of(&self.state).visits

    def clear(self):
        apply_limit(&self.state.graph.memory)
        clear_graph(&self.state.graph)
        self.state.main.simulation.pending = self.state.noise.applied = False
        self.state.noise.epsilon = 0
        self.state.main.oom_retries = 0
        self.board = None
        self.state.main.board = NULL

    def trim(self):
        self.clear()
        free_chunks(&self.state.graph.memory, 0)

    def add_root_noise(self, double epsilon, double alpha_total=10.83, seed=None):
        rng = self.rng if seed is None else np.random.default_rng(seed)
        cdef int i
        cdef double[::1] gamma
        cdef MoveList legal
        self.require_root()
        remove_noise(&self.state.graph.memory, self.state.graph.root, &self.state.noise)
        self.state.noise.epsilon = epsilon
        if epsilon <= 0:
            return
        list_legal(self.board.state, &legal)
        gamma = rng.standard_gamma(alpha_total / max(1, legal.n), self.board.state.points) + 1e-12
        for i in range(self.board.state.points):
            self.state.noise.samples[i] = gamma[i]
        if has_moves(&self.state):
            mix_noise(&self.state.graph.memory, root_of(&self.state), &self.state.noise)

    # --- simulations ---------------------------------------------------------------------------------------

    def run(self, int simulations, KernelBackend backend not None, *, bint vct=True, limit=None):
        cdef int done = 0, status
        self.require_root()
        require_callback(backend)
        if self.state.main.threaded and limit is not None:
            with self:
                self.state.max_simulations = limit
        with nogil:
            status = run(&self.state, &self.state.main, &backend.callback, simulations, -1, vct, &done)
        raise_for_status(status, "")
        return done

    def simulate(self, KernelBackend backend not None, int root_move=-1):
        self.require_root()
        require_callback(backend)
        return self.simulate_once(&backend.callback, root_move)

    cdef int simulate_once(self, EvalCallback* callback, int root_move) except -1:
        """Do one simulation, up to a deferred evaluation; return its status."""
        cdef int done = 0, status
        with nogil:
            status = run(&self.state, &self.state.main, callback, 1, root_move, True, &done)
        if status == BAD_MOVE:
            raise ValueError(f"point {root_move} is no move of the root")
        raise_for_status(status, "")
        return status

    cdef int check_planes(self, float[:, :, :, ::1] planes, uint64_t[::1] keys, int rows) except -1:
        cdef BoardState* b = self.board.state
        if planes.shape[0] < rows or keys.shape[0] < rows:
            raise ValueError(f"planes and keys must have at least {rows} rows")
        if planes.shape[1] != PLANE_COUNT or planes.shape[2] != b.height or planes.shape[3] != b.width:
            raise ValueError(f"planes must be [B, {PLANE_COUNT}, {b.height}, {b.width}]")
        return 0

    def select(self, float[:, :, :, ::1] planes, uint64_t[::1] keys, int root_move=-1):
        cdef EvalCallback callback
        self.require_root()
        self.check_planes(planes, keys, 1)
        callback = deferred_callback(&planes[0, 0, 0, 0], &keys[0])
        return self.simulate_once(&callback, root_move)

    def expand(self, policy, wdl):
        cdef const float[::1] logits = policy.reshape(-1)
        cdef const float[::1] chances = wdl.reshape(-1)
        if not self.state.main.simulation.pending:
            raise ValueError("no leaf is pending")
        if logits.shape[0] != self.board.state.points or chances.shape[0] != 3:
            raise ValueError(f"policy must be [{self.board.state.points}] and wdl [3]")
        raise_for_status(expand_deferred(&self.state, &logits[0], &chances[0]), "")

    # --- threads -------------------------------------------------------------------------------------------

    def locked(self):
        return self

    def __enter__(self):
        if self.state.main.threaded:
            # Others hold the lock for some microseconds and need no GIL for it; but they may lose their core.
            if self.n_held == 0 and not tengen_lock_spin(&self.state.lock):
                with nogil:
                    tengen_lock_acquire(&self.state.lock)
            self.n_held += 1

    def __exit__(self, *exception):
        if self.n_held > 0:
            self.n_held -= 1
            if self.n_held == 0:
                tengen_lock_release(&self.state.lock)

    cdef int run_worker(self, Worker* worker, EvalCallback* callback, bint vct) noexcept nogil:
        """Do simulations of a helper until its search is over; return the status that ended it."""
        cdef int done = 0
        return run(&self.state, worker, callback, 0x7FFFFFFF, -1, vct, &done)

    # --- the root ------------------------------------------------------------------------------------------

    @property
    def has_root(self):
        return self.state.graph.root != 0

    @property
    def visits(self):
        return root_of(&self.state).visits if self.has_root else 0

    @property
    def proven(self):
        return root_of(&self.state).proven if self.has_root else PROVEN_NONE

    @property
    def distance(self):
        return root_of(&self.state).distance if self.has_root else 0

    @property
    def forced(self):
        return has_moves(&self.state) and root_of(&self.state).n_legal == 1

    @property
    def wdl(self):
        cdef Node* node = root_of(&self.state)
        cdef double q, draw
        if node == NULL:
            return (0.0, 1.0, 0.0)
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
        cdef Node* node = root_of(&self.state)
        if node == NULL or node.raw_win < 0:
            return None
        return (node.raw_win, node.raw_draw, 1.0 - node.raw_win - node.raw_draw)

    cdef int n_moves(self):
        return root_of(&self.state).n_moves if has_moves(&self.state) else 0

    cdef int n_edges(self):
        return root_of(&self.state).n_visited if has_moves(&self.state) else 0

    cdef Edge* edge(self, int i):
        return &edges_of(&self.state.graph.memory, root_of(&self.state))[i]

    cdef int point(self, int i):
        return moves_of(&self.state.graph.memory, root_of(&self.state))[i]

    def moves(self):
        cdef int i
        out = np.empty(self.n_moves(), dtype=np.int32)
        cdef int32_t[::1] view = out
        for i in range(self.n_moves()):
            view[i] = self.point(i)
        return out

    def priors(self):
        cdef int i
        out = np.empty(self.n_moves(), dtype=np.float32)
        cdef float[::1] view = out
        for i in range(self.n_moves()):
            if self.state.noise.applied:
                view[i] = self.state.noise.original[self.point(i)]
            else:
                view[i] = unpack_prior(priors_of(&self.state.graph.memory, root_of(&self.state))[i])
        return out

    cdef object by_move(self, list values, fill, dtype):
        """Return values of the visited moves as an array of all moves."""
        out = np.full(self.n_moves(), fill, dtype=dtype)
        out[: len(values)] = values
        return out

    def edge_visits(self):
        return self.by_move([self.edge(i).visits for i in range(self.n_edges())], 0, np.int32)

    def edge_q(self):
        return self.by_move([self.edge(i).q for i in range(self.n_edges())], np.nan, np.float64)

    def edge_minimax(self):
        return self.by_move([self.edge(i).minimax * MINIMAX_UNIT for i in range(self.n_edges())], np.nan, np.float64)

    def edge_draw(self):
        cdef int i
        cdef Edge* edge
        out = np.full(self.n_moves(), np.nan)
        cdef double[::1] view = out
        for i in range(self.n_edges()):
            edge = self.edge(i)
            if edge.proven != PROVEN_NONE:
                view[i] = edge.proven == PROVEN_DRAW
            elif edge.child != 0:
                view[i] = edge.draw
        return out

    def edge_proven(self):
        return self.by_move([self.edge(i).proven for i in range(self.n_edges())], 0, np.int8)

    def edge_distance(self):
        return self.by_move([self.edge(i).distance for i in range(self.n_edges())], 0, np.int32)

    def visited_edges(self):
        cdef int i
        return [
            (self.point(i), self.edge(i).visits, self.edge(i).q, self.edge(i).proven) for i in range(self.n_edges())
        ]

    def proof_move(self):
        cdef Node* node = root_of(&self.state)
        cdef int i
        if node == NULL or node.proven == PROVEN_NONE:
            return -1
        i = best_edge(&self.state.graph.memory, node)
        if i >= 0:
            return self.point(i)
        return -1 if node.proof_move == NO_MOVE else node.proof_move

    def top_two(self):
        cdef BestMove found = best_child(&self.state)
        return (found.point, found.visits, found.q, found.second_visits)

    def open_moves(self):
        return count_open_moves(&self.state)

    def pv(self, int first=-1, int limit=64):
        cdef Ref ref = self.state.graph.root
        cdef Node* node
        cdef int i
        line = []
        while ref != 0 and len(line) < limit:
            node = node_at(&self.state.graph.memory, ref)
            if node.moves == 0 or node.n_visited == 0:
                i = -1
            elif not line and first >= 0:
                for i in range(node.n_visited):
                    if moves_of(&self.state.graph.memory, node)[i] == first:
                        break
                else:
                    return [first]
            else:
                i = best_edge(&self.state.graph.memory, node)
            if i < 0:
                if node.proven in (PROVEN_WIN, PROVEN_LOSS) and node.proof_move != NO_MOVE:
                    line.append(node.proof_move)
                break
            line.append(moves_of(&self.state.graph.memory, node)[i])
            ref = edges_of(&self.state.graph.memory, node)[i].child
        return line

    def exclude(self, points, int distance):
        if not has_moves(&self.state):
            raise ValueError("the root is not expanded")
        for point in points:
            self.prove_edge(point, PROVEN_LOSS, distance)

    cdef int prove_edge(self, int point, int proven, int distance) except -1:
        cdef int status = prove_move(&self.state, point, proven, distance)
        if status == BAD_MOVE:
            raise ValueError(f"point {point} is no move of the root")
        if status == FULL:
            raise MemoryError("no memory for a root move")
        return 0

    def prove(self, int proven, int distance, int move):
        self.require_root()
        if proven == PROVEN_WIN and has_moves(&self.state):
            self.prove_edge(move, proven, distance)
        elif not prove_root(&self.state, proven, distance, move):
            raise MemoryError("no memory for a root")

    # --- numbers -------------------------------------------------------------------------------------------

    @property
    def simulations(self):
        return self.state.counters.simulations

    @property
    def evaluations(self):
        return self.state.counters.evaluations

    @property
    def solved_leaves(self):
        return self.state.counters.solved_leaves

    @property
    def solver_nodes(self):
        return self.state.counters.solver_nodes

    @property
    def depth_sum(self):
        return self.state.counters.depth_sum

    @property
    def depth_max(self):
        return self.state.counters.depth_max

    def reset_counters(self):
        memset(&self.state.counters, 0, sizeof(self.state.counters))

    @property
    def nodes(self):
        return self.state.graph.n_nodes

    @property
    def memory_used(self):
        return <int64_t>self.state.graph.memory.n_chunks * CHUNK_UNITS * UNIT_BYTES

    @property
    def memory_bytes(self):
        return <int64_t>self.state.graph.memory.limit_chunks * CHUNK_UNITS * UNIT_BYTES

    @memory_bytes.setter
    def memory_bytes(self, value):
        if value < MIN_MEMORY:
            raise ValueError(f"a tree needs at least 1 MiB, not {value} bytes")
        if not set_limit(&self.state.graph.memory, min(value, 1 << 36)):
            raise MemoryError("no memory for a tree")

    def signature(self):
        cdef uint64_t h
        if self.state.graph.root == 0:
            return 0
        h = graph_digest(&self.state.graph.memory, self.state.graph.root, 0)
        clear_marks(&self.state.graph.memory, self.state.graph.root)
        return h

    def check(self):
        cdef Node* node
        cdef Ref ref = self.state.graph.dead
        cdef int i
        ways = {self.state.graph.root: 1}
        dead = set()
        while ref != 0:
            dead.add(ref)
            ref = <Ref>node_at(&self.state.graph.memory, ref).visits
        stack = [self.state.graph.root] if self.state.graph.root != 0 else []
        while stack:
            ref = stack.pop()
            node = node_at(&self.state.graph.memory, ref)
            if ref in dead:
                raise AssertionError(f"node {ref} is dead but referenced")
            if node.key != 0 and find_node(&self.state.graph, node.key) != ref:
                raise AssertionError(f"node {ref} is not in the index")
            if node.n_visited > min(node.edge_capacity, node.n_moves) or node.n_moves > node.n_legal:
                raise AssertionError(f"node {ref} has {node.n_visited} edges of {node.n_moves} moves")
            i = check_node(&self.state.graph.memory, node, self.state.graph.lossy)
            if i != CONSISTENT:
                raise AssertionError(f"node {ref}: inconsistent statistics: {INCONSISTENCIES[i]}")
            for i in range(node.n_visited):
                child = edges_of(&self.state.graph.memory, node)[i].child
                if child == 0:
                    continue
                if child not in ways:
                    stack.append(child)
                ways[child] = ways.get(child, 0) + 1
        for ref, count in ways.items():
            if ref != 0 and node_at(&self.state.graph.memory, ref).references < count:
                raise AssertionError(
                    f"node {ref}: {node_at(&self.state.graph.memory, ref).references} references of {count}"
                )

    def dump(self, max_nodes=1_000_000):
        cdef Node* node
        cdef Edge* edges
        cdef int i
        out = []
        seen = set()
        stack = [((), self.state.graph.root)] if self.state.graph.root != 0 else []
        while stack and len(out) < max_nodes:
            path, ref = stack.pop()
            if ref in seen:
                continue
            seen.add(ref)
            node = node_at(&self.state.graph.memory, ref)
            edges = edges_of(&self.state.graph.memory, node)
            walked = [
                (moves_of(&self.state.graph.memory, node)[i], edges[i].visits) for i in range(node.n_visited)
            ]
            out.append((
                path, node.visits, node.weight, node.value_sum, node.proven, node.distance, node.n_moves,
                tuple(walked),
            ))
            for i in range(node.n_visited - 1, -1, -1):
                if edges[i].child != 0:
                    stack.append(((*path, walked[i][0]), edges[i].child))
        return out


cdef class _Batch:
    """Plain pointers to the trees of a batch, for loops without the GIL."""
    cdef TreeState** states
    cdef int n
    cdef list trees

    def __cinit__(self, trees, int n_status):
        cdef int i
        cdef Tree tree
        cdef BoardState* first = NULL
        self.trees = list(trees)
        self.n = len(self.trees)
        if self.n == 0 or self.n != n_status:
            raise ValueError(f"{self.n} trees, {n_status} statuses")
        self.states = <TreeState**>malloc(self.n * sizeof(TreeState*))
        if self.states == NULL:
            raise MemoryError("no memory for a batch")
        for i in range(self.n):
            tree = self.trees[i]
            tree.require_root()
            if first == NULL:
                first = tree.board.state
            if tree.board.state.width != first.width or tree.board.state.height != first.height:
                raise ValueError("the trees of a batch must have boards of one size")
            self.states[i] = &tree.state

    def __dealloc__(self):
        free(self.states)


def gather(
    trees, float[:, :, :, ::1] planes, uint64_t[::1] keys, int32_t[::1] status, root_moves=None, int tries=1
):
    cdef _Batch batch = _Batch(trees, <int>status.shape[0])
    cdef int32_t[::1] forced = None
    cdef EvalCallback callback
    cdef int i, n = 0, wrong = -1, done, move = -1
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
            done = 0
            callback = deferred_callback(&planes[n, 0, 0, 0], &keys[n])
            status[i] = run(batch.states[i], &batch.states[i].main, &callback, tries, move, True, &done)
            if status[i] == LEAF:
                n += 1
            elif status[i] < 0:
                wrong = i
    if wrong >= 0:
        raise_for_status(status[wrong], f" for tree {wrong}")
        raise ValueError(f"point {forced[wrong]} is no move of the root of tree {wrong}")
    return n


def scatter(trees, const float[:, ::1] policy, const float[:, ::1] wdl, int32_t[::1] status):
    cdef _Batch batch = _Batch(trees, <int>status.shape[0])
    cdef int i, n = 0, outcome, worst = IDLE, wrong = -1
    for i in range(batch.n):
        if status[i] == LEAF:
            n += 1
            if not batch.states[i].main.simulation.pending:
                raise ValueError(f"tree {i} has no pending leaf")
    if policy.shape[0] < n or wdl.shape[0] < n or wdl.shape[1] != 3:
        raise ValueError(f"policy and wdl must have at least {n} rows")
    if policy.shape[1] != batch.states[0].main.board.points:
        raise ValueError("policy has a wrong number of points")
    n = 0
    with nogil:
        for i in range(batch.n):
            if status[i] == LEAF:
                outcome = expand_deferred(batch.states[i], &policy[n, 0], &wdl[n, 0])
                if outcome < 0:
                    worst, wrong = outcome, i
                status[i] = IDLE
                n += 1
    raise_for_status(worst, f" for tree {wrong}")

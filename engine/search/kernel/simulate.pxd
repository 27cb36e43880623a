# cython: language_level=3
"""One simulation from root to leaf and back, in the order in which it happens.

    simulate            retries once with less in memory if memory was short
      try_simulate
        descend         follow PUCT (`select`) from the root; the solver runs at often visited nodes
        resolve_leaf    rules and solver at the leaf (`leaf`); forced moves are followed
        evaluate_leaf   call the evaluator if the leaf is open
      finish_simulation link the new nodes (`link_nodes`), expanded or proven, then back up (`backup`)

The board belongs to the tree and is at the root between simulations. The callback may defer the evaluation: the
simulation then stays pending until `expand_deferred`, or the next simulation drops it without a trace."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memset

from engine._encoding cimport THREAT_NODES, encode_planes
from engine.evaluator._backend cimport EvalCallback, EvalRequest
from engine.rules._board cimport TABLES_ALL, TABLES_FOURS, BoardState, board_place, board_undo
from engine.search.kernel.backup cimport CONSISTENT, StatsDelta, add_delta, backup, check_node, no_delta
from engine.search.kernel.expand cimport MoveList, softmax, store_moves, store_other_moves
from engine.search.kernel.graph cimport (
    Graph, add_to_index, allocate, clear_node, find_node, free_node, grow_edges, new_edge, new_node, release,
)
from engine.search.kernel.leaf cimport (
    LEAF_FORCED, LEAF_OPEN, LEAF_PROVEN, LeafStatus, keep_defences, round_visits, solve_leaf, solve_node,
    status_by_rules,
)
from engine.search.kernel.node cimport (
    FIRST_EDGES, PROVEN_NONE, ROUNDS_DONE, Edge, Node, Path, edges_of, edges_units, moves_of, moves_units, node_at,
    priors_of,
)
from engine.search.kernel.node_memory cimport NodeMemory, Ref, free_block
from engine.search.kernel.noise cimport Noise, mix_noise
from engine.search.kernel.prune cimport collapse_subtrees, reclaim_memory
from engine.search.kernel.select cimport SearchSettings, find_move, select_edge
from engine.threats._solver cimport Solver
from engine.threats.kernel.state cimport Threat

cdef extern from *:
    """
    #ifndef TENGEN_DEBUG
    #define TENGEN_DEBUG 0
    #endif
    """
    const bint DEBUG "TENGEN_DEBUG"     # check the statistics along the path after each simulation

# Status of a simulation. Python sees those from 0 on.
cdef enum:
    IDLE = 0                # none was done
    LEAF = 1                # a leaf waits for its evaluation
    SOLVED = 2              # done, without an evaluation
    NOTHING_LEFT = 3        # the root, or the root move asked for, is proven
    FULL = 4                # no memory
    EVALUATED = 5           # done, with an evaluation
    BAD_MOVE = -2           # the root has no such move
    BAD_EVALUATION = -3     # the evaluation is not finite, or no probabilities
    INCONSISTENT = -4       # debug builds: node statistics do not add up

# Where `descend` ended, unless with a status.
cdef enum:
    AT_LEAF = 10            # a position without a node, or a node without moves
    AT_STALE_EDGE = 11      # the last edge of the path is out of date with its child
    AT_PROOF = 12           # a node that the solver has just proven

cdef struct Simulation:     # the current simulation
    bint pending            # a leaf waits for its evaluation
    Path path
    Ref leaf                # node at the end; 0: a new one is needed
    int n_forced            # forced moves after the path
    uint16_t forced_moves[486]
    uint64_t forced_keys[487]  # hashes of the new positions: at the end of the path, after each forced move
    Ref transposition       # existing node after the forced moves; 0: none
    int solver_rounds       # calls of the solver at the leaf
    Threat threat           # of the opponent at the leaf, if planes or `leaf_defences` need it
    LeafStatus status       # of the leaf, by rules and solver
    MoveList moves          # of an open leaf

cdef struct Counters:       # since the last reset
    int64_t simulations, evaluations, solved_leaves, solver_nodes
    int64_t depth_sum
    int depth_max

cdef struct TreeState:
    SearchSettings settings
    Graph graph
    BoardState* board       # of the root; NULL: no root yet
    void* solver            # a `Solver`, not owned; with `leaf_vcf_nodes` 0 it only looks for threats
    Noise noise
    Simulation simulation
    Counters counters
    int oom_retries         # simulations without memory since the last success


cdef inline int run(
    TreeState* t, EvalCallback* callback, int max_simulations, int root_move, bint use_vct, int* done
) noexcept nogil:
    """Do simulations until `done` is `max_simulations` or one does not complete; return the status of the last one.

    Args:
        callback: evaluates leaves.
        root_move: point of the root move that each simulation starts with, -1 for the choice by PUCT.
        use_vct: whether the VCT solver runs at often visited nodes, if the settings have it.
        done: in and out, completed simulations.
    """
    cdef int status = IDLE
    use_vct = use_vct and t.settings.tree_vct_nodes > 0
    while done[0] < max_simulations:
        status = simulate(t, callback, root_move, use_vct)
        if status != SOLVED and status != EVALUATED:
            break
        done[0] += 1
    return status


cdef inline int simulate(TreeState* t, EvalCallback* callback, int root_move, bint use_vct) noexcept nogil:
    """Do one simulation; if memory is short, free everything below the root's children and try again."""
    cdef int status
    if t.oom_retries == 0:
        status = try_simulate(t, callback, root_move, use_vct)
        if status != FULL:
            return status
        t.oom_retries = 1
    t.simulation.pending = False
    if t.oom_retries > 1 or t.graph.root == 0 or not collapse_subtrees(&t.graph):
        return FULL
    status = try_simulate(t, callback, root_move, use_vct)
    if status == FULL:
        t.oom_retries += 1
    return status


cdef inline int try_simulate(TreeState* t, EvalCallback* callback, int root_move, bint use_vct) noexcept nogil:
    """Do one simulation and return its status; LEAF if the callback deferred the evaluation."""
    cdef Simulation* sim = &t.simulation
    cdef int where, tables
    cdef bint restricted = t.board.forbids[0] or t.board.forbids[1]
    cdef float logits[484]
    cdef float wdl[3]
    sim.pending = False
    sim.path.depth = sim.n_forced = 0
    sim.leaf = sim.transposition = 0
    if t.graph.root != 0 and node_at(&t.graph.memory, t.graph.root).proven != PROVEN_NONE:
        return NOTHING_LEFT
    if not reclaim_memory(&t.graph):
        return FULL
    # Placements cost more with open threes, which VCT, planes and forbidden points need.
    tables = TABLES_ALL if use_vct or callback.planes != NULL or restricted else TABLES_FOURS
    where = descend(t, root_move, use_vct, tables)
    if where == AT_LEAF:
        resolve_leaf(t, callback, tables)
        if sim.transposition == 0 and sim.status.kind == LEAF_OPEN:
            sim.pending = not evaluate_leaf(t, callback, logits, wdl)
    undo_moves(t)
    if where == AT_STALE_EDGE:
        return finish_simulation(t, sim.leaf, no_delta(), SOLVED)
    if where == AT_LEAF and sim.transposition != 0:
        return merge_transposition(t)
    if where == AT_PROOF or (where == AT_LEAF and sim.status.kind == LEAF_PROVEN):
        return finish_proven(t)
    if where != AT_LEAF:
        return where
    return LEAF if sim.pending else expand(t, logits, wdl)


# --- selection ---------------------------------------------------------------------------------------------

cdef inline int descend(TreeState* t, int root_move, bint use_vct, int tables) noexcept nogil:
    """Follow moves from the root to a leaf, on the board too. Return AT_*, or a status on failure."""
    cdef Graph* graph = &t.graph
    cdef NodeMemory* memory = &graph.memory
    cdef Simulation* sim = &t.simulation
    cdef BoardState* b = t.board
    cdef Node* node
    cdef Ref ref = graph.root
    cdef int i
    while ref != 0:
        node = node_at(memory, ref)
        if node.moves == 0:
            sim.leaf = ref
            return AT_LEAF
        if sim.path.depth == 0 and root_move >= 0:
            i = find_move(memory, node, root_move)
            if i < 0:
                return BAD_MOVE
            if i < node.n_visited and edges_of(memory, node)[i].proven != PROVEN_NONE:
                return NOTHING_LEFT
            if i == node.n_visited and not grow_edges(graph, node):
                return FULL
        else:
            # The root has its own solver (`engine.search.root_solver`).
            if use_vct and sim.path.depth > 0 and node.solver_rounds < ROUNDS_DONE and node.n_legal > 1:
                if node.visits >= round_visits(&t.settings, node.solver_rounds):
                    sim.status = solve_node(
                        <Solver>t.solver, &t.settings, graph, &sim.path, node, b, &t.counters.solver_nodes
                    )
                    if sim.status.kind == LEAF_PROVEN:
                        sim.leaf = ref
                        return AT_PROOF
            if node.n_visited == node.n_moves:
                store_all_moves(t, node)
            i = select_edge(graph, &t.settings, ref)
            if i < 0:
                return FULL
        sim.path.nodes[sim.path.depth] = ref
        sim.path.edges[sim.path.depth] = <uint16_t>i
        sim.path.depth += 1
        ref = edges_of(memory, node)[i].child if i < node.n_visited else 0
        board_place(b, moves_of(memory, node)[i], b.to_move, tables)
        if ref == 0 and t.settings.transpositions:
            ref = find_node(graph, b.hash)
            if ref != 0:
                new_edge(memory, node, ref)
        if ref != 0 and edge_is_stale(&edges_of(memory, node)[i], node_at(memory, ref)):
            sim.leaf = ref
            return AT_STALE_EDGE
    return AT_LEAF


cdef inline bint edge_is_stale(const Edge* edge, const Node* child) noexcept nogil:
    """Return whether an edge is out of date with its child, which then needs only a backup."""
    return child.proven != PROVEN_NONE or (child.shared and edge.visits < child.visits)


cdef inline void store_all_moves(TreeState* t, Node* node) noexcept nogil:
    """Store the remaining legal moves of the node whose position is on the board."""
    if node.n_moves < node.n_legal:
        if status_by_rules(t.board, &t.simulation.moves).kind == LEAF_OPEN and t.simulation.moves.n == node.n_legal:
            store_other_moves(&t.graph, node, &t.simulation.moves)


cdef inline void resolve_leaf(TreeState* t, EvalCallback* callback, int tables) noexcept nogil:
    """Find the status of the leaf, following forced moves.

    A position with a single move (the block of a five) is never evaluated: it is followed until a position is open,
    proven or already in the graph (`transposition`).
    """
    cdef Simulation* sim = &t.simulation
    cdef BoardState* b = t.board
    sim.solver_rounds = 0
    sim.forced_keys[0] = b.hash
    sim.status = leaf_status(t, callback)
    while sim.status.kind == LEAF_FORCED:
        sim.forced_moves[sim.n_forced] = <uint16_t>sim.status.move
        sim.n_forced += 1
        board_place(b, sim.status.move, b.to_move, tables)
        sim.forced_keys[sim.n_forced] = b.hash
        if t.settings.transpositions:
            sim.transposition = find_node(&t.graph, b.hash)
            if sim.transposition != 0:
                return
        sim.status = leaf_status(t, callback)


cdef inline LeafStatus leaf_status(TreeState* t, EvalCallback* callback) noexcept nogil:
    """Return the status of the position on the board by rules and VCF; list the moves of an open one."""
    cdef Simulation* sim = &t.simulation
    cdef LeafStatus status = status_by_rules(t.board, &sim.moves)
    sim.solver_rounds = 0
    if status.kind == LEAF_OPEN and t.settings.leaf_vcf_nodes > 0:
        sim.solver_rounds = 1
        status = solve_leaf(<Solver>t.solver, t.board, t.settings.leaf_vcf_nodes, &t.counters.solver_nodes)
    if status.kind != LEAF_OPEN:
        return status
    sim.threat.found = False
    if t.settings.leaf_defences or callback.planes != NULL:
        t.counters.solver_nodes += (<Solver>t.solver).threat(t.board, THREAT_NODES, &sim.threat)
    # A new root keeps all its moves: it has its own solver, and users see them.
    if sim.threat.found and t.settings.leaf_defences and sim.path.depth + sim.n_forced > 0:
        return keep_defences(&sim.threat, &sim.moves)
    return status


cdef inline bint evaluate_leaf(TreeState* t, EvalCallback* callback, float* logits, float* wdl) noexcept nogil:
    """Evaluate the position on the board; False if the callback defers it."""
    cdef BoardState* b = t.board
    cdef EvalRequest request
    request.key = b.hash
    request.width = b.width
    request.height = b.height
    request.points = t.simulation.moves.points
    request.n_points = t.simulation.moves.n
    request.planes = callback.planes
    if callback.planes != NULL:
        encode_planes(b, &t.simulation.threat, callback.planes)
    return callback.evaluate(callback.context, &request, logits, wdl)


cdef inline bint defer_evaluation(void* context, const EvalRequest* request, float* logits, float* wdl) noexcept nogil:
    """Store the key of the position for an evaluator called from Python; the planes are already stored."""
    (<uint64_t*>context)[0] = request.key
    return False


cdef inline EvalCallback deferred_callback(float* planes, uint64_t* key) noexcept nogil:
    """Return a callback that defers evaluations and writes planes and key to these places."""
    cdef EvalCallback callback
    callback.evaluate = defer_evaluation
    callback.context = key
    callback.planes = planes
    return callback


cdef inline void undo_moves(TreeState* t) noexcept nogil:
    """Return the board to the root."""
    for _ in range(t.simulation.path.depth + t.simulation.n_forced):
        board_undo(t.board)


# --- expansion and backup ----------------------------------------------------------------------------------

cdef inline bint link_nodes(TreeState* t) noexcept nogil:
    """Create the leaf and the nodes of the forced moves, and link them; False without memory, with nothing changed.

    The last node may exist already (`transposition`). Afterwards the path includes the forced moves and ends at `leaf`.
    """
    cdef Graph* graph = &t.graph
    cdef NodeMemory* memory = &graph.memory
    cdef Simulation* sim = &t.simulation
    cdef Node* node
    cdef Ref* nodes = sim.path.nodes + sim.path.depth
    cdef int j, i
    cdef bint ok = True
    for j in range(sim.n_forced + 1):
        if j == sim.n_forced and sim.transposition != 0:
            nodes[j] = sim.transposition
        else:
            nodes[j] = sim.leaf if j == 0 and sim.leaf != 0 else new_node(graph)
        if nodes[j] == 0:
            ok = False
        elif j < sim.n_forced:
            node = node_at(memory, nodes[j])
            node.moves = allocate(graph, moves_units(1))
            node.n_moves = 1
            node.edges = allocate(graph, edges_units(FIRST_EDGES))
            node.edge_capacity = FIRST_EDGES
            ok = node.moves != 0 and node.edges != 0
        if not ok:
            for i in range(j + 1):
                if nodes[i] != 0 and nodes[i] != sim.leaf:
                    free_node(graph, nodes[i])
                elif nodes[i] != 0:
                    clear_node(graph, node_at(memory, nodes[i]))
            return False
    for j in range(sim.n_forced):
        node = node_at(memory, nodes[j])
        node.n_legal = 1
        priors_of(memory, node)[0] = 1
        moves_of(memory, node)[0] = sim.forced_moves[j]
        new_edge(memory, node, nodes[j + 1])
        sim.path.edges[sim.path.depth + j] = 0
    if sim.path.depth == 0:
        graph.root = nodes[0]
    elif sim.leaf == 0:
        new_edge(memory, node_at(memory, sim.path.nodes[sim.path.depth - 1]), nodes[0])
    if t.settings.transpositions:
        for j in range(sim.n_forced + 1):
            if nodes[j] != sim.leaf and nodes[j] != sim.transposition:
                add_to_index(graph, nodes[j], sim.forced_keys[j])
    sim.path.depth += sim.n_forced
    sim.leaf = sim.path.nodes[sim.path.depth]
    return True


cdef inline int merge_transposition(TreeState* t) noexcept nogil:
    """Back up the existing node after the forced moves."""
    cdef Ref transposition = t.simulation.transposition
    cdef bint attached
    node_at(&t.graph.memory, transposition).references += 1     # allocating may free nodes that only dead ones refer to
    attached = link_nodes(t)
    release(&t.graph, transposition)
    return finish_simulation(t, transposition, no_delta(), SOLVED) if attached else FULL


cdef inline int finish_proven(TreeState* t) noexcept nogil:
    """Back up a proof found at the leaf."""
    cdef Node* node
    if not link_nodes(t):
        return FULL
    node = node_at(&t.graph.memory, t.simulation.leaf)
    node.proven = <uint8_t>t.simulation.status.proven
    node.distance = <uint16_t>t.simulation.status.distance
    node.proof_move = <uint16_t>t.simulation.status.move
    node.visits += 1
    t.counters.solved_leaves += 1
    return finish_simulation(t, t.simulation.leaf, no_delta(), SOLVED)


cdef inline int expand(TreeState* t, const float* logits, const float* wdl) noexcept nogil:
    """Expand the leaf with its evaluation and back it up; FULL, with nothing changed, without memory.

    Args:
        logits: by point; those of the legal moves are read.
        wdl: probabilities of win, draw and loss for the side to move.
    """
    cdef Simulation* sim = &t.simulation
    cdef Node* node
    cdef Node filled
    cdef StatsDelta delta
    cdef float priors[484]
    cdef bint at_root = sim.path.depth + sim.n_forced == 0
    cdef int cap = t.settings.edge_cap
    sim.pending = False
    delta.weight = 1
    delta.value = <double>wdl[0] - <double>wdl[2]
    delta.draw = wdl[1]
    if not (-1.001 <= delta.value <= 1.001 and -0.001 <= delta.draw <= 1.001):
        return BAD_EVALUATION
    if not softmax(logits, &sim.moves, t.settings.inverse_temperature, priors):
        return BAD_EVALUATION
    memset(&filled, 0, sizeof(Node))
    if at_root or (sim.threat.found and t.settings.leaf_defences):    # defences are few, all are stored
        cap = sim.moves.n
    if not store_moves(&t.graph, &filled, &sim.moves, priors, cap):
        return FULL
    if not link_nodes(t):
        free_block(&t.graph.memory, filled.moves, moves_units(filled.n_moves))
        return FULL
    node = node_at(&t.graph.memory, sim.leaf)
    node.moves = filled.moves
    node.n_moves = filled.n_moves
    node.n_legal = filled.n_legal
    node.tail_prior = filled.tail_prior
    node.raw_win = wdl[0]
    node.raw_draw = wdl[1]
    node.solver_rounds = <uint8_t>sim.solver_rounds
    node.visits += 1
    add_delta(node, &delta)
    t.counters.evaluations += 1
    if at_root and t.noise.epsilon > 0:
        mix_noise(&t.graph.memory, node, &t.noise)
    return finish_simulation(t, sim.leaf, delta, EVALUATED)


cdef inline int expand_deferred(TreeState* t, const float* logits, const float* wdl) noexcept nogil:
    """Expand the pending leaf with its deferred evaluation; see `expand`."""
    cdef int status = expand(t, logits, wdl)
    if status == FULL:
        t.oom_retries += 1
    return status


cdef inline int finish_simulation(TreeState* t, Ref leaf, StatsDelta delta, int status) noexcept nogil:
    """Back up the simulation and count it; return `status`."""
    cdef NodeMemory* memory = &t.graph.memory
    cdef const Path* path = &t.simulation.path
    cdef int i
    backup(memory, path, node_at(memory, leaf), delta, t.settings.minimax_weight > 0)
    t.oom_retries = 0
    t.counters.simulations += 1
    t.counters.depth_sum += path.depth
    if path.depth > t.counters.depth_max:
        t.counters.depth_max = path.depth
    if DEBUG:
        for i in range(path.depth):
            if check_node(memory, node_at(memory, path.nodes[i]), t.graph.lossy) != CONSISTENT:
                return INCONSISTENT
    return status

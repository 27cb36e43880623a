# cython: language_level=3
"""One simulation from root to leaf and back, in the order in which it happens.

    simulate            retries with less in memory if memory was short
      try_simulate
        descend         follow PUCT (`select`) from the root; the solver runs at often visited nodes (`solve_node`)
        resolve_leaf    rules and solver at the leaf (`leaf`); forced moves are followed
        evaluate_leaf   call the evaluator if the leaf is open
      finish_simulation link the new nodes (`link_nodes`), expanded or proven, then back up (`backup`)

The board belongs to the worker and is at the root between simulations. The callback may defer the evaluation: the
simulation then stays pending until `expand_deferred`, or the next simulation drops it without a trace."""
from libc.stdint cimport uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy, memset

from engine._encoding cimport THREAT_NODES, encode_planes
from engine.evaluator._backend cimport EvalCallback, EvalRequest
from engine.rules._board cimport TABLES_ALL, TABLES_FOURS, BoardState, board_place
from engine.search.kernel.backup cimport CONSISTENT, StatsDelta, add_delta, backup, check_node, no_delta
from engine.search.kernel.descend cimport descend_apart, place_path, undo_moves, visit_again
from engine.search.kernel.expand cimport choose_moves, softmax, store_moves
from engine.search.kernel.graph cimport (
    Graph, add_to_index, allocate, clear_node, find_node, free_node, new_edge, new_node, release, set_child,
)
from engine.search.kernel.leaf cimport (
    LEAF_FORCED, LEAF_OPEN, LEAF_PROVEN, LeafStatus, keep_defences, solve_leaf, status_by_rules,
)
from engine.search.kernel.lock cimport tengen_pause
from engine.search.kernel.node cimport (
    FIRST_EDGES, PROVEN_NONE, Node, Path, edges_of, edges_units, moves_of, moves_units, node_at, pack_prior,
    priors_of,
)
from engine.search.kernel.node_memory cimport NodeMemory, Ref, free_block
from engine.search.kernel.noise cimport mix_noise
from engine.search.kernel.prune cimport make_room_or_collapse, reclaim_memory
from engine.search.kernel.state cimport (
    AT_CANCELLED, AT_LEAF, AT_PROOF, AT_STALE_EDGE, BAD_EVALUATION, CLEAR_RETRY, EVALUATED, FULL, IDLE, INCONSISTENT,
    LEAF, NOTHING_LEFT, SOLVED, STOPPED, WAITING, Simulation, TreeState, Worker, add_lock_times, begin_flight,
    end_flight, helper_may_start, lock_tree, unlock_tree,
)
from engine.threats._solver cimport Solver

cdef extern from *:
    """
    #ifndef TENGEN_DEBUG
    #define TENGEN_DEBUG 0
    #endif
    """
    const bint DEBUG "TENGEN_DEBUG"     # check the statistics along the path after each simulation


cdef inline int run(
    TreeState* t, Worker* w, EvalCallback* callback, int max_simulations, int root_move, bint use_vct, int* done
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
    lock_tree(t, w)
    while done[0] < max_simulations:
        # A helper whose search is over must not look at the tree.
        if w.threaded and not w.is_helper and t.counters.simulations >= t.max_simulations:
            break
        status = simulate(t, w, callback, root_move, use_vct)
        if status == SOLVED or status == EVALUATED:
            done[0] += 1
        elif status == WAITING:
            unlock_tree(t, w)
            tengen_pause()
            lock_tree(t, w)
        else:
            break
    unlock_tree(t, w)
    return status


cdef inline int simulate(
    TreeState* t, Worker* w, EvalCallback* callback, int root_move, bint use_vct
) noexcept nogil:
    """Do one simulation; if memory is short, make room and try again, at last below the root's children."""
    cdef int status
    if w.is_helper and w.generation != t.generation:
        return STOPPED      # the tree is no longer to be touched
    if w.oom_retries == 0:
        status = try_simulate(t, w, callback, root_move, use_vct)
        if status != FULL:
            return status
        w.oom_retries = 1
    w.simulation.pending = False
    status = FULL
    while status == FULL and make_room_or_collapse(&t.graph, &t.flights, w.oom_retries):
        w.oom_retries += 1
        status = try_simulate(t, w, callback, root_move, use_vct)
    if status != FULL and status != LEAF:   # whose expansion may still find no memory
        w.oom_retries = 0
    return status


cdef inline int try_simulate(
    TreeState* t, Worker* w, EvalCallback* callback, int root_move, bint use_vct
) noexcept nogil:
    """Do one simulation and return its status; LEAF if the callback deferred the evaluation."""
    cdef Simulation* sim = &w.simulation
    cdef int where, tables, status = EVALUATED
    cdef bint restricted = w.board.forbids[0] or w.board.forbids[1]
    cdef float logits[484]
    sim.pending = False
    sim.solver_nodes = 0
    if w.is_helper and w.generation != t.generation:
        return STOPPED
    if t.graph.root != 0 and node_at(&t.graph.memory, t.graph.root).proven != PROVEN_NONE:
        return NOTHING_LEFT
    if w.is_helper and not helper_may_start(t):
        return WAITING
    if not reclaim_memory(&t.graph, &t.flights):
        return FULL
    # Placements cost more with open threes, which VCT, planes and forbidden points need.
    tables = TABLES_ALL if use_vct or callback.planes != NULL or restricted else TABLES_FOURS
    where = descend_apart(t, w, root_move, use_vct, tables)
    if where == AT_LEAF:
        begin_flight(t, w)
        place_path(w, tables)
        resolve_leaf(t, w, callback, tables)
        if sim.transposition == 0 and sim.status.kind == LEAF_OPEN:
            sim.pending = not evaluate_leaf(w, callback, logits, sim.wdl)
            if not sim.pending:
                status = choose_from_evaluation(t, w, logits)
        undo_moves(w)
        if not end_flight(t, w):
            where = AT_CANCELLED
        elif w.threaded:
            where = recheck_leaf(t, w)
    else:
        undo_moves(w)
    if where == AT_CANCELLED and w.generation != t.generation:
        return STOPPED      # the tree is no longer to be touched
    t.counters.solver_nodes += sim.solver_nodes
    if where == AT_CANCELLED:
        t.counters.cancelled += 1
        return WAITING
    if w.threaded:
        add_lock_times(t, w)
    if where == AT_STALE_EDGE:
        return finish_simulation(t, w, sim.leaf, no_delta(), SOLVED)
    if where == AT_LEAF and sim.transposition != 0:
        return merge_transposition(t, w)
    if where == AT_PROOF or (where == AT_LEAF and sim.status.kind == LEAF_PROVEN):
        return finish_proven(t, w)
    if where != AT_LEAF:
        return where
    if sim.pending:
        return LEAF
    return expand(t, w) if status == EVALUATED else status


# --- the leaf ----------------------------------------------------------------------------------------------

cdef inline void resolve_leaf(TreeState* t, Worker* w, EvalCallback* callback, int tables) noexcept nogil:
    """Find the status of the leaf, following forced moves.

    A position with a single move (the block of a five) is never evaluated: it is followed until a position is open,
    proven or already in the graph (`transposition`).
    """
    cdef Simulation* sim = &w.simulation
    cdef BoardState* b = w.board
    sim.solver_rounds = 0
    sim.forced_keys[0] = b.hash
    sim.status = leaf_status(t, w, callback)
    while sim.status.kind == LEAF_FORCED:
        sim.forced_moves[sim.n_forced] = <uint16_t>sim.status.move
        sim.n_forced += 1
        board_place(b, sim.status.move, b.to_move, tables)
        sim.placed += 1
        sim.forced_keys[sim.n_forced] = b.hash
        if is_known_or_void(t, w, b.hash):
            return
        sim.status = leaf_status(t, w, callback)


cdef inline bint is_known_or_void(TreeState* t, Worker* w, uint64_t key) noexcept nogil:
    """Return whether a position after a forced move has a node (`transposition`), or the simulation is void."""
    cdef bint void_
    lock_tree(t, w)
    void_ = w.generation != t.generation or w.flight.cancelled      # the tree may no longer be touched
    if t.settings.transpositions and not void_:
        w.simulation.transposition = find_node(&t.graph, key)
    unlock_tree(t, w)
    return void_ or w.simulation.transposition != 0


cdef inline LeafStatus leaf_status(TreeState* t, Worker* w, EvalCallback* callback) noexcept nogil:
    """Return the status of the position on the board by rules and VCF; list the moves of an open one."""
    cdef Simulation* sim = &w.simulation
    cdef LeafStatus status = status_by_rules(w.board, &sim.moves)
    sim.solver_rounds = 0
    if status.kind == LEAF_OPEN and t.settings.leaf_vcf_nodes > 0:
        sim.solver_rounds = 1
        status = solve_leaf(<Solver>w.solver, w.board, t.settings.leaf_vcf_nodes, &sim.solver_nodes)
    if status.kind != LEAF_OPEN:
        return status
    sim.threat.found = False
    if t.settings.leaf_defences or callback.planes != NULL:
        sim.solver_nodes += (<Solver>w.solver).threat(w.board, THREAT_NODES, &sim.threat)
    # A new root keeps all its moves: it has its own solver, and users see them.
    if sim.threat.found and t.settings.leaf_defences and sim.placed > 0:
        return keep_defences(&sim.threat, &sim.moves)
    return status


cdef inline bint evaluate_leaf(Worker* w, EvalCallback* callback, float* logits, float* wdl) noexcept nogil:
    """Evaluate the position on the board; False if the callback defers it."""
    cdef BoardState* b = w.board
    cdef EvalRequest request
    request.key = b.hash
    request.width = b.width
    request.height = b.height
    request.points = w.simulation.moves.points
    request.n_points = w.simulation.moves.n
    request.planes = callback.planes
    if callback.planes != NULL:
        encode_planes(b, &w.simulation.threat, callback.planes)
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


cdef inline int choose_from_evaluation(TreeState* t, Worker* w, const float* logits) noexcept nogil:
    """Check the evaluation of the leaf and choose the moves that it stores; EVALUATED or BAD_EVALUATION.

    Args:
        logits: by point; those of the legal moves are read. `wdl` is set: win, draw and loss for the side to move.
    """
    cdef Simulation* sim = &w.simulation
    cdef float priors[484]
    cdef double value = <double>sim.wdl[0] - <double>sim.wdl[2]
    cdef int cap = t.settings.edge_cap
    if not (-1.001 <= value <= 1.001 and -0.001 <= sim.wdl[1] <= 1.001):
        return BAD_EVALUATION
    if not softmax(logits, &sim.moves, t.settings.inverse_temperature, priors):
        return BAD_EVALUATION
    # All moves of the root are stored, and all defences, which are few.
    if w.flight.path.depth + sim.n_forced == 0 or (sim.threat.found and t.settings.leaf_defences):
        cap = sim.moves.n
    choose_moves(&sim.moves, priors, cap, &sim.choice)
    return EVALUATED


cdef inline int recheck_leaf(TreeState* t, Worker* w) noexcept nogil:
    """Take in what other threads did at the leaf while the simulation was in flight.

    Returns AT_STALE_EDGE if the leaf is expanded or proven by now, which then needs only a backup; AT_CANCELLED if
    nothing is known of it any more; else AT_LEAF, with the forced moves cut where a position has a node by now
    (`transposition`).
    """
    cdef Graph* graph = &t.graph
    cdef NodeMemory* memory = &graph.memory
    cdef Simulation* sim = &w.simulation
    cdef const Path* path = &w.flight.path
    cdef bint evaluated = sim.transposition == 0 and sim.status.kind == LEAF_OPEN
    cdef bint known = False
    cdef Node* node
    cdef int j
    if sim.leaf != 0:
        node = node_at(memory, sim.leaf)
        known = node.moves != 0 or node.proven != PROVEN_NONE
    elif path.depth > 0:
        node = node_at(memory, path.nodes[path.depth - 1])
        sim.leaf = edges_of(memory, node)[path.edges[path.depth - 1]].child
        known = sim.leaf != 0
    if known:
        t.counters.duplicates += evaluated
        visit_again(memory, sim.leaf)
        return AT_STALE_EDGE
    sim.transposition = 0
    if t.settings.transpositions:
        for j in range(1 if sim.leaf != 0 else 0, sim.n_forced + 1):
            sim.transposition = find_node(graph, sim.forced_keys[j])
            if sim.transposition != 0:
                t.counters.duplicates += evaluated
                sim.n_forced = j
                break
    if sim.transposition == 0 and sim.status.kind == LEAF_FORCED:
        return AT_CANCELLED     # the node where the forced moves had ended is freed
    return AT_LEAF


# --- expansion and backup ----------------------------------------------------------------------------------

cdef inline bint link_nodes(TreeState* t, Worker* w) noexcept nogil:
    """Create the leaf and the nodes of the forced moves, and link them; False without memory, with nothing changed.

    The last node may exist already (`transposition`). Afterwards the path includes the forced moves and ends at `leaf`.
    """
    cdef Graph* graph = &t.graph
    cdef NodeMemory* memory = &graph.memory
    cdef Simulation* sim = &w.simulation
    cdef Path* path = &w.flight.path
    cdef Node* node
    cdef Ref* nodes = path.nodes + path.depth
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
        priors_of(memory, node)[0] = pack_prior(1)
        moves_of(memory, node)[0] = sim.forced_moves[j]
        new_edge(memory, node, nodes[j + 1])
        path.edges[path.depth + j] = 0
    if path.depth == 0:
        graph.root = nodes[0]
    elif sim.leaf == 0:
        node = node_at(memory, path.nodes[path.depth - 1])
        if path.edges[path.depth - 1] < node.n_visited:
            set_child(memory, &edges_of(memory, node)[path.edges[path.depth - 1]], nodes[0])
        else:
            new_edge(memory, node, nodes[0])
    if t.settings.transpositions:
        for j in range(sim.n_forced + 1):
            if nodes[j] != sim.leaf and nodes[j] != sim.transposition:
                add_to_index(graph, nodes[j], sim.forced_keys[j])
    path.depth += sim.n_forced
    sim.leaf = path.nodes[path.depth]
    return True


cdef inline int merge_transposition(TreeState* t, Worker* w) noexcept nogil:
    """Back up the existing node after the forced moves."""
    cdef Ref transposition = w.simulation.transposition
    cdef bint attached
    node_at(&t.graph.memory, transposition).references += 1     # allocating may free nodes that only dead ones refer to
    attached = link_nodes(t, w)
    release(&t.graph, transposition)
    return finish_simulation(t, w, transposition, no_delta(), SOLVED) if attached else FULL


cdef inline int finish_proven(TreeState* t, Worker* w) noexcept nogil:
    """Back up a proof found at the leaf."""
    cdef Node* node
    if not link_nodes(t, w):
        return FULL
    node = node_at(&t.graph.memory, w.simulation.leaf)
    node.proven = <uint8_t>w.simulation.status.proven
    node.distance = <uint16_t>w.simulation.status.distance
    node.proof_move = <uint16_t>w.simulation.status.move
    node.visits += 1
    t.counters.solved_leaves += 1
    return finish_simulation(t, w, w.simulation.leaf, no_delta(), SOLVED)


cdef inline int expand(TreeState* t, Worker* w) noexcept nogil:
    """Expand the leaf with the moves chosen and back it up; FULL, with nothing changed, without memory.

    A leaf of which the moves find no room at last stays one: it has its value, and is evaluated again when visited.
    """
    cdef Simulation* sim = &w.simulation
    cdef Node* node
    cdef Node filled
    cdef StatsDelta delta
    cdef bint at_root = w.flight.path.depth + sim.n_forced == 0
    delta.weight = 1
    delta.value = <double>sim.wdl[0] - <double>sim.wdl[2]
    delta.draw = sim.wdl[1]
    memset(&filled, 0, sizeof(Node))
    if not store_moves(&t.graph, &filled, &sim.choice) and (at_root or w.oom_retries < CLEAR_RETRY):
        return FULL
    if not link_nodes(t, w):
        free_block(&t.graph.memory, filled.moves, moves_units(filled.n_moves))
        return FULL
    node = node_at(&t.graph.memory, sim.leaf)
    node.moves = filled.moves
    node.n_moves = filled.n_moves
    node.n_legal = filled.n_legal
    node.tail_prior = filled.tail_prior
    node.raw_win = sim.wdl[0]
    node.raw_draw = sim.wdl[1]
    node.solver_rounds = <uint8_t>sim.solver_rounds
    node.visits += 1
    add_delta(node, &delta)
    t.counters.evaluations += 1
    if at_root and t.noise.epsilon > 0:
        mix_noise(&t.graph.memory, node, &t.noise)
    return finish_simulation(t, w, sim.leaf, delta, EVALUATED)


cdef inline int expand_deferred(TreeState* t, const float* logits, const float* wdl) noexcept nogil:
    """Expand the pending leaf of the main worker with its evaluation; see `choose_from_evaluation`, `expand`."""
    cdef Worker* w = &t.main
    cdef int status
    w.simulation.pending = False
    memcpy(w.simulation.wdl, wdl, 3 * sizeof(float))
    status = choose_from_evaluation(t, w, logits)
    if status == EVALUATED:
        status = expand(t, w)
    if status == FULL:
        w.oom_retries += 1
    return status


cdef inline int finish_simulation(TreeState* t, Worker* w, Ref leaf, StatsDelta delta, int status) noexcept nogil:
    """Back up the simulation and count it; return `status`."""
    cdef NodeMemory* memory = &t.graph.memory
    cdef const Path* path = &w.flight.path
    cdef int i
    backup(memory, path, node_at(memory, leaf), delta, t.settings.minimax_weight > 0)
    w.oom_retries = 0
    t.counters.simulations += 1
    t.counters.depth_sum += path.depth
    if path.depth > t.counters.depth_max:
        t.counters.depth_max = path.depth
    if DEBUG:
        for i in range(path.depth):
            if check_node(memory, node_at(memory, path.nodes[i]), t.graph.lossy) != CONSISTENT:
                return INCONSISTENT
    return status

# cython: language_level=3
"""Selection from the root to a leaf (`descend`), and the solver at the nodes on the way (`solve_node`)."""
from libc.stdint cimport int64_t, uint16_t, uint64_t

from engine.rules._board cimport BoardState, board_place, board_undo, stone_key, turn_key
from engine.search.kernel.backup cimport infer_draw
from engine.search.kernel.expand cimport restrict_moves, store_other_moves
from engine.search.kernel.flight cimport cancel_through, leaf_in_flight
from engine.search.kernel.graph cimport Graph, clear_node, find_node, grow_edges, new_edge, set_child
from engine.search.kernel.leaf cimport (
    LEAF_OPEN, open_status, proven_status, round_nodes, round_visits, status_by_rules,
)
from engine.search.kernel.node cimport (
    NO_MOVE, PROVEN_LOSS, PROVEN_NONE, PROVEN_WIN, ROUNDS_DONE, Edge, Node, Path, edges_of, moves_of, node_at,
    prefetch_node,
)
from engine.search.kernel.node_memory cimport NodeMemory, Ref
from engine.search.kernel.select cimport find_move, select_edge
from engine.search.kernel.state cimport (
    AT_CANCELLED, AT_COLLISION, AT_LEAF, AT_PROOF, AT_STALE_EDGE, BAD_MOVE, CLEAR_RETRY, FULL, MAX_SELECTIONS,
    MAX_WAITS, NOTHING_LEFT, WAITING, Simulation, TreeState, Worker, begin_flight, end_flight, lock_tree, unlock_tree,
)
from engine.threats._solver cimport Solver
from engine.threats.kernel.state cimport SOLVER_NONE, SOLVER_WIN, SolverResult


cdef inline bint search_is_over(void* worker) noexcept nogil:
    """Return whether the search of a helper is over; asked by its solver."""
    cdef Worker* w = <Worker*>worker
    cdef TreeState* t = <TreeState*>w.tree
    cdef bint over
    lock_tree(t, w)
    over = w.generation != t.generation or w.flight.cancelled
    unlock_tree(t, w)
    return over


cdef inline int descend_apart(
    TreeState* t, Worker* w, int root_move, bint use_vct, int tables
) noexcept nogil:
    """Descend to a leaf that no other thread evaluates. Return as `descend`, or WAITING.

    After a collision, simulations in flight count more, so that another leaf is selected. If there is none, the
    thread waits; and when it has waited long, it evaluates the leaf once more.
    """
    cdef int where, virtual_visits = 1
    cdef bint alone = True
    if not w.threaded:
        return descend(t, w, root_move, use_vct, tables, 1, False)
    for _ in range(MAX_SELECTIONS):
        where = descend(t, w, root_move, use_vct, tables, virtual_visits, alone)
        if where != AT_COLLISION:
            w.waits = 0
            return where
        undo_moves(w)
        t.counters.collisions += 1
        virtual_visits *= 4
    w.waits += 1
    if w.waits <= MAX_WAITS:
        return WAITING
    w.waits = 0
    return descend(t, w, root_move, use_vct, tables, 1, False)


cdef inline void visit_again(const NodeMemory* memory, Ref leaf) noexcept nogil:
    """Count a simulation that ends at a node which another thread has finished meanwhile."""
    cdef Node* node = node_at(memory, leaf)
    if not node.shared:     # its visits are those of its edge
        node.visits += 1


cdef inline int descend(
    TreeState* t, Worker* w, int root_move, bint use_vct, int tables, int virtual_visits, bint alone
) noexcept nogil:
    """Follow moves from the root to a leaf. Return AT_*, or a status on failure.

    Args:
        virtual_visits: what each simulation in flight counts as.
        alone: whether to end with AT_COLLISION at a leaf that another thread evaluates.
    """
    cdef Graph* graph = &t.graph
    cdef NodeMemory* memory = &graph.memory
    cdef Simulation* sim = &w.simulation
    cdef Path* path = &w.flight.path
    cdef Node* node
    cdef Ref ref = graph.root
    cdef uint64_t key = 0
    cdef int i, where
    path.depth = sim.n_forced = sim.placed = 0
    sim.leaf = sim.transposition = 0
    w.flight.leaf_key = 0
    while ref != 0:
        node = node_at(memory, ref)
        path.nodes[path.depth] = ref
        if node.moves == 0:
            sim.leaf = ref
            return AT_COLLISION if alone and leaf_in_flight(&t.flights, path, 0) else AT_LEAF
        if path.depth == 0 and root_move >= 0:
            i = find_move(memory, node, root_move)
            if i < 0:
                return BAD_MOVE
            if i < node.n_visited and edges_of(memory, node)[i].proven != PROVEN_NONE:
                return NOTHING_LEFT
            if i == node.n_visited and not grow_edges(graph, node):
                return FULL
        else:
            # The root has its own solver (`engine.search.root_solver`).
            if use_vct and path.depth > 0 and node.solver_rounds < ROUNDS_DONE and node.n_legal > 1:
                if node.visits >= round_visits(&t.settings, node.solver_rounds):
                    place_path(w, tables)
                    where = solve_node(t, w, <Solver>w.solver, node)
                    if where != AT_LEAF:
                        sim.leaf = ref
                        return where
            if node.n_visited == node.n_moves:
                store_all_moves(t, w, node, tables)
            i = select_edge(graph, &t.settings, ref, &t.flights, path.depth, virtual_visits)
            if i < 0:       # all visited moves are proven, and there is no room for one more edge
                if path.depth == 0 or w.oom_retries < CLEAR_RETRY:
                    return FULL
                cancel_through(&t.flights, ref, path.depth)
                clear_node(graph, node)
                graph.lossy = True
                sim.leaf = ref
                return AT_LEAF
        path.edges[path.depth] = <uint16_t>i
        sim.points[path.depth] = moves_of(memory, node)[i]
        path.depth += 1
        ref = edges_of(memory, node)[i].child if i < node.n_visited else 0
        if not w.threaded:      # with threads, others would wait meanwhile
            if ref != 0:
                prefetch_node(memory, ref)
            place_path(w, tables)
        if ref == 0:
            if t.settings.transpositions:
                key = key_of_path(w)
                ref = find_node(graph, key)
                if ref != 0 and i < node.n_visited:
                    set_child(memory, &edges_of(memory, node)[i], ref)
                elif ref != 0:
                    new_edge(memory, node, ref)
            if ref == 0 and w.threaded:
                path.nodes[path.depth] = 0
                w.flight.leaf_key = key
                if alone and leaf_in_flight(&t.flights, path, key):
                    return AT_COLLISION
                if i == node.n_visited:
                    new_edge(memory, node, 0)       # so that others see which move it is
        if ref != 0 and edge_is_stale(&edges_of(memory, node)[i], node_at(memory, ref)):
            sim.leaf = ref
            if w.threaded:
                visit_again(memory, ref)
            return AT_STALE_EDGE
    return AT_LEAF


cdef inline uint64_t key_of_path(const Worker* w) noexcept nogil:
    """Return the hash of the position at the end of the path."""
    cdef const BoardState* b = w.board
    cdef uint64_t key = b.hash
    cdef int d, colour = b.to_move
    for d in range(w.simulation.placed, w.flight.path.depth):
        key ^= stone_key(b, w.simulation.points[d], colour) ^ turn_key()
        colour = 1 - colour
    return key


cdef inline void place_path(Worker* w, int tables) noexcept nogil:
    """Place the moves of the path that are not on the board yet."""
    cdef Simulation* sim = &w.simulation
    while sim.placed < w.flight.path.depth:
        board_place(w.board, sim.points[sim.placed], w.board.to_move, tables)
        sim.placed += 1


cdef inline bint edge_is_stale(const Edge* edge, const Node* child) noexcept nogil:
    """Return whether an edge is out of date with its child, which then needs only a backup."""
    return child.proven != PROVEN_NONE or (child.shared and edge.visits < child.visits)


cdef inline void store_all_moves(TreeState* t, Worker* w, Node* node, int tables) noexcept nogil:
    """Store the remaining legal moves of the node at the end of the path."""
    if node.n_moves < node.n_legal:
        place_path(w, tables)
        if status_by_rules(w.board, &w.simulation.moves).kind == LEAF_OPEN and w.simulation.moves.n == node.n_legal:
            store_other_moves(&t.graph, node, &w.simulation.moves)


cdef inline void begin_solving(Worker* w) noexcept nogil:
    """Let the solver of a helper end its calls when the search is over."""
    if w.is_helper:
        (<Solver>w.solver).state.poll = search_is_over


cdef inline void end_solving(Worker* w) noexcept nogil:
    """Make the solver of a helper ready for other calls, also after one that was ended."""
    if w.is_helper:
        (<Solver>w.solver).state.poll = NULL
        (<Solver>w.solver).state.stop_flag = 0


cdef inline int solve_node(TreeState* t, Worker* w, Solver solver, Node* node) noexcept nogil:
    """Search for a VCT at the last node of the path, whose position is on the board, and for the moves that stop a
    VCF of the opponent.

    The budget follows the rounds. If the opponent threatens a VCF, the node keeps only the moves that may stop it
    (`restrict_moves`). After a quiet move that prepares a win, the values of a small net are wrong until each reply is
    refuted; this refutes them quickly.

    Returns AT_PROOF with `status` set, AT_STALE_EDGE if another thread has proven the node meanwhile, AT_CANCELLED, or
    AT_LEAF: nothing was proven.
    """
    cdef Simulation* sim = &w.simulation
    cdef BoardState* b = w.board
    cdef SolverResult result
    cdef uint16_t points[484]
    cdef int64_t budget = round_nodes(&t.settings, node.solver_rounds)
    cdef int others, n
    sim.status = open_status()
    if budget > t.settings.max_tree_vct_nodes:
        node.solver_rounds = ROUNDS_DONE
        return AT_LEAF
    node.solver_rounds += 1
    begin_flight(t, w)
    begin_solving(w)
    solver.vcf(b, 1 - b.to_move, budget, &result)
    sim.solver_nodes += result.nodes
    others = result.verdict
    if others == SOLVER_WIN:
        # A VCF has a short list of defences; for another win, each move would have to be tried.
        n = solver.vct_defences(b, 1 - b.to_move, budget, &result, points)
        sim.solver_nodes += result.nodes
        end_solving(w)
        if not end_flight(t, w):
            return AT_CANCELLED
        if node.proven != PROVEN_NONE:
            visit_again(&t.graph.memory, w.flight.path.nodes[w.flight.path.depth])
            return AT_STALE_EDGE
        if n >= 0 and not restrict_moves(
            &t.graph, &w.flight.path, node, points, n, result.longest + 1, t.settings.minimax_weight > 0
        ):
            sim.status = proven_status(PROVEN_LOSS, result.longest + 1, NO_MOVE)
            return AT_PROOF
        if n >= 0 and infer_draw(&t.graph.memory, node):    # the moves that remain were drawn already
            visit_again(&t.graph.memory, w.flight.path.nodes[w.flight.path.depth])
            return AT_STALE_EDGE
        begin_flight(t, w)
        begin_solving(w)
        solver.vcf(b, b.to_move, budget, &result)       # fours of the opponent answer threes, which hardly ever win
    else:
        solver.vct(b, b.to_move, budget, &result)
    sim.solver_nodes += result.nodes
    end_solving(w)
    if not end_flight(t, w):
        return AT_CANCELLED
    if node.proven != PROVEN_NONE:
        visit_again(&t.graph.memory, w.flight.path.nodes[w.flight.path.depth])
        return AT_STALE_EDGE
    if result.verdict == SOLVER_WIN:
        sim.status = proven_status(PROVEN_WIN, result.distance, result.move)
        return AT_PROOF
    if result.verdict == SOLVER_NONE and others == SOLVER_NONE:
        node.solver_rounds = ROUNDS_DONE
    return AT_LEAF


cdef inline void undo_moves(Worker* w) noexcept nogil:
    """Return the board to the root."""
    while w.simulation.placed > 0:
        board_undo(w.board)
        w.simulation.placed -= 1

# cython: language_level=3
"""The root between simulations: tree reuse, proofs from outside, the move to play."""
from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memset

from engine.rules._board cimport EMPTY, TABLES_ALL, BoardState
from engine.search.kernel.backup cimport StatsDelta, add_delta, infer_proof, remove_child_stats
from engine.search.kernel.descend cimport store_all_moves
from engine.search.kernel.flight cimport cancel_all
from engine.search.kernel.graph cimport clear_node, grow_edges, new_edge, new_node, release
from engine.search.kernel.node cimport (
    PROVEN_LOSS, PROVEN_NONE, Edge, Node, best_edge, edges_of, exact_q, moves_of, node_at, node_value, opposite,
)
from engine.search.kernel.node_memory cimport NodeMemory, Ref
from engine.search.kernel.noise cimport remove_noise
from engine.search.kernel.prune cimport make_room_or_collapse
from engine.search.kernel.select cimport find_move, order_best_unvisited
from engine.search.kernel.state cimport BAD_MOVE, FULL, TreeState

cdef struct BestMove:
    int point               # -1: none
    int visits
    double q
    int second_visits       # of the move with the second most visits


cdef inline Node* root_of(const TreeState* t) noexcept nogil:
    """Return the root; NULL before the first simulation."""
    return node_at(&t.graph.memory, t.graph.root) if t.graph.root != 0 else NULL


cdef inline bint has_moves(const TreeState* t) noexcept nogil:
    """Return whether the root is expanded."""
    return t.graph.root != 0 and root_of(t).moves != 0


# --- a new root --------------------------------------------------------------------------------------------

cdef inline Ref find_descendant(const TreeState* t, const BoardState* to, int max_plies) noexcept nogil:
    """Return the most visited node of a position at most `max_plies` below the root; 0 if there is none."""
    cdef const BoardState* old = t.main.board
    cdef uint8_t added[484]     # colour + 1 of each new stone
    cdef int n[2]
    cdef int p, first
    cdef Ref best = 0
    if t.graph.root == 0 or old.width != to.width or old.height != to.height or old.rule != to.rule:
        return 0
    if not 0 <= old.n_empty - to.n_empty <= max_plies:
        return 0
    n[0] = n[1] = 0
    for p in range(old.points):
        added[p] = 0
        if old.cells[p] != to.cells[p]:
            if old.cells[p] != EMPTY or to.cells[p] > 1:
                return 0
            added[p] = to.cells[p] + 1
            n[to.cells[p]] += 1
    first = old.to_move
    if n[first] - n[1 - first] == (first != to.to_move):
        find_by_stones(&t.graph.memory, t.graph.root, added, n[0] + n[1], first, &best)
    return best


cdef inline void find_by_stones(
    const NodeMemory* memory, Ref ref, uint8_t* added, int left, int colour, Ref* best
) noexcept nogil:
    """Find the most visited node reached by all the added stones, played in turn in any order."""
    cdef Node* node = node_at(memory, ref)
    cdef Edge* edges
    cdef int i, move
    if left == 0:
        if best[0] == 0 or node.visits > node_at(memory, best[0]).visits:
            best[0] = ref
        return
    if node.edges == 0:
        return
    edges = edges_of(memory, node)
    for i in range(node.n_visited):
        move = moves_of(memory, node)[i]
        if added[move] == colour + 1 and edges[i].child != 0:
            added[move] = 0
            find_by_stones(memory, edges[i].child, added, left - 1, 1 - colour, best)
            added[move] = <uint8_t>(colour + 1)


cdef inline void move_root(TreeState* t, Ref ref) noexcept nogil:
    """Make a node the root and store all its moves; the board already holds its position."""
    if ref != t.graph.root:
        node_at(&t.graph.memory, ref).references += 1
        clear_node(&t.graph, root_of(t))    # the block of its edges is for the new root
        release(&t.graph, t.graph.root)
        t.graph.root = ref
    t.main.flight.path.depth = t.main.simulation.placed = 0     # the board is at the root
    if has_moves(t):
        store_all_moves(t, &t.main, root_of(t), TABLES_ALL)


# --- proofs from outside -----------------------------------------------------------------------------------

cdef inline int prove_move(TreeState* t, int point, int proven, int distance) noexcept nogil:
    """Set the result of a root move and infer that of the root; a proven move only takes the distance.

    Returns 0, BAD_MOVE, or FULL without memory.
    """
    cdef NodeMemory* memory = &t.graph.memory
    cdef Node* node = root_of(t)
    cdef Edge* edge
    cdef Node* child = NULL
    cdef StatsDelta lost
    cdef int tries = 0, i = find_move(memory, node, point)
    if i < 0:
        return BAD_MOVE
    if i == node.n_visited:
        while not grow_edges(&t.graph, node):
            tries += 1
            if not make_room_or_collapse(&t.graph, &t.flights, tries):
                return FULL
            node = root_of(t)
        new_edge(memory, node, 0)
    edge = &edges_of(memory, node)[i]
    if edge.child != 0:
        child = node_at(memory, edge.child)
        child.distance = <uint16_t>(distance - 1)
    edge.distance = <uint16_t>distance
    if edge.proven == PROVEN_NONE:
        if proven == PROVEN_LOSS:
            node.proven_prior += edge.prior
            if child != NULL:
                remove_child_stats(edge, child, &lost)
                add_delta(node, &lost)
        edge.proven = <uint8_t>proven
        edge.q = exact_q(proven)
        if child != NULL:
            child.proven = <uint8_t>opposite(proven)
    infer_proof(memory, node, edge)
    return 0


cdef inline bint prove_root(TreeState* t, int proven, int distance, int move) noexcept nogil:
    """Set the result of the root and free its moves; False without memory."""
    cdef Node* node
    if t.graph.root == 0:
        t.graph.root = new_node(&t.graph)
        if t.graph.root == 0:
            return False
    remove_noise(&t.graph.memory, t.graph.root, &t.noise)
    node = root_of(t)
    cancel_all(&t.flights)
    clear_node(&t.graph, node)
    node.proven = <uint8_t>proven
    node.distance = <uint16_t>distance
    node.proof_move = <uint16_t>move
    return True


# --- what to play ------------------------------------------------------------------------------------------

cdef inline BestMove best_child(const TreeState* t) noexcept nogil:
    """Return the move to play by visits; before the first visit that with the highest prior."""
    cdef const NodeMemory* memory = &t.graph.memory
    cdef Node* node = root_of(t)
    cdef Edge* edges
    cdef BestMove found
    cdef int i, best
    found.point = -1
    found.visits = found.second_visits = 0
    found.q = 0
    if not has_moves(t):
        return found
    best = best_edge(memory, node)
    if best < 0 and node.n_visited == node.n_moves:     # proven, but not by its moves
        best = 0
        for i in range(1, node.n_visited):
            if edges_of(memory, node)[i].visits > edges_of(memory, node)[best].visits:
                best = i
    if best < 0:
        order_best_unvisited(memory, node)
        found.point = moves_of(memory, node)[node.n_visited]
        found.q = node.value_sum / (node.weight if node.weight > 1 else 1)
        return found
    edges = edges_of(memory, node)
    found.point = moves_of(memory, node)[best]
    found.visits = edges[best].visits
    found.q = edges[best].q
    for i in range(node.n_visited):
        if i != best and edges[i].proven != PROVEN_LOSS and edges[i].visits > found.second_visits:
            found.second_visits = edges[i].visits
    return found


cdef inline int count_open_moves(const TreeState* t) noexcept nogil:
    """Return the number of root moves that are not proven to lose."""
    cdef Node* node
    cdef int i, n
    if not has_moves(t):
        return 0
    node = root_of(t)
    n = node.n_legal
    for i in range(node.n_visited):
        n -= edges_of(&t.graph.memory, node)[i].proven == PROVEN_LOSS
    return n

# cython: language_level=3
"""What is asked of the root between simulations: where it moves to, what is proven about its moves, its best line."""
from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memset

from engine.rules._board cimport EMPTY, BoardState
from engine.search.kernel.accounts cimport Delta, add, conclude, withdraw
from engine.search.kernel.arena cimport Arena, Ref
from engine.search.kernel.graph cimport grow_edges, new_edge, new_node, release, strip
from engine.search.kernel.node cimport (
    PROVEN_LOSS, PROVEN_NONE, Edge, Node, best_edge, edges_of, exact_q, moves_of, node_at, node_value, opposite,
)
from engine.search.kernel.noise cimport unmix
from engine.search.kernel.select cimport find_move, ready_head
from engine.search.kernel.walk cimport BAD_MOVE, FULL, TreeState, store_others

cdef struct Favourite:
    int point               # -1: none
    int visits
    double q
    int second_visits       # of the move with the second most


cdef inline Node* root_of(const TreeState* t) noexcept nogil:
    """The root; NULL if no simulation has reached it."""
    return node_at(&t.graph.arena, t.graph.root) if t.graph.root != 0 else NULL


cdef inline bint has_moves(const TreeState* t) noexcept nogil:
    """Whether the root is expanded."""
    return t.graph.root != 0 and root_of(t).moves != 0


# --- a new root --------------------------------------------------------------------------------------------

cdef inline Ref find_descendant(const TreeState* t, const BoardState* to, int max_plies) noexcept nogil:
    """The most visited node that holds a position, at most `max_plies` stones behind the root; 0 if there is none."""
    cdef const BoardState* old = t.board
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
        seek(&t.graph.arena, t.graph.root, added, n[0] + n[1], first, &best)
    return best


cdef inline void seek(
    const Arena* arena, Ref ref, uint8_t* added, int left, int colour, Ref* best
) noexcept nogil:
    """Find the most visited node behind all the stones, played in turn in any order."""
    cdef Node* node = node_at(arena, ref)
    cdef Edge* edges
    cdef int i, move
    if left == 0:
        if best[0] == 0 or node.visits > node_at(arena, best[0]).visits:
            best[0] = ref
        return
    if node.edges == 0:
        return
    edges = edges_of(arena, node)
    for i in range(node.n_visited):
        move = moves_of(arena, node)[i]
        if added[move] == colour + 1 and edges[i].child != 0:
            added[move] = 0
            seek(arena, edges[i].child, added, left - 1, 1 - colour, best)
            added[move] = <uint8_t>(colour + 1)


cdef inline void move_root(TreeState* t, Ref ref) noexcept nogil:
    """Make a node the root; the board is its position already. It stores all its moves from then on."""
    if ref != t.graph.root:
        node_at(&t.graph.arena, ref).references += 1
        release(&t.graph, t.graph.root)
        t.graph.root = ref
    if has_moves(t):
        store_others(t, root_of(t))


# --- proofs from outside -----------------------------------------------------------------------------------

cdef inline int prove_move(TreeState* t, int point, int proven, int distance) noexcept nogil:
    """Set the result of a root move and draw the conclusion; a proven one takes just the distance.

    Returns 0, BAD_MOVE, or FULL without memory.
    """
    cdef Arena* arena = &t.graph.arena
    cdef Node* node = root_of(t)
    cdef Edge* edge
    cdef Node* child = NULL
    cdef Delta lost
    cdef int i = find_move(arena, node, point)
    if i < 0:
        return BAD_MOVE
    if i == node.n_visited:
        if not grow_edges(&t.graph, node):
            return FULL
        new_edge(arena, node, 0)
    edge = &edges_of(arena, node)[i]
    if edge.child != 0:
        child = node_at(arena, edge.child)
        child.distance = <uint16_t>(distance - 1)
    edge.distance = <uint16_t>distance
    if edge.proven == PROVEN_NONE:
        if proven == PROVEN_LOSS:
            node.settled_prior += edge.prior
            if child != NULL:
                withdraw(edge, child, &lost)
                add(node, &lost)
        edge.proven = <uint8_t>proven
        edge.q = exact_q(proven)
        if child != NULL:
            child.proven = <uint8_t>opposite(proven)
    conclude(arena, node, edge)
    return 0


cdef inline bint prove_root(TreeState* t, int proven, int distance, int move) noexcept nogil:
    """Set the result of the root, whose moves do not matter any more; False without memory."""
    cdef Node* node
    if t.graph.root == 0:
        t.graph.root = new_node(&t.graph)
        if t.graph.root == 0:
            return False
    unmix(&t.graph.arena, t.graph.root, &t.noise)
    node = root_of(t)
    strip(&t.graph, node)
    node.proven = <uint8_t>proven
    node.distance = <uint16_t>distance
    node.proof_move = <uint16_t>move
    return True


# --- what to play ------------------------------------------------------------------------------------------

cdef inline Favourite favourite(const TreeState* t) noexcept nogil:
    """The move to play by visits; before the first visit that with the highest prior."""
    cdef const Arena* arena = &t.graph.arena
    cdef Node* node = root_of(t)
    cdef Edge* edges
    cdef Favourite found
    cdef int i, best
    found.point = -1
    found.visits = found.second_visits = 0
    found.q = 0
    if not has_moves(t):
        return found
    best = best_edge(arena, node)
    if best < 0 and node.n_visited == node.n_moves:     # proven, but not by its moves
        best = 0
        for i in range(1, node.n_visited):
            if edges_of(arena, node)[i].visits > edges_of(arena, node)[best].visits:
                best = i
    if best < 0:
        ready_head(arena, node)
        found.point = moves_of(arena, node)[node.n_visited]
        found.q = node.value_sum / (node.weight if node.weight > 1 else 1)
        return found
    edges = edges_of(arena, node)
    found.point = moves_of(arena, node)[best]
    found.visits = edges[best].visits
    found.q = edges[best].q
    for i in range(node.n_visited):
        if i != best and edges[i].proven != PROVEN_LOSS and edges[i].visits > found.second_visits:
            found.second_visits = edges[i].visits
    return found


cdef inline int moves_left(const TreeState* t) noexcept nogil:
    """Number of root moves that are not proven to lose."""
    cdef Node* node
    cdef int i, n
    if not has_moves(t):
        return 0
    node = root_of(t)
    n = node.n_legal
    for i in range(node.n_visited):
        n -= edges_of(&t.graph.arena, node)[i].proven == PROVEN_LOSS
    return n

# cython: language_level=3
"""The graph of nodes: who refers to whom, and which node holds a position.

Moves in another order lead to the same node (`find`). A node lives as long as a move or the root refers to it; what
nobody refers to is buried as a whole, in O(1), and freed bit by bit when room is needed (`reclaim`).
"""
from libc.stdint cimport int64_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from engine.search.kernel.arena cimport Arena, Ref, at, empty, fresh_block, give, used_block
from engine.search.kernel.node cimport (
    FIRST_ROOM, NODE_UNITS, NO_MOVE, Edge, Node, edges_of, edges_units, moves_units, node_at, priors_of,
)

cdef enum:
    FIRST_BUCKETS = 1024

cdef struct Graph:
    Arena arena
    Ref root
    Ref dead                # buried nodes, a list through `visits`
    int64_t n_nodes         # in use, buried ones included
    Ref* buckets            # heads of the lists of nodes with like keys
    int64_t n_buckets       # a power of two, or 0
    int64_t n_keyed         # nodes in the lists
    int common_units        # size of the latest block of moves; most nodes will want such a one
    bint lossy              # moves were forgotten for want of memory; what they had brought counts as their nodes' own


cdef inline void forget(Graph* graph) noexcept nogil:
    """Forget all nodes; memory stays for reuse."""
    if graph.n_buckets:
        memset(graph.buckets, 0, graph.n_buckets * sizeof(Ref))
    graph.n_keyed = 0
    graph.dead = 0
    graph.root = 0
    graph.n_nodes = 0
    graph.lossy = False
    empty(&graph.arena)


# --- blocks ------------------------------------------------------------------------------------------------

cdef inline Ref take(Graph* graph, int units) noexcept nogil:
    """A block; buried nodes are freed for it as far as that helps. 0 when there is none."""
    cdef Arena* arena = &graph.arena
    cdef Ref ref
    if arena.free_lists[units] == 0 and graph.dead != 0:
        reclaim(graph, 4)
    if arena.free_lists[units] == 0:
        ref = fresh_block(arena, units)
        if ref != 0:
            return ref
        while graph.dead != 0 and arena.free_lists[units] == 0:
            reclaim(graph, 16)
    return used_block(arena, units)


cdef inline Ref new_node(Graph* graph) noexcept nogil:
    """A node with one reference and nothing else; 0 without memory."""
    cdef Ref ref = take(graph, NODE_UNITS)
    cdef Node* node
    if ref != 0:
        node = node_at(&graph.arena, ref)
        memset(node, 0, sizeof(Node))
        node.proof_move = NO_MOVE
        node.raw_win = -1
        node.references = 1
        graph.n_nodes += 1
    return ref


cdef inline bint grow_edges(Graph* graph, Node* node) noexcept nogil:
    """See to it that one more move can be visited."""
    cdef int room
    cdef Ref fresh
    if node.n_visited < node.room:
        return True
    room = node.room * 2 if node.room else FIRST_ROOM
    fresh = take(graph, edges_units(room))
    if fresh == 0:
        return False
    if node.edges != 0:
        memcpy(at(&graph.arena, fresh), at(&graph.arena, node.edges), node.n_visited * sizeof(Edge))
        give(&graph.arena, node.edges, edges_units(node.room))
    node.edges = fresh
    node.room = <uint16_t>room
    return True


cdef inline Edge* new_edge(Arena* arena, Node* node, Ref child) noexcept nogil:
    """Make the next unvisited move of a node, for which there is room, a visited one; `child` 0: none yet."""
    cdef Edge* edge = &edges_of(arena, node)[node.n_visited]
    memset(edge, 0, sizeof(Edge))
    edge.child = child
    edge.prior = priors_of(arena, node)[node.n_visited]
    node.n_visited += 1
    node.head_ready = 0
    if child != 0 and node_at(arena, child).visits > 0:     # known before
        node_at(arena, child).references += 1
        node_at(arena, child).shared = 1
    return edge


# --- nodes by position -------------------------------------------------------------------------------------

cdef inline Ref* bucket_of(Graph* graph, uint64_t key) noexcept nogil:
    return &graph.buckets[key & <uint64_t>(graph.n_buckets - 1)]


cdef inline Ref find(Graph* graph, uint64_t key) noexcept nogil:
    """The node of a position; 0 if there is none."""
    cdef Ref ref
    if graph.n_keyed == 0:
        return 0
    ref = bucket_of(graph, key)[0]
    while ref != 0 and node_at(&graph.arena, ref).key != key:
        ref = node_at(&graph.arena, ref).next_alike
    return ref


cdef inline void enter(Graph* graph, Ref ref, uint64_t key) noexcept nogil:
    """Let a node be found by its position. Without memory it is not, which costs nothing but work."""
    cdef Node* node = node_at(&graph.arena, ref)
    if graph.n_keyed >= graph.n_buckets:
        more_buckets(graph)
    if graph.n_buckets == 0:
        return
    node.key = key
    node.next_alike = bucket_of(graph, key)[0]
    bucket_of(graph, key)[0] = ref
    graph.n_keyed += 1


cdef inline void leave(Graph* graph, Ref ref) noexcept nogil:
    """Let a node be found no more."""
    cdef Node* node = node_at(&graph.arena, ref)
    cdef Ref* place
    if node.key == 0:
        return
    place = bucket_of(graph, node.key)
    while place[0] != ref:
        place = &node_at(&graph.arena, place[0]).next_alike
    place[0] = node.next_alike
    node.key = 0
    graph.n_keyed -= 1


cdef inline void more_buckets(Graph* graph) noexcept nogil:
    """Double the buckets; without memory they stay."""
    cdef int64_t wanted = 2 * graph.n_buckets if graph.n_buckets else FIRST_BUCKETS, i
    cdef Ref* fresh = <Ref*>calloc(wanted, sizeof(Ref))
    cdef Ref* place
    cdef Ref ref, follower
    if fresh == NULL:
        return
    for i in range(graph.n_buckets):
        ref = graph.buckets[i]
        while ref != 0:
            follower = node_at(&graph.arena, ref).next_alike
            place = &fresh[node_at(&graph.arena, ref).key & <uint64_t>(wanted - 1)]
            node_at(&graph.arena, ref).next_alike = place[0]
            place[0] = ref
            ref = follower
    free(graph.buckets)
    graph.buckets = fresh
    graph.n_buckets = wanted


# --- references --------------------------------------------------------------------------------------------

cdef inline void release(Graph* graph, Ref ref) noexcept nogil:
    """Take away one reference to a node; nobody needs it after the last."""
    cdef Node* node = node_at(&graph.arena, ref)
    node.references -= 1
    if node.references == 0:
        leave(graph, ref)
        node.visits = <int>graph.dead
        graph.dead = ref


cdef inline void strip(Graph* graph, Node* node) noexcept nogil:
    """Free a node's moves and release its children; its own value and what is proven of it stay."""
    cdef Edge* edges
    cdef int i
    if node.edges != 0:
        edges = edges_of(&graph.arena, node)
        for i in range(node.n_visited):
            if edges[i].child != 0:
                release(graph, edges[i].child)
        give(&graph.arena, node.edges, edges_units(node.room))
    give(&graph.arena, node.moves, moves_units(node.n_moves))
    node.moves = node.edges = 0
    node.n_moves = node.n_visited = node.room = 0
    node.settled_prior = 0
    node.head_ready = 0


cdef inline void free_node(Graph* graph, Ref ref) noexcept nogil:
    """Free a node that nobody refers to, with its moves."""
    strip(graph, node_at(&graph.arena, ref))
    give(&graph.arena, ref, NODE_UNITS)
    graph.n_nodes -= 1


cdef inline void reclaim(Graph* graph, int limit) noexcept nogil:
    """Free up to `limit` buried nodes."""
    cdef Ref ref
    while limit > 0 and graph.dead != 0:
        ref = graph.dead
        graph.dead = <Ref>node_at(&graph.arena, ref).visits
        free_node(graph, ref)
        limit -= 1

# cython: language_level=3
"""What is given up when the arena is full.

The least visited grandchildren are stripped first (`make_room`, before each simulation). When only fragments are
left, or a simulation has failed in spite of that, everything below the root's children goes (`condense`).
"""
from libc.stdint cimport int64_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from engine.search.kernel.arena cimport Ref, at, fresh_units
from engine.search.kernel.graph cimport Graph, enter, forget, grow_edges, new_node, reclaim, strip, take
from engine.search.kernel.node cimport (
    FIRST_ROOM, NODE_UNITS, NO_MOVE, PROVEN_NONE, Edge, Node, best_edge, edges_of, edges_units, moves_of, moves_units,
    node_at,
)

cdef enum:
    RESERVE_UNITS = 4096    # free units before a simulation begins; enough for all but absurdly long chains
    PATIENCE = 64           # subtrees that are given up in search of blocks that fit


cdef inline void keep_proof(Graph* graph, Node* node) noexcept nogil:
    """Remember the move of a proof whose moves are about to be forgotten."""
    cdef int i
    if node.proven != PROVEN_NONE and node.proof_move == NO_MOVE:
        i = best_edge(&graph.arena, node)
        if i >= 0:
            node.proof_move = moves_of(&graph.arena, node)[i]


cdef inline bint collapse_one(Graph* graph) noexcept nogil:
    """Strip a little visited node without grandchildren; False if there is none but the root."""
    cdef Node* node
    cdef Edge* edges
    cdef Ref ref = graph.root, least
    cdef int i, least_visits
    if ref == 0:
        return False
    while True:
        node = node_at(&graph.arena, ref)
        least = 0
        least_visits = 0
        edges = edges_of(&graph.arena, node)
        for i in range(node.n_visited):
            if edges[i].child != 0 and (least == 0 or edges[i].visits < least_visits):
                if node_at(&graph.arena, edges[i].child).moves != 0:
                    least = edges[i].child
                    least_visits = edges[i].visits
        if least == 0:
            break
        ref = least
    if ref == graph.root:
        return False
    keep_proof(graph, node)
    strip(graph, node)
    graph.lossy = True
    return True


cdef inline bint make_room(Graph* graph) noexcept nogil:
    """See to it that a simulation finds memory; False if the arena is too small."""
    cdef int tries = PATIENCE
    cdef int64_t fresh
    cdef Ref* lists = graph.arena.free_lists
    while True:
        fresh = fresh_units(&graph.arena)
        if fresh >= RESERVE_UNITS:
            return True
        if fresh + graph.arena.free_units >= RESERVE_UNITS and (tries <= 0 or (
            lists[NODE_UNITS] != 0 and lists[graph.common_units] != 0
            and lists[edges_units(FIRST_ROOM)] != 0 and lists[edges_units(2 * FIRST_ROOM)] != 0
        )):
            return True
        tries -= 1
        if graph.dead != 0:
            reclaim(graph, 64)
        elif not collapse_one(graph):
            return fresh + graph.arena.free_units >= RESERVE_UNITS


cdef inline bint condense(Graph* graph) noexcept nogil:
    """Keep nothing but the root, its moves and their values, in an arena without fragments."""
    cdef Node* root = node_at(&graph.arena, graph.root)
    cdef Edge* edges
    cdef Node* children
    cdef char* saved
    cdef char* saved_moves
    cdef Node head
    cdef uint64_t key
    cdef int n = root.n_visited, i
    cdef int64_t moves_bytes = root.n_moves * 6, edges_bytes = n * sizeof(Edge)
    saved = <char*>malloc(8 + moves_bytes + edges_bytes + n * sizeof(Node))
    if saved == NULL:
        return False
    children = <Node*>saved
    edges = <Edge*>(saved + n * sizeof(Node))
    saved_moves = saved + n * sizeof(Node) + edges_bytes
    if n > 0:
        memcpy(edges, at(&graph.arena, root.edges), edges_bytes)
    if root.moves != 0:
        memcpy(saved_moves, at(&graph.arena, root.moves), moves_bytes)
    for i in range(n):
        if edges[i].child != 0:
            keep_proof(graph, node_at(&graph.arena, edges[i].child))
            children[i] = node_at(&graph.arena, edges[i].child)[0]
    head = root[0]
    forget(graph)
    graph.lossy = True
    graph.root = new_node(graph)
    root = node_at(&graph.arena, graph.root)
    root[0] = head
    root.references = 1
    root.edges = 0
    root.room = 0
    if head.moves != 0:
        root.moves = take(graph, moves_units(head.n_moves))
        memcpy(at(&graph.arena, root.moves), saved_moves, moves_bytes)
    root.n_visited = 0
    if head.key != 0:
        enter(graph, graph.root, head.key)
    for i in range(n):
        grow_edges(graph, root)
        root.n_visited += 1
        if edges[i].child != 0:
            edges[i].child = new_node(graph)
            children[i].moves = children[i].edges = 0
            key = children[i].key
            children[i].key = 0
            children[i].references = 1
            node_at(&graph.arena, edges[i].child)[0] = children[i]
            strip(graph, node_at(&graph.arena, edges[i].child))
            if key != 0:
                enter(graph, edges[i].child, key)
        edges_of(&graph.arena, root)[i] = edges[i]
    free(saved)
    return True

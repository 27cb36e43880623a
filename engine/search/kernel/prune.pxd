# cython: language_level=3
"""What is freed when the node memory is full.

The least visited grandchildren are cleared first (`reclaim_memory`, before each simulation). If only fragments are
left, or a simulation failed for lack of memory, everything below the root's children is freed (`collapse_subtrees`).
Simulations in flight through freed moves are cancelled."""
from libc.stdint cimport int64_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from engine.search.kernel.flight cimport Flights, cancel_all, cancel_through
from engine.search.kernel.graph cimport (
    Graph, add_to_index, allocate, clear_graph, clear_node, free_dead_nodes, grow_edges, new_node,
)
from engine.search.kernel.node cimport (
    FIRST_EDGES, MOVE_BYTES, NODE_UNITS, NO_MOVE, PROVEN_NONE, Edge, Node, best_edge, edges_of, edges_units, moves_of,
    moves_units, node_at,
)
from engine.search.kernel.node_memory cimport Ref, block_at, unused_units

cdef enum:
    RESERVE_UNITS = 4096    # free units before a simulation starts; enough except for very long forced sequences
    MAX_PRUNES = 64         # subtrees that are freed in search of blocks that fit


cdef inline void save_proof_move(Graph* graph, Node* node) noexcept nogil:
    """Store the proving move of a node whose moves are about to be freed."""
    cdef int i
    if node.proven != PROVEN_NONE and node.proof_move == NO_MOVE:
        i = best_edge(&graph.memory, node)
        if i >= 0:
            node.proof_move = moves_of(&graph.memory, node)[i]


cdef inline bint prune_one(Graph* graph, Flights* flights) noexcept nogil:
    """Clear a rarely visited node without grandchildren; False if there is none but the root."""
    cdef Node* node
    cdef Edge* edges
    cdef Ref ref = graph.root, rarest
    cdef int i, fewest_visits, depth = 0
    if ref == 0:
        return False
    while True:
        node = node_at(&graph.memory, ref)
        rarest = 0
        fewest_visits = 0
        edges = edges_of(&graph.memory, node)
        for i in range(node.n_visited):
            if edges[i].child != 0 and (rarest == 0 or edges[i].visits < fewest_visits):
                if node_at(&graph.memory, edges[i].child).moves != 0:
                    rarest = edges[i].child
                    fewest_visits = edges[i].visits
        if rarest == 0:
            break
        ref = rarest
        depth += 1
    if ref == graph.root:
        return False
    cancel_through(flights, ref, depth)
    save_proof_move(graph, node)
    clear_node(graph, node)
    graph.lossy = True
    return True


cdef inline bint reclaim_memory(Graph* graph, Flights* flights) noexcept nogil:
    """Free memory until a simulation can run; False if the limit is too small for one."""
    cdef int tries = MAX_PRUNES
    cdef int64_t fresh
    cdef Ref* lists = graph.memory.free_lists
    while True:
        fresh = unused_units(&graph.memory)
        if fresh >= RESERVE_UNITS:
            return True
        if fresh + graph.memory.free_units >= RESERVE_UNITS and (tries <= 0 or (
            lists[NODE_UNITS] != 0 and lists[graph.common_units] != 0
            and lists[edges_units(FIRST_EDGES)] != 0 and lists[edges_units(2 * FIRST_EDGES)] != 0
        )):
            return True
        tries -= 1
        if graph.dead != 0:
            free_dead_nodes(graph, 64)
        elif not prune_one(graph, flights):
            return fresh + graph.memory.free_units >= RESERVE_UNITS


cdef inline bint collapse_subtrees(Graph* graph, Flights* flights) noexcept nogil:
    """Free everything but the root, its moves and their values, and remove all fragments; False without memory."""
    cdef Node* root = node_at(&graph.memory, graph.root)
    cdef Edge* edges
    cdef Node* children
    cdef char* saved
    cdef char* saved_moves
    cdef Node head
    cdef uint64_t key
    cdef int n = root.n_visited, i
    cdef int64_t moves_bytes = root.n_moves * MOVE_BYTES, edges_bytes = n * sizeof(Edge)
    saved = <char*>malloc(8 + moves_bytes + edges_bytes + n * sizeof(Node))
    if saved == NULL:
        return False
    cancel_all(flights)
    children = <Node*>saved
    edges = <Edge*>(saved + n * sizeof(Node))
    saved_moves = saved + n * sizeof(Node) + edges_bytes
    if n > 0:
        memcpy(edges, block_at(&graph.memory, root.edges), edges_bytes)
    if root.moves != 0:
        memcpy(saved_moves, block_at(&graph.memory, root.moves), moves_bytes)
    for i in range(n):
        if edges[i].child != 0:
            save_proof_move(graph, node_at(&graph.memory, edges[i].child))
            children[i] = node_at(&graph.memory, edges[i].child)[0]
    head = root[0]
    clear_graph(graph)
    graph.lossy = True
    graph.root = new_node(graph)
    root = node_at(&graph.memory, graph.root)
    root[0] = head
    root.references = 1
    root.edges = 0
    root.edge_capacity = 0
    if head.moves != 0:
        root.moves = allocate(graph, moves_units(head.n_moves))
        memcpy(block_at(&graph.memory, root.moves), saved_moves, moves_bytes)
    root.n_visited = 0
    if head.key != 0:
        add_to_index(graph, graph.root, head.key)
    for i in range(n):
        grow_edges(graph, root)
        root.n_visited += 1
        if edges[i].child != 0:
            edges[i].child = new_node(graph)
            children[i].moves = children[i].edges = 0
            key = children[i].key
            children[i].key = 0
            children[i].references = 1
            node_at(&graph.memory, edges[i].child)[0] = children[i]
            clear_node(graph, node_at(&graph.memory, edges[i].child))
            if key != 0:
                add_to_index(graph, edges[i].child, key)
        edges_of(&graph.memory, root)[i] = edges[i]
    free(saved)
    return True

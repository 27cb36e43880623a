# cython: language_level=3
"""What is freed when the node memory is full.

Rarely visited nodes are cleared first (`reclaim_memory`, before each simulation), and more of them after a simulation
that failed for lack of memory (`make_room`). Only if that does not help, everything below the root's children is freed
(`collapse_subtrees`). Simulations in flight through freed moves are cancelled."""
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
from engine.search.kernel.node_memory cimport (
    CHUNK_UNITS, NodeMemory, Ref, block_at, smallest_freed, unused_units,
)

cdef enum:
    RESERVE_UNITS = 2048    # free units before a simulation starts
    RARE_VISITS = 4         # of a node that is cleared with all below it
    PRUNE_DRAWS = 2         # nodes of which the less visited one is cleared
    MAX_PRUNES = 64         # nodes that are cleared in search of blocks that fit
    POOL_SHARE = 16         # of a full memory one in so many units is kept free (not tuned)
    POOL_PRUNES = 3         # nodes that are cleared for that in one simulation, which needs less than one on average
    MAX_RETRIES = 5         # after a failure; all but the last make room, each twice as much


cdef inline void save_proof_move(Graph* graph, Node* node) noexcept nogil:
    """Store the proving move of a node whose moves are about to be freed."""
    cdef int i
    if node.proven != PROVEN_NONE and node.proof_move == NO_MOVE:
        i = best_edge(&graph.memory, node)
        if i >= 0:
            node.proof_move = moves_of(&graph.memory, node)[i]


cdef inline Ref random_child(Graph* graph, const Node* node) noexcept nogil:
    """Return a child with moves, drawn by visits; 0 without one."""
    cdef const Edge* edges
    cdef int n = node.n_visited, i, j, first = 0
    cdef uint64_t x = graph.random
    cdef int64_t left
    if n == 0:
        return 0
    edges = edges_of(&graph.memory, node)
    x ^= x << 13    # G. Marsaglia, "Xorshift RNGs", 2003
    x ^= x >> 7
    x ^= x << 17
    graph.random = x
    left = <int64_t>(x >> 33) % (node.visits + 1)
    for i in range(n):
        left -= edges[i].visits
        if left < 0:
            first = i
            break
    for j in range(n):
        i = first + j if first + j < n else first + j - n
        if edges[i].child != 0 and node_at(&graph.memory, edges[i].child).moves != 0:
            return edges[i].child
    return 0


cdef inline bint prune_one(Graph* graph, Flights* flights) noexcept nogil:
    """Clear a rarely visited node; False if there is none but the root.

    Nodes are drawn along paths that follow the visits, so that every part of the tree gives as much as it holds. To
    clear the least visited child of the least visited child and so on would empty one move of the root after the other.
    """
    cdef Ref ref, child, rarest = 0
    cdef Node* node
    cdef int depth, rarest_depth = 0, fewest_visits = 0
    if graph.root == 0:
        return False
    for _ in range(PRUNE_DRAWS):
        ref = graph.root
        depth = 0
        while True:
            node = node_at(&graph.memory, ref)
            if depth > 0 and node.visits <= RARE_VISITS:
                break
            child = random_child(graph, node)
            if child == 0:
                break
            ref = child
            depth += 1
        if depth > 0 and (rarest == 0 or node.visits < fewest_visits):
            rarest = ref
            rarest_depth = depth
            fewest_visits = node.visits
    if rarest == 0:
        return False
    node = node_at(&graph.memory, rarest)
    cancel_through(flights, rarest, rarest_depth)
    save_proof_move(graph, node)
    clear_node(graph, node)
    graph.lossy = True
    return True


cdef inline bint has_room(const Graph* graph) noexcept nogil:
    """Return whether the memory will do for a simulation, except for very long forced sequences."""
    cdef const NodeMemory* memory = &graph.memory
    cdef int64_t fresh = unused_units(memory)
    return fresh >= RESERVE_UNITS or (
        fresh + memory.usable_units >= RESERVE_UNITS and smallest_freed(memory, graph.common_units) != 0
    )


cdef inline bint free_some(Graph* graph, Flights* flights) noexcept nogil:
    """Free some dead nodes, or clear a rarely visited one; False if there is nothing left to free."""
    if graph.dead == 0:
        return prune_one(graph, flights)
    free_dead_nodes(graph, 64)
    return True


cdef inline void make_room(Graph* graph, Flights* flights, int64_t units) noexcept nogil:
    """Clear rarely visited nodes until so many units are free, or nothing is left to clear."""
    while unused_units(&graph.memory) + graph.memory.free_units < units and free_some(graph, flights):
        pass


cdef inline bint reclaim_memory(Graph* graph, Flights* flights) noexcept nogil:
    """Free memory until a simulation can run; False if the limit is too small for one.

    When the memory is full, a part of it is kept free, so that freed blocks have neighbours: a node that is visited
    often needs larger blocks for its edges than most nodes leave.
    """
    cdef NodeMemory* memory = &graph.memory
    cdef int64_t total = <int64_t>memory.max_chunks * CHUNK_UNITS
    cdef int tries = 0
    if unused_units(memory) >= RESERVE_UNITS:
        return True
    while tries < MAX_PRUNES and not has_room(graph) and free_some(graph, flights):
        tries += 1
    while tries < POOL_PRUNES and memory.free_units < total // POOL_SHARE and free_some(graph, flights):
        tries += 1
    if has_room(graph):
        return True
    make_room(graph, flights, memory.free_units + RESERVE_UNITS)
    return unused_units(memory) + memory.free_units >= RESERVE_UNITS


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


cdef inline bint make_room_or_collapse(Graph* graph, Flights* flights, int tries) noexcept nogil:
    """Make room after a failure for lack of memory, more each time; False if nothing more can be done.

    Args:
        tries: failures so far, from 1 on.
    """
    if graph.root == 0 or tries > MAX_RETRIES:
        return False
    if tries < MAX_RETRIES:
        make_room(graph, flights, <int64_t>RESERVE_UNITS << (tries + 1))
        return True
    return collapse_subtrees(graph, flights)

# cython: language_level=3
"""The graph of nodes: references between nodes, and the index by position.

Move orders that transpose lead to the same node (`find_node`). A node lives while an edge or the root refers to it. The
last reference puts it on the dead list in O(1); dead nodes are freed one by one when memory is needed
(`free_dead_nodes`)."""
from libc.stdint cimport int64_t, uint16_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

from engine.search.kernel.node cimport (
    FIRST_EDGES, NODE_UNITS, NO_MOVE, Edge, Node, edges_of, edges_units, moves_units, node_at, priors_of, unpack_prior,
)
from engine.search.kernel.node_memory cimport (
    NodeMemory, Ref, allocate_freed, allocate_fresh, block_at, free_block, reset_memory,
)

cdef enum:
    FIRST_BUCKETS = 1024
    MAX_EDGES = 512         # of a block: no node has more moves
    OWN_ROOT_EDGES = 4      # a root with more takes `root_block`: early, while there is memory

cdef struct Graph:
    NodeMemory memory
    Ref root
    Ref dead                # list of dead nodes, linked through `visits`
    int64_t n_nodes         # in use, dead ones included
    Ref* buckets            # hash index: heads of the lists of nodes
    int64_t n_buckets       # in use: more than half of the places
    int64_t bucket_places   # a power of two, or 0
    int64_t n_keyed         # nodes in the index
    Ref root_block          # block for all edges of a root, kept once it is allocated; 0: not yet
    bint root_block_used
    int common_units        # largest block of moves that most nodes need
    uint64_t random         # state of the generator that chooses what is freed; never 0
    bint lossy              # moves were freed for lack of memory; their sums count as those of their nodes


cdef inline void clear_graph(Graph* graph) noexcept nogil:
    """Free all nodes; keep the memory for reuse."""
    if graph.n_buckets:
        memset(graph.buckets, 0, graph.n_buckets * sizeof(Ref))
    graph.n_keyed = 0
    graph.dead = 0
    graph.root = 0
    graph.n_nodes = 0
    graph.root_block = 0
    graph.root_block_used = False
    graph.random = 1
    graph.lossy = False
    reset_memory(&graph.memory)


# --- blocks ------------------------------------------------------------------------------------------------

cdef inline Ref allocate(Graph* graph, int units) noexcept nogil:
    """Allocate a block; free dead nodes if that helps. 0 when there is none."""
    cdef NodeMemory* memory = &graph.memory
    cdef Ref ref
    if memory.free_lists[units] == 0 and graph.dead != 0:
        free_dead_nodes(graph, 4)
    if memory.free_units >= units:
        ref = allocate_freed(memory, units)
        if ref != 0:
            return ref
    ref = allocate_fresh(memory, units)
    while ref == 0 and graph.dead != 0:
        free_dead_nodes(graph, 16)
        ref = allocate_freed(memory, units)
    return ref


cdef inline Ref new_node(Graph* graph) noexcept nogil:
    """Allocate a node with one reference; 0 without memory."""
    cdef Ref ref = allocate(graph, NODE_UNITS)
    cdef Node* node
    if ref != 0:
        node = node_at(&graph.memory, ref)
        memset(node, 0, sizeof(Node))
        node.proof_move = NO_MOVE
        node.raw_win = -1
        node.references = 1
        graph.n_nodes += 1
    return ref


cdef inline bint grow_edges(Graph* graph, Node* node) noexcept nogil:
    """Make room for one more edge; False without memory."""
    cdef int capacity
    cdef Ref fresh = 0
    if node.n_visited < node.edge_capacity:
        return True
    capacity = node.edge_capacity * 2 if node.edge_capacity else FIRST_EDGES
    if capacity > MAX_EDGES:
        capacity = MAX_EDGES
    if capacity > OWN_ROOT_EDGES and graph.root != 0 and node == node_at(&graph.memory, graph.root):
        fresh = take_root_block(graph)
        if fresh != 0:
            capacity = MAX_EDGES
    if fresh == 0:
        fresh = allocate(graph, edges_units(capacity))
    if fresh == 0 and capacity > node.edge_capacity + 1:    # no block as large as that is left
        capacity = node.edge_capacity + 1
        fresh = allocate(graph, edges_units(capacity))
    if fresh == 0:
        return False
    if node.edges != 0:
        memcpy(block_at(&graph.memory, fresh), block_at(&graph.memory, node.edges), node.n_visited * sizeof(Edge))
        free_edges(graph, node)
    node.edges = fresh
    node.edge_capacity = <uint16_t>capacity
    return True


cdef inline Ref take_root_block(Graph* graph) noexcept nogil:
    """Return the block for the edges of a root; 0 if another node has it, or without memory.

    A root whose moves are excluded needs an edge for each. When that happens to a kept tree, the memory may be full,
    and no block as large as that is left.
    """
    if graph.root_block == 0:
        graph.root_block = allocate(graph, edges_units(MAX_EDGES))
    if graph.root_block == 0 or graph.root_block_used:
        return 0
    graph.root_block_used = True
    return graph.root_block


cdef inline void free_edges(Graph* graph, Node* node) noexcept nogil:
    """Free the block of a node's edges."""
    if node.edges == graph.root_block:
        graph.root_block_used = False
    else:
        free_block(&graph.memory, node.edges, edges_units(node.edge_capacity))


cdef inline Edge* new_edge(NodeMemory* memory, Node* node, Ref child) noexcept nogil:
    """Add an edge for the next unvisited move of a node with spare capacity; `child` 0: none yet (in flight)."""
    cdef Edge* edge = &edges_of(memory, node)[node.n_visited]
    memset(edge, 0, sizeof(Edge))
    edge.prior = unpack_prior(priors_of(memory, node)[node.n_visited])
    node.n_visited += 1
    node.head_sorted = 0
    if child != 0:
        set_child(memory, edge, child)
    return edge


cdef inline void set_child(NodeMemory* memory, Edge* edge, Ref child) noexcept nogil:
    """Link an edge without a child to a node, which is new or a transposition."""
    edge.child = child
    if node_at(memory, child).visits > 0:       # a transposition
        node_at(memory, child).references += 1
        node_at(memory, child).shared = 1


# --- nodes by position -------------------------------------------------------------------------------------

cdef inline Ref* bucket_of(Graph* graph, uint64_t key) noexcept nogil:
    """Return the bucket of a key. The last bits tell it; one bit less where that bucket is not in use yet."""
    cdef uint64_t last = <uint64_t>(graph.bucket_places - 1)
    cdef uint64_t i = key & last
    return &graph.buckets[i if i < <uint64_t>graph.n_buckets else i & (last >> 1)]


cdef inline Ref find_node(Graph* graph, uint64_t key) noexcept nogil:
    """Return the node of a position; 0 if there is none."""
    cdef Ref ref
    if graph.n_keyed == 0:
        return 0
    ref = bucket_of(graph, key)[0]
    while ref != 0 and node_at(&graph.memory, ref).key != key:
        ref = node_at(&graph.memory, ref).next_in_bucket
    return ref


cdef inline void add_to_index(Graph* graph, Ref ref, uint64_t key) noexcept nogil:
    """Add a node to the index. Without memory it is left out, which only costs work."""
    cdef Node* node = node_at(&graph.memory, ref)
    if graph.n_keyed >= graph.n_buckets:
        add_bucket(graph)
    if graph.n_buckets == 0:
        return
    node.key = key
    node.next_in_bucket = bucket_of(graph, key)[0]
    bucket_of(graph, key)[0] = ref
    graph.n_keyed += 1


cdef inline void remove_from_index(Graph* graph, Ref ref) noexcept nogil:
    """Remove a node from the index."""
    cdef Node* node = node_at(&graph.memory, ref)
    cdef Ref* place
    if node.key == 0:
        return
    place = bucket_of(graph, node.key)
    while place[0] != ref:
        place = &node_at(&graph.memory, place[0]).next_in_bucket
    place[0] = node.next_in_bucket
    node.key = 0
    graph.n_keyed -= 1


cdef inline void add_bucket(Graph* graph) noexcept nogil:
    """Use one more bucket, which takes its nodes from another one; do nothing without memory.

    Linear hashing (W. Litwin, 1980): each new node costs the same. To double the index at once took 52 ms with half a
    million nodes, and all threads waited.
    """
    cdef int64_t places = graph.bucket_places
    cdef uint64_t fresh = <uint64_t>graph.n_buckets
    cdef Ref* larger
    cdef Ref* place
    cdef Node* node
    cdef Ref ref
    if graph.n_buckets == places:
        places = 2 * places if places else FIRST_BUCKETS
        larger = <Ref*>realloc(graph.buckets, places * sizeof(Ref))
        if larger == NULL:
            return
        graph.buckets = larger
        if graph.bucket_places == 0:
            memset(larger, 0, places * sizeof(Ref))
            graph.n_buckets = graph.bucket_places = places
            return
        graph.bucket_places = places
    place = &graph.buckets[fresh - <uint64_t>(places // 2)]
    graph.buckets[fresh] = 0
    graph.n_buckets += 1
    while place[0] != 0:
        ref = place[0]
        node = node_at(&graph.memory, ref)
        if node.key & <uint64_t>(places - 1) == fresh:
            place[0] = node.next_in_bucket
            node.next_in_bucket = graph.buckets[fresh]
            graph.buckets[fresh] = ref
        else:
            place = &node.next_in_bucket


# --- references --------------------------------------------------------------------------------------------

cdef inline void release(Graph* graph, Ref ref) noexcept nogil:
    """Remove one reference to a node; after the last it is dead."""
    cdef Node* node = node_at(&graph.memory, ref)
    node.references -= 1
    if node.references == 0:
        remove_from_index(graph, ref)
        node.visits = <int>graph.dead
        graph.dead = ref


cdef inline void clear_node(Graph* graph, Node* node) noexcept nogil:
    """Free the moves of a node and release its children; keep its statistics and its proof."""
    cdef Edge* edges
    cdef int i
    if node.edges != 0:
        edges = edges_of(&graph.memory, node)
        for i in range(node.n_visited):
            if edges[i].child != 0:
                release(graph, edges[i].child)
        free_edges(graph, node)
    free_block(&graph.memory, node.moves, moves_units(node.n_moves))
    node.moves = node.edges = 0
    node.n_moves = node.n_visited = node.edge_capacity = 0
    node.proven_prior = 0
    node.head_sorted = 0


cdef inline void free_node(Graph* graph, Ref ref) noexcept nogil:
    """Free a dead node and its moves."""
    clear_node(graph, node_at(&graph.memory, ref))
    free_block(&graph.memory, ref, NODE_UNITS)
    graph.n_nodes -= 1


cdef inline void free_dead_nodes(Graph* graph, int limit) noexcept nogil:
    """Free up to `limit` dead nodes."""
    cdef Ref ref
    while limit > 0 and graph.dead != 0:
        ref = graph.dead
        graph.dead = <Ref>node_at(&graph.memory, ref).visits
        free_node(graph, ref)
        limit -= 1

# cython: language_level=3
"""The records of the tree: nodes, their moves, edges.

The moves of a node are one block: priors first, then points, two bytes each (`pack_prior`). Visited moves have an
`Edge` and come first, so that edge i belongs to move i; the block of edges has spare capacity. Unvisited moves differ
only in their prior. A node stores its best moves by prior, and the others after all of these have been visited, so

    n_visited <= n_moves <= n_legal,  n_visited <= edge_capacity

Values of a node are for its side to move, those of an edge for the player who makes the move. `distance` of a proven
result is in plies until the game ends. `backup` says what the sums of a node consist of."""
from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from engine.search.kernel.node_memory cimport UNIT_BYTES, NodeMemory, Ref, block_at

cdef extern from "cpu.h" nogil:
    void prefetch "TENGEN_PREFETCH"(const void* place)

cdef enum:
    NODE_UNITS = 5
    FIRST_EDGES = 1         # edges of a node's first block
    NO_MOVE = 0xFFFF
    MOVE_BYTES = 4          # of a move: packed prior and point
    ROUNDS_DONE = 255
    DROPPED_BITS = 12       # of the fraction of a prior (`pack_prior`)
    SMALLEST_PRIOR = 96 << 23       # 2 ** -31 as a float

cdef enum:
    PROVEN_NONE = 0
    PROVEN_WIN = 1          # for the side to move of a node, for the mover of an edge
    PROVEN_LOSS = 2
    PROVEN_DRAW = 3

cdef struct Node:           # 80 bytes
    double value_sum        # W: utilities for the side to move; moves proven to lose are left out
    double draw_sum
    int32_t visits          # simulations through this node; next node of the dead list in a dead node
    int32_t weight          # evaluations in the sums
    Ref moves               # block of `n_moves` packed priors, then points (uint16 each); 0: not expanded
    Ref edges               # block of `n_visited` edges
    float raw_win           # the evaluator's output; negative: not evaluated
    float raw_draw
    float proven_prior      # prior of the moves that are proven
    float tail_prior        # prior of each legal move that is not stored
    uint16_t n_moves        # moves stored; the visited ones first
    uint16_t n_legal
    uint16_t n_visited
    uint16_t edge_capacity  # edges that the block can hold
    uint16_t distance       # plies until a proven game ends
    uint16_t proof_move     # of a result proven without children, else NO_MOVE
    uint8_t proven
    uint8_t solver_rounds   # calls of the solver here; ROUNDS_DONE: no more
    uint8_t has_draw        # a move is proven to draw: the value is at least 0
    uint8_t head_sorted     # the best unvisited move is at index n_visited
    uint64_t key            # hash of the position; 0: not in the index
    Ref next_in_bucket      # next node of the same bucket
    uint16_t references     # edges to this node, plus one for the root
    uint8_t shared          # has or had several parents: its edges have their own statistics
    uint8_t mark            # used by traversals of the whole graph

cdef struct Edge:           # 32 bytes
    double q                # for the mover
    int32_t visits
    Ref child
    float prior
    int32_t weight          # evaluations that the edge adds to its node
    float draw              # their mean probability of a draw
    uint16_t distance       # plies from the parent until a proven game ends
    uint8_t proven
    int8_t minimax          # value of the net at the end of the best line below, in 127ths, for the mover

cdef struct Path:           # from the root down
    int depth               # edges
    Ref nodes[486]          # parent of each edge, then the node at the end
    uint16_t edges[486]     # index within the parent


cdef inline Node* node_at(const NodeMemory* memory, Ref ref) noexcept nogil:
    return <Node*>block_at(memory, ref)


cdef inline void prefetch_node(const NodeMemory* memory, Ref ref) noexcept nogil:
    """Prefetch a node: two lines of the cache."""
    cdef const char* place = block_at(memory, ref)
    prefetch(place)
    prefetch(place + 64)


cdef inline uint16_t* priors_of(const NodeMemory* memory, const Node* node) noexcept nogil:
    """Return the packed priors of a node; they order like the priors."""
    return <uint16_t*>block_at(memory, node.moves)


cdef inline uint16_t* moves_of(const NodeMemory* memory, const Node* node) noexcept nogil:
    return <uint16_t*>block_at(memory, node.moves) + node.n_moves


cdef inline uint16_t pack_prior(float prior) noexcept nogil:
    """Return a prior in 16 bits: five of the exponent, eleven of the fraction, rounded.

    They are the middle bits of the float, so that no other arithmetic is needed; the relative error is 2 ** -12. A
    prior below 2 ** -31 is stored as 2 ** -31.
    """
    cdef uint32_t bits
    memcpy(&bits, &prior, sizeof(float))
    bits += 1 << (DROPPED_BITS - 1)
    return <uint16_t>((bits - SMALLEST_PRIOR) >> DROPPED_BITS) if bits > SMALLEST_PRIOR else 0


cdef inline float unpack_prior(uint16_t packed) noexcept nogil:
    """Return the prior that 16 bits stand for."""
    cdef uint32_t bits = (<uint32_t>packed << DROPPED_BITS) + SMALLEST_PRIOR
    cdef float prior
    memcpy(&prior, &bits, sizeof(float))
    return prior


cdef inline Edge* edges_of(const NodeMemory* memory, const Node* node) noexcept nogil:
    return <Edge*>block_at(memory, node.edges)


cdef inline int moves_units(int n) noexcept nogil:
    """Return the units of a block of moves; few different sizes, so that freed blocks can be reused."""
    cdef int units = (n * MOVE_BYTES + UNIT_BYTES - 1) // UNIT_BYTES
    return units if units <= 12 else (units + 15) & ~15


cdef inline int edges_units(int capacity) noexcept nogil:
    return capacity * 2


cdef inline double node_value(const Node* node) noexcept nogil:
    """Return the mean utility for the side to move, at least 0 after a proven draw."""
    cdef double q = node.value_sum / node.weight if node.weight > 0 else 0.0
    return q if q > 0 or not node.has_draw else 0.0


cdef inline int opposite(int proven) noexcept nogil:
    return PROVEN_LOSS if proven == PROVEN_WIN else PROVEN_WIN if proven == PROVEN_LOSS else proven


cdef inline double exact_q(int proven) noexcept nogil:
    return 1.0 if proven == PROVEN_WIN else -1.0 if proven == PROVEN_LOSS else 0.0


cdef inline int best_edge(const NodeMemory* memory, const Node* node) noexcept nogil:
    """Return the index of the move to play, -1 without one: shortest win, longest loss, else most visits."""
    cdef const Edge* e
    cdef int i, best = -1, draw = -1, wanted = node.proven
    cdef double rank, best_rank = -1e300
    if node.n_visited == 0:
        return -1
    e = edges_of(memory, node)
    for i in range(node.n_visited):
        if e[i].proven == PROVEN_DRAW:
            draw = i
        if e[i].proven != wanted:
            continue
        if wanted == PROVEN_WIN:
            rank = -<double>e[i].distance
        elif wanted == PROVEN_LOSS:
            rank = e[i].distance + 1e-9 * e[i].visits
        else:
            rank = e[i].visits + 0.25 * e[i].q
        if rank > best_rank:
            best_rank = rank
            best = i
    if draw >= 0 and wanted == PROVEN_NONE and (best < 0 or e[best].q < 0):
        return draw
    return best

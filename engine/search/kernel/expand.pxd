# cython: language_level=3
"""Which moves a node stores, and their priors: first the best, later all, or only those that may hold."""
from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memcpy, memset

from engine.search.kernel.backup cimport retract_move
from engine.search.kernel.graph cimport Graph, allocate
from engine.search.kernel.node cimport (
    PROVEN_LOSS, PROVEN_NONE, PROVEN_WIN, Edge, Node, Path, edges_of, exact_q, moves_of, moves_units, node_at,
    pack_prior, priors_of, unpack_prior,
)
from engine.search.kernel.node_memory cimport NodeMemory, Ref, block_at, free_block

cdef extern from "search/kernel/priors.h" nogil:
    bint tengen_softmax(
        const float* logits, const uint16_t* points, int n, double inverse_temperature, float* priors
    )
    double tengen_choose(const float* priors, int n, int stored, uint16_t* kept)

cdef struct MoveList:       # legal moves of a position, ascending
    int n
    uint16_t points[484]

cdef struct MoveChoice:     # the moves that a node is to store, ascending
    int n
    int n_legal
    float tail_prior        # prior of each of the others
    float priors[484]
    uint16_t points[484]


cdef inline bint softmax(
    const float* logits, const MoveList* moves, double inverse_temperature, float* priors
) noexcept nogil:
    """Compute the priors of the moves, in their order, from logits by point; False if a logit is not finite."""
    return tengen_softmax(logits, moves.points, moves.n, inverse_temperature, priors)


cdef inline void choose_moves(
    const MoveList* legal, const float* new_priors, int cap, MoveChoice* chosen
) noexcept nogil:
    """Choose the moves that a node stores, the best `cap` by prior."""
    cdef int n = legal.n, k
    cdef int stored = n if n <= cap else cap
    cdef uint16_t kept[484]
    chosen.n = stored
    chosen.n_legal = n
    chosen.tail_prior = 0
    if stored == n:
        memcpy(chosen.priors, new_priors, n * sizeof(float))
        memcpy(chosen.points, legal.points, n * sizeof(uint16_t))
    else:
        chosen.tail_prior = <float>(tengen_choose(new_priors, n, stored, kept) / (n - stored))
        for k in range(stored):
            chosen.priors[k] = new_priors[kept[k]]
            chosen.points[k] = legal.points[kept[k]]


cdef inline bint store_moves(Graph* graph, Node* node, const MoveChoice* chosen) noexcept nogil:
    """Store the chosen moves in a node; False without memory."""
    cdef Ref ref = allocate(graph, moves_units(chosen.n))
    cdef uint16_t* priors
    cdef int i
    if ref == 0:
        return False
    node.moves = ref
    node.n_moves = <uint16_t>chosen.n
    node.n_legal = <uint16_t>chosen.n_legal
    node.tail_prior = chosen.tail_prior
    priors = priors_of(&graph.memory, node)
    for i in range(chosen.n):
        priors[i] = pack_prior(chosen.priors[i])
    memcpy(moves_of(&graph.memory, node), chosen.points, chosen.n * sizeof(uint16_t))
    return True


cdef inline void store_other_moves(Graph* graph, Node* node, const MoveList* legal) noexcept nogil:
    """Store the legal moves that are not stored yet. Do nothing without memory."""
    cdef uint8_t known[484]
    cdef uint16_t* moves
    cdef uint16_t* priors
    cdef Ref fresh
    cdef int n = legal.n, i, k = node.n_moves
    fresh = allocate(graph, moves_units(n))
    if fresh == 0:
        return
    priors = <uint16_t*>block_at(&graph.memory, fresh)
    moves = priors + n
    memcpy(priors, priors_of(&graph.memory, node), k * sizeof(uint16_t))
    memcpy(moves, moves_of(&graph.memory, node), k * sizeof(uint16_t))
    memset(known, 0, sizeof(known))
    for i in range(k):
        known[moves[i]] = 1
    for i in range(n):
        if not known[legal.points[i]]:
            priors[k] = pack_prior(node.tail_prior)
            moves[k] = legal.points[i]
            k += 1
    free_block(&graph.memory, node.moves, moves_units(node.n_moves))
    node.moves = fresh
    node.n_moves = <uint16_t>n
    node.head_sorted = 0


cdef inline bint restrict_moves(
    Graph* graph, const Path* path, Node* node, const uint16_t* points, int n, int distance, bint minimax
) noexcept nogil:
    """Restrict a node to the moves in `points`: drop the other unvisited ones, prove that the visited ones lose.

    The remaining moves share their prior, as that of moves proven to lose. Returns False if every move loses. Without
    memory the unvisited ones stay.

    Args:
        path: from the root to the node.
        points: the `n` moves that may hold.
        distance: plies until the game ends after any other move.
        minimax: see `backup.update_from_child`.
    """
    cdef NodeMemory* memory = &graph.memory
    cdef uint8_t wanted[484]
    cdef Edge* edges = edges_of(memory, node) if node.n_visited else NULL
    cdef uint16_t* old_priors = priors_of(memory, node)
    cdef uint16_t* old_moves = moves_of(memory, node)
    cdef uint16_t* priors
    cdef uint16_t* moves
    cdef Ref fresh
    cdef int i, k = node.n_visited
    cdef double dropped = 0
    cdef bint left = False
    memset(wanted, 0, sizeof(wanted))
    for i in range(n):
        wanted[points[i]] = 1
    for i in range(node.n_visited):
        if edges[i].proven == PROVEN_NONE and not wanted[old_moves[i]]:
            node.proven_prior += edges[i].prior
            if edges[i].child != 0:
                retract_move(memory, path, node, &edges[i], minimax)
                node_at(memory, edges[i].child).proven = PROVEN_WIN
                node_at(memory, edges[i].child).distance = <uint16_t>(distance - 1)
            edges[i].proven = PROVEN_LOSS
            edges[i].distance = <uint16_t>distance
            edges[i].q = exact_q(PROVEN_LOSS)
        elif edges[i].proven != PROVEN_LOSS:
            left = True
        k -= wanted[old_moves[i]]
        wanted[old_moves[i]] = 0
    k += n
    if k > node.n_visited:
        left = True
    if not left:
        return False
    fresh = allocate(graph, moves_units(k))
    if fresh == 0:
        return True
    priors = <uint16_t*>block_at(memory, fresh)
    moves = priors + k
    memcpy(priors, old_priors, node.n_visited * sizeof(uint16_t))
    memcpy(moves, old_moves, node.n_visited * sizeof(uint16_t))
    k = node.n_visited
    for i in range(node.n_visited, node.n_moves):
        if wanted[old_moves[i]]:
            wanted[old_moves[i]] = 0
            priors[k] = old_priors[i]
            moves[k] = old_moves[i]
            k += 1
        else:
            dropped += unpack_prior(old_priors[i])
    dropped += node.tail_prior * (node.n_legal - node.n_moves)
    for i in range(n):
        if wanted[points[i]]:
            priors[k] = pack_prior(node.tail_prior)
            moves[k] = points[i]
            k += 1
            dropped -= node.tail_prior
    free_block(memory, node.moves, moves_units(node.n_moves))
    node.moves = fresh
    node.n_moves = node.n_legal = <uint16_t>k
    node.proven_prior += <float>dropped
    node.head_sorted = 0
    return True

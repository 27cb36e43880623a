# cython: language_level=3
"""Which moves a node stores, and with which priors: at first the best, later all, or only those that still count."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from engine.search.kernel.maths cimport exp_negative, kth_largest
from engine.search.kernel.accounts cimport take_back
from engine.search.kernel.arena cimport Arena, Ref, at, give
from engine.search.kernel.graph cimport Graph, take
from engine.search.kernel.node cimport (
    PROVEN_LOSS, PROVEN_NONE, PROVEN_WIN, Edge, Node, Path, edges_of, exact_q, moves_of, moves_units, node_at,
    priors_of,
)

cdef struct Moves:              # of one position, ascending
    int n
    uint16_t points[484]


cdef inline bint softmax(
    const float* logits, const Moves* moves, double inverse_temperature, float* priors
) noexcept nogil:
    """Priors of the moves, in their order, from logits by point; False if a logit is not finite."""
    cdef double weights[484]
    cdef double total = 0, inverse, top, logit
    cdef int n = moves.n, i
    cdef bint wrong = False
    top = logits[moves.points[0]]
    for i in range(n):
        logit = logits[moves.points[i]]
        weights[i] = logit
        top = logit if logit > top else top
    for i in range(n):
        weights[i] = (weights[i] - top) * inverse_temperature
        wrong |= not weights[i] <= 0    # not a number
    if wrong:
        return False
    exp_negative(weights, n)
    for i in range(n):
        total += weights[i]
    inverse = 1.0 / total
    for i in range(n):
        priors[i] = <float>(weights[i] * inverse)
    return True


cdef inline uint64_t rank_of(uint32_t bits, uint16_t point) noexcept nogil:
    """Order of a move by prior (its bits, which order like it); the lower point is the greater of two equals."""
    return (<uint64_t>bits << 16) | <uint64_t>(0xFFFF - point)


cdef inline bint store_moves(
    Graph* graph, Node* node, const Moves* legal, const float* new_priors, int cap
) noexcept nogil:
    """Give a node its moves, the best `cap` by prior; False without memory."""
    cdef int n = legal.n, i, k = 0, first = 0
    cdef bint stays
    cdef uint32_t top = 0, bucket
    cdef uint64_t least
    cdef double tail = 0
    cdef float* priors
    cdef uint16_t* moves
    cdef uint32_t bits[484]
    cdef uint64_t ranks[484]
    cdef uint8_t buckets[484]
    cdef uint16_t counts[4][64]     # four that take turns: to count on in one place means to wait for it
    cdef uint16_t kept[484]
    cdef int stored = n if n <= cap else cap, wanted = stored
    cdef Ref ref = take(graph, moves_units(stored))
    graph.common_units = moves_units(stored)
    if ref == 0:
        return False
    priors = <float*>at(&graph.arena, ref)
    moves = <uint16_t*>(at(&graph.arena, ref) + stored * sizeof(float))
    if stored == n:
        memcpy(priors, new_priors, n * sizeof(float))
        memcpy(moves, legal.points, n * sizeof(uint16_t))
    else:
        # Positive floats order like their bits. Buckets of a quarter octave find roughly where the cut lies;
        # within its bucket the rank decides.
        memcpy(bits, new_priors, n * sizeof(float))
        memset(counts, 0, sizeof(counts))
        for i in range(n):
            top = bits[i] if bits[i] > top else top
        for i in range(n):
            bucket = (top - bits[i]) >> 21
            buckets[i] = <uint8_t>(bucket if bucket < 63 else 63)
        for i in range(n):
            counts[i & 3][buckets[i]] += 1
        for i in range(64):
            counts[0][i] += counts[1][i] + counts[2][i] + counts[3][i]
        while counts[0][first] < wanted:
            wanted -= counts[0][first]
            first += 1
        for i in range(n):
            ranks[k] = rank_of(bits[i], legal.points[i])
            k += buckets[i] == first
        least = kth_largest(ranks, k, wanted)
        k = 0
        for i in range(n):
            kept[k] = <uint16_t>i
            stays = rank_of(bits[i], legal.points[i]) >= least
            k += stays
            tail += 0.0 if stays else new_priors[i]
        for k in range(stored):
            priors[k] = new_priors[kept[k]]
            moves[k] = legal.points[kept[k]]
        node.tail_prior = <float>(tail / (n - stored))
    node.moves = ref
    node.n_moves = <uint16_t>stored
    node.n_legal = <uint16_t>n
    return True


cdef inline void widen(Graph* graph, Node* node, const Moves* legal) noexcept nogil:
    """Store the legal moves that are not stored yet. Nothing happens when there is no room."""
    cdef uint8_t known[484]
    cdef uint16_t* moves
    cdef float* priors
    cdef Ref fresh
    cdef int n = legal.n, i, k = node.n_moves
    fresh = take(graph, moves_units(n))
    if fresh == 0:
        return
    priors = <float*>at(&graph.arena, fresh)
    moves = <uint16_t*>(at(&graph.arena, fresh) + n * sizeof(float))
    memcpy(priors, priors_of(&graph.arena, node), k * sizeof(float))
    memcpy(moves, moves_of(&graph.arena, node), k * sizeof(uint16_t))
    memset(known, 0, sizeof(known))
    for i in range(k):
        known[moves[i]] = 1
    for i in range(n):
        if not known[legal.points[i]]:
            priors[k] = node.tail_prior
            moves[k] = legal.points[i]
            k += 1
    give(&graph.arena, node.moves, moves_units(node.n_moves))
    node.moves = fresh
    node.n_moves = <uint16_t>n
    node.head_ready = 0


cdef inline bint narrow(
    Graph* graph, const Path* path, Node* node, const uint16_t* points, int n, int distance, bint minimax
) noexcept nogil:
    """Forget the unvisited moves of a node that are not among `points`, and settle the visited ones: they lose.

    Their prior is shared by the others, as that of moves proven to lose. Returns False if nothing is left that might
    not lose; without memory the unvisited ones stay.

    Args:
        path: leads to the node.
        points: the `n` moves that may not lose.
        distance: plies until the game is over behind any other move.
        minimax: see `accounts.carry`.
    """
    cdef Arena* arena = &graph.arena
    cdef uint8_t wanted[484]
    cdef Edge* edges = edges_of(arena, node) if node.n_visited else NULL
    cdef float* old_priors = priors_of(arena, node)
    cdef uint16_t* old_moves = moves_of(arena, node)
    cdef float* priors
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
            node.settled_prior += edges[i].prior
            if edges[i].child != 0:
                take_back(arena, path, node, &edges[i], minimax)
                node_at(arena, edges[i].child).proven = PROVEN_WIN
                node_at(arena, edges[i].child).distance = <uint16_t>(distance - 1)
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
    fresh = take(graph, moves_units(k))
    if fresh == 0:
        return True
    priors = <float*>at(arena, fresh)
    moves = <uint16_t*>(at(arena, fresh) + k * sizeof(float))
    memcpy(priors, old_priors, node.n_visited * sizeof(float))
    memcpy(moves, old_moves, node.n_visited * sizeof(uint16_t))
    k = node.n_visited
    for i in range(node.n_visited, node.n_moves):
        if wanted[old_moves[i]]:
            wanted[old_moves[i]] = 0
            priors[k] = old_priors[i]
            moves[k] = old_moves[i]
            k += 1
        else:
            dropped += old_priors[i]
    dropped += node.tail_prior * (node.n_legal - node.n_moves)
    for i in range(n):
        if wanted[points[i]]:
            priors[k] = node.tail_prior
            moves[k] = points[i]
            k += 1
            dropped -= node.tail_prior
    give(arena, node.moves, moves_units(node.n_moves))
    node.moves = fresh
    node.n_moves = node.n_legal = <uint16_t>k
    node.settled_prior += <float>dropped
    node.head_ready = 0
    return True

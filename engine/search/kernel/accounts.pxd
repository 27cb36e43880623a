# cython: language_level=3
"""The accounts of the graph: what the sums of a node are made of, and how a simulation changes them.

For every node that has edges and is not proven itself,

    weight     =  own weight     +  sum of  e.weight
    value_sum  =  own values     +  sum of  e.weight * e.q
    draw_sum   =  own draws      +  sum of  e.weight * e.draw

over its edges that are not proven to lose; those have e.weight 0. `own` is what the evaluator said of the node itself:
weight 1 and its answer, or nothing if it was not asked (the block of a five). Moves of a node may be forgotten when
memory is short (`room`); what they had brought counts as its own from then on. Visits are never taken back, they
count effort: visits = own visits + sum of e.visits.

Most children have but one way to them. What was added to such a child is added to its node as it is, with the value
negated; e.weight is the child's weight then and e.q its mean, negated, so that the lines above hold but for rounding.
For other children the edge itself keeps the account (`kept_by_edge`): shared ones, which every edge has heard of at
another time, and those with a drawing move, whose mean counts as 0 at least.

The sums of a proven node stay as they were when it was proven, because the edges above still have them in their
nodes' sums; `withdraw` takes them out of there. `audit` tells whether all this holds at a node.

Of a shared child an edge takes the mean, as many times as its own visits are worth (`carry`). That idea and the
catching up of edges that lag behind are KataGo's
(https://github.com/lightvector/KataGo/blob/master/docs/GraphSearch.md).

A move is worth the mean of what was found behind it, and for a share (`minimax_share`) what the net says of the end
of the best line there, each side taking its best move: one refutation counts at once, not only when it has got most
of the visits. These are the implicit minimax backups of Lanctot and others (https://arxiv.org/abs/1406.0486); `e.best`
keeps them. Proofs travel as in MCTS-Solver (https://dke.maastrichtuniversity.nl/m.winands/documents/uctloa.pdf).
"""
from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t

from engine.search.kernel.arena cimport Arena
from engine.search.kernel.node cimport (
    PROVEN_DRAW, PROVEN_LOSS, PROVEN_NONE, PROVEN_WIN, Edge, Node, Path, edges_of, exact_q, node_at, node_value,
    opposite,
)

cdef struct Delta:          # what was added to the sums of a node, seen by its side to move
    int weight
    double value
    double draw

# What `audit` finds wrong.
cdef enum:
    SOUND = 0
    WRONG_WEIGHT = 1
    WRONG_VALUE = 2
    WRONG_DRAW = 3
    WRONG_VISITS = 4
    WRONG_EDGE = 5


cdef inline Delta nothing() noexcept nogil:
    cdef Delta delta
    delta.weight = 0
    delta.value = delta.draw = 0
    return delta


cdef inline void add(Node* node, const Delta* delta) noexcept nogil:
    node.weight += delta.weight
    node.value_sum += delta.value
    node.draw_sum += delta.draw


cdef inline bint kept_by_edge(const Node* child) noexcept nogil:
    """Whether an edge adds to its node's sums by its own weight and mean, and not what was added to its child."""
    return child.shared or child.has_draw


cdef inline int best_raw(const Arena* arena, const Node* node) noexcept nogil:
    """What the net says of the end of the best line that was walked from a node, for its side to move, in 127ths.

    The best move is the one whose best line is best; moves that are proven to lose do not count.
    """
    cdef const Edge* edges
    cdef int best = -128, i
    if node.n_visited > 0:
        edges = edges_of(arena, node)
        for i in range(node.n_visited):
            if edges[i].proven == PROVEN_DRAW and best < 0:
                best = 0
            elif edges[i].proven == PROVEN_NONE and edges[i].visits > 0 and edges[i].best > best:
                best = edges[i].best
    if best == -128:
        if node.raw_win < 0:
            return -127
        best = <int>(127.0 * (2.0 * node.raw_win + node.raw_draw - 1.0))
    return best


cdef inline void withdraw(Edge* edge, const Node* child, Delta* lost) noexcept nogil:
    """Tell what the sums of a move's node lose without the move, and let the move forget it."""
    if kept_by_edge(child):
        lost.weight = -edge.weight
        lost.value = -edge.weight * edge.q
        lost.draw = -edge.weight * <double>edge.draw
    else:
        lost.weight = -child.weight
        lost.value = child.value_sum
        lost.draw = -child.draw_sum
    edge.weight = 0


cdef inline void carry(
    const Arena* arena, Node* node, Edge* edge, const Node* child, Delta* delta, bint minimax
) noexcept nogil:
    """Carry a change of a child's sums over to its node.

    Args:
        delta: in, what was added to the child; out, what was added to the node.
        minimax: whether the edge keeps the net's word on the end of its best line.
    """
    cdef int64_t weight = child.weight
    cdef double old_value, old_draw, draw
    draw = child.draw_sum / child.weight if child.weight > 0 else 0.0
    if not kept_by_edge(child):
        edge.q = -node_value(child)
        delta.value = -delta.value
    else:
        if edge.visits < child.visits and weight > 0:
            weight = (weight * edge.visits + child.visits // 2) // child.visits
            if weight < 1:
                weight = 1
        old_value = edge.weight * edge.q
        old_draw = edge.weight * <double>edge.draw
        edge.q = -node_value(child)
        draw = <float>draw
        delta.weight = <int>weight - edge.weight
        delta.value = weight * edge.q - old_value
        delta.draw = weight * draw - old_draw
    if minimax:
        edge.best = <int8_t>-best_raw(arena, child)
    edge.weight = <int32_t>weight
    edge.draw = <float>draw
    add(node, delta)


cdef inline void take_back(const Arena* arena, const Path* path, Node* node, Edge* edge, bint minimax) noexcept nogil:
    """Take what a move that loses had brought out of the sums of its node, the end of the path, and of those above."""
    cdef Node* above
    cdef Delta delta
    cdef int i
    withdraw(edge, node_at(arena, edge.child), &delta)
    add(node, &delta)
    for i in range(path.depth - 1, -1, -1):
        above = node_at(arena, path.nodes[i])
        carry(arena, above, &edges_of(arena, above)[path.edges[i]], node, &delta, minimax)
        node = above


cdef inline bint conclude(const Arena* arena, Node* node, const Edge* edge) noexcept nogil:
    """Draw the conclusion of one more proven move; True if it proves the node."""
    cdef const Edge* edges
    cdef int i, distance = 0, proven = PROVEN_LOSS
    if edge.proven == PROVEN_WIN:
        node.proven = PROVEN_WIN
        node.distance = edge.distance
        return True
    if node.n_visited < node.n_legal:
        return False
    edges = edges_of(arena, node)
    for i in range(node.n_visited):
        if edges[i].proven == PROVEN_NONE:
            return False
        if edges[i].proven == PROVEN_DRAW:
            proven = PROVEN_DRAW
    for i in range(node.n_visited):
        if edges[i].proven == proven and edges[i].distance > distance:
            distance = edges[i].distance
    node.proven = <uint8_t>proven
    node.distance = <uint16_t>distance
    return True


cdef inline bint learn_proof(const Arena* arena, Node* node, Edge* edge, Node* child, Delta* delta) noexcept nogil:
    """Let a move know that its child is proven; True if that proves the node.

    A move that loses stops to count. One that draws is a lower bound for its node, and counts as a draw.

    Args:
        delta: out, what has to be added to the sums of the node. The child's are as they were before it was proven.
    """
    delta[0] = nothing()
    if child.proven == PROVEN_WIN:
        withdraw(edge, child, delta)
    elif child.proven == PROVEN_DRAW:
        node.has_draw = 1
        if kept_by_edge(child):
            withdraw(edge, child, delta)
            edge.weight = 1 - delta.weight
            delta.weight = 1
            delta.draw += edge.weight
        else:
            delta.weight = 1
            delta.value = child.value_sum
            delta.draw = child.weight + 1 - child.draw_sum
            child.weight += 1
            child.value_sum = 0
            child.draw_sum = child.weight
            edge.weight = child.weight
        edge.draw = 1
    edge.proven = <uint8_t>opposite(child.proven)
    edge.distance = child.distance + 1
    edge.q = exact_q(edge.proven)
    node.settled_prior += edge.prior
    return conclude(arena, node, edge)


cdef inline void backup(const Arena* arena, const Path* path, Node* leaf, Delta delta, bint minimax) noexcept nogil:
    """Carry one simulation from the end of the path to the root.

    Args:
        leaf: node at the end of the path, already up to date. If it is proven, the last move of the path does not
            know it yet.
        delta: what the simulation added to the leaf's sums; nothing if it is proven.
    """
    cdef Node* child = leaf
    cdef Node* node
    cdef Edge* edge
    cdef bint proof = leaf.proven != PROVEN_NONE
    cdef int i
    for i in range(path.depth - 1, -1, -1):
        node = node_at(arena, path.nodes[i])
        edge = &edges_of(arena, node)[path.edges[i]]
        node.visits += 1
        edge.visits += 1
        if not proof:
            carry(arena, node, edge, child, &delta, minimax)
        else:
            proof = learn_proof(arena, node, edge, child, &delta)
            if not proof:
                add(node, &delta)
        child = node


cdef inline int audit(const Arena* arena, const Node* node, bint lossy) noexcept nogil:
    """Hold a node's sums against what its edges say; SOUND or what is wrong.

    Args:
        lossy: whether nodes may have forgotten moves, so that more than the evaluator's answer is their own.
    """
    cdef const Edge* e
    cdef const Node* child
    cdef int64_t own = node.weight, visits = node.visits
    cdef double value = node.value_sum, draw = node.draw_sum, loose = 1e-6 + 1e-6 * node.weight
    cdef bint asked = node.raw_win >= 0
    cdef int i
    if not (fabs(value) <= node.weight + loose and -loose <= draw <= node.weight + loose):
        return WRONG_VALUE
    if node.edges == 0 or node.proven != PROVEN_NONE:
        return SOUND
    for i in range(node.n_visited):
        e = &edges_of(arena, node)[i]
        visits -= e.visits
        if e.proven == PROVEN_LOSS:
            if e.weight != 0:
                return WRONG_EDGE
            continue
        child = node_at(arena, e.child) if e.child != 0 else NULL
        own -= e.weight
        if child == NULL or kept_by_edge(child):
            value -= e.weight * e.q
            draw -= e.weight * <double>e.draw
        else:
            if e.weight != child.weight or e.visits != child.visits:
                return WRONG_EDGE
            value += child.value_sum
            draw -= child.draw_sum
    if own < asked or (own > asked and not lossy):
        return WRONG_WEIGHT
    if visits < asked:
        return WRONG_VISITS
    if asked and own == 1:      # the evaluator's chances need not sum to exactly 1
        value -= 2.0 * node.raw_win + node.raw_draw - 1.0
        draw -= node.raw_draw
        own = 0
        loose += 2e-3
    if fabs(value) > own + loose:
        return WRONG_VALUE
    if draw < -loose or draw > own + loose:
        return WRONG_DRAW
    return SOUND

# cython: language_level=3
"""Node statistics: what the sums of a node consist of, and how backup changes them.

For every node that has edges and is not proven itself,

    weight     =  own weight     +  sum of  e.weight
    value_sum  =  own values     +  sum of  e.weight * e.q
    draw_sum   =  own draws      +  sum of  e.weight * e.draw

over its edges that are not proven to lose; those have e.weight 0. `own` is the evaluation of the node itself: weight 1
and the evaluator's output, or nothing for a node without one (a forced move). A node whose moves were freed to save
memory (`prune`) keeps their sums as its own. Visits count effort and never decrease:
visits = own visits + sum of e.visits.

Most children have one parent. What is added to such a child is added to its parent as it is, with the value negated;
e.weight equals the weight of the child and e.q its negated mean, so that the lines above hold up to rounding. Other
children need statistics in the edge (`edge_keeps_stats`): shared ones, because each edge saw them at another time, and
those with a drawing move, whose mean is at least 0.

The sums of a proven node stay as they were when it was proven, because the edges above still include them;
`remove_child_stats` takes them out. `check_node` tells whether all this holds at a node.

An edge to a shared child takes the mean of the child, weighted by the visits of the edge (`update_from_child`). That,
and visiting an edge that is out of date, are from KataGo
(https://github.com/lightvector/KataGo/blob/master/docs/GraphSearch.md).

The value of a move is a weighted mean of its Q and of the net's value at the end of the best line below it
(`minimax_weight`), so that one refutation counts at once and not only when it has most of the visits. These are the
implicit minimax backups of Lanctot et al. (https://arxiv.org/abs/1406.0486); `e.minimax` holds them. Proofs are backed
up as in MCTS-Solver (https://dke.maastrichtuniversity.nl/m.winands/documents/uctloa.pdf)."""
from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t

from engine.search.kernel.node cimport (
    PROVEN_DRAW, PROVEN_LOSS, PROVEN_NONE, PROVEN_WIN, Edge, Node, Path, edges_of, exact_q, node_at, node_value,
    opposite,
)
from engine.search.kernel.node_memory cimport NodeMemory

cdef struct StatsDelta:     # what was added to the sums of a node, for its side to move
    int weight
    double value
    double draw

# Results of `check_node`.
cdef enum:
    CONSISTENT = 0
    WRONG_WEIGHT = 1
    WRONG_VALUE = 2
    WRONG_DRAW = 3
    WRONG_VISITS = 4
    WRONG_EDGE = 5


cdef inline StatsDelta no_delta() noexcept nogil:
    cdef StatsDelta delta
    delta.weight = 0
    delta.value = delta.draw = 0
    return delta


cdef inline void add_delta(Node* node, const StatsDelta* delta) noexcept nogil:
    node.weight += delta.weight
    node.value_sum += delta.value
    node.draw_sum += delta.draw


cdef inline bint edge_keeps_stats(const Node* child) noexcept nogil:
    """Return whether an edge has statistics of its own, instead of those of its child."""
    return child.shared or child.has_draw


cdef inline int minimax_value(const NodeMemory* memory, const Node* node) noexcept nogil:
    """Return the net's value at the end of the best line below a node, for its side to move, in 127ths.

    The best line follows the best such value at each node; moves that are proven to lose are left out.
    """
    cdef const Edge* edges
    cdef int best = -128, i
    if node.n_visited > 0:
        edges = edges_of(memory, node)
        for i in range(node.n_visited):
            if edges[i].proven == PROVEN_DRAW and best < 0:
                best = 0
            elif edges[i].proven == PROVEN_NONE and edges[i].visits > 0 and edges[i].minimax > best:
                best = edges[i].minimax
    if best == -128:
        if node.raw_win < 0:
            return -127
        best = <int>(127.0 * (2.0 * node.raw_win + node.raw_draw - 1.0))
    return best


cdef inline void remove_child_stats(Edge* edge, const Node* child, StatsDelta* lost) noexcept nogil:
    """Set `lost` to what the sums of the parent lose without an edge, and the weight of the edge to 0."""
    if edge_keeps_stats(child):
        lost.weight = -edge.weight
        lost.value = -edge.weight * edge.q
        lost.draw = -edge.weight * <double>edge.draw
    else:
        lost.weight = -child.weight
        lost.value = child.value_sum
        lost.draw = -child.draw_sum
    edge.weight = 0


cdef inline void update_from_child(
    const NodeMemory* memory, Node* node, Edge* edge, const Node* child, StatsDelta* delta, bint minimax
) noexcept nogil:
    """Update an edge and the sums of its node after a change of the child.

    Args:
        delta: in, what was added to the child; out, what was added to the node.
        minimax: whether the edge keeps its minimax value.
    """
    cdef int64_t weight = child.weight
    cdef double old_value, old_draw, draw
    draw = child.draw_sum / child.weight if child.weight > 0 else 0.0
    if not edge_keeps_stats(child):
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
        edge.minimax = <int8_t>-minimax_value(memory, child)
    edge.weight = <int32_t>weight
    edge.draw = <float>draw
    add_delta(node, delta)


cdef inline void retract_move(
    const NodeMemory* memory, const Path* path, Node* node, Edge* edge, bint minimax
) noexcept nogil:
    """Remove the statistics of a losing move from its node, at the end of the path, and from the nodes above."""
    cdef Node* above
    cdef StatsDelta delta
    cdef int i
    remove_child_stats(edge, node_at(memory, edge.child), &delta)
    add_delta(node, &delta)
    for i in range(path.depth - 1, -1, -1):
        above = node_at(memory, path.nodes[i])
        edge = &edges_of(memory, above)[path.edges[i]]
        if above.proven != PROVEN_NONE or edge.proven != PROVEN_NONE:   # by another thread; its sums stay
            break
        update_from_child(memory, above, edge, node, &delta, minimax)
        node = above


cdef inline bint infer_proof(const NodeMemory* memory, Node* node, const Edge* edge) noexcept nogil:
    """Infer the result of a node from one more proven move; True if that proves the node."""
    cdef const Edge* edges
    cdef int i, distance = 0, proven = PROVEN_LOSS
    if edge.proven == PROVEN_WIN:
        node.proven = PROVEN_WIN
        node.distance = edge.distance
        return True
    if node.n_visited < node.n_legal:
        return False
    edges = edges_of(memory, node)
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


cdef inline bint infer_draw(const NodeMemory* memory, Node* node) noexcept nogil:
    """Infer that a node is drawn whose moves are all proven by now, none as a win; True if that proves it."""
    cdef const Edge* edges = edges_of(memory, node) if node.n_visited else NULL
    cdef int i
    for i in range(node.n_visited):
        if edges[i].proven == PROVEN_DRAW:
            return infer_proof(memory, node, &edges[i])
    return False


cdef inline bint apply_child_proof(
    const NodeMemory* memory, Node* node, Edge* edge, Node* child, StatsDelta* delta
) noexcept nogil:
    """Copy the proof of a child to its edge; True if that proves the node.

    A losing move leaves the sums. A drawing move is a lower bound of the node and counts as a draw.

    Args:
        delta: out, what the caller must add to the sums of the node. Those of the child are as before its proof.
    """
    delta[0] = no_delta()
    if child.proven == PROVEN_WIN:
        remove_child_stats(edge, child, delta)
    elif child.proven == PROVEN_DRAW:
        node.has_draw = 1
        if edge_keeps_stats(child):
            remove_child_stats(edge, child, delta)
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
    node.proven_prior += edge.prior
    return infer_proof(memory, node, edge)


cdef inline void backup(
    const NodeMemory* memory, const Path* path, Node* leaf, StatsDelta delta, bint minimax
) noexcept nogil:
    """Back up one simulation from the end of the path to the root.

    Other threads may have proven edges and nodes of the path while the simulation was in flight. Their sums stay, and
    the nodes above learn of proofs that they do not know yet.

    Args:
        leaf: node at the end of the path, already updated.
        delta: what the simulation added to the sums of the leaf; zero if the leaf is proven.
    """
    cdef Node* child = leaf
    cdef Node* node
    cdef Edge* edge
    cdef int i
    for i in range(path.depth - 1, -1, -1):
        node = node_at(memory, path.nodes[i])
        edge = &edges_of(memory, node)[path.edges[i]]
        node.visits += 1
        edge.visits += 1
        if edge.proven != PROVEN_NONE or node.proven != PROVEN_NONE:
            delta = no_delta()
        elif child.proven == PROVEN_NONE:
            update_from_child(memory, node, edge, child, &delta, minimax)
        elif not apply_child_proof(memory, node, edge, child, &delta):
            add_delta(node, &delta)
        child = node


cdef inline int check_node(const NodeMemory* memory, const Node* node, bint lossy) noexcept nogil:
    """Compare the sums of a node with its edges; return CONSISTENT or what is wrong.

    Args:
        lossy: whether moves were freed, so that nodes may own more than the evaluator's output.
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
        return CONSISTENT
    for i in range(node.n_visited):
        e = &edges_of(memory, node)[i]
        visits -= e.visits
        if e.proven == PROVEN_LOSS:
            if e.weight != 0:
                return WRONG_EDGE
            continue
        child = node_at(memory, e.child) if e.child != 0 else NULL
        own -= e.weight
        if child == NULL or edge_keeps_stats(child):
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
    if asked and own == 1:      # the evaluator's probabilities need not sum to exactly 1
        value -= 2.0 * node.raw_win + node.raw_draw - 1.0
        draw -= node.raw_draw
        own = 0
        loose += 2e-3
    if fabs(value) > own + loose:
        return WRONG_VALUE
    if draw < -loose or draw > own + loose:
        return WRONG_DRAW
    return CONSISTENT

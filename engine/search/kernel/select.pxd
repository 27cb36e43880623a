# cython: language_level=3
"""Selection: PUCT over the moves of a node.

PUCT as in AlphaZero (https://arxiv.org/abs/1712.01815), with growing exploration and reduced first-play urgency as in
KataGo (https://github.com/lightvector/KataGo). Unvisited moves differ only in their prior, so all visited moves compete
with the one best unvisited. Proven moves take no more simulations; the other moves share their prior. Simulations in
flight count as visits (`flight`)."""
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint16_t

from engine.search.kernel.flight cimport Flights, edges_in_flight
from engine.search.kernel.graph cimport Graph, grow_edges
from engine.search.kernel.maths cimport log_positive
from engine.search.kernel.node cimport (
    PROVEN_NONE, Edge, Node, edges_of, moves_of, node_at, node_value, priors_of, unpack_prior,
)
from engine.search.kernel.node_memory cimport NodeMemory, Ref

cdef extern from *:
    """
    #define TENGEN_MINIMAX_UNIT (1.0 / 127)
    #define TENGEN_MIN_REMAIN 1e-6
    """
    const double MINIMAX_UNIT "TENGEN_MINIMAX_UNIT"           # unit of `Edge.minimax`
    const double MIN_REMAIN "TENGEN_MIN_REMAIN"         # smallest prior left over when all likely moves are refuted

cdef struct SearchSettings:  # filled by name from `SearchParams.kernel_settings`
    double c_puct, c_puct_log, c_puct_base
    double fpu_reduction, fpu_reduction_root
    double inverse_temperature
    double minimax_weight
    int edge_cap
    bint transpositions
    int64_t leaf_vcf_nodes  # 0: no solver at leaves
    bint leaf_defences      # whether a leaf keeps only the moves that may stop a VCF
    int64_t tree_vct_visits
    int64_t tree_vct_nodes  # 0: none inside the tree
    int64_t max_tree_vct_nodes


cdef inline void order_best_unvisited(const NodeMemory* memory, Node* node) noexcept nogil:
    """Move the best unvisited move (highest prior, then lowest point) to index n_visited."""
    cdef uint16_t* priors = priors_of(memory, node)
    cdef uint16_t* moves = moves_of(memory, node)
    cdef int first = node.n_visited, best = first, i
    cdef uint16_t prior, move
    for i in range(first + 1, node.n_moves):
        if priors[i] > priors[best] or (priors[i] == priors[best] and moves[i] < moves[best]):
            best = i
    prior = priors[best]
    move = moves[best]
    priors[best] = priors[first]
    moves[best] = moves[first]
    priors[first] = prior
    moves[first] = move
    node.head_sorted = 1


cdef inline int find_move(const NodeMemory* memory, Node* node, int move) noexcept nogil:
    """Return the index of a move, -1 if the node has no such move; an unvisited one is moved to n_visited."""
    cdef uint16_t* moves = moves_of(memory, node)
    cdef uint16_t* priors = priors_of(memory, node)
    cdef uint16_t prior
    cdef int i, first = node.n_visited
    for i in range(node.n_moves):
        if moves[i] == move:
            break
    else:
        return -1
    if i <= first:
        return i
    prior = priors[i]
    priors[i] = priors[first]
    priors[first] = prior
    moves[i] = moves[first]
    moves[first] = <uint16_t>move
    node.head_sorted = 0
    return first


cdef inline double first_play_urgency(
    const Node* node, const SearchSettings* s, bint at_root, double explored, double remain
) noexcept nogil:
    """Return the Q assumed for an unvisited edge; `explored` is the prior of the visited ones."""
    cdef double reduction = s.fpu_reduction_root if at_root else s.fpu_reduction
    cdef double fpu = node_value(node) - reduction * sqrt(explored / remain)
    return fpu if fpu > -1.0 else -1.0


cdef inline double edge_value(const Edge* edge, const SearchSettings* s) noexcept nogil:
    """Return the value of a visited move for PUCT: Q, mixed with the minimax value."""
    cdef double value = edge.q
    if s.minimax_weight > 0:
        value += s.minimax_weight * (edge.minimax * MINIMAX_UNIT - value)
    return value


cdef inline int best_visited(
    const NodeMemory* memory, const Node* node, const SearchSettings* s, double scale, double* best_score,
    double* explored, bint apart, const uint16_t* others, int n_others, int virtual_visits, bint at_root, double remain,
) noexcept nogil:
    """Return the visited edge with the highest PUCT score, -1 without one; set its score.

    Args:
        scale: factor of the exploration term.
        explored: out, prior of the visited edges that are not proven.
        apart: whether there are other threads; the other arguments matter only then. A constant where it is called, so
            that the compiler makes a loop for one thread, the hottest of the tree, without any of this.
        others: the `n_others` edges that simulations in flight take.
        virtual_visits: what each of them counts as.
        at_root: whether the node is the root.
        remain: prior of the moves that are not proven.
    """
    cdef const Edge* edges = edges_of(memory, node)
    cdef double score, best_so_far = -1e30, prior = 0
    cdef int i, k, visits, best = -1
    for i in range(node.n_visited):
        if edges[i].proven != PROVEN_NONE:
            continue
        prior += edges[i].prior
        visits = edges[i].visits
        if apart and visits == 0:       # its first simulation is in flight, or was cancelled
            score = first_play_urgency(node, s, at_root, prior, remain)
        else:
            score = edge_value(&edges[i], s)
        if apart:
            for k in range(n_others):
                if others[k] == i:
                    visits += virtual_visits
        score += scale * edges[i].prior / (1.0 + visits)
        if score > best_so_far:
            best_so_far = score
            best = i
    best_score[0] = best_so_far
    explored[0] = prior
    return best


cdef inline int select_edge(
    Graph* graph, const SearchSettings* s, Ref ref, const Flights* flights, int depth, int virtual_visits
) noexcept nogil:
    """Return the index of the move with the highest PUCT score; n_visited for a new one; -1 without memory.

    Args:
        flights: simulations in flight.
        depth: of the node, in edges below the root.
        virtual_visits: what each of them counts as.
    """
    cdef NodeMemory* memory = &graph.memory
    cdef Node* node = node_at(memory, ref)
    cdef double n, scale, remain, score, best_score, explored
    cdef uint16_t others[128]
    cdef int n_others = 0, best
    if node.n_legal == 1:
        return 0 if node.n_visited == 1 or grow_edges(graph, node) else -1
    if flights.n > 0:
        n_others = edges_in_flight(flights, ref, depth, others)
    n = node.visits + n_others * virtual_visits
    remain = 1.0 - node.proven_prior
    if remain < MIN_REMAIN:
        remain = MIN_REMAIN
    scale = (s.c_puct + s.c_puct_log * log_positive(1.0 + n / s.c_puct_base)) * sqrt(n) / remain
    if flights.n == 0:
        best = best_visited(memory, node, s, scale, &best_score, &explored, False, NULL, 0, 0, False, 0)
    else:
        best = best_visited(
            memory, node, s, scale, &best_score, &explored, True, others, n_others, virtual_visits,
            ref == graph.root, remain,
        )
    if node.n_visited < node.n_moves:
        if not node.head_sorted:
            order_best_unvisited(memory, node)
        score = first_play_urgency(node, s, ref == graph.root, explored, remain)
        score += scale * unpack_prior(priors_of(memory, node)[node.n_visited])
        if score > best_score and grow_edges(graph, node):
            best = node.n_visited
    return best

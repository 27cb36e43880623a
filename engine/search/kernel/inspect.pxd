# cython: language_level=3
"""A digest of the whole graph, for tests and benchmarks."""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from engine.evaluator._backend cimport mix64
from engine.search.kernel.node cimport Edge, Node, edges_of, moves_of, node_at
from engine.search.kernel.node_memory cimport NodeMemory, Ref


cdef inline uint64_t graph_digest(const NodeMemory* memory, Ref ref, uint64_t h) noexcept nogil:
    """Mix a node and, on the first visit, its subtree into `h`; sets marks."""
    cdef Node* node = node_at(memory, ref)
    cdef Edge* edges
    cdef uint64_t bits
    cdef int i
    if node.mark:
        return mix64(h ^ node.key)
    node.mark = 1
    memcpy(&bits, &node.value_sum, sizeof(double))
    h = mix64(h ^ bits ^ (<uint64_t>node.visits << 32) ^ <uint64_t>node.weight)
    h = mix64(h + node.proven + (<uint64_t>node.distance << 8) + (<uint64_t>node.n_visited << 32))
    if node.edges != 0:
        edges = edges_of(memory, node)
        for i in range(node.n_visited):
            h = mix64(h ^ moves_of(memory, node)[i])
            if edges[i].child != 0:
                h = graph_digest(memory, edges[i].child, h)
    return h


cdef inline void clear_marks(const NodeMemory* memory, Ref ref) noexcept nogil:
    """Clear the marks."""
    cdef Node* node = node_at(memory, ref)
    cdef int i
    node.mark = 0
    for i in range(node.n_visited):
        ref = edges_of(memory, node)[i].child
        if ref != 0 and node_at(memory, ref).mark:
            clear_marks(memory, ref)

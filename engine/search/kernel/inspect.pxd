# cython: language_level=3
"""The graph as a whole, for tests and benches: a digest of everything that was found."""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from engine.evaluator._judge cimport mix64
from engine.search.kernel.arena cimport Arena, Ref
from engine.search.kernel.node cimport Edge, Node, edges_of, moves_of, node_at


cdef inline uint64_t digest(const Arena* arena, Ref ref, uint64_t h) noexcept nogil:
    """Mix a node and, the first time, what lies below it into `h`; leaves marks behind."""
    cdef Node* node = node_at(arena, ref)
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
        edges = edges_of(arena, node)
        for i in range(node.n_visited):
            h = mix64(h ^ moves_of(arena, node)[i])
            if edges[i].child != 0:
                h = digest(arena, edges[i].child, h)
    return h


cdef inline void unmark(const Arena* arena, Ref ref) noexcept nogil:
    """Take the marks away again."""
    cdef Node* node = node_at(arena, ref)
    cdef int i
    node.mark = 0
    for i in range(node.n_visited):
        ref = edges_of(arena, node)[i].child
        if ref != 0 and node_at(arena, ref).mark:
            unmark(arena, ref)

# cython: language_level=3
"""Simulations in flight: what the threads of a search know of each other.

A simulation is in flight while its thread works outside of the lock, on its own board: it encodes and evaluates the
leaf, or runs the solver. Its path stays in the tree meanwhile. Others use it in two ways.

Selection counts each simulation in flight as one more visit of the edges on its path, so that threads spread. These
virtual visits are in no node: they are counted from the paths (`edges_in_flight`), and end with the simulation. Values
stay as they are, as in lc0 (https://lczero.org) and in WU-UCT (https://arxiv.org/abs/1810.11755).

Whoever frees moves of a node cancels the simulations in flight through it (`cancel_through`). Their threads notice
that once they have the lock again, and start anew. Thus nobody waits for a simulation in flight.

A search with one thread has no list of flights (`n` is 0)."""
from libc.stdint cimport uint16_t, uint64_t

from engine.search.kernel.node cimport Path
from engine.search.kernel.node_memory cimport Ref

cdef enum:
    MAX_THREADS = 128       # of one search (derived: far above what one lock can serve)

cdef struct Flight:         # the simulation of one thread; others read it under the lock, if it is active
    bint active             # in flight
    bint cancelled          # its path is no longer in the tree
    uint64_t leaf_key       # hash of the new position that it evaluates; 0: none
    Path path

cdef struct Flights:
    int n
    Flight* of[128]


cdef inline int edges_in_flight(const Flights* flights, Ref ref, int depth, uint16_t* edges) noexcept nogil:
    """Write the edges that simulations in flight take at a node; return their number. A node has one depth."""
    cdef const Flight* other
    cdef int i, n = 0
    for i in range(flights.n):
        other = flights.of[i]
        if other.active and depth < other.path.depth and other.path.nodes[depth] == ref:
            edges[n] = other.path.edges[depth]
            n += 1
    return n


cdef inline bint leaf_in_flight(const Flights* flights, const Path* path, uint64_t key) noexcept nogil:
    """Return whether another simulation in flight evaluates the same leaf.

    Args:
        path: to the leaf; its last node is 0 if the leaf has no node yet.
        key: hash of a leaf without a node, else 0.
    """
    cdef const Flight* other
    cdef int i, last = path.depth - 1
    for i in range(flights.n):
        other = flights.of[i]
        if not other.active or other.path.depth != path.depth:
            continue
        if path.nodes[path.depth] != 0:
            if other.path.nodes[path.depth] == path.nodes[path.depth]:
                return True
        elif key != 0 and other.leaf_key == key:
            return True
        elif last >= 0 and other.path.nodes[last] == path.nodes[last] and other.path.edges[last] == path.edges[last]:
            return True
    return False


cdef inline int count_in_flight(const Flights* flights) noexcept nogil:
    """Return the number of simulations in flight."""
    cdef int i, n = 0
    for i in range(flights.n):
        n += flights.of[i].active
    return n


cdef inline void cancel_through(Flights* flights, Ref ref, int depth) noexcept nogil:
    """Cancel the simulations in flight through a node, `depth` edges below the root."""
    cdef Flight* other
    cdef int i
    for i in range(flights.n):
        other = flights.of[i]
        if other.active and depth <= other.path.depth and other.path.nodes[depth] == ref:
            other.cancelled = True


cdef inline void cancel_all(Flights* flights) noexcept nogil:
    """Cancel all simulations in flight."""
    cdef int i
    for i in range(flights.n):
        if flights.of[i].active:
            flights.of[i].cancelled = True

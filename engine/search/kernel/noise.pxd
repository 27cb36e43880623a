# cython: language_level=3
"""Dirichlet noise in the priors of the root. The original priors are kept, so that it can be removed."""
from libc.stdint cimport uint16_t

from engine.search.kernel.node cimport (
    PROVEN_NONE, Edge, Node, edges_of, moves_of, node_at, pack_prior, priors_of, unpack_prior,
)
from engine.search.kernel.node_memory cimport NodeMemory, Ref

cdef struct Noise:
    double epsilon          # weight of the noise; 0: none
    bint applied            # whether the priors of the root include it
    double samples[484]     # by point, not normalised
    float original[484]     # priors without noise, by point


cdef inline void refresh_edge_priors(const NodeMemory* memory, Node* root) noexcept nogil:
    """Copy the priors of the moves of the root to its edges."""
    cdef Edge* edges
    cdef int i
    root.proven_prior = 0
    root.head_sorted = 0
    if root.n_visited == 0:
        return
    edges = edges_of(memory, root)
    for i in range(root.n_visited):
        edges[i].prior = unpack_prior(priors_of(memory, root)[i])
        if edges[i].proven != PROVEN_NONE:
            root.proven_prior += edges[i].prior


cdef inline void mix_noise(const NodeMemory* memory, Node* root, Noise* noise) noexcept nogil:
    """Mix the noise into the priors of the expanded root; it must not be there yet."""
    cdef uint16_t* priors = priors_of(memory, root)
    cdef uint16_t* moves = moves_of(memory, root)
    cdef double total = 0
    cdef int i
    for i in range(root.n_moves):
        noise.original[moves[i]] = unpack_prior(priors[i])
        total += noise.samples[moves[i]]
    for i in range(root.n_moves):
        priors[i] = pack_prior(<float>(
            (1 - noise.epsilon) * unpack_prior(priors[i]) + noise.epsilon * noise.samples[moves[i]] / total
        ))
    refresh_edge_priors(memory, root)
    noise.applied = True


cdef inline void remove_noise(const NodeMemory* memory, Ref root, Noise* noise) noexcept nogil:
    """Restore the priors of the root, if they include noise."""
    cdef Node* node
    cdef int i
    if not noise.applied:
        return
    noise.applied = False
    node = node_at(memory, root)
    if node.moves == 0:
        return
    for i in range(node.n_moves):
        priors_of(memory, node)[i] = pack_prior(noise.original[moves_of(memory, node)[i]])
    refresh_edge_priors(memory, node)

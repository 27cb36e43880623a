# cython: language_level=3
"""Dirichlet noise in the priors of the root. The priors without it are kept beside, so that it can go again."""
from libc.stdint cimport uint16_t

from engine.search.kernel.arena cimport Arena, Ref
from engine.search.kernel.node cimport PROVEN_NONE, Edge, Node, edges_of, moves_of, node_at, priors_of

cdef struct Noise:
    double epsilon          # share of the noise; 0: none
    bint mixed              # the root's priors carry it
    double drawn[484]       # by point, not normalised
    float clean[484]        # priors without noise, by point


cdef inline void settle_priors(const Arena* arena, Node* root) noexcept nogil:
    """Give the edges of the root the priors of its moves."""
    cdef Edge* edges
    cdef int i
    root.settled_prior = 0
    root.head_ready = 0
    if root.n_visited == 0:
        return
    edges = edges_of(arena, root)
    for i in range(root.n_visited):
        edges[i].prior = priors_of(arena, root)[i]
        if edges[i].proven != PROVEN_NONE:
            root.settled_prior += edges[i].prior


cdef inline void mix(const Arena* arena, Node* root, Noise* noise) noexcept nogil:
    """Mix the noise into the priors of the expanded root, which have none."""
    cdef float* priors = priors_of(arena, root)
    cdef uint16_t* moves = moves_of(arena, root)
    cdef double total = 0
    cdef int i
    for i in range(root.n_moves):
        noise.clean[moves[i]] = priors[i]
        total += noise.drawn[moves[i]]
    for i in range(root.n_moves):
        priors[i] = <float>((1 - noise.epsilon) * priors[i] + noise.epsilon * noise.drawn[moves[i]] / total)
    settle_priors(arena, root)
    noise.mixed = True


cdef inline void unmix(const Arena* arena, Ref root, Noise* noise) noexcept nogil:
    """Take the noise out of the priors of the root, if there is any in them."""
    cdef Node* node
    cdef int i
    if not noise.mixed:
        return
    noise.mixed = False
    node = node_at(arena, root)
    if node.moves == 0:
        return
    for i in range(node.n_moves):
        priors_of(arena, node)[i] = noise.clean[moves_of(arena, node)[i]]
    settle_priors(arena, node)

# cython: language_level=3
"""The search tree; its Python face stands in `_tree.pyi`."""
from libc.stdint cimport uint64_t

from engine.search._arena cimport Ref
from engine.search._growth cimport Growth

cdef class Tree(Growth):
    cdef object rng                 # of the root noise
    cdef Ref kept                   # the new root that `descend` found

    cdef int need_root(self) except -1
    cdef int need_edges(self) except -1
    cdef int prove_edge(self, int point, int proven, int distance) except -1
    cdef int check_planes(self, float[:, :, :, ::1] planes, uint64_t[::1] keys, int rows) except -1
    cdef void descend(self, Ref ref, int colour, set own, set other)
    cdef uint64_t digest(self, Ref ref, uint64_t h) noexcept nogil
    cdef void unmark(self, Ref ref) noexcept nogil

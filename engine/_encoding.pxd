# cython: language_level=3
"""Planes for the net, as the other kernel modules call them."""
from engine.rules._board cimport BoardState

cdef enum:
    N_PLANES = 20

# Write the planes of a position, seen by the side to move, as float32 [N_PLANES, height, width].
cdef void encode_planes(BoardState* b, float* out) noexcept nogil

# cython: language_level=3
"""Planes for the net, as the other kernel modules call them."""
from engine.rules._board cimport BoardState
from engine.threats.kernel.state cimport Threat

cdef enum:
    THREAT_NODES = 60       # budget of `Solver.threat` for the planes of a position (tuned: `engine.encoding`)

# Write the planes of a position, from the view of the side to move, as float32 [N_PLANES, height, width].
cdef void encode_planes(BoardState* b, const Threat* threat, float* out) noexcept nogil

# cython: language_level=3
"""The seam between the search kernel and what judges positions for it: a function and its data.

The kernel knows nothing else of an evaluator. `self` belongs to the object that made the judge, which must outlive it;
one thread at a time may ask it.
"""
from libc.stdint cimport uint16_t, uint64_t

cdef struct Question:           # about one position, seen by its side to move
    uint64_t key                # its hash
    int width, height
    const float* planes         # float32 [23, height, width]; NULL where the judge wants none
    const uint16_t* points      # of the moves whose logits are wanted
    int n_points

cdef struct Judge:
    # Write logits by point, those of the question's points at least, and chances of win, draw and loss [3]. False: the
    # answer comes later, from somebody else.
    bint (*answer)(void* self, const Question* question, float* logits, float* wdl) noexcept nogil
    void* self
    float* planes               # room for the question's planes; NULL: the judge wants none


cdef class KernelJudge:
    cdef Judge judge


cdef inline uint64_t mix64(uint64_t z) noexcept nogil:
    """Finish a SplitMix64 step (https://prng.di.unimi.it/splitmix64.c)."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL
    return z ^ (z >> 31)

# cython: language_level=3
"""How the search kernel calls an evaluator: a function pointer and its context.

The kernel knows nothing else about evaluators. `context` belongs to the backend object, which must outlive the
callback. One thread at a time may call it."""
from libc.stdint cimport int64_t, uint16_t, uint64_t

cdef struct EvalRequest:        # one position, seen by its side to move
    uint64_t key                # hash of the position
    int width, height
    const float* planes         # float32 [23, height, width]; NULL if the callback needs none
    const uint16_t* points      # moves whose logits are needed
    int n_points

cdef struct EvalCallback:
    # Write logits by point, at least for the points of the request, and probabilities of win, draw and loss [3].
    # False: the evaluation is deferred, the caller supplies it later.
    bint (*evaluate)(void* context, const EvalRequest* request, float* logits, float* wdl) noexcept nogil
    void* context
    float* planes               # buffer for the planes of the request; NULL: none needed


cdef class KernelBackend:
    cdef EvalCallback callback
    # A backend with the same results for another thread; None: there is none. ``points`` are of the board.
    cpdef KernelBackend for_thread(self)
    cpdef int64_t thread_bytes(self, int points)


cdef inline uint64_t mix64(uint64_t z) noexcept nogil:
    """Finish a SplitMix64 step (https://prng.di.unimi.it/splitmix64.c)."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL
    return z ^ (z >> 31)

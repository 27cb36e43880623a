# cython: language_level=3
"""The line net, as other kernel modules call it."""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t

cdef extern from "lines/layout.h" nogil:
    enum:
        LINES_PLANES
        LINES_POINTS

    # The fields are explained in the header; those that only the C code uses are left out.
    ctypedef struct lines_owner:
        pass

    ctypedef struct lines_loops:
        pass

    ctypedef struct lines_weights:
        float scale
        int narrow
        int16_t* codebook
        float* local_ "local"
        float* global_ "global"
        float* bias
        float* dw
        float* dw_bias
        float* pw
        float* pw_bias
        float* pool
        float* pool_bias
        float* pool_usual
        float* head
        float* head_bias
        float* policy_out
        float* hidden
        float* hidden_bias
        float* out
        float* out_bias

    ctypedef struct lines_shorts:
        int16_t* pw
        float* pw_step
        int16_t* head
        float* head_step

    ctypedef struct lines_bytes:
        int8_t* pw
        float* pw_step
        float* pw_bias
        float* dw
        float* dw_bias
        float* per_unit
        int8_t* head
        float* head_step
        float* head_bias
        float* head_per_unit

    ctypedef struct lines_scratch:
        float* cell
        float* cell_value
        float* shift
        float* blank
        float* y
        int16_t* shorts
        uint8_t* bytes
        float* heads
        float* pool
        float* vector
        float* base
        uint16_t* digits
        uint16_t* bits
        int32_t* entries

    ctypedef struct tengen_lines:
        int channels, blocks, policy, value, hidden, pooled, margin, closed, bits
        const lines_loops* loops
        float* x
        lines_weights weights
        lines_shorts shorts
        lines_bytes bytes
        lines_scratch scratch
        lines_owner memory

cdef class LineNet:
    cdef tengen_lines net       # owns its memory; `net.x` is NULL until the net is built
    cdef LineNet weights_of     # the net whose weights these are; None: its own
    cdef readonly str path      # what `net.loops` is: "plain", "avx2", "avxvnni" or "avx512"
    # Evaluate one position: planes float32 [23, height, width], sides 5 to 22; logits go to `policy` [height * width]
    # and win, draw, loss to `wdl` [3]. No alignment is asked of the caller. Scratch memory belongs to the net: one
    # thread at a time.
    cdef void compute(self, const float* planes, int width, int height, float* policy, float* wdl) noexcept nogil
    # How a net is built: nothing for others.
    cdef choose(self, path, exact, in_bytes)
    cdef keep_weights(self, arrays)
    cdef keep_shorts(self, arrays)
    cdef keep_bytes(self, arrays)
    cdef allocate_scratch(self)
    # A net with the same weights and scratch memory of its own, for another thread.
    cdef LineNet for_thread(self)
    # Bytes of that scratch memory, with an empty board of this size for each colour if the net needs such.
    cdef int64_t scratch_bytes(self, int points)
    # Memory of zeros, owned by the net; copies in it of arrays, in C order.
    cdef void* allocate(self, size_t numbers, size_t bytes_each) except NULL
    cdef float* floats(self, array) except NULL
    cdef int16_t* shorts(self, array) except NULL
    cdef int8_t* bytes(self, array) except NULL

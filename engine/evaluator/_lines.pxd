# cython: language_level=3
"""The line net, as other kernel modules call it."""
from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t

cdef extern from "lines.h" nogil:
    enum:
        LINES_SIDE
        LINES_POINTS
        LINES_SLACK
        LINES_REACH
        LINES_STRIDE
        LINES_IDS
        LINES_ROWS
        LINES_LOCAL
        LINES_PLANES
        LINES_HALF
        LINES_LOAD
        LINES_LEVEL_LOAD

    # The fields are explained in the header.
    ctypedef struct tengen_lines:
        int channels, blocks, policy, value, hidden, pooled, vectors, narrow, margin
        float scale
        int16_t* codebook
        float* local_ "local"
        float* global_ "global"
        float* bias
        float* dw
        float* dw_bias
        float* pw
        float* pw_bias
        float* pool_weight
        float* pool_bias
        float* pool_usual
        float* head
        float* head_bias
        int16_t* pw_short
        float* pw_step
        int16_t* head_short
        float* head_step
        int8_t* pw_byte
        float* pw_byte_step
        float* pw_byte_bias
        float* dw_byte
        float* dw_byte_bias
        float* per_unit
        int8_t* head_byte
        float* head_byte_step
        float* head_byte_bias
        float* head_per_unit
        float* policy_out
        float* hidden_w
        float* hidden_b
        float* out_w
        float* out_b
        float* x
        float* cell
        float* cell_value
        float* shift
        float* blank
        float* y
        int16_t* packed
        uint8_t* levels
        float* heads
        float* pool
        float* vector
        float* base
        uint16_t* digits
        uint16_t* bits
        int32_t* rows

    void* tengen_lines_take(size_t bytes)
    void tengen_lines_release(void* p)
    void tengen_lines_forget(tengen_lines* net)
    void tengen_lines_judge(tengen_lines* net, const float* planes, int width, int height, float* policy, float* wdl)

cdef extern from "cpu.h" nogil:
    int tengen_have_vectors()
    int tengen_have_wide_vectors()

cdef class LineNet:
    cdef tengen_lines net       # memory owned
    # Judge one position: planes float32 [20, height, width], sides 5 to 22; logits go to `policy` [height * width]
    # and win, draw, loss to `wdl` [3]. No alignment is asked of the caller. Scratch memory belongs to the net: one
    # thread at a time.
    cdef void judge(self, const float* planes, int width, int height, float* policy, float* wdl) noexcept nogil

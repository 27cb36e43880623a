/* The loops that are written once for each path through the processor, as a table of functions.

A path is plain C, AVX2, AVX2 with VNNI, AVX-512 with VNNI, NEON, or NEON with dot product. A net takes one when it is built and keeps it: nothing
asks for the processor afterwards. Plain C rounds otherwise than the vectors do, which all give the same bits. */
#ifndef TENGEN_LINES_LOOPS_H
#define TENGEN_LINES_LOOPS_H

#include "layout.h"

/* Rows of cells lie side by side unless a stride says otherwise; `n`, `n_in`, `n_out` are numbers a cell. */
struct lines_loops {
    /* Read planes [23, height, width] into `bits` and `digits`. */
    void (*scan)(tengen_lines* net, const float* planes, int width, int height);
    /* Find the `entries` of all cells of the window. */
    void (*entries)(tengen_lines* net);
    /* First layer of some cells of one row; `cell` is the first one's number on the board, `x` its place. */
    void (*gather)(const tengen_lines* net, int cell, int cells, float* x);
    /* y = relu(depthwise(x) + bias) for the cells of one row; `stride` lies between two rows of x. */
    void (*depth)(const float* x, int stride, int cells, int channels, const float* w, const float* bias, float* y);
    /* out = relu(in w + bias), or relu(out + in w + bias), for each of `cells`; `relu` 0: without the relu. */
    void (*product)(const float* in, int cells, int n_in, const float* w, const float* bias, float* out, int n_out,
                    int residual, int relu);
    /* Add cells of n channels, `stride` apart, to sums and maxima: as they are, or moved by `shift` if that is not
    NULL, none below zero. */
    void (*pool)(const float* x, const float* shift, int cells, int stride, int n, float* sum, float* top);
    /* Move cells of C channels by `shift`, none below zero. */
    void (*move)(const float* from, const float* shift, int cells, int n, float* to);
    /* logits = hidden w for the cells of one row, `stride` apart. */
    void (*policy)(const float* hidden, int cells, int stride, int n, const float* w, float* logits);

    /* Products of whole numbers; all NULL in plain C. */

    /* Write n values, none negative, in steps of the returned size, so that the largest becomes LINES_LARGEST. */
    float (*shorts)(const float* from, int n, int16_t* to);
    /* As `product` with relu, in 16 bits; `size` is what a step of the input is worth, `step` one of the weights. */
    void (*product_shorts)(const int16_t* in, int cells, int n_in, const int16_t* w, const float* bias,
                           const float* step, float size, float* out, int n_out, int residual);
    /* Round cells of n channels, none negative, to 0 to LINES_BYTE. */
    void (*bytes)(const float* x, int cells, int n, const float* per_unit, uint8_t* to);
    /* As `depth`, rounded like that. */
    void (*depth_bytes)(const float* x, int stride, int cells, int channels, const float* w, const float* bias,
                        uint8_t* to);
    /* As `product` with relu, in 8 bits. */
    void (*product_bytes)(const uint8_t* in, int cells, int n_in, const int8_t* w, const float* bias,
                          const float* step, float* out, int n_out, int residual);
};

enum { LINES_AHEAD = 10 };      /* cells between the prefetch and the use of a codebook entry (tuned: on Zen 4) */

static inline void lines_prefetch(const tengen_lines* net, int cell, int channels)
{
    int c;
    for (c = 0; c < channels * 2; c += 64) {
        TENGEN_PREFETCH((const char*)lines_entry(net, 0, cell, channels) + c);
        TENGEN_PREFETCH((const char*)lines_entry(net, 1, cell, channels) + c);
        TENGEN_PREFETCH((const char*)lines_entry(net, 2, cell, channels) + c);
        TENGEN_PREFETCH((const char*)lines_entry(net, 3, cell, channels) + c);
    }
}

#include "plain.h"
#if TENGEN_AVX2
#include "avx2.h"
#endif
#if TENGEN_AVXVNNI
#include "avxvnni.h"
#endif
#if TENGEN_AVX512
#include "avx512.h"
#endif
#if TENGEN_NEON
#include "neon.h"
#endif

enum {
    LINES_PLAIN, LINES_AVX2, LINES_AVXVNNI, LINES_AVX512, LINES_NEON, LINES_NEON_DOT, LINES_PATHS
};

/* Return the loops of a path, or NULL: this processor, or this build, has none. */
static const lines_loops* lines_loops_of(int path)
{
    if (path == LINES_PLAIN)
        return &lines_plain;
#if TENGEN_AVX2
    if (path == LINES_AVX2 && tengen_have_vectors())
        return &lines_avx2;
#endif
#if TENGEN_AVXVNNI
    if (path == LINES_AVXVNNI && tengen_have_vnni())
        return &lines_avxvnni;
#endif
#if TENGEN_AVX512
    if (path == LINES_AVX512 && tengen_have_wide_vectors())
        return &lines_avx512;
#endif
#if TENGEN_NEON
    if (path == LINES_NEON)
        return &lines_neon;
#endif
#if TENGEN_NEON_DOT
    if (path == LINES_NEON_DOT && tengen_have_dot_product())
        return &lines_neon_dot;
#endif
    return NULL;
}

#endif

/* The passes of a line net's trunk while it learns, each over the cells of one position, in AVX2 or AVX-512.

Cells are in rows of C floats, C a multiple of FUSED_STEP, `hw` = height x width cells a position. What a pass needs
again soon it keeps in `room` (see `fused_room`), which stays in the cache. A pass that adds up something over the
cells writes the sum of one position: the caller adds those up in double precision.

A normalisation is two vectors here: y = scale z + shift. Its gradient is three: dz = slope dy + tilt z + level. */
#ifndef TENGEN_FUSED_H
#define TENGEN_FUSED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "cpu.h"

enum { FUSED_STEP = 16, FUSED_WIDEST = 512, FUSED_TILE = 48 };

/* Return how many floats `room` holds for boards of height x width: two padded positions, then two tiles. */
static size_t fused_room(int height, int width, int c)
{
    return (2 * (size_t)(height + 2) * (width + 2) + 2 * FUSED_TILE) * c;
}

/* total += part */
static void fused_add(const float* part, size_t n, double* total)
{
    for (size_t i = 0; i < n; i++)
        total[i] += part[i];
}

/* Clear the cells of a position that are not `near`. */
static void fused_clear(const uint8_t* near, int hw, int c, float* x)
{
    for (int i = 0; i < hw; i++)
        if (!near[i])
            memset(x + (size_t)i * c, 0, c * sizeof(float));
}

/* Digits of the cells within FUSED_REACH on a line, and the numbers of its sides: see `line_stem`. */
enum { FUSED_REACH = 5, FUSED_EDGE = 3 };

/* For each cell of a position and each of four lines the pair of sides, the smaller one first: pairs [hw, 4].

`side` [1024] is the side of five digits; planes [P, hw] begin with usable, own, the opponent's; `room` holds
(height + 10) x (width + 10) digits. */
static void fused_pairs(const float* planes, int height, int width, const int32_t* side, int sides, int32_t* pairs,
    uint8_t* room)
{
    static const int dx[4] = {1, 0, 1, 1}, dy[4] = {0, 1, 1, -1};
    const int row = width + 2 * FUSED_REACH, hw = height * width;
    memset(room, FUSED_EDGE, (size_t)row * (height + 2 * FUSED_REACH));
    for (int i = 0; i < hw; i++) {
        const float digit = planes[hw + i] + 2 * planes[2 * hw + i] + FUSED_EDGE * (1 - planes[i]);
        room[(i / width + FUSED_REACH) * row + i % width + FUSED_REACH] = (uint8_t)digit & 3;
    }
    for (int i = 0; i < hw; i++) {
        const uint8_t* cell = room + (i / width + FUSED_REACH) * row + i % width + FUSED_REACH;
        for (int j = 0; j < 4; j++) {
            const int step = dy[j] * row + dx[j];
            int left = 0, right = 0;
            for (int k = FUSED_REACH; k > 0; k--) {
                left = 4 * left + cell[-k * step];
                right = 4 * right + cell[k * step];
            }
            left = side[left];
            right = side[right];
            pairs[4 * i + j] = left < right ? left * sides + right : right * sides + left;
        }
    }
}

/* Clear the rim of a board of (height + 2) x (width + 2) cells. */
static void fused_rim(int height, int width, int c, float* to)
{
    const size_t row = (size_t)(width + 2) * c;
    memset(to, 0, row * sizeof(float));
    for (int y = 1; y <= height; y++) {
        memset(to + y * row, 0, c * sizeof(float));
        memset(to + (y + 1) * row - c, 0, c * sizeof(float));
    }
    memset(to + (height + 1) * row, 0, row * sizeof(float));
}

/* Copy cells into the middle of a board with a rim of zeros. */
static void fused_pad(const float* x, int height, int width, int c, float* to)
{
    const size_t row = (size_t)(width + 2) * c;
    fused_rim(height, width, c, to);
    for (int y = 0; y < height; y++)
        memcpy(to + (y + 1) * row + c, x + (size_t)y * width * c, (size_t)width * c * sizeof(float));
}

/* The passes, for one width of vectors; what each does is in `fused_passes.h`. */
typedef struct {
    void (*depthwise)(const float* x, int height, int width, int c, const float* w, float* out, float* mean,
        float* square, float* room);
    void (*pointwise)(const float* u, int hw, int c, const float* scale, const float* shift, const float* w,
        float* v, float* mean, float* square, float* room);
    void (*residual)(const float* x, const float* v, int hw, int c, const float* scale, const float* shift,
        float* out);
    void (*lines)(const float* table, const int32_t* rows, int hw, int c, float* out, float* mean, float* square);
    void (*stem)(const float* lines, const float* planes, int n_planes, int hw, int c, const float* scale,
        const float* shift, const float* w, float* out);
    void (*heads)(const float* x, int hw, int c, const float* w, const float* bias, const float* v, int np, int nv,
        float* hidden, float* logits, float* sum, float* top);
    void (*heads_back)(const float* dlogits, const float* every, const float* at_top, const float* top,
        const float* hidden, const float* x, const float* z, const float* mean, int hw, int c, const float* w,
        const float* v, int np, int nv, float* g, float* sum, float* along, float* dw, float* dbias, float* dv,
        float* room);
    void (*pointwise_back)(const float* g, const float* v, const float* slope, const float* tilt,
        const float* level, const float* u, const float* scale, const float* shift, const float* mean,
        const float* w, int hw, int c, float* dy, float* sum, float* along, float* dw, float* room);
    void (*depthwise_back)(const float* dy, const float* u, const float* slope, const float* tilt,
        const float* level, const float* x, const float* w, const float* z, const float* mean, int height,
        int width, int c, float* g, float* dw, float* sum, float* along, float* room);
    void (*pool)(const float* x, int hw, int c, float* sum, float* top);
    void (*pool_back)(const float* x, const float* top, const float* every, const float* at_top, int hw, int c,
        float* g);
    void (*stem_back)(const float* g, const float* lines, const float* slope, const float* tilt,
        const float* level, const int32_t* rows, const float* planes, int n_planes, int hw, int c, float* dtable,
        float* dw);
} fused_passes;

#if TENGEN_AVX2
/* The sum of eight numbers. */
TENGEN_INNER float fused_total(__m256 x)
{
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
}

/* ABOVE and SAME: the numbers `v` where x is above 0, or x and y are the same; else 0. */
#define NAMED(name) fused_##name##_avx2
#define PASS TENGEN_FAST static
#define INNER TENGEN_INNER
#define VECTOR __m256
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define SPREAD(p) _mm256_broadcast_ss(p)
#define NUMBER(x) _mm256_set1_ps(x)
#define ZERO _mm256_setzero_ps()
#define ADD(x, y) _mm256_add_ps(x, y)
#define SUB(x, y) _mm256_sub_ps(x, y)
#define MUL(x, y) _mm256_mul_ps(x, y)
#define DIV(x, y) _mm256_div_ps(x, y)
#define MAX(x, y) _mm256_max_ps(x, y)
#define FMA(x, y, z) _mm256_fmadd_ps(x, y, z)
#define ABOVE(x, v) _mm256_and_ps(v, _mm256_cmp_ps(x, ZERO, _CMP_GT_OQ))
#define SAME(x, y, v) _mm256_and_ps(v, _mm256_cmp_ps(x, y, _CMP_EQ_OQ))
#define WIDTH 8
#define PARTS 2         /* vectors of FUSED_STEP floats */
#define TILE_ROWS 6     /* that the registers hold at once in a product */
#define OUTER_ROWS 4
#include "fused_passes.h"

#if TENGEN_AVX512
#define NAMED(name) fused_##name##_avx512
#define PASS TENGEN_WIDE static
#define INNER TENGEN_WIDE_INNER
#define VECTOR __m512
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define SPREAD(p) _mm512_set1_ps(*(p))
#define NUMBER(x) _mm512_set1_ps(x)
#define ZERO _mm512_setzero_ps()
#define ADD(x, y) _mm512_add_ps(x, y)
#define SUB(x, y) _mm512_sub_ps(x, y)
#define MUL(x, y) _mm512_mul_ps(x, y)
#define DIV(x, y) _mm512_div_ps(x, y)
#define MAX(x, y) _mm512_max_ps(x, y)
#define FMA(x, y, z) _mm512_fmadd_ps(x, y, z)
#define ABOVE(x, v) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, ZERO, _CMP_GT_OQ), v)
#define SAME(x, y, v) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ), v)
#define WIDTH 16
#define PARTS 1
#define TILE_ROWS 12
#define OUTER_ROWS 8
#include "fused_passes.h"
#endif
#endif

/* The passes in AVX2, or those in AVX-512 if `wide`; NULL: this build or processor has none. */
static const fused_passes* fused_choose(int wide)
{
#if TENGEN_AVX512
    if (wide)
        return tengen_have_wide_vectors() ? &fused_passes_avx512 : NULL;
#endif
#if TENGEN_AVX2
    if (!wide && tengen_have_vectors())
        return &fused_passes_avx2;
#endif
    return NULL;
}

#endif

/* Inner loops of the line net (`engine.evaluator._lines`), written twice: for AVX2 and in plain C; those that take most
of the time stand in `lines_wide.h` once more, for AVX-512.

A board cell holds `channels` floats. The trunk `x` has a border one cell wide, so that the depthwise loop needs no
branches. Blocks work in place, row by row: the depthwise part of row r + 1 is taken before row r is overwritten.

With a margin only a window is computed: in each row the cells from the first to the last stone of the rows that are
no farther than the margin, and so many more on each side. What the cells beyond it hold is taken from an empty board
of that size under that rule, judged once (`tengen_far`) with what pooling adds in most positions, and moved with the
position: by the difference between what a cell without stones or edges around it (`cell`) holds here and there. They
make the border, take part in the pooling and get their logits so. Without a margin, with obstacles or few stones, or
where it would save little, the window is the whole board and the border zero.

With AVX2 the pointwise products may be taken in 8 bits, where the net's file has them so: inputs are rounded to
levels from 0 to 127, and weights are such that their sums fit 16 bits whatever comes (`training.export.quantise`). Without
levels they may be taken in 16 bits: a row of activations is rounded by its largest value, weights output by output,
so that sums fit 32 bits whatever comes.

All pointers to vectors are aligned to 32 bytes, `channels` and the widths of both heads are multiples of 8. */
#ifndef TENGEN_LINES_H
#define TENGEN_LINES_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"

#if defined(_WIN32)
#include <malloc.h>
#elif defined(__linux__)
#include <sys/mman.h>
#endif

enum {
    LINES_SIDE = 22,
    LINES_POINTS = LINES_SIDE * LINES_SIDE,
    LINES_SLACK = 16,                           /* whole vectors are written behind the last cell of a row */
    LINES_REACH = 5,                            /* cells seen on each side of a line */
    LINES_STRIDE = LINES_SIDE + 2 * LINES_REACH + LINES_SLACK,  /* of `digits` */
    LINES_IDS = 364,                            /* contents of one side: (3^6 - 1) / 2 */
    LINES_ROWS = LINES_IDS * (LINES_IDS + 1) / 2,
    LINES_LOCAL = 14,                           /* planes that differ by cell come first ... */
    LINES_PLANES = 20,                          /* ... the others hold one value each */
    LINES_HALF = 128,                           /* sums of the weights of 7 local planes */
    LINES_LARGEST = 24575,                      /* of a packed row ... */
    LINES_LOAD = 87000,                         /* ... and of the sum of an output's short weights: 31 bits in all */
    LINES_LEVELS = 127,                         /* largest level of an activation */
    LINES_LEVEL_LOAD = 32767 / LINES_LEVELS,    /* of the sum of either sign of the weights that share a 16-bit sum */
    LINES_AHEAD = 10,                           /* cells between the prefetch and the use of a codebook row */
    LINES_OPEN_SIDE = 121,                      /* number of a side with five empty cells */
    LINES_FARS = 64,                            /* empty boards that are kept */
    LINES_FEW = 5                               /* stones that a window needs (tuned: docs/nets.md) */
};

/* An empty board of one size under one rule for one colour. */
typedef struct {
    int width, height;          /* 0: free */
    float global[LINES_PLANES - LINES_LOCAL];
    float* memory;              /* of all below */
    float* x;                   /* [N + 1, points, C]: the trunk before each block and at the end */
    float* value;               /* [points, V] */
    float* policy;              /* [points] */
    float* cell;                /* [N + 1, C]: as `x`, of a cell that sees neither stones nor edges */
    float* cell_value;          /* [V] */
    float cell_policy;
} tengen_far;

typedef struct {
    int channels;               /* C */
    int blocks;                 /* N */
    int policy;                 /* P */
    int value;                  /* V */
    int hidden;                 /* D, rounded up to a multiple of 8 (the rest is zeros) */
    int pooled;                 /* block with global pooling, or -1 */
    int vectors;                /* 1: AVX2; 2: AVX-512 too, for nets in 8 bits */
    int narrow;                 /* 1: four codebook entries fit 16 bits */
    int margin;                 /* cells around the stones that are computed; 0: all of the board */
    float scale;                /* of the codebook */
    /* weights */
    int16_t* codebook;          /* [LINES_ROWS, C]: ids (l, r) with l >= r stand at l (l + 1) / 2 + r */
    float* local;               /* [2, LINES_HALF, C]: local planes 0..6 and 7..13, by the bits that are set */
    float* global;              /* [6, C]: planes 14..19 */
    float* bias;                /* [C] */
    float* dw;                  /* [N, 9, C] */
    float* dw_bias;             /* [N, C] */
    float* pw;                  /* [N, C, C], in, out */
    float* pw_bias;             /* [N, C] */
    float* pool_weight;         /* [3C, C] */
    float* pool_bias;           /* [C] */
    float* pool_usual;          /* [C]: what pooling adds in most positions, for empty boards; NULL: as it is there */
    float* head;                /* [C, P + V]: both heads side by side */
    float* head_bias;           /* [P + V] */
    /* the same products in 16 bits, [in / 2, out, 2], and what one step of each output is worth; NULL: floats only */
    int16_t* pw_short;          /* [N, C / 2, C, 2] */
    float* pw_step;             /* [N, C] */
    int16_t* head_short;        /* [C / 2, P + V, 2] */
    float* head_step;           /* [P + V] */
    /* the blocks in 8 bits, [in / 4, out, 4], the depthwise part scaled to levels; NULL: the file has none */
    int8_t* pw_byte;            /* [N, C / 4, C, 4] */
    float* pw_byte_step;        /* [N, C] */
    float* pw_byte_bias;        /* [N, C] */
    float* dw_byte;             /* [N, 9, C] */
    float* dw_byte_bias;        /* [N, C] */
    float* per_unit;            /* [N, C]: levels to one unit of a depthwise output */
    /* the first layer of both heads in 8 bits, [in / 4, out, 4]; all or none, together with the blocks */
    int8_t* head_byte;          /* [C / 4, P + V, 4] */
    float* head_byte_step;      /* [P + V] */
    float* head_byte_bias;      /* [P + V] */
    float* head_per_unit;       /* [C] */
    float* policy_out;          /* [P] */
    float* hidden_w;            /* [3V, D] */
    float* hidden_b;            /* [D] */
    float* out_w;               /* [D, 3] */
    float* out_b;               /* [3] */
    /* the position at hand */
    int width, height;
    int top, bottom;            /* the window: from row `top` to before `bottom` ... */
    int from[LINES_SIDE];       /* ... and from this column of a row ... */
    int until[LINES_SIDE];      /* ... to before this one */
    int left;                   /* column that `x` begins with */
    int stride;                 /* floats between two rows of `x` */
    const tengen_far* far;      /* what lies beyond the window, or NULL: nothing does */
    tengen_far* record;         /* where an empty board is kept, or NULL */
    /* empty boards */
    tengen_far fars[LINES_FARS];
    int next_far;               /* the one to replace */
    /* scratch */
    float* x;                   /* trunk with its border */
    float* cell;                /* [3, 3, C]: a cell that sees neither stones nor edges, among its like */
    float* cell_value;          /* [V] */
    float cell_policy;
    float* shift;               /* [max(C, V)]: what `cell` holds more than that of `far` */
    float* blank;               /* [LINES_PLANES, LINES_POINTS]: planes of an empty board */
    float* y;                   /* [2, LINES_SIDE, C]: depthwise rows */
    int16_t* packed;            /* [LINES_SIDE, C]: a row in 16 bits */
    uint8_t* levels;            /* [2, LINES_SIDE, C]: depthwise rows in 8 bits */
    float* heads;               /* [LINES_SIDE, P + V] */
    float* pool;                /* [3 max(C, V)] */
    float* vector;              /* [max(C, D)] */
    float* base;                /* [C] */
    uint16_t* digits;           /* [LINES_SIDE + 10, LINES_STRIDE]: 0 edge, 1 empty, 2 own, 3 opponent */
    uint16_t* bits;             /* [points]: local planes that are set */
    int32_t* rows;              /* [4, LINES_POINTS + LINES_SLACK]: codebook rows by direction */
} tengen_lines;

/* Aligned memory of zeros, or NULL. Large blocks ask Linux for huge pages: codebook rows are read at random. */
static void* tengen_lines_take(size_t bytes)
{
    void* p = NULL;
#if defined(_WIN32)
    p = _aligned_malloc(bytes, 64);
#else
    size_t align = bytes >= ((size_t)1 << 21) ? (size_t)1 << 21 : 64;
    if (posix_memalign(&p, align, bytes) != 0)
        return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (align > 64)
        (void)madvise(p, bytes, MADV_HUGEPAGE);
#endif
#endif
    if (p != NULL)
        memset(p, 0, bytes);
    return p;
}

static void tengen_lines_release(void* p)
{
#if defined(_WIN32)
    _aligned_free(p);
#else
    free(p);
#endif
}

/* --- plain C ------------------------------------------------------------------------------------------------- */

static void lines_scan_plain(tengen_lines* net, const float* planes, int width, int height)
{
    int points = width * height, y, x, k;
    for (y = 0; y < height; y++)
        for (x = 0; x < width; x++) {
            int i = y * width + x;
            unsigned bits = 0;
            for (k = 0; k < LINES_LOCAL; k++)
                bits |= (unsigned)(planes[k * points + i] != 0) << k;
            net->bits[i] = (uint16_t)bits;
            k = 1 + (int)((bits >> 1) & 3);
            net->digits[(y + LINES_REACH) * LINES_STRIDE + LINES_REACH + x] =
                (uint16_t)((bits & 1) ? (k < 3 ? k : 3) : 0);   /* both stones at once: the opponent's */
        }
}

/* Number of what lies on one side of a cell: digits (one more than in the definition) up to the first edge. */
static int lines_side(const uint16_t* cell, int step)
{
    int j, id = 0;
    for (j = LINES_REACH; j >= 1; j--) {
        int digit = cell[j * step];
        id = digit ? digit + 3 * id : 0;
    }
    return id;
}

static void lines_rows_plain(tengen_lines* net)
{
    static const int steps[4] = {1, LINES_STRIDE, LINES_STRIDE + 1, 1 - LINES_STRIDE};
    int d, y, x;
    for (d = 0; d < 4; d++)
        for (y = net->top; y < net->bottom; y++)
            for (x = net->from[y]; x < net->until[y]; x++) {
                const uint16_t* cell = net->digits + (y + LINES_REACH) * LINES_STRIDE + LINES_REACH + x;
                int a = lines_side(cell, -steps[d]), b = lines_side(cell, steps[d]);
                int high = a > b ? a : b, low = a > b ? b : a;
                net->rows[d * (LINES_POINTS + LINES_SLACK) + y * net->width + x] = high * (high + 1) / 2 + low;
            }
}

/* First layer of the cells of one row; `cell` is the first one's number, `x` its place. */
static void lines_gather_plain(const tengen_lines* net, int cell, int cells, float* x)
{
    int channels = net->channels, i, c, d;
    for (i = cell; i < cell + cells; i++, x += channels) {
        const int16_t* rows[4];
        const float* low = net->local + (net->bits[i] & (LINES_HALF - 1)) * channels;
        const float* high = net->local + (LINES_HALF + (net->bits[i] >> 7)) * channels;
        for (d = 0; d < 4; d++)
            rows[d] = net->codebook + (size_t)net->rows[d * (LINES_POINTS + LINES_SLACK) + i] * channels;
        for (c = 0; c < channels; c++) {
            int sum = rows[0][c] + rows[1][c] + rows[2][c] + rows[3][c];
            float v = (float)sum * net->scale + net->base[c] + low[c] + high[c];
            x[c] = v > 0 ? v : 0;
        }
    }
}

/* y = relu(depthwise(x) + bias) for the cells of one row; `stride` lies between two rows of x. */
static void lines_depth_plain(const float* x, int stride, int cells, int channels, const float* w,
                              const float* bias, float* y)
{
    int i, c, row;
    for (i = 0; i < cells; i++, x += channels, y += channels) {
        for (c = 0; c < channels; c++)
            y[c] = bias[c];
        for (row = 0; row < 3; row++) {
            const float* from = x + (row - 1) * stride - channels;
            const float* taps = w + 3 * row * channels;
            for (c = 0; c < channels; c++)
                y[c] += from[c] * taps[c] + from[c + channels] * taps[c + channels]
                    + from[c + 2 * channels] * taps[c + 2 * channels];
        }
        for (c = 0; c < channels; c++)
            y[c] = y[c] > 0 ? y[c] : 0;
    }
}

/* out = relu(in w + bias), or relu(out + in w + bias), for each of `cells`; `relu` 0: without the relu. */
static void lines_product_plain(const float* in, int cells, int n_in, const float* w, const float* bias,
                                float* out, int n_out, int residual, int relu)
{
    int i, k, c;
    for (i = 0; i < cells; i++, in += n_in, out += n_out) {
        for (c = 0; c < n_out; c++)
            out[c] = residual ? out[c] + bias[c] : bias[c];
        for (k = 0; k < n_in; k++) {
            const float* row = w + k * n_out;
            float v = in[k];
            for (c = 0; c < n_out; c++)
                out[c] += v * row[c];
        }
        if (relu)
            for (c = 0; c < n_out; c++)
                out[c] = out[c] > 0 ? out[c] : 0;
    }
}

/* Add cells of n channels, `stride` apart, to sums and maxima: as they are, or moved by `shift`, none below zero. */
static void lines_pool_plain(const float* x, const float* shift, int cells, int stride, int n, float* sum, float* top)
{
    int i, c;
    for (i = 0; i < cells; i++, x += stride)
        for (c = 0; c < n; c++) {
            float v = x[c];
            if (shift != NULL)
                v = v + shift[c] > 0 ? v + shift[c] : 0;
            sum[c] += v;
            top[c] = v > top[c] ? v : top[c];
        }
}

/* Move `cells` x n floats that lie side by side by `shift`, none below zero. */
static void lines_move_plain(const float* from, const float* shift, int cells, int n, float* to)
{
    int i, c;
    for (i = 0; i < cells; i++, from += n, to += n)
        for (c = 0; c < n; c++)
            to[c] = from[c] + shift[c] > 0 ? from[c] + shift[c] : 0;
}

static void lines_policy_plain(const float* hidden, int cells, int stride, int n, const float* w, float* logits)
{
    int i, c;
    for (i = 0; i < cells; i++, hidden += stride) {
        float sum = 0;
        for (c = 0; c < n; c++)
            sum += hidden[c] * w[c];
        logits[i] = sum;
    }
}

/* --- AVX2 ---------------------------------------------------------------------------------------------------- */
#if TENGEN_AVX2

static TENGEN_FAST void lines_scan_fast(tengen_lines* net, const float* planes, int width, int height)
{
    /* Vectors that run over a row's end are safe: there are more planes behind, and the next row overwrites. */
    const __m256i iota = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m256i one = _mm256_set1_epi16(1), three = _mm256_set1_epi16(3);
    const __m256 zero = _mm256_setzero_ps();
    int points = width * height, y, x, k;
    for (y = 0; y < height; y++)
        for (x = 0; x < width; x += 16) {
            const float* from = planes + y * width + x;
            __m256i a = _mm256_setzero_si256(), b = a, bits, digits;
#pragma GCC unroll 14
            for (k = 0; k < LINES_LOCAL; k++, from += points) {
                const __m256i bit = _mm256_set1_epi32(1 << k);
                __m256 low = _mm256_cmp_ps(_mm256_loadu_ps(from), zero, _CMP_NEQ_UQ);
                __m256 high = _mm256_cmp_ps(_mm256_loadu_ps(from + 8), zero, _CMP_NEQ_UQ);
                a = _mm256_or_si256(a, _mm256_and_si256(_mm256_castps_si256(low), bit));
                b = _mm256_or_si256(b, _mm256_and_si256(_mm256_castps_si256(high), bit));
            }
            bits = _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xD8);
            _mm256_storeu_si256((__m256i*)(net->bits + y * width + x), bits);
            digits = _mm256_add_epi16(_mm256_and_si256(_mm256_srli_epi16(bits, 1), three), one);
            digits = _mm256_min_epi16(digits, three);
            digits = _mm256_and_si256(digits, _mm256_cmpeq_epi16(_mm256_and_si256(bits, one), one));
            digits = _mm256_and_si256(digits, _mm256_cmpgt_epi16(_mm256_set1_epi16((short)(width - x)), iota));
            _mm256_storeu_si256(
                (__m256i*)(net->digits + (y + LINES_REACH) * LINES_STRIDE + LINES_REACH + x), digits);
        }
}

TENGEN_INNER __m256i lines_side_fast(const uint16_t* cell, int step)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i id = _mm256_loadu_si256((const __m256i*)(cell + LINES_REACH * step));
    int j;
#pragma GCC unroll 4
    for (j = LINES_REACH - 1; j >= 1; j--) {
        __m256i digit = _mm256_loadu_si256((const __m256i*)(cell + j * step));
        __m256i more = _mm256_add_epi16(_mm256_add_epi16(id, id), _mm256_add_epi16(id, digit));
        id = _mm256_andnot_si256(_mm256_cmpeq_epi16(digit, zero), more);
    }
    return id;
}

static TENGEN_FAST void lines_rows_fast(tengen_lines* net)
{
    static const int steps[4] = {1, LINES_STRIDE, LINES_STRIDE + 1, 1 - LINES_STRIDE};
    const __m256i one = _mm256_set1_epi16(1), two = _mm256_set1_epi16(2);
    int width = net->width, d, y, x;
#pragma GCC unroll 4
    for (d = 0; d < 4; d++) {
        int32_t* rows = net->rows + d * (LINES_POINTS + LINES_SLACK);
        for (y = net->top; y < net->bottom; y++)
            for (x = net->from[y]; x < net->until[y]; x += 16) {
                const uint16_t* cell = net->digits + (y + LINES_REACH) * LINES_STRIDE + LINES_REACH + x;
                __m256i a = lines_side_fast(cell, -steps[d]), b = lines_side_fast(cell, steps[d]);
                __m256i high = _mm256_max_epi16(a, b), low = _mm256_min_epi16(a, b);
                __m256i next = _mm256_add_epi16(high, one);
                /* (high (high + 1) + 2 low) / 2 in 32 bits */
                __m256i p = _mm256_srli_epi32(_mm256_madd_epi16(
                    _mm256_unpacklo_epi16(high, low), _mm256_unpacklo_epi16(next, two)), 1);
                __m256i q = _mm256_srli_epi32(_mm256_madd_epi16(
                    _mm256_unpackhi_epi16(high, low), _mm256_unpackhi_epi16(next, two)), 1);
                _mm256_storeu_si256((__m256i*)(rows + y * width + x), _mm256_permute2x128_si256(p, q, 0x20));
                _mm256_storeu_si256((__m256i*)(rows + y * width + x + 8), _mm256_permute2x128_si256(p, q, 0x31));
            }
    }
}

TENGEN_INNER void lines_gather_body(const tengen_lines* net, int cell, int cells, float* x, int channels,
                                    int narrow)
{
    const __m256 scale = _mm256_set1_ps(net->scale), zero = _mm256_setzero_ps();
    const int32_t* rows = net->rows;
    const int gap = LINES_POINTS + LINES_SLACK;
    int i, c;
    for (i = cell; i < cell + cells; i++, x += channels) {
        const int16_t* a = net->codebook + (size_t)rows[i] * channels;
        const int16_t* b = net->codebook + (size_t)rows[i + gap] * channels;
        const int16_t* e = net->codebook + (size_t)rows[i + 2 * gap] * channels;
        const int16_t* f = net->codebook + (size_t)rows[i + 3 * gap] * channels;
        const float* low = net->local + (net->bits[i] & (LINES_HALF - 1)) * channels;
        const float* high = net->local + (LINES_HALF + (net->bits[i] >> 7)) * channels;
        for (c = 0; c < channels * 2; c += 64) {
            TENGEN_PREFETCH((const char*)(net->codebook + (size_t)rows[i + LINES_AHEAD] * channels) + c);
            TENGEN_PREFETCH((const char*)(net->codebook + (size_t)rows[i + gap + LINES_AHEAD] * channels) + c);
            TENGEN_PREFETCH((const char*)(net->codebook + (size_t)rows[i + 2 * gap + LINES_AHEAD] * channels) + c);
            TENGEN_PREFETCH((const char*)(net->codebook + (size_t)rows[i + 3 * gap + LINES_AHEAD] * channels) + c);
        }
        for (c = 0; c < channels; c += 8) {
            __m128i va = _mm_load_si128((const __m128i*)(a + c)), vb = _mm_load_si128((const __m128i*)(b + c));
            __m128i ve = _mm_load_si128((const __m128i*)(e + c)), vf = _mm_load_si128((const __m128i*)(f + c));
            __m256i sum;
            __m256 v;
            if (narrow)
                sum = _mm256_cvtepi16_epi32(_mm_add_epi16(_mm_add_epi16(va, vb), _mm_add_epi16(ve, vf)));
            else
                sum = _mm256_add_epi32(
                    _mm256_add_epi32(_mm256_cvtepi16_epi32(va), _mm256_cvtepi16_epi32(vb)),
                    _mm256_add_epi32(_mm256_cvtepi16_epi32(ve), _mm256_cvtepi16_epi32(vf)));
            v = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, _mm256_load_ps(net->base + c));
            v = _mm256_add_ps(v, _mm256_add_ps(_mm256_load_ps(low + c), _mm256_load_ps(high + c)));
            _mm256_store_ps(x + c, _mm256_max_ps(v, zero));
        }
    }
}

static TENGEN_FAST void lines_gather_fast(const tengen_lines* net, int cell, int cells, float* x)
{
    if (!net->narrow)
        lines_gather_body(net, cell, cells, x, net->channels, 0);
    else if (net->channels == 32)
        lines_gather_body(net, cell, cells, x, 32, 1);
    else
        lines_gather_body(net, cell, cells, x, net->channels, 1);
}

/* Round eight numbers, none negative, to levels: 127 at most. */
TENGEN_INNER void lines_store_levels(__m256 x, uint8_t* levels)
{
    __m256i whole = _mm256_cvtps_epi32(x);
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64((__m128i*)levels, _mm_packs_epi16(words, words));
}

/* One vector of channels along a row: nine weights stay in registers, each loaded column serves three outputs.

The row becomes floats in `y`, or levels in `levels` if that is not NULL. */
TENGEN_INNER void lines_depth_body(const float* x, int stride, int cells, int channels, const float* w,
                                   const float* bias, float* y, uint8_t* levels)
{
    const __m256 zero = _mm256_setzero_ps();
    int c, i;
    for (c = 0; c < channels; c += 8) {
        const float* from = x + c;
        float* to = y + c;
        uint8_t* to_levels = levels + c;
        const __m256 w0 = _mm256_load_ps(w + c), w1 = _mm256_load_ps(w + channels + c);
        const __m256 w2 = _mm256_load_ps(w + 2 * channels + c), w3 = _mm256_load_ps(w + 3 * channels + c);
        const __m256 w4 = _mm256_load_ps(w + 4 * channels + c), w5 = _mm256_load_ps(w + 5 * channels + c);
        const __m256 w6 = _mm256_load_ps(w + 6 * channels + c), w7 = _mm256_load_ps(w + 7 * channels + c);
        const __m256 w8 = _mm256_load_ps(w + 8 * channels + c), b = _mm256_load_ps(bias + c);
        __m256 up = _mm256_load_ps(from - stride), mid = _mm256_load_ps(from), down = _mm256_load_ps(from + stride);
        /* `now` has its left and middle column, `next` its left one. */
        __m256 now = _mm256_fmadd_ps(_mm256_load_ps(from - stride - channels), w0, b);
        __m256 next = _mm256_fmadd_ps(down, w6, _mm256_fmadd_ps(mid, w3, _mm256_fmadd_ps(up, w0, b)));
        now = _mm256_fmadd_ps(_mm256_load_ps(from - channels), w3, now);
        now = _mm256_fmadd_ps(_mm256_load_ps(from + stride - channels), w6, now);
        now = _mm256_fmadd_ps(down, w7, _mm256_fmadd_ps(mid, w4, _mm256_fmadd_ps(up, w1, now)));
        for (i = 0; i < cells; i++) {
            __m256 after;
            from += channels;
            up = _mm256_load_ps(from - stride);
            mid = _mm256_load_ps(from);
            down = _mm256_load_ps(from + stride);
            after = _mm256_fmadd_ps(down, w6, _mm256_fmadd_ps(mid, w3, _mm256_fmadd_ps(up, w0, b)));
            now = _mm256_fmadd_ps(down, w8, _mm256_fmadd_ps(mid, w5, _mm256_fmadd_ps(up, w2, now)));
            next = _mm256_fmadd_ps(down, w7, _mm256_fmadd_ps(mid, w4, _mm256_fmadd_ps(up, w1, next)));
            now = _mm256_max_ps(now, zero);
            if (levels != NULL) {
                lines_store_levels(now, to_levels);
                to_levels += channels;
            } else {
                _mm256_store_ps(to, now);
                to += channels;
            }
            now = next;
            next = after;
        }
    }
}

static TENGEN_FAST void lines_depth_fast(const float* x, int stride, int cells, int channels, const float* w,
                                         const float* bias, float* y)
{
    if (channels == 32)
        lines_depth_body(x, stride, cells, 32, w, bias, y, NULL);
    else
        lines_depth_body(x, stride, cells, channels, w, bias, y, NULL);
}

static TENGEN_FAST void lines_depth_levels_fast(const float* x, int stride, int cells, int channels, const float* w,
                                                const float* bias, uint8_t* levels)
{
    if (channels == 64)
        lines_depth_body(x, stride, cells, 64, w, bias, NULL, levels);
    else
        lines_depth_body(x, stride, cells, channels, w, bias, NULL, levels);
}

/* `cells` x `vectors` sums stay in registers; both are constants. */
TENGEN_INNER void lines_product_tile(const float* in, int n_in, const float* w, const float* bias, float* out,
                                     int n_out, int residual, int relu, int cells, int vectors)
{
    __m256 sum[4][4];
    int i, v, k;
#pragma GCC unroll 4
    for (i = 0; i < cells; i++)
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++) {
            sum[i][v] = _mm256_load_ps(bias + 8 * v);
            if (residual)
                sum[i][v] = _mm256_add_ps(sum[i][v], _mm256_load_ps(out + i * n_out + 8 * v));
        }
    /* The fewer of the two operands stay in registers, the others pass through one: 16 are enough. */
    for (k = 0; k < n_in; k++, w += n_out)
        if (cells <= vectors) {
            __m256 value[4];
#pragma GCC unroll 4
            for (i = 0; i < cells; i++)
                value[i] = _mm256_broadcast_ss(in + i * n_in + k);
#pragma GCC unroll 4
            for (v = 0; v < vectors; v++) {
                __m256 weight = _mm256_load_ps(w + 8 * v);
#pragma GCC unroll 4
                for (i = 0; i < cells; i++)
                    sum[i][v] = _mm256_fmadd_ps(value[i], weight, sum[i][v]);
            }
        } else {
            __m256 weight[4];
#pragma GCC unroll 4
            for (v = 0; v < vectors; v++)
                weight[v] = _mm256_load_ps(w + 8 * v);
#pragma GCC unroll 4
            for (i = 0; i < cells; i++) {
                __m256 value = _mm256_broadcast_ss(in + i * n_in + k);
#pragma GCC unroll 4
                for (v = 0; v < vectors; v++)
                    sum[i][v] = _mm256_fmadd_ps(value, weight[v], sum[i][v]);
            }
        }
#pragma GCC unroll 4
    for (i = 0; i < cells; i++)
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++)
            _mm256_store_ps(out + i * n_out + 8 * v,
                            relu ? _mm256_max_ps(sum[i][v], _mm256_setzero_ps()) : sum[i][v]);
}

/* One column of the product, `vectors` wide, `most` cells at a time. */
TENGEN_INNER void lines_product_column(const float* in, int cells, int n_in, const float* w, const float* bias,
                                       float* out, int n_out, int residual, int relu, int most, int vectors)
{
    while (cells > 0) {
        /* no single cell is left over where two pairs do */
        int now = cells >= most && cells != most + 1 ? most : cells >= 2 ? 2 : 1;
        if (now == most)
            lines_product_tile(in, n_in, w, bias, out, n_out, residual, relu, most, vectors);
        else if (now == 2)
            lines_product_tile(in, n_in, w, bias, out, n_out, residual, relu, 2, vectors);
        else
            lines_product_tile(in, n_in, w, bias, out, n_out, residual, relu, 1, vectors);
        cells -= now;
        in += now * n_in;
        out += now * n_out;
    }
}

TENGEN_INNER void lines_product_body(const float* in, int cells, int n_in, const float* w, const float* bias,
                                     float* out, int n_out, int residual, int relu)
{
    int left = n_out / 8;
    while (left > 0) {
        int take = left == 6 || left == 5 || left == 3 ? 3 : left >= 4 ? 4 : left;
        if (take == 4)
            lines_product_column(in, cells, n_in, w, bias, out, n_out, residual, relu, 3, 4);
        else if (take == 3)
            lines_product_column(in, cells, n_in, w, bias, out, n_out, residual, relu, 4, 3);
        else if (take == 2)
            lines_product_column(in, cells, n_in, w, bias, out, n_out, residual, relu, 4, 2);
        else
            lines_product_column(in, cells, n_in, w, bias, out, n_out, residual, relu, 4, 1);
        left -= take;
        w += 8 * take;
        bias += 8 * take;
        out += 8 * take;
    }
}

static TENGEN_FAST void lines_product_fast(const float* in, int cells, int n_in, const float* w, const float* bias,
                                           float* out, int n_out, int residual, int relu)
{
    if (n_in == 32 && n_out == 32 && residual && relu)
        lines_product_column(in, cells, 32, w, bias, out, 32, 1, 1, 3, 4);
    else if (n_in == 32 && n_out == 32 && !residual && relu)
        lines_product_column(in, cells, 32, w, bias, out, 32, 0, 1, 3, 4);
    else
        lines_product_body(in, cells, n_in, w, bias, out, n_out, residual, relu);
}

/* Write n values, none negative, in steps of the returned size, so that the largest becomes LINES_LARGEST. */
static TENGEN_FAST float lines_pack_fast(const float* from, int n, int16_t* to)
{
    __m256 top = _mm256_setzero_ps(), other = top, factor;
    __m128 half;
    float largest;
    int i;
    for (i = 0; i + 16 <= n; i += 16) {
        top = _mm256_max_ps(top, _mm256_load_ps(from + i));
        other = _mm256_max_ps(other, _mm256_load_ps(from + i + 8));
    }
    if (i < n)
        top = _mm256_max_ps(top, _mm256_load_ps(from + i));
    top = _mm256_max_ps(top, other);
    half = _mm_max_ps(_mm256_castps256_ps128(top), _mm256_extractf128_ps(top, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    largest = _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
    if (largest < 1e-20f)
        largest = 1e-20f;
    factor = _mm256_set1_ps((float)LINES_LARGEST / largest);
    for (i = 0; i < n; i += 8) {
        __m256i v = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_load_ps(from + i), factor));
        _mm_store_si128((__m128i*)(to + i),
                        _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
    }
    return largest / (float)LINES_LARGEST;
}

TENGEN_INNER void lines_short_tile(const int16_t* in, int n_in, const int16_t* w, const float* bias,
                                   const float* step, float size, float* out, int n_out, int residual, int cells,
                                   int vectors)
{
    __m256i sum[2][4];
    const __m256 scale = _mm256_set1_ps(size);
    int i, v, k;
#pragma GCC unroll 2
    for (i = 0; i < cells; i++)
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++)
            sum[i][v] = _mm256_setzero_si256();
    for (k = 0; k < n_in; k += 2, w += 2 * n_out) {
        __m256i value[2];
#pragma GCC unroll 2
        for (i = 0; i < cells; i++) {
            int32_t pair;
            memcpy(&pair, in + i * n_in + k, sizeof pair);
            value[i] = _mm256_set1_epi32(pair);
        }
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++) {
            __m256i weight = _mm256_load_si256((const __m256i*)(w + 16 * v));
#if defined(__GNUC__)
            __asm__("" : "+x"(weight));  /* loaded once, not again for each cell */
#endif
#pragma GCC unroll 2
            for (i = 0; i < cells; i++) {
                __m256i product = _mm256_madd_epi16(value[i], weight);
#if defined(__GNUC__)
                __asm__("vpaddd %1, %0, %0" : "+x"(sum[i][v]) : "x"(product));  /* GCC adds a move to each sum */
#else
                sum[i][v] = _mm256_add_epi32(sum[i][v], product);
#endif
            }
        }
    }
#pragma GCC unroll 4
    for (v = 0; v < vectors; v++) {
        const __m256 worth = _mm256_mul_ps(scale, _mm256_load_ps(step + 8 * v));
#pragma GCC unroll 2
        for (i = 0; i < cells; i++) {
            float* to = out + i * n_out + 8 * v;
            __m256 start = _mm256_load_ps(bias + 8 * v);
            if (residual)
                start = _mm256_add_ps(start, _mm256_load_ps(to));
            start = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[i][v]), worth, start);
            _mm256_store_ps(to, _mm256_max_ps(start, _mm256_setzero_ps()));
        }
    }
}

TENGEN_INNER void lines_short_column(const int16_t* in, int cells, int n_in, const int16_t* w, const float* bias,
                                     const float* step, float size, float* out, int n_out, int residual,
                                     int vectors)
{
    for (; cells >= 2; cells -= 2, in += 2 * n_in, out += 2 * n_out)
        lines_short_tile(in, n_in, w, bias, step, size, out, n_out, residual, 2, vectors);
    if (cells)
        lines_short_tile(in, n_in, w, bias, step, size, out, n_out, residual, 1, vectors);
}

/* As `lines_product_fast` with relu, in 16 bits; `size` is what a step of the input is worth. */
static TENGEN_FAST void lines_short_fast(const int16_t* in, int cells, int n_in, const int16_t* w,
                                         const float* bias, const float* step, float size, float* out, int n_out,
                                         int residual)
{
    int left = n_out / 8;
    if (n_in == 32 && n_out == 32) {
        if (residual)
            lines_short_column(in, cells, 32, w, bias, step, size, out, 32, 1, 4);
        else
            lines_short_column(in, cells, 32, w, bias, step, size, out, 32, 0, 4);
        return;
    }
    while (left > 0) {
        int take = left >= 4 && left != 5 && left != 6 ? 4 : left >= 3 ? 3 : left;
        if (take == 4)
            lines_short_column(in, cells, n_in, w, bias, step, size, out, n_out, residual, 4);
        else if (take == 3)
            lines_short_column(in, cells, n_in, w, bias, step, size, out, n_out, residual, 3);
        else if (take == 2)
            lines_short_column(in, cells, n_in, w, bias, step, size, out, n_out, residual, 2);
        else
            lines_short_column(in, cells, n_in, w, bias, step, size, out, n_out, residual, 1);
        left -= take;
        w += 16 * take;
        bias += 8 * take;
        step += 8 * take;
        out += 8 * take;
    }
}

/* Sums of `cells` x 8 `vectors` outputs. A 16-bit lane adds the products of every second pair of inputs. */
TENGEN_INNER void lines_byte_tile(const uint8_t* in, int n_in, const int8_t* w, const float* bias,
                                  const float* step, float* out, int n_out, int residual, int cells, int vectors)
{
    __m256i sum[2][4];
    int i, v, k;
#pragma GCC unroll 2
    for (i = 0; i < cells; i++)
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++)
            sum[i][v] = _mm256_setzero_si256();
    for (k = 0; k < n_in; k += 4, w += 4 * n_out) {
        __m256i value[2];
#pragma GCC unroll 2
        for (i = 0; i < cells; i++) {
            int32_t four;
            memcpy(&four, in + i * n_in + k, sizeof four);
            value[i] = _mm256_set1_epi32(four);
        }
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++) {
            __m256i weight = _mm256_load_si256((const __m256i*)(w + 32 * v));
#if defined(__GNUC__)
            __asm__("" : "+x"(weight));  /* loaded once, not again for each cell */
#endif
#pragma GCC unroll 2
            for (i = 0; i < cells; i++) {
                __m256i product = _mm256_maddubs_epi16(value[i], weight);
#if defined(__GNUC__)
                __asm__("vpaddw %1, %0, %0" : "+x"(sum[i][v]) : "x"(product));  /* GCC adds a move to each sum */
#else
                sum[i][v] = _mm256_add_epi16(sum[i][v], product);
#endif
            }
        }
    }
#pragma GCC unroll 4
    for (v = 0; v < vectors; v++) {
        const __m256 worth = _mm256_load_ps(step + 8 * v);
#pragma GCC unroll 2
        for (i = 0; i < cells; i++) {
            float* to = out + i * n_out + 8 * v;
            __m256 whole = _mm256_cvtepi32_ps(_mm256_madd_epi16(sum[i][v], _mm256_set1_epi16(1)));
            __m256 start = _mm256_load_ps(bias + 8 * v);
            if (residual)
                start = _mm256_add_ps(start, _mm256_load_ps(to));
            whole = _mm256_fmadd_ps(whole, worth, start);
            _mm256_store_ps(to, _mm256_max_ps(whole, _mm256_setzero_ps()));
        }
    }
}

TENGEN_INNER void lines_byte_column(const uint8_t* in, int cells, int n_in, const int8_t* w, const float* bias,
                                    const float* step, float* out, int n_out, int residual, int vectors)
{
    for (; cells >= 2; cells -= 2, in += 2 * n_in, out += 2 * n_out)
        lines_byte_tile(in, n_in, w, bias, step, out, n_out, residual, 2, vectors);
    if (cells)
        lines_byte_tile(in, n_in, w, bias, step, out, n_out, residual, 1, vectors);
}

TENGEN_INNER void lines_byte_body(const uint8_t* in, int cells, int n_in, const int8_t* w, const float* bias,
                                  const float* step, float* out, int n_out, int residual)
{
    int c;
    for (c = 0; c + 32 <= n_out; c += 32)
        lines_byte_column(in, cells, n_in, w + 4 * c, bias + c, step + c, out + c, n_out, residual, 4);
    if (c + 16 <= n_out) {
        lines_byte_column(in, cells, n_in, w + 4 * c, bias + c, step + c, out + c, n_out, residual, 2);
        c += 16;
    }
    if (c < n_out)
        lines_byte_column(in, cells, n_in, w + 4 * c, bias + c, step + c, out + c, n_out, residual, 1);
}

/* out = relu(in w + bias), or relu(out + in w + bias), for each of `cells`, in 8 bits. */
static TENGEN_FAST void lines_byte_fast(const uint8_t* in, int cells, int n_in, const int8_t* w, const float* bias,
                                        const float* step, float* out, int n_out, int residual)
{
    if (n_in == 64 && n_out == 64 && residual)
        lines_byte_body(in, cells, 64, w, bias, step, out, 64, 1);
    else
        lines_byte_body(in, cells, n_in, w, bias, step, out, n_out, residual);
}

/* Round cells of n channels, none negative, to levels. */
static TENGEN_FAST void lines_levels_fast(const float* x, int cells, int n, const float* per_unit, uint8_t* levels)
{
    int i, c;
    for (i = 0; i < cells; i++, x += n, levels += n)
        for (c = 0; c < n; c += 8)
            lines_store_levels(_mm256_mul_ps(_mm256_load_ps(x + c), _mm256_load_ps(per_unit + c)), levels + c);
}

TENGEN_INNER void lines_pool_tile(const float* x, const float* shift, int cells, int stride, float* sum, float* top,
                                  int vectors)
{
    __m256 s[4], t[4], move[4];
    int i, v;
#pragma GCC unroll 4
    for (v = 0; v < vectors; v++) {
        s[v] = _mm256_loadu_ps(sum + 8 * v);
        t[v] = _mm256_loadu_ps(top + 8 * v);
        move[v] = shift == NULL ? _mm256_setzero_ps() : _mm256_load_ps(shift + 8 * v);
    }
    for (i = 0; i < cells; i++, x += stride)
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++) {
            __m256 value = _mm256_load_ps(x + 8 * v);
            if (shift != NULL)
                value = _mm256_max_ps(_mm256_add_ps(value, move[v]), _mm256_setzero_ps());
            s[v] = _mm256_add_ps(s[v], value);
            t[v] = _mm256_max_ps(t[v], value);
        }
#pragma GCC unroll 4
    for (v = 0; v < vectors; v++) {
        _mm256_storeu_ps(sum + 8 * v, s[v]);
        _mm256_storeu_ps(top + 8 * v, t[v]);
    }
}

TENGEN_INNER void lines_pool_body(const float* x, const float* shift, int cells, int stride, int n, float* sum,
                                  float* top)
{
    int c = 0;
    for (; c + 32 <= n; c += 32)
        lines_pool_tile(x + c, shift == NULL ? NULL : shift + c, cells, stride, sum + c, top + c, 4);
    for (; c < n; c += 8)
        lines_pool_tile(x + c, shift == NULL ? NULL : shift + c, cells, stride, sum + c, top + c, 1);
}

static TENGEN_FAST void lines_pool_fast(const float* x, const float* shift, int cells, int stride, int n, float* sum,
                                        float* top)
{
    if (shift == NULL)
        lines_pool_body(x, NULL, cells, stride, n, sum, top);
    else
        lines_pool_body(x, shift, cells, stride, n, sum, top);
}

static TENGEN_FAST void lines_move_fast(const float* from, const float* shift, int cells, int n, float* to)
{
    int i, c;
    for (i = 0; i < cells; i++, from += n, to += n)
        for (c = 0; c < n; c += 8)
            _mm256_store_ps(to + c, _mm256_max_ps(_mm256_add_ps(_mm256_load_ps(from + c), _mm256_load_ps(shift + c)),
                                                  _mm256_setzero_ps()));
}

TENGEN_INNER float lines_total(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

static TENGEN_FAST void lines_policy_fast(const float* hidden, int cells, int stride, int n, const float* w,
                                          float* logits)
{
    int i, c;
    for (i = 0; i < cells; i++, hidden += stride) {
        __m256 sum = _mm256_mul_ps(_mm256_load_ps(hidden), _mm256_load_ps(w));
        for (c = 8; c < n; c += 8)
            sum = _mm256_fmadd_ps(_mm256_load_ps(hidden + c), _mm256_load_ps(w + c), sum);
        logits[i] = lines_total(sum);
    }
}

#define LINES_CALL(net, name, ...) \
    ((net)->vectors ? lines_##name##_fast(__VA_ARGS__) : lines_##name##_plain(__VA_ARGS__))
#else
#define LINES_CALL(net, name, ...) lines_##name##_plain(__VA_ARGS__)
#endif

#include "lines_wide.h"

/* For loops that have been written for AVX-512 too: LINES_WIDEST for such as have all three, LINES_WIDER for those on
levels, which plain C has not. */
#if TENGEN_AVX512
#define LINES_WIDEST(net, name, ...) \
    ((net)->vectors > 1 ? lines_##name##_wide(__VA_ARGS__) : LINES_CALL(net, name, __VA_ARGS__))
#define LINES_WIDER(net, name, ...) \
    ((net)->vectors > 1 ? lines_##name##_wide(__VA_ARGS__) : lines_##name##_fast(__VA_ARGS__))
#else
#define LINES_WIDEST(net, name, ...) LINES_CALL(net, name, __VA_ARGS__)
#define LINES_WIDER(net, name, ...) lines_##name##_fast(__VA_ARGS__)
#endif

/* --- the net ------------------------------------------------------------------------------------------------- */

static int lines_lowest(uint32_t mask)
{
    int n = 0;
    while (!(mask >> n & 1))
        n++;
    return n;
}

static int lines_highest(uint32_t mask)
{
    int n = 31;
    while (!(mask >> n & 1))
        n--;
    return n;
}

/* Put the window around the stones; return whether it leaves out enough of a board without obstacles.

What pooling usually adds is a mean of positions with many stones; behind one or two stones it is far off. */
static int lines_window(tengen_lines* net)
{
    uint32_t stones[LINES_SIDE];
    uint16_t usable = 1;
    int width = net->width, height = net->height, margin = net->margin, cells = 0, n_stones = 0, x, y;
    for (y = 0; y < height; y++) {
        const uint16_t* row = net->digits + (y + LINES_REACH) * LINES_STRIDE + LINES_REACH;
        stones[y] = 0;
        for (x = 0; x < width; x++) {
            stones[y] |= (uint32_t)(row[x] >> 1) << x;      /* 2 and 3 */
            n_stones += row[x] >> 1;
            usable &= (uint16_t)(row[x] | row[x] >> 1);
        }
    }
    if (!usable || n_stones < LINES_FEW)
        return 0;
    net->left = net->top = LINES_SIDE;
    net->bottom = 0;
    for (y = 0; y < height; y++) {
        int near = y > margin ? y - margin : 0, last = y + margin < height ? y + margin : height - 1;
        uint32_t mask = 0;
        for (; near <= last; near++)
            mask |= stones[near];
        net->from[y] = net->until[y] = 0;
        if (mask == 0)
            continue;
        net->from[y] = lines_lowest(mask) > margin ? lines_lowest(mask) - margin : 0;
        net->until[y] = lines_highest(mask) + margin < width ? lines_highest(mask) + margin + 1 : width;
        cells += net->until[y] - net->from[y];
        net->left = net->from[y] < net->left ? net->from[y] : net->left;
        net->top = y < net->top ? y : net->top;
        net->bottom = y + 1;
    }
    for (y = net->top; y < net->bottom; y++)
        if (net->until[y] == 0)                             /* no cell of this row: stones lie far above and below */
            net->from[y] = net->until[y] = net->left;
    return cells > 0 && 8 * cells <= 7 * width * height;
}

static void lines_whole(tengen_lines* net)
{
    int y;
    net->left = net->top = 0;
    net->bottom = net->height;
    for (y = 0; y < net->height; y++) {
        net->from[y] = 0;
        net->until[y] = net->width;
    }
}

/* Return the first cell of a row of the window, `row` counted on the board. */
static float* lines_row(const tengen_lines* net, int row)
{
    return net->x + (row - net->top + 1) * net->stride + (net->from[row] - net->left + 1) * net->channels;
}

static int lines_cells(const tengen_lines* net, int row)
{
    return net->until[row] - net->from[row];
}

/* out = relu(in w + bias), or relu(out + in w + bias), for a row of cells: in 16 bits where the net has them. */
static void lines_mix(tengen_lines* net, const float* in, int cells, const float* w, const int16_t* w_short,
                      const float* step, const float* bias, float* out, int n_out, int residual)
{
#if TENGEN_AVX2
    if (net->vectors && w_short != NULL) {
        float size = lines_pack_fast(in, cells * net->channels, net->packed);
        lines_short_fast(net->packed, cells, net->channels, w_short, bias, step, size, out, n_out, residual);
        return;
    }
#endif
    (void)w_short;
    (void)step;
    LINES_CALL(net, product, in, cells, net->channels, w, bias, out, n_out, residual, 1);
}

/* Put one cell into all nine of `cell`. */
static void lines_spread(tengen_lines* net, const float* cell)
{
    int i;
    for (i = 0; i < 9; i++)
        if (net->cell + i * net->channels != cell)
            memcpy(net->cell + i * net->channels, cell, sizeof(float) * net->channels);
}

/* First layer: `x` of all cells of the window. */
static void lines_first(tengen_lines* net)
{
    int channels = net->channels, c, y;
    for (y = net->top; y < net->bottom; y++)
        LINES_WIDEST(net, gather, net, y * net->width + net->from[y], lines_cells(net, y), lines_row(net, y));
    if (net->far != NULL || net->record != NULL) {
        const int16_t* row = net->codebook + (size_t)(LINES_OPEN_SIDE * (LINES_OPEN_SIDE + 3) / 2) * channels;
        const float* usable = net->local + channels;
        const float* none = net->local + LINES_HALF * channels;
        for (c = 0; c < channels; c++) {
            float v = (float)(4 * row[c]) * net->scale + net->base[c] + usable[c] + none[c];
            net->cell[c] = v > 0 ? v : 0;
        }
        lines_spread(net, net->cell);
    }
}

/* Fill the border's cells of a row, counted on the board, from column `a` to before `b`. */
static void lines_beyond(tengen_lines* net, int layer, int row, int a, int b)
{
    int channels = net->channels;
    float* to = net->x + (row - net->top + 1) * net->stride + (a - net->left + 1) * channels;
    int off = net->far == NULL || row < 0 || row >= net->height;
    int before = off ? b - a : a < 0 ? -a : 0, after = off || b <= net->width ? 0 : b - net->width;
    int cells = b - a - before - after;
    memset(to, 0, sizeof(float) * channels * before);
    to += before * channels;
    if (cells > 0) {
        size_t at = ((size_t)layer * net->height + row) * net->width + a + before;
        LINES_WIDEST(net, move, net->far->x + at * channels, net->shift, cells, channels, to);
    }
    memset(to + cells * channels, 0, sizeof(float) * channels * after);
}

/* Before block `layer`, or at the end: border, `shift`, and what is to be kept. */
static void lines_border(tengen_lines* net, int layer)
{
    int channels = net->channels, points = net->width * net->height, c, y, k;
    if (net->record != NULL) {
        float* to = net->record->x + (size_t)layer * points * channels;
        for (y = 0; y < net->height; y++)
            memcpy(to + y * net->width * channels, lines_row(net, y), sizeof(float) * net->width * channels);
        memcpy(net->record->cell + layer * channels, net->cell, sizeof(float) * channels);
    }
    if (net->far != NULL)
        for (c = 0; c < channels; c++)
            net->shift[c] = net->cell[c] - net->far->cell[layer * channels + c];
    else if (layer > 0)
        return;     /* zero already */
    for (y = net->top - 1; y <= net->bottom; y++) {
        int a = LINES_SIDE, b = 0;      /* what this row and its neighbours see of it */
        for (k = y - 1; k <= y + 1; k++)
            if (k >= net->top && k < net->bottom && lines_cells(net, k) > 0) {
                a = net->from[k] - 1 < a ? net->from[k] - 1 : a;
                b = net->until[k] + 1 > b ? net->until[k] + 1 : b;
            }
        if (y >= net->top && y < net->bottom && lines_cells(net, y) > 0) {
            lines_beyond(net, layer, y, a, net->from[y]);
            lines_beyond(net, layer, y, net->until[y], b);
        } else if (a < b)
            lines_beyond(net, layer, y, a, b);
    }
}

static void lines_clear_pool(float* pool, int n)
{
    memset(pool, 0, sizeof(float) * 3 * n);  /* what is pooled is never negative: 0 will do as first maximum */
}

/* Add the cells beyond the window, n floats each, moved by `shift`. */
static void lines_pool_far(tengen_lines* net, const float* cells, int n)
{
    float* sum = net->pool;
    float* top = net->pool + 2 * n;
    int y;
    for (y = 0; y < net->height; y++, cells += net->width * n)
        if (y < net->top || y >= net->bottom)
            LINES_CALL(net, pool, cells, net->shift, net->width, n, n, sum, top);
        else {
            LINES_CALL(net, pool, cells, net->shift, net->from[y], n, n, sum, top);
            LINES_CALL(net, pool, cells + net->until[y] * n, net->shift, net->width - net->until[y], n, n, sum,
                       top);
        }
}

/* Sums and maxima (at 0 and 2n) to mean, scaled mean, maximum. */
static void lines_end_pool(float* pool, int n, int points)
{
    float share = 1.0f / (float)points, size = (float)points / 225.0f - 1.0f;
    int c;
    for (c = 0; c < n; c++) {
        pool[c] *= share;
        pool[n + c] = pool[c] * size;
    }
}

static int lines_bytes(const tengen_lines* net)
{
    return net->vectors && net->pw_byte != NULL;
}

/* Depthwise part of a row of cells, to one of two places, 0 or 1. */
static void lines_depth(tengen_lines* net, int block, const float* bias, const float* x, int cells, int stride,
                        int place)
{
    int channels = net->channels, offset = place * LINES_SIDE * channels;
#if TENGEN_AVX2
    if (lines_bytes(net)) {
        LINES_WIDER(net, depth_levels, x, stride, cells, channels, net->dw_byte + block * 9 * channels, bias,
                    net->levels + offset);
        return;
    }
#endif
    LINES_CALL(net, depth, x, stride, cells, channels, net->dw + block * 9 * channels, bias, net->y + offset);
}

/* Pointwise part of a row of cells, added to them. */
static void lines_point(tengen_lines* net, int block, int place, int cells, float* x)
{
    int channels = net->channels, offset = place * LINES_SIDE * channels;
    int weights = block * channels * channels, first = block * channels;
#if TENGEN_AVX2
    if (lines_bytes(net)) {
        LINES_WIDER(net, byte, net->levels + offset, cells, channels, net->pw_byte + weights,
                    net->pw_byte_bias + first, net->pw_byte_step + first, x, channels, 1);
        return;
    }
#endif
    lines_mix(net, net->y + offset, cells, net->pw + weights, net->pw_short == NULL ? NULL : net->pw_short + weights,
              net->pw_step == NULL ? NULL : net->pw_step + first, net->pw_bias + first, x, channels, 1);
}

/* Bias of the depthwise part: that of the weights, or with what pooling adds. */
static const float* lines_bias(tengen_lines* net, int block)
{
    int channels = net->channels, points = net->width * net->height, y, c;
    if (block != net->pooled)
        return (lines_bytes(net) ? net->dw_byte_bias : net->dw_bias) + block * channels;
    memcpy(net->vector, net->dw_bias + block * channels, sizeof(float) * channels);
    if (net->record != NULL && net->pool_usual != NULL) {
        for (c = 0; c < channels; c++)
            net->vector[c] += net->pool_usual[c];
    } else {
        lines_clear_pool(net->pool, channels);
        for (y = net->top; y < net->bottom; y++)
            LINES_CALL(net, pool, lines_row(net, y), NULL, lines_cells(net, y), channels, channels, net->pool,
                       net->pool + 2 * channels);
        if (net->far != NULL)
            lines_pool_far(net, net->far->x + (size_t)block * points * channels, channels);
        lines_end_pool(net->pool, channels, points);
        LINES_CALL(net, product, net->pool, 1, 3 * channels, net->pool_weight, net->pool_bias, net->vector, channels,
                   1, 0);
    }
    if (lines_bytes(net))
        for (c = 0; c < channels; c++)
            net->vector[c] *= net->per_unit[block * channels + c];
    return net->vector;
}

static void lines_block(tengen_lines* net, int block)
{
    const float* bias = lines_bias(net, block);
    int place = 0, y;
    lines_depth(net, block, bias, lines_row(net, net->top), lines_cells(net, net->top), net->stride, place);
    for (y = net->top; y < net->bottom; y++, place ^= 1) {
        if (y + 1 < net->bottom)
            lines_depth(net, block, bias, lines_row(net, y + 1), lines_cells(net, y + 1), net->stride, place ^ 1);
        lines_point(net, block, place, lines_cells(net, y), lines_row(net, y));
    }
    if (net->far != NULL || net->record != NULL) {
        float* cell = net->cell + 4 * net->channels;    /* the one in the middle */
        lines_depth(net, block, bias, cell, 1, 3 * net->channels, 0);
        lines_point(net, block, 0, 1, cell);
        lines_spread(net, cell);
    }
}

/* First layer of both heads for a row of cells, to `heads`. */
static void lines_head(tengen_lines* net, const float* x, int cells)
{
    int wide = net->policy + net->value;
#if TENGEN_AVX2
    if (net->vectors && net->head_byte != NULL) {
        LINES_WIDER(net, levels, x, cells, net->channels, net->head_per_unit, net->levels);
        LINES_WIDER(net, byte, net->levels, cells, net->channels, net->head_byte, net->head_byte_bias,
                    net->head_byte_step, net->heads, wide, 0);
        return;
    }
#endif
    lines_mix(net, x, cells, net->head, net->head_short, net->head_step, net->head_bias, net->heads, wide, 0);
}

/* Logits of all cells, and the value head's pooling. */
static void lines_heads(tengen_lines* net, float* policy)
{
    int wide = net->policy + net->value, value = net->value, points = net->width * net->height, c, y;
    const tengen_far* far = net->far;
    tengen_far* record = net->record;
    lines_clear_pool(net->pool, value);
    if (far != NULL || record != NULL) {
        lines_head(net, net->cell, 1);
        LINES_CALL(net, policy, net->heads, 1, wide, net->policy, net->policy_out, &net->cell_policy);
        memcpy(net->cell_value, net->heads + net->policy, sizeof(float) * value);
    }
    if (far != NULL) {
        for (c = 0; c < value; c++)
            net->shift[c] = net->cell_value[c] - far->cell_value[c];
        lines_pool_far(net, far->value, value);
        for (c = 0; c < points; c++)
            policy[c] = far->policy[c] + (net->cell_policy - far->cell_policy);
    }
    for (y = net->top; y < net->bottom; y++) {
        int cells = lines_cells(net, y), first = y * net->width + net->from[y];
        lines_head(net, lines_row(net, y), cells);
        LINES_CALL(net, policy, net->heads, cells, wide, net->policy, net->policy_out, policy + first);
        LINES_CALL(net, pool, net->heads + net->policy, NULL, cells, wide, value, net->pool, net->pool + 2 * value);
        if (record != NULL)
            for (c = 0; c < cells; c++)
                memcpy(record->value + (first + c) * value, net->heads + c * wide + net->policy, sizeof(float) * value);
    }
    if (record != NULL) {
        memcpy(record->cell_value, net->cell_value, sizeof(float) * value);
        record->cell_policy = net->cell_policy;
    }
    lines_end_pool(net->pool, value, points);
}

/* What was pooled to win, draw, loss. */
static void lines_value(tengen_lines* net, float* wdl)
{
    float out[3], top, total;
    int d, k;
    LINES_CALL(net, product, net->pool, 1, 3 * net->value, net->hidden_w, net->hidden_b, net->vector, net->hidden, 0,
               1);
    for (k = 0; k < 3; k++)
        out[k] = net->out_b[k];
    for (d = 0; d < net->hidden; d++)
        for (k = 0; k < 3; k++)
            out[k] += net->vector[d] * net->out_w[3 * d + k];
    top = out[0] > out[1] ? out[0] : out[1];
    top = top > out[2] ? top : out[2];
    total = 0;
    for (k = 0; k < 3; k++)
        total += out[k] = expf(out[k] - top);
    for (k = 0; k < 3; k++)
        wdl[k] = out[k] / total;
}

/* Judge the window; `planes` have been scanned. */
static void lines_run(tengen_lines* net, const float* global, float* policy)
{
    int channels = net->channels, block, c, k, right = 0;
    memcpy(net->base, net->bias, sizeof(float) * channels);
    for (k = 0; k < LINES_PLANES - LINES_LOCAL; k++)
        if (global[k] != 0)
            for (c = 0; c < channels; c++)
                net->base[c] += global[k] * net->global[k * channels + c];
    for (k = net->top; k < net->bottom; k++)
        right = net->until[k] > right ? net->until[k] : right;
    net->stride = (right - net->left + 2) * channels;
    LINES_CALL(net, rows, net);
    lines_first(net);
    for (block = 0; block < net->blocks; block++) {
        lines_border(net, block);
        lines_block(net, block);
    }
    lines_border(net, net->blocks);
    lines_heads(net, policy);
}

static void lines_scan(tengen_lines* net, const float* planes, int width, int height)
{
    if (width != net->width || height != net->height)   /* edges where cells have been */
        memset(net->digits, 0, sizeof(uint16_t) * LINES_STRIDE * (LINES_SIDE + 2 * LINES_REACH));
    net->width = width;
    net->height = height;
    LINES_CALL(net, scan, net, planes, width, height);
}

/* Return the empty board for a position, which is scanned and judged if it is not known, or NULL: no memory. */
static const tengen_far* lines_far(tengen_lines* net, const float* global, int width, int height, int* judged)
{
    const int globals = LINES_PLANES - LINES_LOCAL, points = width * height;
    const size_t kept = (size_t)(net->blocks + 1) * net->channels;
    tengen_far* far;
    int i, k;
    *judged = 0;
    for (i = 0; i < LINES_FARS; i++) {
        far = net->fars + i;
        if (far->width == width && far->height == height && memcmp(far->global, global, sizeof far->global) == 0)
            return far;
    }
    far = net->fars + net->next_far;
    net->next_far = (net->next_far + 1) % LINES_FARS;
    tengen_lines_release(far->memory);
    memset(far, 0, sizeof *far);
    far->memory = tengen_lines_take(
        sizeof(float) * ((size_t)points * (kept + net->value) + kept + net->value + points));
    if (far->memory == NULL)
        return NULL;
    far->x = far->memory;
    far->value = far->x + points * kept;
    far->cell = far->value + (size_t)points * net->value;
    far->cell_value = far->cell + kept;
    far->policy = far->cell_value + net->value;
    far->width = width;
    far->height = height;
    memcpy(far->global, global, sizeof far->global);
    memset(net->blank, 0, sizeof(float) * LINES_PLANES * points);
    for (i = 0; i < points; i++)
        net->blank[i] = 1;
    for (k = 0; k < globals; k++)
        for (i = 0; i < points; i++)
            net->blank[(LINES_LOCAL + k) * points + i] = global[k];
    lines_scan(net, net->blank, width, height);
    lines_whole(net);
    net->far = NULL;
    net->record = far;
    lines_run(net, global, far->policy);
    net->record = NULL;
    *judged = 1;
    return far;
}

/* Judge one position: planes [20, height, width] to logits [height * width] and win, draw, loss. */
static void tengen_lines_judge(tengen_lines* net, const float* planes, int width, int height, float* policy,
                               float* wdl)
{
    float global[LINES_PLANES - LINES_LOCAL];
    int k, judged;
    for (k = 0; k < LINES_PLANES - LINES_LOCAL; k++)
        global[k] = planes[(LINES_LOCAL + k) * width * height];
    net->far = NULL;
    lines_scan(net, planes, width, height);
    if (net->margin > 0 && lines_window(net)) {
        const tengen_far* far = lines_far(net, global, width, height, &judged);
        if (judged) {
            lines_scan(net, planes, width, height);
            lines_window(net);
        }
        net->far = far;
    }
    if (net->far == NULL)
        lines_whole(net);
    lines_run(net, global, policy);
    lines_value(net, wdl);
}

/* Give back what `tengen_lines_judge` has taken. */
static void tengen_lines_forget(tengen_lines* net)
{
    int i;
    for (i = 0; i < LINES_FARS; i++)
        tengen_lines_release(net->fars[i].memory);
}

#endif

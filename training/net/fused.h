/* The passes of a line net's trunk while it learns, each over the cells of one position, in AVX2.

Cells lie in rows of C floats, C a multiple of FUSED_STEP, `hw` = height x width cells a position. What a pass needs
again soon it keeps in `room` (see `fused_room`), which stays in the cache. A pass that adds up something over the
cells writes the sum of one position: whoever calls adds those up in double precision.

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

#if TENGEN_AVX2
enum { FUSED_BUILT = 1 };

#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define SPREAD(p) _mm256_broadcast_ss(p)

/* Clear the rim of a board of (height + 2) x (width + 2) cells. */
TENGEN_INNER void fused_rim(int height, int width, int c, float* to)
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
TENGEN_INNER void fused_pad(const float* x, int height, int width, int c, float* to)
{
    const size_t row = (size_t)(width + 2) * c;
    fused_rim(height, width, c, to);
    for (int y = 0; y < height; y++)
        memcpy(to + (y + 1) * row + c, x + (size_t)y * width * c, (size_t)width * c * sizeof(float));
}

/* The mean of each channel of a position, and the sum of the squares around it. */
TENGEN_INNER void fused_moments(const float* x, int hw, int c, float* mean, float* square)
{
    for (int k = 0; k < c; k += 16) {
        const float* p = x + k;
        __m256 s[4], q[4], mid[2];
        int r = 0;
        for (int j = 0; j < 4; j++)
            s[j] = q[j] = _mm256_setzero_ps();
        for (; r + 2 <= hw; r += 2, p += 2 * c)
            for (int j = 0; j < 4; j++)
                s[j] = _mm256_add_ps(s[j], LOAD(p + j / 2 * c + j % 2 * 8));
        for (int j = 0; j < 2; j++) {
            if (r < hw)
                s[j] = _mm256_add_ps(s[j], LOAD(p + j * 8));
            mid[j] = _mm256_div_ps(_mm256_add_ps(s[j], s[j + 2]), _mm256_set1_ps((float)hw));
        }
        for (r = 0, p = x + k; r + 2 <= hw; r += 2, p += 2 * c)
            for (int j = 0; j < 4; j++) {
                const __m256 e = _mm256_sub_ps(LOAD(p + j / 2 * c + j % 2 * 8), mid[j % 2]);
                q[j] = _mm256_fmadd_ps(e, e, q[j]);
            }
        for (int j = 0; j < 2; j++) {
            if (r < hw) {
                const __m256 e = _mm256_sub_ps(LOAD(p + j * 8), mid[j]);
                q[j] = _mm256_fmadd_ps(e, e, q[j]);
            }
            STORE(mean + k + j * 8, mid[j]);
            STORE(square + k + j * 8, _mm256_add_ps(q[j], q[j + 2]));
        }
    }
}

/* out = sums over taps of w[9, C] x[padded]; its moments. */
TENGEN_FAST static void fused_depthwise(const float* x, int height, int width, int c, const float* w,
    float* out, float* mean, float* square, float* room)
{
    const size_t row = (size_t)(width + 2) * c;
    fused_pad(x, height, width, c, room);
    for (int y = 0; y < height; y++)
        for (int k = 0; k < c; k += 8) {
            const float* p = room + y * row + k;
            float* to = out + (size_t)y * width * c + k;
            __m256 tap[9];
            for (int j = 0; j < 9; j++)
                tap[j] = LOAD(w + j * c + k);
            for (int i = 0; i < width; i++, p += c, to += c) {
                __m256 a = _mm256_mul_ps(tap[0], LOAD(p));
                __m256 b = _mm256_mul_ps(tap[3], LOAD(p + row));
                __m256 d = _mm256_mul_ps(tap[6], LOAD(p + 2 * row));
                a = _mm256_fmadd_ps(tap[1], LOAD(p + c), a);
                b = _mm256_fmadd_ps(tap[4], LOAD(p + row + c), b);
                d = _mm256_fmadd_ps(tap[7], LOAD(p + 2 * row + c), d);
                a = _mm256_fmadd_ps(tap[2], LOAD(p + 2 * c), a);
                b = _mm256_fmadd_ps(tap[5], LOAD(p + row + 2 * c), b);
                d = _mm256_fmadd_ps(tap[8], LOAD(p + 2 * row + 2 * c), d);
                STORE(to, _mm256_add_ps(_mm256_add_ps(a, b), d));
            }
        }
    fused_moments(out, height * width, c, mean, square);
}

/* out = relu(scale in + shift) for some cells. */
TENGEN_INNER void fused_norm_relu(const float* in, int cells, int c, const float* scale, const float* shift, float* out)
{
    for (int r = 0; r < cells; r++, in += c, out += c)
        for (int k = 0; k < c; k += 8)
            STORE(out + k, _mm256_max_ps(_mm256_fmadd_ps(LOAD(scale + k), LOAD(in + k), LOAD(shift + k)),
                                         _mm256_setzero_ps()));
}

/* `rows` (1 to 6) rows of out [., n] = in [., depth] w [depth, n]. */
#define FUSED_ROWS(name, rows)                                                                                       \
    TENGEN_INNER void name(const float* in, int depth, const float* w, int n, float* out)                            \
    {                                                                                                                \
        for (int k = 0; k < n; k += 16) {                                                                            \
            __m256 acc[rows][2];                                                                                     \
            for (int r = 0; r < rows; r++)                                                                           \
                acc[r][0] = acc[r][1] = _mm256_setzero_ps();                                                         \
            for (int i = 0; i < depth; i++) {                                                                        \
                const __m256 a = LOAD(w + (size_t)i * n + k), b = LOAD(w + (size_t)i * n + k + 8);                   \
                for (int r = 0; r < rows; r++) {                                                                     \
                    const __m256 x = SPREAD(in + (size_t)r * depth + i);                                             \
                    acc[r][0] = _mm256_fmadd_ps(x, a, acc[r][0]);                                                    \
                    acc[r][1] = _mm256_fmadd_ps(x, b, acc[r][1]);                                                    \
                }                                                                                                    \
            }                                                                                                        \
            for (int r = 0; r < rows; r++) {                                                                         \
                STORE(out + (size_t)r * n + k, acc[r][0]);                                                           \
                STORE(out + (size_t)r * n + k + 8, acc[r][1]);                                                       \
            }                                                                                                        \
        }                                                                                                            \
    }

FUSED_ROWS(fused_rows6, 6)
FUSED_ROWS(fused_rows1, 1)

/* out [cells, n] = in [cells, depth] w [depth, n]. */
TENGEN_INNER void fused_product(const float* in, int cells, int depth, const float* w, int n, float* out)
{
    int r = 0;
    for (; r + 6 <= cells; r += 6)
        fused_rows6(in + (size_t)r * depth, depth, w, n, out + (size_t)r * n);
    for (; r < cells; r++)
        fused_rows1(in + (size_t)r * depth, depth, w, n, out + (size_t)r * n);
}

/* sum [m, n] += a' b, for a [cells, m] and b [cells, n]; m is a multiple of 4. */
TENGEN_INNER void fused_outer(const float* a, int m, const float* b, int n, int cells, float* sum)
{
    for (int i = 0; i < m; i += 4)
        for (int k = 0; k < n; k += 16) {
            __m256 acc[4][2];
            float* to = sum + (size_t)i * n + k;
            for (int j = 0; j < 4; j++) {
                acc[j][0] = LOAD(to + (size_t)j * n);
                acc[j][1] = LOAD(to + (size_t)j * n + 8);
            }
            for (int r = 0; r < cells; r++) {
                const __m256 x = LOAD(b + (size_t)r * n + k), y = LOAD(b + (size_t)r * n + k + 8);
                for (int j = 0; j < 4; j++) {
                    const __m256 v = SPREAD(a + (size_t)r * m + i + j);
                    acc[j][0] = _mm256_fmadd_ps(v, x, acc[j][0]);
                    acc[j][1] = _mm256_fmadd_ps(v, y, acc[j][1]);
                }
            }
            for (int j = 0; j < 4; j++) {
                STORE(to + (size_t)j * n, acc[j][0]);
                STORE(to + (size_t)j * n + 8, acc[j][1]);
            }
        }
}

/* v = relu(scale u + shift) w, for w [C in, C out], and its moments. */
TENGEN_FAST static void fused_pointwise(const float* u, int hw, int c, const float* scale, const float* shift,
    const float* w, float* v, float* mean, float* square, float* room)
{
    for (int r = 0; r < hw; r += FUSED_TILE) {
        const int cells = hw - r < FUSED_TILE ? hw - r : FUSED_TILE;
        fused_norm_relu(u + (size_t)r * c, cells, c, scale, shift, room);
        fused_product(room, cells, c, w, c, v + (size_t)r * c);
    }
    fused_moments(v, hw, c, mean, square);
}

/* out = relu(x + scale v + shift) */
TENGEN_FAST static void fused_residual(const float* x, const float* v, int hw, int c, const float* scale,
    const float* shift, float* out)
{
    for (size_t r = 0; r < (size_t)hw * c; r += c)
        for (int k = 0; k < c; k += 8) {
            const __m256 y = _mm256_fmadd_ps(LOAD(scale + k), LOAD(v + r + k), LOAD(shift + k));
            STORE(out + r + k, _mm256_max_ps(_mm256_add_ps(LOAD(x + r + k), y), _mm256_setzero_ps()));
        }
}

/* out[cell] = the sum of four rows of the table; its moments. */
TENGEN_FAST static void fused_lines(const float* table, const int32_t* rows, int hw, int c, float* out,
    float* mean, float* square)
{
    for (int r = 0; r < hw; r++, rows += 4) {
        const float *p0 = table + (size_t)rows[0] * c, *p1 = table + (size_t)rows[1] * c;
        const float *p2 = table + (size_t)rows[2] * c, *p3 = table + (size_t)rows[3] * c;
        float* to = out + (size_t)r * c;
        for (int k = 0; k < c; k += 8) {
            const __m256 a = _mm256_add_ps(LOAD(p0 + k), LOAD(p1 + k)), b = _mm256_add_ps(LOAD(p2 + k), LOAD(p3 + k));
            STORE(to + k, _mm256_add_ps(a, b));
        }
    }
    fused_moments(out, hw, c, mean, square);
}

/* out = relu(scale lines + shift + planes' w) for planes [P, hw] and w [P, C]. */
TENGEN_FAST static void fused_stem(const float* lines, const float* planes, int n_planes, int hw, int c,
    const float* scale, const float* shift, const float* w, float* out)
{
    for (int r = 0; r < hw; r++) {
        float* to = out + (size_t)r * c;
        for (int k = 0; k < c; k += 8)
            STORE(to + k, _mm256_fmadd_ps(LOAD(scale + k), LOAD(lines + (size_t)r * c + k), LOAD(shift + k)));
        for (int p = 0; p < n_planes; p++) {
            const float value = planes[(size_t)p * hw + r];
            const __m256 times = _mm256_set1_ps(value);
            if (value == 0)     /* as most are */
                continue;
            for (int k = 0; k < c; k += 8)
                STORE(to + k, _mm256_fmadd_ps(times, LOAD(w + (size_t)p * c + k), LOAD(to + k)));
        }
        for (int k = 0; k < c; k += 8)
            STORE(to + k, _mm256_max_ps(LOAD(to + k), _mm256_setzero_ps()));
    }
}

/* g = dout where out > 0; sums of g and of g (z - mean). `dout` may be `g`. */
TENGEN_INNER void fused_gate(const float* dout, const float* out, const float* z, const float* mean, int cells, int c,
    float* g, float* sum, float* along)
{
    for (int k = 0; k < c; k += 8) {
        __m256 mid = LOAD(mean + k), s = LOAD(sum + k), t = LOAD(along + k);
        for (size_t r = k; r < (size_t)cells * c; r += c) {
            const __m256 on = _mm256_cmp_ps(LOAD(out + r), _mm256_setzero_ps(), _CMP_GT_OQ);
            const __m256 d = _mm256_and_ps(LOAD(dout + r), on);
            STORE(g + r, d);
            s = _mm256_add_ps(s, d);
            t = _mm256_fmadd_ps(d, _mm256_sub_ps(LOAD(z + r), mid), t);
        }
        STORE(sum + k, s);
        STORE(along + k, t);
    }
}

/* The sum of eight numbers. */
TENGEN_INNER float fused_total(__m256 x)
{
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
}

/* The heads: hidden [hw, np + nv] = relu(x w + bias); logits [3, hw] of its first np channels by v [3, np]; the sum
and the largest of each of its last nv. */
TENGEN_FAST static void fused_heads(const float* x, int hw, int c, const float* w, const float* bias, const float* v,
    int np, int nv, float* hidden, float* logits, float* sum, float* top)
{
    const int n = np + nv;
    memset(sum, 0, nv * sizeof(float));
    memset(top, 0, nv * sizeof(float));
    fused_product(x, hw, c, w, n, hidden);
    for (int r = 0; r < hw; r++) {
        float* h = hidden + (size_t)r * n;
        for (int k = 0; k < n; k += 8)
            STORE(h + k, _mm256_max_ps(_mm256_add_ps(LOAD(h + k), LOAD(bias + k)), _mm256_setzero_ps()));
        for (int j = 0; j < 3; j++) {
            __m256 total = _mm256_setzero_ps();
            for (int k = 0; k < np; k += 8)
                total = _mm256_fmadd_ps(LOAD(h + k), LOAD(v + (size_t)j * np + k), total);
            logits[(size_t)j * hw + r] = fused_total(total);
        }
        for (int k = 0; k < nv; k += 8) {
            STORE(sum + k, _mm256_add_ps(LOAD(sum + k), LOAD(h + np + k)));
            STORE(top + k, _mm256_max_ps(LOAD(top + k), LOAD(h + np + k)));
        }
    }
}

/* Back through the heads: g, the gradient of what the relu of x saw, and its sums as those of `fused_gate`.

Logits have the gradient dlogits [3, hw]; each value channel `every` in each cell and `at_top` / (how many) where it
is `top`. dw [np + nv, C], dbias [np + nv] and dv [3, np] grow; w is [np + nv, C]. */
TENGEN_FAST static void fused_heads_back(const float* dlogits, const float* every, const float* at_top,
    const float* top, const float* hidden, const float* x, const float* z, const float* mean, int hw, int c,
    const float* w, const float* v, int np, int nv, float* g, float* sum, float* along, float* dw, float* dbias,
    float* dv, float* room)
{
    const int n = np + nv;
    float *share = room, *dh = room + nv;
    memset(sum, 0, c * sizeof(float));
    memset(along, 0, c * sizeof(float));
    for (int k = 0; k < nv; k += 8) {
        const __m256 best = LOAD(top + k);
        __m256 many = _mm256_setzero_ps();
        for (int r = 0; r < hw; r++) {
            const __m256 is = _mm256_cmp_ps(LOAD(hidden + (size_t)r * n + np + k), best, _CMP_EQ_OQ);
            many = _mm256_add_ps(many, _mm256_and_ps(is, _mm256_set1_ps(1)));
        }
        STORE(share + k, _mm256_div_ps(LOAD(at_top + k), many));
    }
    for (int start = 0; start < hw; start += FUSED_TILE) {
        const int cells = hw - start < FUSED_TILE ? hw - start : FUSED_TILE;
        const size_t at = (size_t)start * c;
        for (int r = 0; r < cells; r++) {
            const float* h = hidden + (size_t)(start + r) * n;
            float* d = dh + (size_t)r * n;
            __m256 by[3];
            for (int j = 0; j < 3; j++)
                by[j] = SPREAD(dlogits + (size_t)j * hw + start + r);
            for (int k = 0; k < np; k += 8) {
                __m256 e = _mm256_mul_ps(by[0], LOAD(v + k)), seen = LOAD(h + k);
                e = _mm256_fmadd_ps(by[1], LOAD(v + np + k), e);
                e = _mm256_fmadd_ps(by[2], LOAD(v + 2 * (size_t)np + k), e);
                STORE(d + k, _mm256_and_ps(e, _mm256_cmp_ps(seen, _mm256_setzero_ps(), _CMP_GT_OQ)));
                for (int j = 0; j < 3; j++) {
                    float* to = dv + (size_t)j * np + k;
                    STORE(to, _mm256_fmadd_ps(by[j], seen, LOAD(to)));
                }
            }
            for (int k = 0; k < nv; k += 8) {
                const __m256 seen = LOAD(h + np + k), is = _mm256_cmp_ps(seen, LOAD(top + k), _CMP_EQ_OQ);
                const __m256 e = _mm256_add_ps(LOAD(every + k), _mm256_and_ps(is, LOAD(share + k)));
                STORE(d + np + k, _mm256_and_ps(e, _mm256_cmp_ps(seen, _mm256_setzero_ps(), _CMP_GT_OQ)));
            }
            for (int k = 0; k < n; k += 8)
                STORE(dbias + k, _mm256_add_ps(LOAD(dbias + k), LOAD(d + k)));
        }
        fused_outer(dh, n, x + at, c, cells, dw);
        fused_product(dh, cells, n, w, c, g + at);
        fused_gate(g + at, x + at, z + at, mean, cells, c, g + at, sum, along);
    }
}

/* Back through v = relu(scale u + shift) w: dy of what the relu saw, for w [C out, C in]; the sums of dy and of
dy (u - mean); dw [C out, C in] of this position. dv = slope g + tilt v + level. */
TENGEN_FAST static void fused_pointwise_back(const float* g, const float* v, const float* slope, const float* tilt,
    const float* level, const float* u, const float* scale, const float* shift, const float* mean, const float* w,
    int hw, int c, float* dy, float* sum, float* along, float* dw, float* room)
{
    float *t = room, *dv = room + (size_t)FUSED_TILE * c;
    memset(sum, 0, c * sizeof(float));
    memset(along, 0, c * sizeof(float));
    for (int start = 0; start < hw; start += FUSED_TILE) {
        const int cells = hw - start < FUSED_TILE ? hw - start : FUSED_TILE;
        const size_t at = (size_t)start * c;
        fused_norm_relu(u + at, cells, c, scale, shift, t);
        for (size_t r = 0; r < (size_t)cells * c; r += c)
            for (int k = 0; k < c; k += 8) {
                const __m256 e = _mm256_fmadd_ps(LOAD(tilt + k), LOAD(v + at + r + k), LOAD(level + k));
                STORE(dv + r + k, _mm256_fmadd_ps(LOAD(slope + k), LOAD(g + at + r + k), e));
            }
        fused_outer(dv, c, t, c, cells, dw);
        fused_product(dv, cells, c, w, c, dy + at);
        fused_gate(dy + at, t, u + at, mean, cells, c, dy + at, sum, along);
    }
}

/* Back through u = depthwise(x), x = relu(...): g becomes the gradient of what that relu saw, for g the gradient that
reaches x on the way around the block. du = slope dy + tilt u + level. dw [9, C] and the sums of the new g and of
g (z - mean). */
TENGEN_FAST static void fused_depthwise_back(const float* dy, const float* u, const float* slope, const float* tilt,
    const float* level, const float* x, const float* w, const float* z, const float* mean, int height, int width,
    int c, float* g, float* dw, float* sum, float* along, float* room)
{
    const size_t row = (size_t)(width + 2) * c;
    float *du = room, *px = room + (height + 2) * row;
    memset(dw, 0, 9 * (size_t)c * sizeof(float));
    memset(sum, 0, c * sizeof(float));
    memset(along, 0, c * sizeof(float));
    fused_pad(x, height, width, c, px);
    fused_rim(height, width, c, du);
    for (int y = 0; y < height; y++)
        for (int i = 0; i < width; i++) {
            const size_t at = ((size_t)y * width + i) * c;
            float* to = du + (y + 1) * row + (size_t)(i + 1) * c;
            for (int k = 0; k < c; k += 8) {
                const __m256 e = _mm256_fmadd_ps(LOAD(tilt + k), LOAD(u + at + k), LOAD(level + k));
                STORE(to + k, _mm256_fmadd_ps(LOAD(slope + k), LOAD(dy + at + k), e));
            }
        }
    for (int y = 0; y < height; y++)
        for (int k = 0; k < c; k += 8) {
            const float *p = px + y * row + k, *from = du + (y + 1) * row + c + k;
            __m256 acc[9];
            for (int j = 0; j < 9; j++)
                acc[j] = LOAD(dw + j * c + k);
            for (int i = 0; i < width; i++, p += c, from += c) {
                const __m256 d = LOAD(from);
                for (int j = 0; j < 9; j++)
                    acc[j] = _mm256_fmadd_ps(d, LOAD(p + j / 3 * row + j % 3 * c), acc[j]);
            }
            for (int j = 0; j < 9; j++)
                STORE(dw + j * c + k, acc[j]);
        }
    for (int y = 0; y < height; y++)
        for (int k = 0; k < c; k += 8) {
            __m256 tap[9], mid = LOAD(mean + k), s = LOAD(sum + k), t = LOAD(along + k);
            const float* p = du + y * row + k;
            size_t at = (size_t)y * width * c + k;
            for (int j = 0; j < 9; j++)
                tap[j] = LOAD(w + j * c + k);
            for (int i = 0; i < width; i++, p += c, at += c) {
                const __m256 on = _mm256_cmp_ps(LOAD(x + at), _mm256_setzero_ps(), _CMP_GT_OQ);
                __m256 a = LOAD(g + at), b = _mm256_mul_ps(tap[5], LOAD(p + row));
                __m256 d = _mm256_mul_ps(tap[2], LOAD(p + 2 * row));
                a = _mm256_fmadd_ps(tap[8], LOAD(p), a);
                b = _mm256_fmadd_ps(tap[4], LOAD(p + row + c), b);
                d = _mm256_fmadd_ps(tap[1], LOAD(p + 2 * row + c), d);
                a = _mm256_fmadd_ps(tap[7], LOAD(p + c), a);
                b = _mm256_fmadd_ps(tap[3], LOAD(p + row + 2 * c), b);
                d = _mm256_fmadd_ps(tap[0], LOAD(p + 2 * row + 2 * c), d);
                a = _mm256_fmadd_ps(tap[6], LOAD(p + 2 * c), a);
                a = _mm256_and_ps(_mm256_add_ps(_mm256_add_ps(a, b), d), on);
                STORE(g + at, a);
                s = _mm256_add_ps(s, a);
                t = _mm256_fmadd_ps(a, _mm256_sub_ps(LOAD(z + at), mid), t);
            }
            STORE(sum + k, s);
            STORE(along + k, t);
        }
}

/* The sum and the largest of each channel of x, none below zero. */
TENGEN_FAST static void fused_pool(const float* x, int hw, int c, float* sum, float* top)
{
    for (int k = 0; k < c; k += 8) {
        __m256 s = _mm256_setzero_ps(), t = s;
        for (size_t r = k; r < (size_t)hw * c; r += c) {
            s = _mm256_add_ps(s, LOAD(x + r));
            t = _mm256_max_ps(t, LOAD(x + r));
        }
        STORE(sum + k, s);
        STORE(top + k, t);
    }
}

/* g += every, and at_top / (how many) where x is top. */
TENGEN_FAST static void fused_pool_back(const float* x, const float* top, const float* every, const float* at_top,
    int hw, int c, float* g)
{
    for (int k = 0; k < c; k += 8) {
        const __m256 all = LOAD(every + k), best = LOAD(top + k);
        __m256 n = _mm256_setzero_ps(), share;
        for (size_t r = k; r < (size_t)hw * c; r += c)
            n = _mm256_add_ps(n, _mm256_and_ps(_mm256_cmp_ps(LOAD(x + r), best, _CMP_EQ_OQ), _mm256_set1_ps(1)));
        share = _mm256_div_ps(LOAD(at_top + k), _mm256_max_ps(n, _mm256_set1_ps(1)));
        for (size_t r = k; r < (size_t)hw * c; r += c) {
            const __m256 here = _mm256_and_ps(_mm256_cmp_ps(LOAD(x + r), best, _CMP_EQ_OQ), share);
            STORE(g + r, _mm256_add_ps(LOAD(g + r), _mm256_add_ps(all, here)));
        }
    }
}

/* Back through the stem: the gradient of the table's rows and of w [P, C]; dl = slope g + tilt lines + level. */
TENGEN_FAST static void fused_stem_back(const float* g, const float* lines, const float* slope, const float* tilt,
    const float* level, const int32_t* rows, const float* planes, int n_planes, int hw, int c, float* dtable,
    float* dw)
{
    for (int r = 0; r < hw; r++, rows += 4) {
        const size_t at = (size_t)r * c;
        for (int k = 0; k < c; k += 8) {
            const __m256 e = _mm256_fmadd_ps(LOAD(tilt + k), LOAD(lines + at + k), LOAD(level + k));
            const __m256 d = _mm256_fmadd_ps(LOAD(slope + k), LOAD(g + at + k), e);
            for (int j = 0; j < 4; j++) {
                float* to = dtable + (size_t)rows[j] * c + k;
                STORE(to, _mm256_add_ps(LOAD(to), d));
            }
        }
        for (int p = 0; p < n_planes; p++) {
            const float value = planes[(size_t)p * hw + r];
            const __m256 times = _mm256_set1_ps(value);
            float* to = dw + (size_t)p * c;
            if (value == 0)
                continue;
            for (int k = 0; k < c; k += 8)
                STORE(to + k, _mm256_fmadd_ps(times, LOAD(g + at + k), LOAD(to + k)));
        }
    }
}

#undef LOAD
#undef STORE
#undef SPREAD

#else   /* so that the module builds; nobody calls them */
enum { FUSED_BUILT = 0 };

static void fused_depthwise(const float* x, int height, int width, int c, const float* w, float* out, float* mean,
    float* square, float* room) {}
static void fused_pointwise(const float* u, int hw, int c, const float* scale, const float* shift, const float* w,
    float* v, float* mean, float* square, float* room) {}
static void fused_residual(const float* x, const float* v, int hw, int c, const float* scale, const float* shift,
    float* out) {}
static void fused_lines(const float* table, const int32_t* rows, int hw, int c, float* out, float* mean, float*
    square) {}
static void fused_stem(const float* lines, const float* planes, int n_planes, int hw, int c, const float* scale, const
    float* shift, const float* w, float* out) {}
static void fused_heads(const float* x, int hw, int c, const float* w, const float* bias, const float* v, int np, int
    nv, float* hidden, float* logits, float* sum, float* top) {}
static void fused_heads_back(const float* dlogits, const float* every, const float* at_top, const float* top, const
    float* hidden, const float* x, const float* z, const float* mean, int hw, int c, const float* w, const float* v,
    int np, int nv, float* g, float* sum, float* along, float* dw, float* dbias, float* dv, float* room) {}
static void fused_pointwise_back(const float* g, const float* v, const float* slope, const float* tilt, const float*
    level, const float* u, const float* scale, const float* shift, const float* mean, const float* w, int hw, int c,
    float* dy, float* sum, float* along, float* dw, float* room) {}
static void fused_depthwise_back(const float* dy, const float* u, const float* slope, const float* tilt, const float*
    level, const float* x, const float* w, const float* z, const float* mean, int height, int width, int c, float* g,
    float* dw, float* sum, float* along, float* room) {}
static void fused_pool(const float* x, int hw, int c, float* sum, float* top) {}
static void fused_pool_back(const float* x, const float* top, const float* every, const float* at_top, int hw, int c,
    float* g) {}
static void fused_stem_back(const float* g, const float* lines, const float* slope, const float* tilt, const float*
    level, const int32_t* rows, const float* planes, int n_planes, int hw, int c, float* dtable, float* dw) {}
#endif

#endif

/* The loops of `loops.h` for AVX2 with FMA; the products stand in `avx2_products.h`. */
#ifndef TENGEN_LINES_AVX2_H
#define TENGEN_LINES_AVX2_H

#include "layout.h"
#include "avx2_products.h"

static TENGEN_FAST void lines_scan_avx2(tengen_lines* net, const float* planes, int width, int height)
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
#pragma GCC unroll 16
            for (k = 0; k < LINES_LOCAL; k++, from += points) {
                const __m256i bit = _mm256_set1_epi32(1 << k);
                __m256 low = _mm256_cmp_ps(_mm256_loadu_ps(from), zero, _CMP_NEQ_UQ);
                __m256 high = _mm256_cmp_ps(_mm256_loadu_ps(from + 8), zero, _CMP_NEQ_UQ);
                a = _mm256_or_si256(a, _mm256_and_si256(_mm256_castps_si256(low), bit));
                b = _mm256_or_si256(b, _mm256_and_si256(_mm256_castps_si256(high), bit));
            }
            bits = _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xD8);
            _mm256_storeu_si256((__m256i*)(net->scratch.bits + y * width + x), bits);
            digits = _mm256_add_epi16(_mm256_and_si256(_mm256_srli_epi16(bits, 1), three), one);
            digits = _mm256_min_epi16(digits, three);
            digits = _mm256_and_si256(digits, _mm256_cmpeq_epi16(_mm256_and_si256(bits, one), one));
            digits = _mm256_and_si256(digits, _mm256_cmpgt_epi16(_mm256_set1_epi16((short)(width - x)), iota));
            _mm256_storeu_si256((__m256i*)lines_digit(net, x, y), digits);
        }
}

TENGEN_INNER __m256i lines_side_avx2(const uint16_t* cell, int step)
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

static TENGEN_FAST void lines_entries_avx2(tengen_lines* net)
{
    const __m256i one = _mm256_set1_epi16(1), two = _mm256_set1_epi16(2);
    const lines_window* w = &net->window;
    int d, y, x;
#pragma GCC unroll 4
    for (d = 0; d < 4; d++) {
        for (y = w->top; y < w->bottom; y++)
            for (x = w->from[y]; x < w->until[y]; x += 16) {
                const uint16_t* cell = lines_digit(net, x, y);
                int32_t* to = net->scratch.entries + d * LINES_GAP + y * w->width + x;
                __m256i a = lines_side_avx2(cell, -lines_step(d)), b = lines_side_avx2(cell, lines_step(d));
                __m256i high = _mm256_max_epi16(a, b), low = _mm256_min_epi16(a, b);
                __m256i next = _mm256_add_epi16(high, one);
                /* (high (high + 1) + 2 low) / 2 in 32 bits */
                __m256i p = _mm256_srli_epi32(_mm256_madd_epi16(
                    _mm256_unpacklo_epi16(high, low), _mm256_unpacklo_epi16(next, two)), 1);
                __m256i q = _mm256_srli_epi32(_mm256_madd_epi16(
                    _mm256_unpackhi_epi16(high, low), _mm256_unpackhi_epi16(next, two)), 1);
                _mm256_storeu_si256((__m256i*)to, _mm256_permute2x128_si256(p, q, 0x20));
                _mm256_storeu_si256((__m256i*)(to + 8), _mm256_permute2x128_si256(p, q, 0x31));
            }
    }
}

enum { LINES_AHEAD = 10 };      /* cells between the prefetch and the use of a codebook entry (tuned: on Zen 4) */

TENGEN_INNER void lines_prefetch(const tengen_lines* net, int cell, int channels)
{
    int c;
    for (c = 0; c < channels * 2; c += 64) {
        TENGEN_PREFETCH((const char*)lines_entry(net, 0, cell, channels) + c);
        TENGEN_PREFETCH((const char*)lines_entry(net, 1, cell, channels) + c);
        TENGEN_PREFETCH((const char*)lines_entry(net, 2, cell, channels) + c);
        TENGEN_PREFETCH((const char*)lines_entry(net, 3, cell, channels) + c);
    }
}

TENGEN_INNER void lines_gather_body(const tengen_lines* net, int cell, int cells, float* x, int channels, int
                                    narrow)
{
    const __m256 scale = _mm256_set1_ps(net->weights.scale), zero = _mm256_setzero_ps();
    int i, c;
    for (i = cell; i < cell + cells; i++, x += channels) {
        const int16_t* a = lines_entry(net, 0, i, channels);
        const int16_t* b = lines_entry(net, 1, i, channels);
        const int16_t* e = lines_entry(net, 2, i, channels);
        const int16_t* f = lines_entry(net, 3, i, channels);
        const float* low = lines_local(net, 0, i, channels);
        const float* high = lines_local(net, 1, i, channels);
        lines_prefetch(net, i + LINES_AHEAD, channels);
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
            v = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, _mm256_load_ps(net->scratch.base + c));
            v = _mm256_add_ps(v, _mm256_add_ps(_mm256_load_ps(low + c), _mm256_load_ps(high + c)));
            _mm256_store_ps(x + c, _mm256_max_ps(v, zero));
        }
    }
}

static TENGEN_FAST void lines_gather_avx2(const tengen_lines* net, int cell, int cells, float* x)
{
    if (!net->weights.narrow)
        lines_gather_body(net, cell, cells, x, net->channels, 0);
    else if (net->channels == 32)
        lines_gather_body(net, cell, cells, x, 32, 1);
    else
        lines_gather_body(net, cell, cells, x, net->channels, 1);
}

/* Round eight numbers, none negative, to bytes: LINES_BYTE at most. */
TENGEN_INNER void lines_store_bytes(__m256 x, uint8_t* bytes)
{
    __m256i whole = _mm256_cvtps_epi32(x);
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64((__m128i*)bytes, _mm_packs_epi16(words, words));
}

/* One vector of channels along a row: nine weights stay in registers, each loaded column serves three outputs.

The row becomes floats in `y`, or bytes in `bytes` if that is not NULL. */
TENGEN_INNER void lines_depth_body(const float* x, int stride, int cells, int channels, const float* w, const float*
                                   bias, float* y, uint8_t* bytes)
{
    const __m256 zero = _mm256_setzero_ps();
    int c, i;
    for (c = 0; c < channels; c += 8) {
        const float* from = x + c;
        float* to = y + c;
        uint8_t* to_bytes = bytes + c;
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
            if (bytes != NULL) {
                lines_store_bytes(now, to_bytes);
                to_bytes += channels;
            } else {
                _mm256_store_ps(to, now);
                to += channels;
            }
            now = next;
            next = after;
        }
    }
}

static TENGEN_FAST void lines_depth_avx2(const float* x, int stride, int cells, int channels, const float* w, const
                                         float* bias, float* y)
{
    if (channels == 32)
        lines_depth_body(x, stride, cells, 32, w, bias, y, NULL);
    else
        lines_depth_body(x, stride, cells, channels, w, bias, y, NULL);
}

static TENGEN_FAST void lines_depth_bytes_avx2(const float* x, int stride, int cells, int channels, const float* w,
                                               const float* bias, uint8_t* bytes)
{
    if (channels == 64)
        lines_depth_body(x, stride, cells, 64, w, bias, NULL, bytes);
    else
        lines_depth_body(x, stride, cells, channels, w, bias, NULL, bytes);
}

static TENGEN_FAST void lines_bytes_avx2(const float* x, int cells, int n, const float* per_unit, uint8_t* bytes)
{
    int i, c;
    for (i = 0; i < cells; i++, x += n, bytes += n)
        for (c = 0; c < n; c += 8)
            lines_store_bytes(_mm256_mul_ps(_mm256_load_ps(x + c), _mm256_load_ps(per_unit + c)), bytes + c);
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

static TENGEN_FAST void lines_pool_avx2(const float* x, const float* shift, int cells, int stride, int n, float*
                                        sum, float* top)
{
    if (shift == NULL)
        lines_pool_body(x, NULL, cells, stride, n, sum, top);
    else
        lines_pool_body(x, shift, cells, stride, n, sum, top);
}

static TENGEN_FAST void lines_move_avx2(const float* from, const float* shift, int cells, int n, float* to)
{
    int i, c;
    for (i = 0; i < cells; i++, from += n, to += n)
        for (c = 0; c < n; c += 8) {
            __m256 moved = _mm256_add_ps(_mm256_load_ps(from + c), _mm256_load_ps(shift + c));
            _mm256_store_ps(to + c, _mm256_max_ps(moved, _mm256_setzero_ps()));
        }
}

TENGEN_INNER float lines_total(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

static TENGEN_FAST void lines_policy_avx2(const float* hidden, int cells, int stride, int n, const float* w, float*
                                          logits)
{
    int i, c;
    for (i = 0; i < cells; i++, hidden += stride) {
        __m256 sum = _mm256_mul_ps(_mm256_load_ps(hidden), _mm256_load_ps(w));
        for (c = 8; c < n; c += 8)
            sum = _mm256_fmadd_ps(_mm256_load_ps(hidden + c), _mm256_load_ps(w + c), sum);
        logits[i] = lines_total(sum);
    }
}

static const lines_loops lines_avx2 = {
    lines_scan_avx2, lines_entries_avx2, lines_gather_avx2, lines_depth_avx2, lines_product_avx2, lines_pool_avx2,
    lines_move_avx2, lines_policy_avx2, lines_shorts_avx2, lines_product_shorts_avx2, lines_bytes_avx2,
    lines_depth_bytes_avx2, lines_product_bytes_avx2,
};

#endif

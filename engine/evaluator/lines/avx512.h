/* Those of the loops of `loops.h` that AVX-512 with VNNI makes faster; the others are those for AVX2.

They take nets in 8 bits whose channels, and both heads together, come in sixteens. Every number is made from the same
numbers in the same order as with AVX2, or in whole numbers: the results are the same to the last bit. */
#ifndef TENGEN_LINES_AVX512_H
#define TENGEN_LINES_AVX512_H

#include "layout.h"
#include "avx2.h"

/* sum += the products of four bytes each, in 32 bits. */
#if defined(TENGEN_EMULATED)
#define LINES_DOT(sum, bytes, weights) (sum) = _mm512_dpbusd_epi32(sum, bytes, weights)
#else   /* as an instruction: for the intrinsic GCC moves each sum to and fro */
#define LINES_DOT(sum, bytes, weights) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(bytes), "v"(weights))
#endif

TENGEN_WIDE_INNER void lines_gather_avx512_body(const tengen_lines* net, int cell, int cells, float* x, int
                                                channels, int narrow)
{
    const __m512 scale = _mm512_set1_ps(net->weights.scale), zero = _mm512_setzero_ps();
    int i, c;
    for (i = cell; i < cell + cells; i++, x += channels) {
        const int16_t* a = lines_entry(net, 0, i, channels);
        const int16_t* b = lines_entry(net, 1, i, channels);
        const int16_t* e = lines_entry(net, 2, i, channels);
        const int16_t* f = lines_entry(net, 3, i, channels);
        const float* low = lines_local(net, 0, i, channels);
        const float* high = lines_local(net, 1, i, channels);
        lines_prefetch(net, i + LINES_AHEAD, channels);
        for (c = 0; c < channels; c += 16) {
            __m256i va = _mm256_loadu_si256((const __m256i*)(a + c));
            __m256i vb = _mm256_loadu_si256((const __m256i*)(b + c));
            __m256i ve = _mm256_loadu_si256((const __m256i*)(e + c));
            __m256i vf = _mm256_loadu_si256((const __m256i*)(f + c));
            __m512i sum;
            __m512 v;
            if (narrow)
                sum = _mm512_cvtepi16_epi32(_mm256_add_epi16(_mm256_add_epi16(va, vb), _mm256_add_epi16(ve, vf)));
            else
                sum = _mm512_add_epi32(
                    _mm512_add_epi32(_mm512_cvtepi16_epi32(va), _mm512_cvtepi16_epi32(vb)),
                    _mm512_add_epi32(_mm512_cvtepi16_epi32(ve), _mm512_cvtepi16_epi32(vf)));
            v = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, _mm512_loadu_ps(net->scratch.base + c));
            v = _mm512_add_ps(v, _mm512_add_ps(_mm512_loadu_ps(low + c), _mm512_loadu_ps(high + c)));
            _mm512_storeu_ps(x + c, _mm512_max_ps(v, zero));
        }
    }
}

static TENGEN_WIDE void lines_gather_avx512(const tengen_lines* net, int cell, int cells, float* x)
{
    if (net->weights.narrow && net->channels == 64)
        lines_gather_avx512_body(net, cell, cells, x, 64, 1);
    else
        lines_gather_avx512_body(net, cell, cells, x, net->channels, net->weights.narrow);
}

/* Round sixteen numbers, none negative, to bytes: LINES_BYTE at most. */
TENGEN_WIDE_INNER void lines_store_bytes_avx512(__m512 x, uint8_t* bytes)
{
    _mm_storeu_si128((__m128i*)bytes, _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x)));
}

TENGEN_WIDE_INNER void lines_depth_bytes_avx512_body(const float* x, int stride, int cells, int channels, const
                                                     float* w, const float* bias, uint8_t* bytes)
{
    const __m512 zero = _mm512_setzero_ps();
    int c, i;
    for (c = 0; c < channels; c += 16) {
        const float* from = x + c;
        uint8_t* to = bytes + c;
        const __m512 w0 = _mm512_loadu_ps(w + c), w1 = _mm512_loadu_ps(w + channels + c);
        const __m512 w2 = _mm512_loadu_ps(w + 2 * channels + c), w3 = _mm512_loadu_ps(w + 3 * channels + c);
        const __m512 w4 = _mm512_loadu_ps(w + 4 * channels + c), w5 = _mm512_loadu_ps(w + 5 * channels + c);
        const __m512 w6 = _mm512_loadu_ps(w + 6 * channels + c), w7 = _mm512_loadu_ps(w + 7 * channels + c);
        const __m512 w8 = _mm512_loadu_ps(w + 8 * channels + c), b = _mm512_loadu_ps(bias + c);
        __m512 up = _mm512_loadu_ps(from - stride), mid = _mm512_loadu_ps(from);
        __m512 down = _mm512_loadu_ps(from + stride);
        /* `now` has its left and middle column, `next` its left one. */
        __m512 now = _mm512_fmadd_ps(_mm512_loadu_ps(from - stride - channels), w0, b);
        __m512 next = _mm512_fmadd_ps(down, w6, _mm512_fmadd_ps(mid, w3, _mm512_fmadd_ps(up, w0, b)));
        now = _mm512_fmadd_ps(_mm512_loadu_ps(from - channels), w3, now);
        now = _mm512_fmadd_ps(_mm512_loadu_ps(from + stride - channels), w6, now);
        now = _mm512_fmadd_ps(down, w7, _mm512_fmadd_ps(mid, w4, _mm512_fmadd_ps(up, w1, now)));
        for (i = 0; i < cells; i++, to += channels) {
            __m512 after;
            from += channels;
            up = _mm512_loadu_ps(from - stride);
            mid = _mm512_loadu_ps(from);
            down = _mm512_loadu_ps(from + stride);
            after = _mm512_fmadd_ps(down, w6, _mm512_fmadd_ps(mid, w3, _mm512_fmadd_ps(up, w0, b)));
            now = _mm512_fmadd_ps(down, w8, _mm512_fmadd_ps(mid, w5, _mm512_fmadd_ps(up, w2, now)));
            next = _mm512_fmadd_ps(down, w7, _mm512_fmadd_ps(mid, w4, _mm512_fmadd_ps(up, w1, next)));
            lines_store_bytes_avx512(_mm512_max_ps(now, zero), to);
            now = next;
            next = after;
        }
    }
}

static TENGEN_WIDE void lines_depth_bytes_avx512(const float* x, int stride, int cells, int channels, const float*
                                                 w, const float* bias, uint8_t* bytes)
{
    if (channels == 64)
        lines_depth_bytes_avx512_body(x, stride, cells, 64, w, bias, bytes);
    else
        lines_depth_bytes_avx512_body(x, stride, cells, channels, w, bias, bytes);
}

/* `cells` x 16 `vectors` outputs, both constants; sums hold 32 bits. */
TENGEN_WIDE_INNER void lines_product_bytes_avx512_tile(const uint8_t* in, int n_in, const int8_t* w, const float*
                                                       bias, const float* step, float* out, int n_out, int residual,
                                                       int cells, int vectors)
{
    __m512i sum[4][4];
    int i, v, k;
#pragma GCC unroll 4
    for (i = 0; i < cells; i++)
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++)
            sum[i][v] = _mm512_setzero_si512();
    for (k = 0; k < n_in; k += 4, w += 4 * n_out) {
        __m512i value[4];
#pragma GCC unroll 4
        for (i = 0; i < cells; i++) {
            int32_t four;
            memcpy(&four, in + i * n_in + k, sizeof four);
            value[i] = _mm512_set1_epi32(four);
        }
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++) {
            __m512i weight = _mm512_loadu_si512((const void*)(w + 64 * v));
#pragma GCC unroll 4
            for (i = 0; i < cells; i++)
                LINES_DOT(sum[i][v], value[i], weight);
        }
    }
#pragma GCC unroll 4
    for (v = 0; v < vectors; v++) {
        const __m512 worth = _mm512_loadu_ps(step + 16 * v), start = _mm512_loadu_ps(bias + 16 * v);
#pragma GCC unroll 4
        for (i = 0; i < cells; i++) {
            float* to = out + i * n_out + 16 * v;
            __m512 base = residual ? _mm512_add_ps(start, _mm512_loadu_ps(to)) : start;
            base = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[i][v]), worth, base);
            _mm512_storeu_ps(to, _mm512_max_ps(base, _mm512_setzero_ps()));
        }
    }
}

TENGEN_WIDE_INNER void lines_product_bytes_avx512_column(const uint8_t* in, int cells, int n_in, const int8_t* w,
                                                         const float* bias, const float* step, float* out, int
                                                         n_out, int residual, int vectors)
{
    for (; cells >= 4; cells -= 4, in += 4 * n_in, out += 4 * n_out)
        lines_product_bytes_avx512_tile(in, n_in, w, bias, step, out, n_out, residual, 4, vectors);
    if (cells == 3)
        lines_product_bytes_avx512_tile(in, n_in, w, bias, step, out, n_out, residual, 3, vectors);
    else if (cells == 2)
        lines_product_bytes_avx512_tile(in, n_in, w, bias, step, out, n_out, residual, 2, vectors);
    else if (cells == 1)
        lines_product_bytes_avx512_tile(in, n_in, w, bias, step, out, n_out, residual, 1, vectors);
}

static TENGEN_WIDE void lines_product_bytes_avx512(const uint8_t* in, int cells, int n_in, const int8_t* w, const
                                                   float* bias, const float* step, float* out, int n_out, int
                                                   residual)
{
    int left = n_out / 16;
    if (n_in == 64 && n_out == 64 && residual) {
        lines_product_bytes_avx512_column(in, cells, 64, w, bias, step, out, 64, 1, 4);
        return;
    }
    while (left > 0) {
        int take = left > 4 ? 4 : left;
        if (take == 4)
            lines_product_bytes_avx512_column(in, cells, n_in, w, bias, step, out, n_out, residual, 4);
        else if (take == 3)
            lines_product_bytes_avx512_column(in, cells, n_in, w, bias, step, out, n_out, residual, 3);
        else if (take == 2)
            lines_product_bytes_avx512_column(in, cells, n_in, w, bias, step, out, n_out, residual, 2);
        else
            lines_product_bytes_avx512_column(in, cells, n_in, w, bias, step, out, n_out, residual, 1);
        left -= take;
        w += 64 * take;
        bias += 16 * take;
        step += 16 * take;
        out += 16 * take;
    }
}

static TENGEN_WIDE void lines_bytes_avx512(const float* x, int cells, int n, const float* per_unit, uint8_t* bytes)
{
    int i, c;
    for (i = 0; i < cells; i++, x += n, bytes += n)
        for (c = 0; c < n; c += 16)
            lines_store_bytes_avx512(_mm512_mul_ps(_mm512_loadu_ps(x + c), _mm512_loadu_ps(per_unit + c)), bytes + c);
}

static TENGEN_WIDE void lines_move_avx512(const float* from, const float* shift, int cells, int n, float* to)
{
    int i, c;
    for (i = 0; i < cells; i++, from += n, to += n)
        for (c = 0; c < n; c += 16) {
            __m512 moved = _mm512_add_ps(_mm512_loadu_ps(from + c), _mm512_loadu_ps(shift + c));
            _mm512_storeu_ps(to + c, _mm512_max_ps(moved, _mm512_setzero_ps()));
        }
}

static const lines_loops lines_avx512 = {
    lines_scan_avx2, lines_entries_avx2, lines_gather_avx512, lines_depth_avx2, lines_product_avx2, lines_pool_avx2,
    lines_move_avx512, lines_policy_avx2, lines_shorts_avx2, lines_product_shorts_avx2, lines_bytes_avx512,
    lines_depth_bytes_avx512, lines_product_bytes_avx512,
};

#endif

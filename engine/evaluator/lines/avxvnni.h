/* The product in 8 bits for AVX-VNNI: AVX2 with an instruction that multiplies four bytes and adds them up.

Many processors that lack AVX-512 have it. Sums are whole numbers, which AVX2 holds as well: the same bits. */
#ifndef TENGEN_LINES_AVXVNNI_H
#define TENGEN_LINES_AVXVNNI_H

#include "layout.h"
#include "avx2.h"

/* sum += the products of four bytes each, in 32 bits. */
#if defined(__clang__)
#define LINES_DOT_AVX(sum, bytes, weights) (sum) = _mm256_dpbusd_avx_epi32(sum, bytes, weights)
#else   /* as an instruction: for the intrinsic GCC moves each sum to and fro */
#define LINES_DOT_AVX(sum, bytes, weights) \
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(bytes), "x"(weights))
#endif

/* `cells` x 8 `vectors` outputs, both constants: twelve sums keep both multipliers busy while each waits for itself. */
TENGEN_VNNI_INNER void lines_vnni_tile(const uint8_t* in, int n_in, const int8_t* w, const float* bias, const float*
                                       step, float* out, int n_out, int residual, int cells, int vectors)
{
    __m256i sum[3][4];
    int i, v, k;
#pragma GCC unroll 3
    for (i = 0; i < cells; i++)
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++)
            sum[i][v] = _mm256_setzero_si256();
    for (k = 0; k < n_in; k += 4, w += 4 * n_out) {
        __m256i value[3];
#pragma GCC unroll 3
        for (i = 0; i < cells; i++) {
            int32_t four;
            memcpy(&four, in + i * n_in + k, sizeof four);
            value[i] = _mm256_set1_epi32(four);
        }
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++) {
            const __m256i weight = _mm256_load_si256((const __m256i*)(w + 32 * v));
#pragma GCC unroll 3
            for (i = 0; i < cells; i++)
                LINES_DOT_AVX(sum[i][v], value[i], weight);
        }
    }
#pragma GCC unroll 4
    for (v = 0; v < vectors; v++) {
        const __m256 worth = _mm256_load_ps(step + 8 * v), start = _mm256_load_ps(bias + 8 * v);
#pragma GCC unroll 3
        for (i = 0; i < cells; i++) {
            float* to = out + i * n_out + 8 * v;
            __m256 base = residual ? _mm256_add_ps(start, _mm256_load_ps(to)) : start;
            base = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[i][v]), worth, base);
            _mm256_store_ps(to, _mm256_max_ps(base, _mm256_setzero_ps()));
        }
    }
}

TENGEN_VNNI_INNER void lines_vnni_column(const uint8_t* in, int cells, int n_in, const int8_t* w, const float* bias,
                                         const float* step, float* out, int n_out, int residual, int vectors)
{
    for (; cells >= 3; cells -= 3, in += 3 * n_in, out += 3 * n_out)
        lines_vnni_tile(in, n_in, w, bias, step, out, n_out, residual, 3, vectors);
    if (cells == 2)
        lines_vnni_tile(in, n_in, w, bias, step, out, n_out, residual, 2, vectors);
    else if (cells == 1)
        lines_vnni_tile(in, n_in, w, bias, step, out, n_out, residual, 1, vectors);
}

TENGEN_VNNI_INNER void lines_vnni_body(const uint8_t* in, int cells, int n_in, const int8_t* w, const float* bias, const
                                       float* step, float* out, int n_out, int residual)
{
    int c;
    for (c = 0; c + 32 <= n_out; c += 32)
        lines_vnni_column(in, cells, n_in, w + 4 * c, bias + c, step + c, out + c, n_out, residual, 4);
    if (c + 16 <= n_out) {
        lines_vnni_column(in, cells, n_in, w + 4 * c, bias + c, step + c, out + c, n_out, residual, 2);
        c += 16;
    }
    if (c < n_out)
        lines_vnni_column(in, cells, n_in, w + 4 * c, bias + c, step + c, out + c, n_out, residual, 1);
}

static TENGEN_VNNI void lines_product_bytes_avxvnni(const uint8_t* in, int cells, int n_in, const int8_t* w, const
                                                    float* bias, const float* step, float* out, int n_out, int
                                                    residual)
{
    if (n_in == 64 && n_out == 64 && residual)
        lines_vnni_body(in, cells, 64, w, bias, step, out, 64, 1);
    else
        lines_vnni_body(in, cells, n_in, w, bias, step, out, n_out, residual);
}

static const lines_loops lines_avxvnni = {
    lines_scan_avx2, lines_entries_avx2, lines_gather_avx2, lines_depth_avx2, lines_product_avx2, lines_pool_avx2,
    lines_move_avx2, lines_policy_avx2, lines_shorts_avx2, lines_product_shorts_avx2, lines_bytes_avx2,
    lines_depth_bytes_avx2, lines_product_bytes_avxvnni,
};

#endif

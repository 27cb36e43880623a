/* Products of the pointwise layers for AVX2: in floats, in 16 bits, in 8 bits.

A tile is some cells by some vectors of outputs, whose sums stay in registers; a column is one tile wide and goes over
all cells; the whole is columns side by side. */
#ifndef TENGEN_LINES_AVX2_PRODUCTS_H
#define TENGEN_LINES_AVX2_PRODUCTS_H

#include "layout.h"

/* `cells` x `vectors` sums stay in registers; both are constants. */
TENGEN_INNER void lines_product_tile(const float* in, int n_in, const float* w, const float* bias, float* out, int
                                     n_out, int residual, int relu, int cells, int vectors)
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

/* The product for one cell: 64 outputs at a time, so that no sum has to wait for itself. Same bits as a tile. */
TENGEN_INNER void lines_product_cell(const float* in, int n_in, const float* w, const float* bias, float* out, int
                                     n_out, int residual, int relu)
{
    __m256 sum[8];
    int v, k;
#pragma GCC unroll 8
    for (v = 0; v < 8; v++) {
        sum[v] = _mm256_load_ps(bias + 8 * v);
        if (residual)
            sum[v] = _mm256_add_ps(sum[v], _mm256_load_ps(out + 8 * v));
    }
    for (k = 0; k < n_in; k++, w += n_out) {
        const __m256 value = _mm256_broadcast_ss(in + k);
#pragma GCC unroll 8
        for (v = 0; v < 8; v++)
            sum[v] = _mm256_fmadd_ps(value, _mm256_load_ps(w + 8 * v), sum[v]);
    }
#pragma GCC unroll 8
    for (v = 0; v < 8; v++)
        _mm256_store_ps(out + 8 * v, relu ? _mm256_max_ps(sum[v], _mm256_setzero_ps()) : sum[v]);
}

TENGEN_INNER void lines_product_body(const float* in, int cells, int n_in, const float* w, const float* bias, float*
                                     out, int n_out, int residual, int relu)
{
    int left = n_out / 8;
    for (; cells == 1 && left >= 8; left -= 8, w += 64, bias += 64, out += 64)
        lines_product_cell(in, n_in, w, bias, out, n_out, residual, relu);
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

static TENGEN_FAST void lines_product_avx2(const float* in, int cells, int n_in, const float* w, const float* bias,
                                           float* out, int n_out, int residual, int relu)
{
    if (n_in == 32 && n_out == 32 && residual && relu)
        lines_product_column(in, cells, 32, w, bias, out, 32, 1, 1, 3, 4);
    else if (n_in == 32 && n_out == 32 && !residual && relu)
        lines_product_column(in, cells, 32, w, bias, out, 32, 0, 1, 3, 4);
    else
        lines_product_body(in, cells, n_in, w, bias, out, n_out, residual, relu);
}

static TENGEN_FAST float lines_shorts_avx2(const float* from, int n, int16_t* to)
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

TENGEN_INNER void lines_shorts_tile(const int16_t* in, int n_in, const int16_t* w, const float* bias, const float*
                                    step, float size, float* out, int n_out, int residual, int cells, int vectors)
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

TENGEN_INNER void lines_shorts_column(const int16_t* in, int cells, int n_in, const int16_t* w, const float* bias,
                                      const float* step, float size, float* out, int n_out, int residual, int
                                      vectors)
{
    for (; cells >= 2; cells -= 2, in += 2 * n_in, out += 2 * n_out)
        lines_shorts_tile(in, n_in, w, bias, step, size, out, n_out, residual, 2, vectors);
    if (cells)
        lines_shorts_tile(in, n_in, w, bias, step, size, out, n_out, residual, 1, vectors);
}

static TENGEN_FAST void lines_product_shorts_avx2(const int16_t* in, int cells, int n_in, const int16_t* w, const
                                                  float* bias, const float* step, float size, float* out, int n_out,
                                                  int residual)
{
    int left = n_out / 8;
    if (n_in == 32 && n_out == 32) {
        if (residual)
            lines_shorts_column(in, cells, 32, w, bias, step, size, out, 32, 1, 4);
        else
            lines_shorts_column(in, cells, 32, w, bias, step, size, out, 32, 0, 4);
        return;
    }
    while (left > 0) {
        int take = left >= 4 && left != 5 && left != 6 ? 4 : left >= 3 ? 3 : left;
        if (take == 4)
            lines_shorts_column(in, cells, n_in, w, bias, step, size, out, n_out, residual, 4);
        else if (take == 3)
            lines_shorts_column(in, cells, n_in, w, bias, step, size, out, n_out, residual, 3);
        else if (take == 2)
            lines_shorts_column(in, cells, n_in, w, bias, step, size, out, n_out, residual, 2);
        else
            lines_shorts_column(in, cells, n_in, w, bias, step, size, out, n_out, residual, 1);
        left -= take;
        w += 16 * take;
        bias += 8 * take;
        step += 8 * take;
        out += 8 * take;
    }
}

/* Sums of `cells` x 8 `vectors` outputs. A 16-bit lane adds the products of every second pair of inputs. */
TENGEN_INNER void lines_bytes_tile(const uint8_t* in, int n_in, const int8_t* w, const float* bias, const float*
                                   step, float* out, int n_out, int residual, int cells, int vectors)
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

TENGEN_INNER void lines_bytes_column(const uint8_t* in, int cells, int n_in, const int8_t* w, const float* bias,
                                     const float* step, float* out, int n_out, int residual, int vectors)
{
    for (; cells >= 2; cells -= 2, in += 2 * n_in, out += 2 * n_out)
        lines_bytes_tile(in, n_in, w, bias, step, out, n_out, residual, 2, vectors);
    if (cells)
        lines_bytes_tile(in, n_in, w, bias, step, out, n_out, residual, 1, vectors);
}

TENGEN_INNER void lines_bytes_body(const uint8_t* in, int cells, int n_in, const int8_t* w, const float* bias, const
                                   float* step, float* out, int n_out, int residual)
{
    int c;
    for (c = 0; c + 32 <= n_out; c += 32)
        lines_bytes_column(in, cells, n_in, w + 4 * c, bias + c, step + c, out + c, n_out, residual, 4);
    if (c + 16 <= n_out) {
        lines_bytes_column(in, cells, n_in, w + 4 * c, bias + c, step + c, out + c, n_out, residual, 2);
        c += 16;
    }
    if (c < n_out)
        lines_bytes_column(in, cells, n_in, w + 4 * c, bias + c, step + c, out + c, n_out, residual, 1);
}

static TENGEN_FAST void lines_product_bytes_avx2(const uint8_t* in, int cells, int n_in, const int8_t* w, const
                                                 float* bias, const float* step, float* out, int n_out, int
                                                 residual)
{
    if (n_in == 64 && n_out == 64 && residual)
        lines_bytes_body(in, cells, 64, w, bias, step, out, 64, 1);
    else
        lines_bytes_body(in, cells, n_in, w, bias, step, out, n_out, residual);
}

#endif

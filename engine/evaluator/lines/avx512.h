/* Vectors of AVX-512 with VNNI for those loops of `loops_vector.h` that they make faster; the others are those for AVX2.

They take nets in 8 bits whose channels, and both heads together, come in sixteens. */
#ifndef TENGEN_LINES_AVX512_H
#define TENGEN_LINES_AVX512_H

#include "layout.h"
#include "avx2.h"

TENGEN_WIDE_INNER __m512 lines_sum_float_avx512(__m256i a, __m256i b, __m256i c, __m256i d)
{
    return _mm512_cvtepi32_ps(_mm512_add_epi32(
        _mm512_add_epi32(_mm512_cvtepi16_epi32(a), _mm512_cvtepi16_epi32(b)),
        _mm512_add_epi32(_mm512_cvtepi16_epi32(c), _mm512_cvtepi16_epi32(d))));
}

#define VECTOR __m512
#define WIDTH 16
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define ZERO _mm512_setzero_ps()
#define ADD(x, y) _mm512_add_ps(x, y)
#define MAX(x, y) _mm512_max_ps(x, y)
#define FMA(x, y, z) _mm512_fmadd_ps(x, y, z)
#define NAMED(name) lines_##name##_avx512
#define LOOP static TENGEN_WIDE
#define INNER TENGEN_WIDE_INNER
#define WITH_FLOATS 0
#define WITH_BYTES 1
#define WITH_BYTE_PRODUCT 1
#define NUMBER(x) _mm512_set1_ps(x)
#define MUL(x, y) _mm512_mul_ps(x, y)
#define USUAL 64
#define SHORTS __m256i
#define SHORTS_LOAD(p) _mm256_loadu_si256((const __m256i*)(p))
#define SHORTS_ADD(x, y) _mm256_add_epi16(x, y)
#define SHORTS_FLOAT(x) _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(x))
#define SHORTS_SUM_FLOAT(a, b, c, d) lines_sum_float_avx512(a, b, c, d)
#define STORE_BYTES(p, v) _mm_storeu_si128((__m128i*)(p), _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(v)))
#define KEEP(weight) ((void)0)
#define BYTE_CELLS 4
#define BYTE_SUM __m512i
#define BYTE_ZERO _mm512_setzero_si512()
#define BYTE_WEIGHT __m512i
#define BYTE_LOAD(p) _mm512_loadu_si512((const void*)(p))
#define BYTE_VALUE __m512i
#define BYTE_SPREAD(four) _mm512_set1_epi32(four)
#if defined(TENGEN_EMULATED)
#define BYTE_DOT(sum, value, weight) (sum) = _mm512_dpbusd_epi32(sum, value, weight)
#else   /* as an instruction: for the intrinsic GCC moves each sum to and fro */
#define BYTE_DOT(sum, value, weight) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(value), "v"(weight))
#endif
#define BYTE_FLOAT(sum) _mm512_cvtepi32_ps(sum)
#include "loops_vector.h"

static const lines_loops lines_avx512 = {
    lines_scan_avx2, lines_entries_avx2, lines_gather_avx512, lines_depth_avx2, lines_product_avx2, lines_pool_avx2,
    lines_move_avx512, lines_policy_avx2, lines_shorts_avx2, lines_product_shorts_avx2, lines_bytes_avx512,
    lines_depth_bytes_avx512, lines_product_bytes_avx512,
};

#endif

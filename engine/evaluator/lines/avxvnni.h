/* The product in 8 bits for AVX-VNNI: AVX2 with an instruction that multiplies four bytes and adds them up.

Many processors that lack AVX-512 have it. Sums are whole numbers, which AVX2 holds as well: the same bits. */
#ifndef TENGEN_LINES_AVXVNNI_H
#define TENGEN_LINES_AVXVNNI_H

#include "layout.h"
#include "avx2.h"

#define VECTOR __m256
#define WIDTH 8
#define LOAD(p) _mm256_load_ps(p)
#define STORE(p, v) _mm256_store_ps(p, v)
#define ZERO _mm256_setzero_ps()
#define ADD(x, y) _mm256_add_ps(x, y)
#define MAX(x, y) _mm256_max_ps(x, y)
#define FMA(x, y, z) _mm256_fmadd_ps(x, y, z)
#define NAMED(name) lines_##name##_avxvnni
#define LOOP static TENGEN_VNNI
#define INNER TENGEN_VNNI_INNER
#define WITH_FLOATS 0
#define WITH_BYTES 0
#define WITH_BYTE_PRODUCT 1
#define KEEP(weight) ((void)0)
#define BYTE_CELLS 3            /* twelve sums keep both multipliers busy while each waits for itself */
#define BYTE_SUM __m256i
#define BYTE_ZERO _mm256_setzero_si256()
#define BYTE_WEIGHT __m256i
#define BYTE_LOAD(p) _mm256_load_si256((const __m256i*)(p))
#define BYTE_VALUE __m256i
#define BYTE_SPREAD(four) _mm256_set1_epi32(four)
#if defined(__clang__)
#define BYTE_DOT(sum, value, weight) (sum) = _mm256_dpbusd_avx_epi32(sum, value, weight)
#else   /* as an instruction: for the intrinsic GCC moves each sum to and fro */
#define BYTE_DOT(sum, value, weight) __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(value), "x"(weight))
#endif
#define BYTE_FLOAT(sum) _mm256_cvtepi32_ps(sum)
#include "loops_vector.h"

static const lines_loops lines_avxvnni = {
    lines_scan_avx2, lines_entries_avx2, lines_gather_avx2, lines_depth_avx2, lines_product_avx2, lines_pool_avx2,
    lines_move_avx2, lines_policy_avx2, lines_shorts_avx2, lines_product_shorts_avx2, lines_bytes_avx2,
    lines_depth_bytes_avx2, lines_product_bytes_avxvnni,
};

#endif

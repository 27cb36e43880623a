/* Vectors of AVX2 with FMA for the loops of `loops_vector.h`. */
#ifndef TENGEN_LINES_AVX2_H
#define TENGEN_LINES_AVX2_H

#include "layout.h"

/* The LINES_LOCAL planes of sixteen cells as bits of 16-bit lanes. */
TENGEN_INNER __m256i lines_bits_avx2(const float* from, int points)
{
    const __m256 zero = _mm256_setzero_ps();
    __m256i a = _mm256_setzero_si256(), b = a;
    int k;
#pragma GCC unroll 16
    for (k = 0; k < LINES_LOCAL; k++, from += points) {
        const __m256i bit = _mm256_set1_epi32(1 << k);
        const __m256 low = _mm256_cmp_ps(_mm256_loadu_ps(from), zero, _CMP_NEQ_UQ);
        const __m256 high = _mm256_cmp_ps(_mm256_loadu_ps(from + 8), zero, _CMP_NEQ_UQ);
        a = _mm256_or_si256(a, _mm256_and_si256(_mm256_castps_si256(low), bit));
        b = _mm256_or_si256(b, _mm256_and_si256(_mm256_castps_si256(high), bit));
    }
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xD8);
}

/* Digits of cells from their bits; beyond the first `cells` lies the edge. */
TENGEN_INNER __m256i lines_digits_avx2(__m256i bits, int cells)
{
    const __m256i iota = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m256i one = _mm256_set1_epi16(1), three = _mm256_set1_epi16(3);
    __m256i digits = _mm256_add_epi16(_mm256_and_si256(_mm256_srli_epi16(bits, 1), three), one);
    digits = _mm256_min_epi16(digits, three);
    digits = _mm256_and_si256(digits, _mm256_cmpeq_epi16(_mm256_and_si256(bits, one), one));
    return _mm256_and_si256(digits, _mm256_cmpgt_epi16(_mm256_set1_epi16((short)cells), iota));
}

/* The number of a side with one more digit: 0 behind an edge. */
TENGEN_INNER __m256i lines_more_avx2(__m256i id, __m256i digit)
{
    const __m256i more = _mm256_add_epi16(_mm256_add_epi16(id, id), _mm256_add_epi16(id, digit));
    return _mm256_andnot_si256(_mm256_cmpeq_epi16(digit, _mm256_setzero_si256()), more);
}

/* high (high + 1) / 2 + low of sixteen cells, in 32 bits. */
TENGEN_INNER void lines_store_entries_avx2(int32_t* to, __m256i high, __m256i low)
{
    const __m256i two = _mm256_set1_epi16(2), next = _mm256_add_epi16(high, _mm256_set1_epi16(1));
    const __m256i p = _mm256_srli_epi32(
        _mm256_madd_epi16(_mm256_unpacklo_epi16(high, low), _mm256_unpacklo_epi16(next, two)), 1);
    const __m256i q = _mm256_srli_epi32(
        _mm256_madd_epi16(_mm256_unpackhi_epi16(high, low), _mm256_unpackhi_epi16(next, two)), 1);
    _mm256_storeu_si256((__m256i*)to, _mm256_permute2x128_si256(p, q, 0x20));
    _mm256_storeu_si256((__m256i*)(to + 8), _mm256_permute2x128_si256(p, q, 0x31));
}

TENGEN_INNER float lines_total_avx2(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

TENGEN_INNER float lines_largest_avx2(__m256 v)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

TENGEN_INNER void lines_store_shorts_avx2(int16_t* to, __m256 x)
{
    const __m256i v = _mm256_cvtps_epi32(x);
    _mm_store_si128((__m128i*)to, _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}

/* Round eight numbers, none negative, to bytes: LINES_BYTE at most. */
TENGEN_INNER void lines_store_bytes_avx2(uint8_t* to, __m256 x)
{
    const __m256i v = _mm256_cvtps_epi32(x);
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storel_epi64((__m128i*)to, _mm_packs_epi16(words, words));
}

TENGEN_INNER __m256 lines_sum_float_avx2(__m128i a, __m128i b, __m128i c, __m128i d)
{
    return _mm256_cvtepi32_ps(_mm256_add_epi32(
        _mm256_add_epi32(_mm256_cvtepi16_epi32(a), _mm256_cvtepi16_epi32(b)),
        _mm256_add_epi32(_mm256_cvtepi16_epi32(c), _mm256_cvtepi16_epi32(d))));
}

#if defined(__GNUC__)   /* weights are loaded once, not again for each cell; GCC adds a move to each sum */
#define LINES_KEEP_AVX2(weight) __asm__("" : "+x"(weight))
#define LINES_ADD_TO_AVX2(instruction, intrinsic, sum, product) \
    do { \
        const __m256i added = product; \
        __asm__(instruction " %1, %0, %0" : "+x"(sum) : "x"(added)); \
    } while (0)
#else
#define LINES_KEEP_AVX2(weight) ((void)0)
#define LINES_ADD_TO_AVX2(instruction, intrinsic, sum, product) (sum) = intrinsic(sum, product)
#endif

#define VECTOR __m256
#define WIDTH 8
#define LOAD(p) _mm256_load_ps(p)
#define STORE(p, v) _mm256_store_ps(p, v)
#define ZERO _mm256_setzero_ps()
#define ADD(x, y) _mm256_add_ps(x, y)
#define MAX(x, y) _mm256_max_ps(x, y)
#define FMA(x, y, z) _mm256_fmadd_ps(x, y, z)
#define NAMED(name) lines_##name##_avx2
#define LOOP static TENGEN_FAST
#define INNER TENGEN_INNER
#define WITH_FLOATS 1
#define WITH_BYTES 1
#define WITH_BYTE_PRODUCT 1
#define LOAD_ANY(p) _mm256_loadu_ps(p)
#define STORE_ANY(p, v) _mm256_storeu_ps(p, v)
#define SPREAD(p) _mm256_broadcast_ss(p)
#define NUMBER(x) _mm256_set1_ps(x)
#define MUL(x, y) _mm256_mul_ps(x, y)
#define LANES16 16
#define U16 __m256i
#define U16_LOAD(p) _mm256_loadu_si256((const __m256i*)(p))
#define U16_STORE(p, v) _mm256_storeu_si256((__m256i*)(p), v)
#define U16_BITS(from, points) lines_bits_avx2(from, points)
#define U16_DIGITS(bits, cells) lines_digits_avx2(bits, cells)
#define U16_MORE(id, digit) lines_more_avx2(id, digit)
#define U16_MAX(x, y) _mm256_max_epi16(x, y)
#define U16_MIN(x, y) _mm256_min_epi16(x, y)
#define STORE_ENTRIES(to, high, low) lines_store_entries_avx2(to, high, low)
#define TOTAL(v) lines_total_avx2(v)
#define LARGEST(v) lines_largest_avx2(v)
#define STORE_SHORTS(p, v) lines_store_shorts_avx2(p, v)
#define KEEP(weight) LINES_KEEP_AVX2(weight)
#define PAIR_SUM __m256i
#define PAIR_ZERO _mm256_setzero_si256()
#define PAIR_WEIGHT __m256i
#define PAIR_LOAD(p) _mm256_load_si256((const __m256i*)(p))
#define PAIR_VALUE __m256i
#define PAIR_SPREAD(pair) _mm256_set1_epi32(pair)
#define PAIR_DOT(sum, value, weight) \
    LINES_ADD_TO_AVX2("vpaddd", _mm256_add_epi32, sum, _mm256_madd_epi16(value, weight))
#define PAIR_FLOAT(sum) _mm256_cvtepi32_ps(sum)
#define USUAL 32
#define SHORTS __m128i
#define SHORTS_LOAD(p) _mm_load_si128((const __m128i*)(p))
#define SHORTS_ADD(x, y) _mm_add_epi16(x, y)
#define SHORTS_FLOAT(x) _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(x))
#define SHORTS_SUM_FLOAT(a, b, c, d) lines_sum_float_avx2(a, b, c, d)
#define STORE_BYTES(p, v) lines_store_bytes_avx2(p, v)
/* Sums hold 16 bits: a lane adds the products of every second pair of inputs. */
#define BYTE_CELLS 2
#define BYTE_SUM __m256i
#define BYTE_ZERO _mm256_setzero_si256()
#define BYTE_WEIGHT __m256i
#define BYTE_LOAD(p) _mm256_load_si256((const __m256i*)(p))
#define BYTE_VALUE __m256i
#define BYTE_SPREAD(four) _mm256_set1_epi32(four)
#define BYTE_DOT(sum, value, weight) \
    LINES_ADD_TO_AVX2("vpaddw", _mm256_add_epi16, sum, _mm256_maddubs_epi16(value, weight))
#define BYTE_FLOAT(sum) _mm256_cvtepi32_ps(_mm256_madd_epi16(sum, _mm256_set1_epi16(1)))
#include "loops_vector.h"

static const lines_loops lines_avx2 = {
    lines_scan_avx2, lines_entries_avx2, lines_gather_avx2, lines_depth_avx2, lines_product_avx2, lines_pool_avx2,
    lines_move_avx2, lines_policy_avx2, lines_shorts_avx2, lines_product_shorts_avx2, lines_bytes_avx2,
    lines_depth_bytes_avx2, lines_product_bytes_avx2,
};

#endif

/* Vectors of NEON for the loops of `loops_vector.h`: eight floats are two registers, so that sums have the order that
they have with AVX2. With the dot product of ARMv8.2 the products in 8 bits are those of `neon_dot`. */
#ifndef TENGEN_LINES_NEON_H
#define TENGEN_LINES_NEON_H

#include "layout.h"

typedef struct { float32x4_t a, b; } lines_f32;         /* eight floats */
typedef struct { int16x8_t a, b, c, d; } lines_byte_sum;    /* of eight outputs: one lane for each of four inputs */
typedef struct { int32x4_t a, b, c, d; } lines_pair_sum;    /* likewise, for two inputs */
typedef struct { int32x4_t a, b; } lines_dot_sum;           /* of eight outputs */
typedef struct { int8x16_t a, b; } lines_byte_weight;       /* eight outputs by four inputs */
typedef struct { int16x8_t a, b; } lines_pair_weight;       /* eight outputs by two inputs */

#define LINES_EACH(f, x, y) ((lines_f32){f((x).a, (y).a), f((x).b, (y).b)})

TENGEN_INNER lines_f32 lines_load_neon(const float* p) { return (lines_f32){vld1q_f32(p), vld1q_f32(p + 4)}; }

TENGEN_INNER void lines_store_neon(float* p, lines_f32 v)
{
    vst1q_f32(p, v.a);
    vst1q_f32(p + 4, v.b);
}

TENGEN_INNER lines_f32 lines_number_neon(float x)
{
    const float32x4_t v = vdupq_n_f32(x);
    return (lines_f32){v, v};
}

TENGEN_INNER lines_f32 lines_add_neon(lines_f32 x, lines_f32 y) { return LINES_EACH(vaddq_f32, x, y); }
TENGEN_INNER lines_f32 lines_mul_neon(lines_f32 x, lines_f32 y) { return LINES_EACH(vmulq_f32, x, y); }
TENGEN_INNER lines_f32 lines_max_neon(lines_f32 x, lines_f32 y) { return LINES_EACH(vmaxq_f32, x, y); }

TENGEN_INNER lines_f32 lines_fma_neon(lines_f32 x, lines_f32 y, lines_f32 z)
{
    return (lines_f32){vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b)};
}

/* The LINES_LOCAL planes of eight cells as bits. */
TENGEN_INNER uint16x8_t lines_bits_neon(const float* from, int points)
{
    uint32x4_t a = vdupq_n_u32(0), b = a;
    int k;
#pragma GCC unroll 16
    for (k = 0; k < LINES_LOCAL; k++, from += points) {
        const uint32x4_t bit = vdupq_n_u32(1u << k);
        a = vorrq_u32(a, vbicq_u32(bit, vceqzq_f32(vld1q_f32(from))));
        b = vorrq_u32(b, vbicq_u32(bit, vceqzq_f32(vld1q_f32(from + 4))));
    }
    return vcombine_u16(vmovn_u32(a), vmovn_u32(b));
}

TENGEN_INNER uint16x8_t lines_digits_neon(uint16x8_t bits, int cells)
{
    static const uint16_t numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const uint16x8_t one = vdupq_n_u16(1), three = vdupq_n_u16(3);
    uint16x8_t digits = vminq_u16(vaddq_u16(vandq_u16(vshrq_n_u16(bits, 1), three), one), three);
    digits = vandq_u16(digits, vtstq_u16(bits, one));
    return vandq_u16(digits, vcltq_u16(vld1q_u16(numbers), vdupq_n_u16((uint16_t)(cells < 8 ? cells : 8))));
}

TENGEN_INNER uint16x8_t lines_more_neon(uint16x8_t id, uint16x8_t digit)
{
    return vbicq_u16(vmlaq_n_u16(digit, id, 3), vceqzq_u16(digit));
}

TENGEN_INNER void lines_store_entries_neon(int32_t* to, uint16x8_t high, uint16x8_t low)
{
    const uint16x8_t next = vaddq_u16(high, vdupq_n_u16(1));
    const uint32x4_t p = vshrq_n_u32(vmull_u16(vget_low_u16(high), vget_low_u16(next)), 1);
    const uint32x4_t q = vshrq_n_u32(vmull_high_u16(high, next), 1);
    vst1q_s32(to, vreinterpretq_s32_u32(vaddw_u16(p, vget_low_u16(low))));
    vst1q_s32(to + 4, vreinterpretq_s32_u32(vaddw_high_u16(q, low)));
}

TENGEN_INNER float lines_total_neon(lines_f32 v)
{
    const float32x4_t s = vaddq_f32(v.a, v.b);
    const float32x2_t t = vadd_f32(vget_low_f32(s), vget_high_f32(s));
    return vget_lane_f32(t, 0) + vget_lane_f32(t, 1);
}

TENGEN_INNER int16x8_t lines_round_neon(lines_f32 x)
{
    return vcombine_s16(vqmovn_s32(vcvtnq_s32_f32(x.a)), vqmovn_s32(vcvtnq_s32_f32(x.b)));
}

TENGEN_INNER lines_f32 lines_float_neon(int16x8_t x)
{
    return (lines_f32){vcvtq_f32_s32(vmovl_s16(vget_low_s16(x))), vcvtq_f32_s32(vmovl_high_s16(x))};
}

TENGEN_INNER lines_f32 lines_sum_float_neon(int16x8_t a, int16x8_t b, int16x8_t c, int16x8_t d)
{
    const int32x4_t low = vaddq_s32(vaddl_s16(vget_low_s16(a), vget_low_s16(b)),
                                    vaddl_s16(vget_low_s16(c), vget_low_s16(d)));
    const int32x4_t high = vaddq_s32(vaddl_high_s16(a, b), vaddl_high_s16(c, d));
    return (lines_f32){vcvtq_f32_s32(low), vcvtq_f32_s32(high)};
}

/* Products of eight outputs with values of `bits` bits, added in lanes of twice as many. */
#define LINES_ADD_PRODUCTS(sum, value, weight, bits) do { \
    (sum).a = vmlal_s##bits((sum).a, vget_low_s##bits((weight).a), vget_low_s##bits(value)); \
    (sum).b = vmlal_high_s##bits((sum).b, (weight).a, value); \
    (sum).c = vmlal_s##bits((sum).c, vget_low_s##bits((weight).b), vget_low_s##bits(value)); \
    (sum).d = vmlal_high_s##bits((sum).d, (weight).b, value); \
} while (0)

TENGEN_INNER lines_f32 lines_pair_float_neon(lines_pair_sum sum)
{
    return (lines_f32){vcvtq_f32_s32(vpaddq_s32(sum.a, sum.b)), vcvtq_f32_s32(vpaddq_s32(sum.c, sum.d))};
}

TENGEN_INNER lines_f32 lines_byte_float_neon(lines_byte_sum sum)
{
    return (lines_f32){vcvtq_f32_s32(vpaddq_s32(vpaddlq_s16(sum.a), vpaddlq_s16(sum.b))),
                       vcvtq_f32_s32(vpaddq_s32(vpaddlq_s16(sum.c), vpaddlq_s16(sum.d)))};
}

#define VECTOR lines_f32
#define WIDTH 8
#define LOAD(p) lines_load_neon(p)
#define STORE(p, v) lines_store_neon(p, v)
#define ZERO lines_number_neon(0.0f)
#define ADD(x, y) lines_add_neon(x, y)
#define MAX(x, y) lines_max_neon(x, y)
#define FMA(x, y, z) lines_fma_neon(x, y, z)
#define NAMED(name) lines_##name##_neon
#define LOOP static TENGEN_FAST
#define INNER TENGEN_INNER
#define WITH_FLOATS 1
#define WITH_BYTES 1
#define WITH_BYTE_PRODUCT 1
#define LOAD_ANY(p) lines_load_neon(p)
#define STORE_ANY(p, v) lines_store_neon(p, v)
#define SPREAD(p) lines_number_neon(*(p))
#define NUMBER(x) lines_number_neon(x)
#define MUL(x, y) lines_mul_neon(x, y)
#define LANES16 8
#define U16 uint16x8_t
#define U16_LOAD(p) vld1q_u16(p)
#define U16_STORE(p, v) vst1q_u16(p, v)
#define U16_BITS(from, points) lines_bits_neon(from, points)
#define U16_DIGITS(bits, cells) lines_digits_neon(bits, cells)
#define U16_MORE(id, digit) lines_more_neon(id, digit)
#define U16_MAX(x, y) vmaxq_u16(x, y)
#define U16_MIN(x, y) vminq_u16(x, y)
#define STORE_ENTRIES(to, high, low) lines_store_entries_neon(to, high, low)
#define TOTAL(v) lines_total_neon(v)
#define LARGEST(v) vmaxvq_f32(vmaxq_f32((v).a, (v).b))
#define STORE_SHORTS(p, v) vst1q_s16(p, lines_round_neon(v))
#define KEEP(weight) ((void)0)
#define PAIR_SUM lines_pair_sum
#define PAIR_ZERO ((lines_pair_sum){vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)})
#define PAIR_WEIGHT lines_pair_weight
#define PAIR_LOAD(p) ((lines_pair_weight){vld1q_s16(p), vld1q_s16((p) + 8)})
#define PAIR_VALUE int16x8_t
#define PAIR_SPREAD(pair) vreinterpretq_s16_s32(vdupq_n_s32(pair))
#define PAIR_DOT(sum, value, weight) LINES_ADD_PRODUCTS(sum, value, weight, 16)
#define PAIR_FLOAT(sum) lines_pair_float_neon(sum)
#define USUAL 64
#define SHORTS int16x8_t
#define SHORTS_LOAD(p) vld1q_s16(p)
#define SHORTS_ADD(x, y) vaddq_s16(x, y)
#define SHORTS_FLOAT(x) lines_float_neon(x)
#define SHORTS_SUM_FLOAT(a, b, c, d) lines_sum_float_neon(a, b, c, d)
#define STORE_BYTES(p, v) vst1_s8((int8_t*)(p), vqmovn_s16(lines_round_neon(v)))
#define BYTE_CELLS 1            /* 16 registers of sums */
#define BYTE_SUM lines_byte_sum
#define BYTE_ZERO ((lines_byte_sum){vdupq_n_s16(0), vdupq_n_s16(0), vdupq_n_s16(0), vdupq_n_s16(0)})
#define BYTE_WEIGHT lines_byte_weight
#define BYTE_LOAD(p) ((lines_byte_weight){vld1q_s8(p), vld1q_s8((p) + 16)})
#define BYTE_VALUE int8x16_t
#define BYTE_SPREAD(four) vreinterpretq_s8_s32(vdupq_n_s32(four))
/* A lane adds the products of every fourth input; LINES_BYTE_LOAD bounds those of every second pair. Activations are
127 at most, so that they are the same numbers with a sign. */
#define BYTE_DOT(sum, value, weight) LINES_ADD_PRODUCTS(sum, value, weight, 8)
#define BYTE_FLOAT(sum) lines_byte_float_neon(sum)
#include "loops_vector.h"

static const lines_loops lines_neon = {
    lines_scan_neon, lines_entries_neon, lines_gather_neon, lines_depth_neon, lines_product_neon, lines_pool_neon,
    lines_move_neon, lines_policy_neon, lines_shorts_neon, lines_product_shorts_neon, lines_bytes_neon,
    lines_depth_bytes_neon, lines_product_bytes_neon,
};

#if TENGEN_NEON_DOT
#define VECTOR lines_f32
#define WIDTH 8
#define LOAD(p) lines_load_neon(p)
#define STORE(p, v) lines_store_neon(p, v)
#define ZERO lines_number_neon(0.0f)
#define ADD(x, y) lines_add_neon(x, y)
#define MAX(x, y) lines_max_neon(x, y)
#define FMA(x, y, z) lines_fma_neon(x, y, z)
#define NAMED(name) lines_##name##_neon_dot
#define LOOP static TENGEN_DOT
#define INNER TENGEN_DOT_INNER
#define WITH_FLOATS 0
#define WITH_BYTES 0
#define WITH_BYTE_PRODUCT 1
#define KEEP(weight) ((void)0)
#define BYTE_CELLS 2
#define BYTE_SUM lines_dot_sum
#define BYTE_ZERO ((lines_dot_sum){vdupq_n_s32(0), vdupq_n_s32(0)})
#define BYTE_WEIGHT lines_byte_weight
#define BYTE_LOAD(p) ((lines_byte_weight){vld1q_s8(p), vld1q_s8((p) + 16)})
#define BYTE_VALUE int8x16_t
#define BYTE_SPREAD(four) vreinterpretq_s8_s32(vdupq_n_s32(four))
#define BYTE_DOT(sum, value, weight) \
    (sum) = ((lines_dot_sum){vdotq_s32((sum).a, (weight).a, value), vdotq_s32((sum).b, (weight).b, value)})
#define BYTE_FLOAT(sum) ((lines_f32){vcvtq_f32_s32((sum).a), vcvtq_f32_s32((sum).b)})
#include "loops_vector.h"

static const lines_loops lines_neon_dot = {
    lines_scan_neon, lines_entries_neon, lines_gather_neon, lines_depth_neon, lines_product_neon, lines_pool_neon,
    lines_move_neon, lines_policy_neon, lines_shorts_neon, lines_product_shorts_neon, lines_bytes_neon,
    lines_depth_bytes_neon, lines_product_bytes_neon_dot,
};
#endif

#endif

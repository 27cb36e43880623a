/* Shape masks of four lines and both colours at once, one a lane of an AVX2 register or of two of NEON. `Line`
in `_board.pxd` defines the masks; `evaluate_line` in `line_shapes.pxd` does the same steps for one line and colour,
and must give the same bits. */
#ifndef TENGEN_SHAPES_H
#define TENGEN_SHAPES_H

#include <stdint.h>
#include <string.h>

#include "cpu.h"

#define SHAPES_VECTORS (TENGEN_AVX2 || TENGEN_NEON)

/* Offsets in a `Line`, an array of uint32_t; of two entries the first is black's, the second white's. */
enum {
    SHAPES_EMPTY = 0,
    SHAPES_STONES = 1,
    SHAPES_FIVE = 3,
    SHAPES_FOUR = 5,
    SHAPES_DOUBLE_FOUR = 7,
    SHAPES_OPEN_FOUR = 9,
    SHAPES_OPEN_THREE = 11
};

/* Add a stone. Both colours are written at once, as `shapes_load` reads them: no stall of store forwarding. */
static inline void tengen_add_stone(uint32_t* line, int colour, uint32_t bit)
{
#if SHAPES_VECTORS
    uint64_t both;
    memcpy(&both, line + SHAPES_STONES, sizeof both);
    both |= (uint64_t)bit << 32 * colour;
    memcpy(line + SHAPES_STONES, &both, sizeof both);
#else
    line[SHAPES_STONES + colour] |= bit;
#endif
}

/* 1 if `tengen_shapes` works on this processor. */
static inline int tengen_have_shapes(void) { return TENGEN_NEON || tengen_have_vectors(); }

#if TENGEN_AVX2
typedef __m256i shapes_lanes;

/* Two entries of each of four lines; lanes: line 0 black, line 0 white, line 1 black ... */
TENGEN_INNER shapes_lanes shapes_load(uint32_t* const* lines, int place)
{
    __m128i low = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i*)(lines[0] + place)),
                                     _mm_loadl_epi64((const __m128i*)(lines[1] + place)));
    __m128i high = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i*)(lines[2] + place)),
                                      _mm_loadl_epi64((const __m128i*)(lines[3] + place)));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Write them back; returns a bit for each lane that is not zero. */
TENGEN_INNER unsigned shapes_store(uint32_t* const* lines, int place, shapes_lanes mask)
{
    __m128i low = _mm256_castsi256_si128(mask), high = _mm256_extracti128_si256(mask, 1);
    __m256i zero = _mm256_cmpeq_epi32(mask, _mm256_setzero_si256());
    _mm_storel_epi64((__m128i*)(lines[0] + place), low);
    _mm_storel_epi64((__m128i*)(lines[1] + place), _mm_unpackhi_epi64(low, low));
    _mm_storel_epi64((__m128i*)(lines[2] + place), high);
    _mm_storel_epi64((__m128i*)(lines[3] + place), _mm_unpackhi_epi64(high, high));
    return ~(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(zero)) & 255u;
}

/* A number for both lanes of each line. */
TENGEN_INNER shapes_lanes shapes_of_lines(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return _mm256_setr_epi32((int)a, (int)a, (int)b, (int)b, (int)c, (int)c, (int)d, (int)d);
}

/* A number for the lanes of each colour. */
TENGEN_INNER shapes_lanes shapes_of_colours(uint32_t black, uint32_t white)
{
    return _mm256_set1_epi64x((long long)((uint64_t)white << 32 | black));
}

#define SHAPES_AND(a, b) _mm256_and_si256(a, b)
#define SHAPES_OR(a, b) _mm256_or_si256(a, b)
#define SHAPES_XOR(a, b) _mm256_xor_si256(a, b)
#define SHAPES_NOT(a, b) _mm256_andnot_si256(b, a)      /* a without b */
#define SHAPES_UP(a, n) _mm256_slli_epi32(a, n)
#define SHAPES_DOWN(a, n) _mm256_srli_epi32(a, n)
#define SHAPES_EXCHANGED(a) _mm256_shuffle_epi32(a, 0xB1)       /* black for white */
#define SHAPES_ANY(a) (!_mm256_testz_si256(a, a))

#elif TENGEN_NEON
typedef struct { uint32x4_t a, b; } shapes_lanes;

TENGEN_INNER shapes_lanes shapes_load(uint32_t* const* lines, int place)
{
    return (shapes_lanes){vcombine_u32(vld1_u32(lines[0] + place), vld1_u32(lines[1] + place)),
                          vcombine_u32(vld1_u32(lines[2] + place), vld1_u32(lines[3] + place))};
}

TENGEN_INNER unsigned shapes_store(uint32_t* const* lines, int place, shapes_lanes mask)
{
    static const uint32_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    vst1_u32(lines[0] + place, vget_low_u32(mask.a));
    vst1_u32(lines[1] + place, vget_high_u32(mask.a));
    vst1_u32(lines[2] + place, vget_low_u32(mask.b));
    vst1_u32(lines[3] + place, vget_high_u32(mask.b));
    return vaddvq_u32(vorrq_u32(vbicq_u32(vld1q_u32(bits), vceqzq_u32(mask.a)),
                                vbicq_u32(vld1q_u32(bits + 4), vceqzq_u32(mask.b))));
}

TENGEN_INNER shapes_lanes shapes_of_lines(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return (shapes_lanes){vcombine_u32(vdup_n_u32(a), vdup_n_u32(b)), vcombine_u32(vdup_n_u32(c), vdup_n_u32(d))};
}

TENGEN_INNER shapes_lanes shapes_of_colours(uint32_t black, uint32_t white)
{
    const uint32x4_t both = vreinterpretq_u32_u64(vdupq_n_u64((uint64_t)white << 32 | black));
    return (shapes_lanes){both, both};
}

#define SHAPES_EACH(f, x, y) ((shapes_lanes){f((x).a, (y).a), f((x).b, (y).b)})
TENGEN_INNER shapes_lanes shapes_and(shapes_lanes x, shapes_lanes y) { return SHAPES_EACH(vandq_u32, x, y); }
TENGEN_INNER shapes_lanes shapes_or(shapes_lanes x, shapes_lanes y) { return SHAPES_EACH(vorrq_u32, x, y); }
TENGEN_INNER shapes_lanes shapes_xor(shapes_lanes x, shapes_lanes y) { return SHAPES_EACH(veorq_u32, x, y); }
TENGEN_INNER shapes_lanes shapes_not(shapes_lanes x, shapes_lanes y) { return SHAPES_EACH(vbicq_u32, x, y); }

/* `n` bits up, or down where it is negative; a constant, so that this is one instruction a register. */
TENGEN_INNER shapes_lanes shapes_shift(shapes_lanes x, int n)
{
    return (shapes_lanes){vshlq_u32(x.a, vdupq_n_s32(n)), vshlq_u32(x.b, vdupq_n_s32(n))};
}

TENGEN_INNER shapes_lanes shapes_exchanged(shapes_lanes x)
{
    return (shapes_lanes){vrev64q_u32(x.a), vrev64q_u32(x.b)};
}

#define SHAPES_AND(a, b) shapes_and(a, b)
#define SHAPES_OR(a, b) shapes_or(a, b)
#define SHAPES_XOR(a, b) shapes_xor(a, b)
#define SHAPES_NOT(a, b) shapes_not(a, b)
#define SHAPES_UP(a, n) shapes_shift(a, n)
#define SHAPES_DOWN(a, n) shapes_shift(a, -(n))
#define SHAPES_EXCHANGED(a) shapes_exchanged(a)
#define SHAPES_ANY(v) (vmaxvq_u32(vorrq_u32((v).a, (v).b)) != 0)
#endif

#if SHAPES_VECTORS

/* Evaluate four lines. `some` gets the lanes that are not zero: fives, fours, and open threes if `threes`. */
static TENGEN_FAST void tengen_shapes(uint32_t* const* lines, int exact_black, int exact_white, int caro,
                                      int threes, unsigned* some)
{
    const shapes_lanes own = shapes_load(lines, SHAPES_STONES), other = SHAPES_EXCHANGED(own);
    const shapes_lanes empty = shapes_of_lines(lines[0][SHAPES_EMPTY], lines[1][SHAPES_EMPTY],
                                               lines[2][SHAPES_EMPTY], lines[3][SHAPES_EMPTY]);
    const shapes_lanes exact = shapes_of_colours(exact_black ? ~0u : 0, exact_white ? ~0u : 0);
    const shapes_lanes nothing = shapes_of_colours(0, 0);
    shapes_lanes free_ = SHAPES_OR(own, empty), valid4, valid, straight;
    shapes_lanes own1 = SHAPES_DOWN(own, 1), own2 = SHAPES_DOWN(own, 2), own3 = SHAPES_DOWN(own, 3);
    shapes_lanes own4 = SHAPES_DOWN(own, 4), half, sum1, carry1, sum2, carry2, carry3, bit0, bit1, bit2, w3, w4, five;
    shapes_lanes ones = nothing, twos = nothing, open_four = nothing;
    int edges = exact_black || exact_white;

    valid4 = SHAPES_AND(free_, SHAPES_DOWN(free_, 1));
    valid4 = SHAPES_AND(valid4, SHAPES_DOWN(valid4, 2));
    valid = SHAPES_AND(valid4, SHAPES_DOWN(free_, 4));
    if (edges)
        valid = SHAPES_NOT(valid, SHAPES_AND(exact, SHAPES_OR(SHAPES_UP(own, 1), SHAPES_DOWN(own, 5))));
    if (caro)
        valid = SHAPES_NOT(valid, SHAPES_AND(SHAPES_UP(other, 1), SHAPES_DOWN(other, 5)));

    /* stones in each window of five */
    half = SHAPES_XOR(own, own1);
    sum1 = SHAPES_XOR(half, own2);
    carry1 = SHAPES_OR(SHAPES_AND(own, own1), SHAPES_AND(half, own2));
    half = SHAPES_XOR(sum1, own3);
    sum2 = SHAPES_XOR(half, own4);
    carry2 = SHAPES_OR(SHAPES_AND(sum1, own3), SHAPES_AND(half, own4));
    bit1 = SHAPES_XOR(carry1, carry2);
    bit2 = SHAPES_AND(carry1, carry2);
    w4 = SHAPES_NOT(SHAPES_AND(valid, bit2), sum2);
    w3 = SHAPES_AND(SHAPES_AND(valid, bit1), sum2);
    five = SHAPES_OR(SHAPES_OR(w4, SHAPES_UP(w4, 1)), SHAPES_OR(SHAPES_UP(w4, 2), SHAPES_UP(w4, 3)));
    five = SHAPES_AND(SHAPES_OR(five, SHAPES_UP(w4, 4)), empty);
    some[0] = shapes_store(lines, SHAPES_FIVE, five);

    if (SHAPES_ANY(w3)) {
        const shapes_lanes e1 = SHAPES_DOWN(empty, 1), e2 = SHAPES_DOWN(empty, 2), e3 = SHAPES_DOWN(empty, 3);
        const shapes_lanes e4 = SHAPES_DOWN(empty, 4);
        const shapes_lanes a = SHAPES_AND(w3, empty), b = SHAPES_AND(w3, e1), c = SHAPES_AND(w3, e2);
        shapes_lanes t, plus, minus, both;
        /* cells whose four is completed d cells further on, and d cells before: d = 1 */
        t = SHAPES_AND(a, e1);
        plus = t;
        minus = SHAPES_UP(t, 1);
        t = SHAPES_AND(b, e2);
        plus = SHAPES_OR(plus, SHAPES_UP(t, 1));
        minus = SHAPES_OR(minus, SHAPES_UP(t, 2));
        t = SHAPES_AND(c, e3);
        plus = SHAPES_OR(plus, SHAPES_UP(t, 2));
        minus = SHAPES_OR(minus, SHAPES_UP(t, 3));
        t = SHAPES_AND(SHAPES_AND(w3, e3), e4);
        plus = SHAPES_OR(plus, SHAPES_UP(t, 3));
        minus = SHAPES_OR(minus, SHAPES_UP(t, 4));
        ones = SHAPES_OR(plus, minus);
        twos = SHAPES_AND(plus, minus);
        /* d = 2 */
        t = SHAPES_AND(a, e2);
        plus = t;
        minus = SHAPES_UP(t, 2);
        t = SHAPES_AND(b, e3);
        plus = SHAPES_OR(plus, SHAPES_UP(t, 1));
        minus = SHAPES_OR(minus, SHAPES_UP(t, 3));
        t = SHAPES_AND(c, e4);
        plus = SHAPES_OR(plus, SHAPES_UP(t, 2));
        minus = SHAPES_OR(minus, SHAPES_UP(t, 4));
        both = SHAPES_OR(plus, minus);
        twos = SHAPES_OR(twos, SHAPES_OR(SHAPES_AND(plus, minus), SHAPES_AND(ones, both)));
        ones = SHAPES_OR(ones, both);
        /* d = 3 */
        t = SHAPES_AND(a, e3);
        plus = t;
        minus = SHAPES_UP(t, 3);
        t = SHAPES_AND(b, e4);
        plus = SHAPES_OR(plus, SHAPES_UP(t, 1));
        minus = SHAPES_OR(minus, SHAPES_UP(t, 4));
        both = SHAPES_OR(plus, minus);
        twos = SHAPES_OR(twos, SHAPES_OR(SHAPES_AND(plus, minus), SHAPES_AND(ones, both)));
        ones = SHAPES_OR(ones, both);
        /* d = 4 */
        plus = SHAPES_AND(a, e4);
        minus = SHAPES_UP(plus, 4);
        both = SHAPES_OR(plus, minus);
        twos = SHAPES_OR(twos, SHAPES_OR(SHAPES_AND(plus, minus), SHAPES_AND(ones, both)));
        ones = SHAPES_NOT(SHAPES_OR(ones, both), five);
        twos = SHAPES_NOT(twos, five);
    }
    some[1] = shapes_store(lines, SHAPES_FOUR, ones);
    (void)shapes_store(lines, SHAPES_DOUBLE_FOUR, twos);

    if (threes || SHAPES_ANY(twos)) {
        /* straight fours: six cells, both ends empty, four inner cells without an opponent */
        straight = SHAPES_AND(SHAPES_AND(empty, SHAPES_DOWN(valid4, 1)), SHAPES_DOWN(empty, 5));
        if (edges)
            straight = SHAPES_NOT(straight, SHAPES_AND(exact, SHAPES_OR(SHAPES_UP(own, 1), SHAPES_DOWN(own, 6))));
        if (caro)
            straight = SHAPES_NOT(straight, SHAPES_OR(SHAPES_UP(other, 1), SHAPES_DOWN(other, 6)));
        /* stones among the four inner cells */
        sum1 = SHAPES_XOR(own1, own2);
        sum2 = SHAPES_XOR(own3, own4);
        carry1 = SHAPES_AND(own1, own2);
        carry2 = SHAPES_AND(own3, own4);
        carry3 = SHAPES_AND(sum1, sum2);
        bit0 = SHAPES_XOR(sum1, sum2);
        bit1 = SHAPES_XOR(SHAPES_XOR(carry1, carry2), carry3);
        bit2 = SHAPES_OR(SHAPES_AND(carry1, carry2), SHAPES_AND(carry3, SHAPES_OR(carry1, carry2)));
        w3 = SHAPES_AND(straight, SHAPES_AND(bit1, bit0));
        free_ = SHAPES_NOT(empty, five);
        open_four = SHAPES_OR(SHAPES_OR(SHAPES_UP(w3, 1), SHAPES_UP(w3, 2)),
                              SHAPES_OR(SHAPES_UP(w3, 3), SHAPES_UP(w3, 4)));
        open_four = SHAPES_AND(open_four, free_);
        if (threes) {
            w3 = SHAPES_NOT(SHAPES_NOT(SHAPES_AND(straight, bit1), bit0), bit2);
            half = SHAPES_OR(SHAPES_OR(SHAPES_UP(w3, 1), SHAPES_UP(w3, 2)),
                             SHAPES_OR(SHAPES_UP(w3, 3), SHAPES_UP(w3, 4)));
            some[2] = shapes_store(lines, SHAPES_OPEN_THREE, SHAPES_NOT(SHAPES_AND(half, free_), ones));
        }
    }
    (void)shapes_store(lines, SHAPES_OPEN_FOUR, open_four);
}

#else

static void tengen_shapes(uint32_t* const* lines, int exact_black, int exact_white, int caro, int threes,
                          unsigned* some)
{
    (void)lines, (void)exact_black, (void)exact_white, (void)caro, (void)threes, (void)some;
}

#endif
#endif

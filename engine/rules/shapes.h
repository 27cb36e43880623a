/* Shape masks of four lines and both colours at once, one a lane of an AVX2 register. `Line` in
`_board.pxd` defines the masks; `evaluate_line` in `line_shapes.pxd` does the same steps for one line and colour,
and must give the same bits. */
#ifndef TENGEN_SHAPES_H
#define TENGEN_SHAPES_H

#include <stdint.h>
#include <string.h>

#include "cpu.h"

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
#if TENGEN_AVX2
    uint64_t both;
    memcpy(&both, line + SHAPES_STONES, sizeof both);
    both |= (uint64_t)bit << 32 * colour;
    memcpy(line + SHAPES_STONES, &both, sizeof both);
#else
    line[SHAPES_STONES + colour] |= bit;
#endif
}

#if TENGEN_AVX2

/* Two entries of each of four lines; lanes: line 0 black, line 0 white, line 1 black ... */
TENGEN_INNER __m256i shapes_load(uint32_t* const* lines, int place)
{
    __m128i low = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i*)(lines[0] + place)),
                                     _mm_loadl_epi64((const __m128i*)(lines[1] + place)));
    __m128i high = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i*)(lines[2] + place)),
                                      _mm_loadl_epi64((const __m128i*)(lines[3] + place)));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Write them back; returns a bit for each lane that is not zero. */
TENGEN_INNER unsigned shapes_store(uint32_t* const* lines, int place, __m256i mask)
{
    __m128i low = _mm256_castsi256_si128(mask), high = _mm256_extracti128_si256(mask, 1);
    __m256i zero = _mm256_cmpeq_epi32(mask, _mm256_setzero_si256());
    _mm_storel_epi64((__m128i*)(lines[0] + place), low);
    _mm_storel_epi64((__m128i*)(lines[1] + place), _mm_unpackhi_epi64(low, low));
    _mm_storel_epi64((__m128i*)(lines[2] + place), high);
    _mm_storel_epi64((__m128i*)(lines[3] + place), _mm_unpackhi_epi64(high, high));
    return ~(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(zero)) & 255u;
}

#define SHAPES_AND(a, b) _mm256_and_si256(a, b)
#define SHAPES_OR(a, b) _mm256_or_si256(a, b)
#define SHAPES_XOR(a, b) _mm256_xor_si256(a, b)
#define SHAPES_NOT(a, b) _mm256_andnot_si256(b, a)      /* a without b */
#define SHAPES_UP(a, n) _mm256_slli_epi32(a, n)
#define SHAPES_DOWN(a, n) _mm256_srli_epi32(a, n)

/* Evaluate four lines. `some` gets the lanes that are not zero: fives, fours, and open threes if `threes`. */
static TENGEN_FAST void tengen_shapes(uint32_t* const* lines, int exact_black, int exact_white, int caro,
                                      int threes, unsigned* some)
{
    const __m256i own = shapes_load(lines, SHAPES_STONES);
    const __m256i other = _mm256_shuffle_epi32(own, 0xB1);
    const __m256i empty = _mm256_setr_epi32(
        (int)lines[0][SHAPES_EMPTY], (int)lines[0][SHAPES_EMPTY], (int)lines[1][SHAPES_EMPTY],
        (int)lines[1][SHAPES_EMPTY], (int)lines[2][SHAPES_EMPTY], (int)lines[2][SHAPES_EMPTY],
        (int)lines[3][SHAPES_EMPTY], (int)lines[3][SHAPES_EMPTY]);
    const __m256i exact = _mm256_set1_epi64x(
        (long long)((exact_white ? 0xFFFFFFFF00000000ULL : 0) | (exact_black ? 0xFFFFFFFFULL : 0)));
    const __m256i nothing = _mm256_setzero_si256();
    __m256i free_ = SHAPES_OR(own, empty), valid4, valid, straight;
    __m256i own1 = SHAPES_DOWN(own, 1), own2 = SHAPES_DOWN(own, 2), own3 = SHAPES_DOWN(own, 3);
    __m256i own4 = SHAPES_DOWN(own, 4), half, sum1, carry1, sum2, carry2, carry3, bit0, bit1, bit2, w3, w4, five;
    __m256i ones = nothing, twos = nothing, open_four = nothing;
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

    if (!_mm256_testz_si256(w3, w3)) {
        const __m256i e1 = SHAPES_DOWN(empty, 1), e2 = SHAPES_DOWN(empty, 2), e3 = SHAPES_DOWN(empty, 3);
        const __m256i e4 = SHAPES_DOWN(empty, 4);
        const __m256i a = SHAPES_AND(w3, empty), b = SHAPES_AND(w3, e1), c = SHAPES_AND(w3, e2);
        __m256i t, plus, minus, both;
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

    if (threes || !_mm256_testz_si256(twos, twos)) {
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

/* Priors from logits, and the best of them: plain arithmetic, the same bits on every machine. Compiled twice, the second
time for AVX2, whose registers hold twice as many numbers; the steps of each number are the same. */
#ifndef TENGEN_PRIORS_H
#define TENGEN_PRIORS_H

#include <stdint.h>
#include <string.h>

#include "cpu.h"

#if defined(__GNUC__)
#define PRIORS_INLINE __attribute__((always_inline)) static inline
#elif defined(_MSC_VER)
#define PRIORS_INLINE static __forceinline
#else
#define PRIORS_INLINE static inline
#endif

#define PRIORS_WHOLE 6755399441055744.0     /* 1.5 * 2 ** 52: adding it rounds to a whole number */

enum {
    PRIORS_MOVES = 484
};

/* Replace each x <= 0 by e ** x, to 2e-7: libm's bits differ between machines. Short loops without a branch or a change
of width, so that compilers use vector instructions. */
PRIORS_INLINE void priors_exp(double* x, int n)
{
    double rounded[PRIORS_MOVES];   /* PRIORS_WHOLE + k, k the whole number next to log2(e) * x: in the lowest bits */
    uint64_t powers[PRIORS_MOVES];  /* bits of 2 ** k */
    int i;
    for (i = 0; i < n; i++) {
        double r = x[i] > -80.0 ? x[i] : -80.0;
        rounded[i] = r * 1.4426950408889634 + PRIORS_WHOLE;
        r = r - (rounded[i] - PRIORS_WHOLE) * 0.6931471805599453;
        x[i] = 1.0 + r * (
            1.0 + r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720))))));
    }
    memcpy(powers, rounded, (size_t)n * sizeof(double));
    for (i = 0; i < n; i++)
        powers[i] = (powers[i] + 1023) << 52;
    memcpy(rounded, powers, (size_t)n * sizeof(double));
    for (i = 0; i < n; i++)
        x[i] = rounded[i] * x[i];
}

PRIORS_INLINE int softmax_body(const float* logits, const uint16_t* points, int n, double inverse_temperature,
                              float* priors)
{
    double weights[PRIORS_MOVES], total = 0, inverse, top = logits[points[0]];
    int i, wrong = 0;
    for (i = 0; i < n; i++) {
        const double logit = logits[points[i]];
        weights[i] = logit;
        top = logit > top ? logit : top;
    }
    for (i = 0; i < n; i++) {
        weights[i] = (weights[i] - top) * inverse_temperature;
        wrong |= !(weights[i] <= 0);    /* not a number */
    }
    if (wrong)
        return 0;
    priors_exp(weights, n);
    for (i = 0; i < n; i++)
        total += weights[i];
    inverse = 1.0 / total;
    for (i = 0; i < n; i++)
        priors[i] = (float)(weights[i] * inverse);
    return 1;
}

/* Return the k-th largest (k from 1) of n different numbers; reorders them (Hoare's quickselect). */
PRIORS_INLINE uint64_t priors_kth_largest(uint64_t* a, int n, int k)
{
    int low = 0, high = n - 1;
    k--;
    while (low < high) {
        const uint64_t pivot = a[(low + high) >> 1];
        int i = low, j = high;
        while (i <= j) {
            while (a[i] > pivot)
                i++;
            while (a[j] < pivot)
                j--;
            if (i <= j) {
                const uint64_t t = a[i];
                a[i++] = a[j];
                a[j--] = t;
            }
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            break;
    }
    return a[k];
}

/* Write the places of the bytes that are 1, not 0, ascending; return how many there are. `n` is a multiple of 8. */
PRIORS_INLINE int priors_places(const uint8_t* bytes, int n, uint16_t* places)
{
    int i, k = 0;
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (i = 0; i < n; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        for (; word; word &= word - 1)
            places[k++] = (uint16_t)(i + (__builtin_ctzll(word) >> 3));
    }
#else
    for (i = 0; i < n; i++)
        if (bytes[i])
            places[k++] = (uint16_t)i;
#endif
    return k;
}

PRIORS_INLINE double choose_body(const float* priors, int n, int stored, uint16_t* kept)
{
    uint32_t bits[PRIORS_MOVES], top = 0, cut;
    uint8_t buckets[PRIORS_MOVES + 8], chosen[PRIORS_MOVES + 8];
    uint16_t counts[4][64];     /* four in turn: consecutive additions to one counter wait for each other */
    uint64_t ranks[PRIORS_MOVES], cutoff;
    double dropped[PRIORS_MOVES], sum = 0;
    const int whole = (n + 7) & ~7;
    int i, k, first = 0, wanted = stored, last;
    /* Positive floats order like their bits. Buckets of a quarter octave locate the cut; within its bucket the rank
    decides: the bits, then the earlier move. Loops without a branch, so that compilers use vector instructions. */
    memcpy(bits, priors, (size_t)n * sizeof(float));
    memset(counts, 0, sizeof counts);
    memset(buckets + n, 63, 8);     /* the last bucket may hold more than there are */
    memset(chosen + n, 0, 8);
    for (i = 0; i < n; i++)
        top = bits[i] > top ? bits[i] : top;
    for (i = 0; i < n; i++) {
        const uint32_t bucket = (top - bits[i]) >> 21;
        buckets[i] = (uint8_t)(bucket < 63 ? bucket : 63);
    }
    for (i = 0; i < whole; i += 4) {
        counts[0][buckets[i]]++;
        counts[1][buckets[i + 1]]++;
        counts[2][buckets[i + 2]]++;
        counts[3][buckets[i + 3]]++;
    }
    for (i = 0; i < 64; i++)
        counts[0][i] = (uint16_t)(counts[0][i] + counts[1][i] + counts[2][i] + counts[3][i]);
    while (counts[0][first] < wanted)
        wanted -= counts[0][first++];
    for (i = 0; i < n; i++)
        chosen[i] = buckets[i] == first;
    k = priors_places(chosen, whole, kept);
    for (i = 0; i < k; i++)
        ranks[i] = (uint64_t)bits[kept[i]] << 16 | (uint64_t)(0xFFFF - kept[i]);
    cutoff = priors_kth_largest(ranks, k, wanted);
    cut = (uint32_t)(cutoff >> 16);
    last = 0xFFFF - (int)(cutoff & 0xFFFF);
    for (i = 0; i < n; i++)
        chosen[i] = (uint8_t)((bits[i] > cut) | ((bits[i] == cut) & (i <= last)));
    for (i = 0; i < n; i++)
        dropped[i] = chosen[i] ? 0.0 : priors[i];
    for (i = 0; i < n; i++)
        sum += dropped[i];
    priors_places(chosen, whole, kept);
    return sum;
}

#if TENGEN_AVX2
static TENGEN_FAST int softmax_avx2(const float* logits, const uint16_t* points, int n, double inverse_temperature,
                                   float* priors)
{
    return softmax_body(logits, points, n, inverse_temperature, priors);
}

static TENGEN_FAST double choose_avx2(const float* priors, int n, int stored, uint16_t* kept)
{
    return choose_body(priors, n, stored, kept);
}
#endif

/* Compute the priors of `n` moves, in their order, from logits by point; 0 if a logit is not finite. */
static inline int tengen_softmax(const float* logits, const uint16_t* points, int n, double inverse_temperature,
                                 float* priors)
{
#if TENGEN_AVX2
    if (tengen_have_vectors())
        return softmax_avx2(logits, points, n, inverse_temperature, priors);
#endif
    return softmax_body(logits, points, n, inverse_temperature, priors);
}

/* Choose the `stored` best of `n` moves by prior, fewer than all; of equals the first. Write their indices, ascending, to
`kept`, which has room for `n`; return the sum of the other priors. */
static inline double tengen_choose(const float* priors, int n, int stored, uint16_t* kept)
{
#if TENGEN_AVX2
    if (tengen_have_vectors())
        return choose_avx2(priors, n, stored, kept);
#endif
    return choose_body(priors, n, stored, kept);
}

#endif

/* Included before all else where the line net is compiled for `tests.emulation`: the intrinsics of AVX-512 become those
of SIMDe (https://github.com/simd-everywhere/simde), which does them with AVX2. */
#include <immintrin.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#define __m512 simde__m512
#define __m512i simde__m512i

/* What SIMDe 0.7 lacks, in halves. */
#if !defined(_mm512_cvtps_epi32)
#define _mm512_cvtps_epi32 tengen_cvtps_epi32
static inline simde__m512i tengen_cvtps_epi32(simde__m512 x)
{
    simde__m512_private from = simde__m512_to_private(x);
    simde__m512i_private to;
    to.m256i[0] = _mm256_cvtps_epi32(from.m256[0]);
    to.m256i[1] = _mm256_cvtps_epi32(from.m256[1]);
    return simde__m512i_from_private(to);
}
#endif
#if !defined(_mm512_cvtepi32_ps)
#define _mm512_cvtepi32_ps tengen_cvtepi32_ps
static inline simde__m512 tengen_cvtepi32_ps(simde__m512i x)
{
    simde__m512i_private from = simde__m512i_to_private(x);
    simde__m512_private to;
    to.m256[0] = _mm256_cvtepi32_ps(from.m256i[0]);
    to.m256[1] = _mm256_cvtepi32_ps(from.m256i[1]);
    return simde__m512_from_private(to);
}
#endif
#if !defined(_mm512_cvtepi16_epi32)
#define _mm512_cvtepi16_epi32 tengen_cvtepi16_epi32
static inline simde__m512i tengen_cvtepi16_epi32(__m256i x)
{
    simde__m512i_private to;
    to.m256i[0] = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(x));
    to.m256i[1] = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(x, 1));
    return simde__m512i_from_private(to);
}
#endif

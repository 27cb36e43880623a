/* AVX2, AVX2 with VNNI, AVX-512 with VNNI, and NEON, for kernels that ask for them at run time: the intrinsics, attributes for
functions that use them, and whether the processor has them. */
#ifndef TENGEN_CPU_H
#define TENGEN_CPU_H

#if defined(__GNUC__) && defined(__x86_64__)
#define TENGEN_AVX2 1
#include <immintrin.h>
#define TENGEN_FAST __attribute__((target("avx2,fma"), noinline))
#define TENGEN_INNER __attribute__((target("avx2,fma"), always_inline)) static inline
#define TENGEN_PREFETCH(p) __builtin_prefetch(p)
#define TENGEN_AVX512 1
#if defined(TENGEN_EMULATED)    /* by `tests.emulation`, on AVX2 */
#define TENGEN_AVX512_PARTS "avx2,fma"
#else
#define TENGEN_AVX512_PARTS "avx2,fma,avx512f,avx512bw,avx512vl,avx512vnni"
#endif
#define TENGEN_WIDE __attribute__((target(TENGEN_AVX512_PARTS), noinline))
#define TENGEN_WIDE_INNER __attribute__((target(TENGEN_AVX512_PARTS), always_inline)) static inline
#if defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11
#define TENGEN_AVXVNNI 1
#include <cpuid.h>
#define TENGEN_VNNI __attribute__((target("avx2,fma,avxvnni"), noinline))
#define TENGEN_VNNI_INNER __attribute__((target("avx2,fma,avxvnni"), always_inline)) static inline
#endif
#elif defined(_MSC_VER) && defined(_M_X64)      /* written from its manual, not compiled by it yet */
#define TENGEN_AVX2 1
#include <immintrin.h>
#include <intrin.h>
#define TENGEN_FAST __declspec(noinline)
#define TENGEN_INNER static __forceinline
#define TENGEN_PREFETCH(p) _mm_prefetch((const char*)(p), _MM_HINT_T0)
#elif defined(__GNUC__) && defined(__aarch64__) && !defined(__AARCH64EB__)     /* NEON is always there */
#define TENGEN_AVX2 0
#define TENGEN_NEON 1
#include <arm_neon.h>
#define TENGEN_FAST __attribute__((noinline))
#define TENGEN_INNER __attribute__((always_inline)) static inline
#define TENGEN_PREFETCH(p) __builtin_prefetch(p)
#if defined(__APPLE__)          /* every one of its processors has it */
#define TENGEN_NEON_DOT 1
#define TENGEN_DOT __attribute__((target("dotprod"), noinline))
#define TENGEN_DOT_INNER __attribute__((target("dotprod"), always_inline)) static inline
#elif defined(__linux__) && (defined(__clang__) ? __clang_major__ >= 16 : __GNUC__ >= 8)
#define TENGEN_NEON_DOT 1
#include <sys/auxv.h>
#if defined(__clang__)
#define TENGEN_DOT_PARTS "dotprod"
#else
#define TENGEN_DOT_PARTS "arch=armv8.2-a+dotprod"
#endif
#define TENGEN_DOT __attribute__((target(TENGEN_DOT_PARTS), noinline))
#define TENGEN_DOT_INNER __attribute__((target(TENGEN_DOT_PARTS), always_inline)) static inline
#endif
#else
#define TENGEN_AVX2 0
#define TENGEN_PREFETCH(p) ((void)(p))
#endif
#if !defined(TENGEN_NEON)
#define TENGEN_NEON 0
#endif
#if !defined(TENGEN_NEON_DOT)
#define TENGEN_NEON_DOT 0
#endif
#if !defined(TENGEN_AVX512)     /* elsewhere AVX2 does */
#define TENGEN_AVX512 0
#endif
#if !defined(TENGEN_AVXVNNI)
#define TENGEN_AVXVNNI 0
#endif

/* 1 if this processor has AVX2 and FMA and the system keeps their registers. */
static int tengen_have_vectors(void)
{
#if defined(_MSC_VER) && TENGEN_AVX2
    int word[4];
    __cpuid(word, 0);
    if (word[0] < 7)
        return 0;
    __cpuid(word, 1);       /* FMA, and that the system keeps the registers: OSXSAVE, then XCR0 */
    if (!(word[2] >> 12 & 1) || !(word[2] >> 27 & 1) || (_xgetbv(0) & 6) != 6)
        return 0;
    __cpuidex(word, 7, 0);
    return word[1] >> 5 & 1;
#elif TENGEN_AVX2
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

/* 1 if this processor also has VNNI for the registers of AVX2. */
static int tengen_have_vnni(void)
{
#if TENGEN_AVXVNNI
    unsigned a = 0, b, c, d;
    return tengen_have_vectors() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
#else
    return 0;
#endif
}

/* 1 if this processor has the dot product of ARMv8.2. */
static int tengen_have_dot_product(void)
{
#if TENGEN_NEON_DOT && defined(__linux__)
    return (getauxval(AT_HWCAP) >> 20 & 1) != 0;    /* HWCAP_ASIMDDP */
#else
    return TENGEN_NEON_DOT;
#endif
}

/* 1 if this processor also has AVX-512 with VNNI, and the system keeps its registers. */
static int tengen_have_wide_vectors(void)
{
#if defined(TENGEN_EMULATED)
    return tengen_have_vectors();
#elif TENGEN_AVX512
    return tengen_have_vectors() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
#else
    return 0;
#endif
}

#endif

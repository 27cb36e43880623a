/* Bit helpers that GCC, Clang and MSVC all compile to one instruction. */
#ifndef TENGEN_BITS_H
#define TENGEN_BITS_H

#include <stdint.h>

#if defined(_MSC_VER)
#include <intrin.h>
/* Index of the lowest set bit; the argument must not be zero. */
static __forceinline int tengen_lowest32(uint32_t v)
{
    unsigned long i;
    _BitScanForward(&i, v);
    return (int)i;
}
/* Index of the highest one, likewise. */
static __forceinline int tengen_highest32(uint32_t v)
{
    unsigned long i;
    _BitScanReverse(&i, v);
    return (int)i;
}
static __forceinline int tengen_lowest64(uint64_t v)
{
    unsigned long i;
    _BitScanForward64(&i, v);
    return (int)i;
}
#else
static inline int tengen_lowest32(uint32_t v) { return __builtin_ctz(v); }
static inline int tengen_highest32(uint32_t v) { return 31 - __builtin_clz(v); }
static inline int tengen_lowest64(uint64_t v) { return __builtin_ctzll(v); }
#endif

/* Number of set bits, without asking for the popcnt instruction. */
static inline int tengen_count32(uint32_t v)
{
    v = v - ((v >> 1) & 0x55555555u);
    v = (v & 0x33333333u) + ((v >> 2) & 0x33333333u);
    return (int)((((v + (v >> 4)) & 0x0F0F0F0Fu) * 0x01010101u) >> 24);
}

#endif

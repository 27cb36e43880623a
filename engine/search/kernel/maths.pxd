# cython: language_level=3
"""Arithmetic of the search, all inline: the same bits on every machine."""
from libc.math cimport frexp
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #define TENGEN_WHOLE 6755399441055744.0
    """
    const double WHOLE "TENGEN_WHOLE"   # 1.5 * 2 ** 52: adding it rounds to a whole number

cdef inline void exp_negative(double* x, int n) noexcept nogil:
    """Replace each x <= 0 by e ** x, to 2e-7, from plain arithmetic: libm's bits differ between machines.

    Short loops without a branch or a change of width, so that compilers use vector instructions.
    """
    cdef double rounded[484]    # WHOLE + k, k the whole number next to log2(e) * x: it stands in the lowest bits
    cdef uint64_t powers[484]   # bits of 2 ** k
    cdef double r
    cdef int i
    for i in range(n):
        r = x[i] if x[i] > -80.0 else -80.0
        rounded[i] = r * 1.4426950408889634 + WHOLE
        r = r - (rounded[i] - WHOLE) * 0.6931471805599453
        x[i] = 1.0 + r * (
            1.0 + r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720)))))
        )
    memcpy(powers, rounded, n * sizeof(double))
    for i in range(n):
        powers[i] = (powers[i] + 1023) << 52
    memcpy(rounded, powers, n * sizeof(double))
    for i in range(n):
        x[i] = rounded[i] * x[i]


cdef inline double log_positive(double x) noexcept nogil:
    """Natural logarithm for x >= 1, to 1e-8, from plain arithmetic."""
    cdef int k
    cdef double m = frexp(x, &k), s, z
    if m < 0.7071067811865476:
        m = m * 2.0
        k -= 1
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    z = 1.0 + z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9))))
    return 2.0 * s * z + k * 0.6931471805599453


cdef inline uint64_t kth_largest(uint64_t* a, int n, int k) noexcept nogil:
    """Return the k-th largest (k from 1) of n different numbers; reorders them (Hoare's quickselect)."""
    cdef int low = 0, high = n - 1, i, j
    cdef uint64_t pivot, t
    k -= 1
    while low < high:
        pivot = a[(low + high) >> 1]
        i = low
        j = high
        while i <= j:
            while a[i] > pivot:
                i += 1
            while a[j] < pivot:
                j -= 1
            if i <= j:
                t = a[i]
                a[i] = a[j]
                a[j] = t
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return a[k]

# cython: language_level=3
"""Arithmetic of the search, all inline: the same bits on every machine. That of priors is in `priors.h`."""
from libc.math cimport frexp

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

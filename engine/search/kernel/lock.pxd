# cython: language_level=3
"""The lock of a tree that several threads search."""
from libc.stdint cimport int64_t

cdef extern from "search/kernel/lock.h" nogil:
    ctypedef struct tengen_lock:
        pass

    void tengen_lock_init(tengen_lock* lock)
    void tengen_lock_destroy(tengen_lock* lock)
    int tengen_lock_try(tengen_lock* lock)
    int tengen_lock_spin(tengen_lock* lock)
    void tengen_lock_acquire(tengen_lock* lock)
    void tengen_lock_release(tengen_lock* lock)
    void tengen_pause()
    int64_t tengen_now_ns()

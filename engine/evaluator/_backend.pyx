# cython: language_level=3
"""Evaluator backends, which the search kernel calls without Python."""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from engine.evaluator._lines cimport LINES_PLANES, LINES_POINTS, LineNet

import numpy as np


cdef class KernelBackend:
    """Base class; see the stub file."""

    def evaluate(self, const float[:, :, ::1] planes, uint64_t key):
        cdef EvalRequest request
        cdef uint16_t points[484]
        cdef float[::1] logits
        cdef float[::1] wdl
        cdef int i, n = <int>(planes.shape[1] * planes.shape[2])
        if planes.shape[0] != LINES_PLANES or not 0 < n <= LINES_POINTS:
            raise ValueError(f"planes must be [{LINES_PLANES}, H, W], with 1 to {LINES_POINTS} cells")
        if self.callback.evaluate == NULL:
            raise ValueError("a backend without a callback")
        policy, chances = np.zeros(n, dtype=np.float32), np.zeros(3, dtype=np.float32)
        logits, wdl = policy, chances
        for i in range(n):
            points[i] = <uint16_t>i
        request.key = key
        request.height, request.width = <int>planes.shape[1], <int>planes.shape[2]
        request.points, request.n_points = points, n
        request.planes = self.callback.planes
        if self.callback.planes != NULL:
            memcpy(self.callback.planes, &planes[0, 0, 0], LINES_PLANES * n * sizeof(float))
        self.callback.evaluate(self.callback.context, &request, &logits[0], &wdl[0])
        return policy, chances

    cpdef KernelBackend for_thread(self):
        return None

    cpdef int64_t thread_bytes(self, int points):
        return 0


cdef bint evaluate_uniform(void* context, const EvalRequest* request, float* logits, float* wdl) noexcept nogil:
    memset(logits, 0, request.width * request.height * sizeof(float))
    wdl[0] = 0
    wdl[1] = 1
    wdl[2] = 0
    return True


cdef class UniformBackend(KernelBackend):
    """Equal logits and a sure draw."""

    def __cinit__(self):
        self.callback.evaluate = evaluate_uniform

    cpdef KernelBackend for_thread(self):
        return self


cdef bint evaluate_hashed(void* context, const EvalRequest* request, float* logits, float* wdl) noexcept nogil:
    """Compute what `engine.evaluator.hashed` explains."""
    cdef uint64_t state = mix64(request.key ^ mix64((<uint64_t*>context)[0])), bits, draw, rest, win
    cdef int i, p
    for i in range(request.n_points):
        p = request.points[i]
        bits = mix64(state + <uint64_t>(p + 1) * 0x9E3779B97F4A7C15ULL)
        logits[p] = <float><int32_t>(bits >> 40) * <float>(4.0 / 1048576)
    bits = mix64(state)
    draw = bits & 0xFFFF
    rest = (1 << 20) - draw
    win = rest // 4 + ((((bits >> 16) & 0xFFFF) * (rest // 2)) >> 16)
    wdl[0] = <float><int32_t>win * <float>(1.0 / 1048576)
    wdl[1] = <float><int32_t>draw * <float>(1.0 / 1048576)
    wdl[2] = <float><int32_t>(rest - win) * <float>(1.0 / 1048576)
    return True


cdef class HashedBackend(KernelBackend):
    """Numbers that depend only on the hash of the position and a seed."""
    cdef uint64_t seed

    def __cinit__(self, uint64_t seed):
        self.seed = seed
        self.callback.context = &self.seed
        self.callback.evaluate = evaluate_hashed

    cpdef KernelBackend for_thread(self):
        return self


cdef bint evaluate_line_net(void* context, const EvalRequest* request, float* logits, float* wdl) noexcept nogil:
    (<LineNet>context).compute(request.planes, request.width, request.height, logits, wdl)
    return True


cdef class LineNetBackend(KernelBackend):
    """A line net."""
    cdef LineNet net

    def __cinit__(self, LineNet net not None):
        if net.net.x == NULL:
            raise ValueError("line net: not built")
        self.net = net
        self.callback.planes = <float*>malloc(LINES_PLANES * LINES_POINTS * sizeof(float))
        if self.callback.planes == NULL:
            raise MemoryError("no memory for a line net's planes")
        self.callback.context = <void*>net
        self.callback.evaluate = evaluate_line_net

    cpdef KernelBackend for_thread(self):
        return LineNetBackend(self.net.for_thread())

    cpdef int64_t thread_bytes(self, int points):
        return self.net.scratch_bytes(points) + LINES_PLANES * LINES_POINTS * sizeof(float)

    def __dealloc__(self):
        free(self.callback.planes)

# cython: language_level=3
"""Evaluators that the search kernel asks without Python between."""
from libc.stdint cimport int32_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from engine.evaluator._lines cimport LINES_PLANES, LINES_POINTS, LineNet

import numpy as np


cdef class KernelJudge:
    """What the kernel may ask; see the stub file."""

    def ask(self, const float[:, :, ::1] planes, uint64_t key):
        cdef Question question
        cdef uint16_t points[484]
        cdef float[::1] logits
        cdef float[::1] wdl
        cdef int i, n = <int>(planes.shape[1] * planes.shape[2])
        if planes.shape[0] != LINES_PLANES or not 0 < n <= LINES_POINTS:
            raise ValueError(f"planes must be [{LINES_PLANES}, H, W], on a board that exists")
        if self.judge.answer == NULL:
            raise ValueError("a judge without an answer")
        policy, chances = np.zeros(n, dtype=np.float32), np.zeros(3, dtype=np.float32)
        logits, wdl = policy, chances
        for i in range(n):
            points[i] = <uint16_t>i
        question.key = key
        question.height, question.width = <int>planes.shape[1], <int>planes.shape[2]
        question.points, question.n_points = points, n
        question.planes = self.judge.planes
        if self.judge.planes != NULL:
            memcpy(self.judge.planes, &planes[0, 0, 0], LINES_PLANES * n * sizeof(float))
        self.judge.answer(self.judge.self, &question, &logits[0], &wdl[0])
        return policy, chances


cdef bint answer_even(void* self, const Question* question, float* logits, float* wdl) noexcept nogil:
    memset(logits, 0, question.width * question.height * sizeof(float))
    wdl[0] = 0
    wdl[1] = 1
    wdl[2] = 0
    return True


cdef class UniformJudge(KernelJudge):
    """Every move is as good as the other, every position even."""

    def __cinit__(self):
        self.judge.answer = answer_even


cdef bint answer_hashed(void* self, const Question* question, float* logits, float* wdl) noexcept nogil:
    """Compute what `engine.evaluator.hashed` explains."""
    cdef uint64_t state = mix64(question.key ^ mix64((<uint64_t*>self)[0])), bits, draw, rest, win
    cdef int i, p
    for i in range(question.n_points):
        p = question.points[i]
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


cdef class HashedJudge(KernelJudge):
    """Numbers that depend on nothing but the position's hash and a seed."""
    cdef uint64_t seed

    def __cinit__(self, uint64_t seed):
        self.seed = seed
        self.judge.self = &self.seed
        self.judge.answer = answer_hashed


cdef bint answer_line_net(void* self, const Question* question, float* logits, float* wdl) noexcept nogil:
    (<LineNet>self).judge(question.planes, question.width, question.height, logits, wdl)
    return True


cdef class LineJudge(KernelJudge):
    """A line net."""
    cdef LineNet net

    def __cinit__(self, LineNet net not None):
        if net.net.x == NULL:
            raise ValueError("line net: not built")
        self.net = net
        self.judge.planes = <float*>malloc(LINES_PLANES * LINES_POINTS * sizeof(float))
        if self.judge.planes == NULL:
            raise MemoryError("no memory for a line net's planes")
        self.judge.self = <void*>net
        self.judge.answer = answer_line_net

    def __dealloc__(self):
        free(self.judge.planes)

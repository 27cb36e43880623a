# cython: language_level=3
"""Fives and fours from the line masks of a board; inlined into the solver."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from engine.rules._board cimport LINE_WORDS, BoardState, Line, lowest32, lowest64

cdef enum:
    POINT_WORDS = 8         # 64-bit words that hold one bit a point

cdef struct PointSet:       # bit p % 64 of word p / 64 is point p
    uint64_t words[8]


cdef inline void clear(PointSet* marks) noexcept nogil:
    memset(marks, 0, sizeof(PointSet))


cdef inline void mark(PointSet* marks, int point) noexcept nogil:
    marks.words[point >> 6] |= (<uint64_t>1) << (point & 63)


cdef inline bint marked(const PointSet* marks, int point) noexcept nogil:
    return (marks.words[point >> 6] >> (point & 63)) & 1


cdef inline void intersect(PointSet* marks, const PointSet* others) noexcept nogil:
    """Keep the points that are in both sets."""
    cdef int w
    for w in range(POINT_WORDS):
        marks.words[w] &= others.words[w]


cdef inline int list_points(const PointSet* marks, uint16_t* out) noexcept nogil:
    """Write the points to `out` in ascending order; return how many."""
    cdef uint64_t word
    cdef int w, n = 0
    for w in range(POINT_WORDS):
        word = marks.words[w]
        while word:
            out[n] = <uint16_t>(w * 64 + lowest64(word))
            n += 1
            word &= word - 1
    return n


cdef inline bint any_line(const uint64_t* words) noexcept nogil:
    return (words[0] | words[1] | words[2]) != 0


cdef inline int caro_blocks(const BoardState* b, int colour, uint16_t* out) noexcept nogil:
    """Do what `blocks` does under caro, where a stone next to a five may stop it: intersect over all windows."""
    cdef const Line* line
    cdef uint64_t words
    cdef uint32_t own, other, empty, fives, cell, window
    cdef int w, i, s, f, k, n = -1, kept, m
    cdef uint16_t stops[2]
    for w in range(LINE_WORDS):
        words = b.with_five[colour][w]
        while words:
            i = w * 64 + lowest64(words)
            words &= words - 1
            line = &b.lines[i]
            own = line.stones[colour]
            other = line.stones[1 - colour]
            empty = line.empty
            fives = line.five[colour]
            while fives:
                f = lowest32(fives)
                cell = (<uint32_t>1) << f
                fives &= fives - 1
                for s in range(f - 4 if f > 4 else 1, f + 1):
                    window = (<uint32_t>31) << s
                    if ((own | cell) & window) != window:
                        continue
                    if b.exact[colour] and ((own >> (s - 1)) | (own >> (s + 5))) & 1:
                        continue
                    if (other >> (s - 1)) & (other >> (s + 5)) & 1:
                        continue
                    m = 1
                    stops[0] = b.point_at[i][f]
                    if (empty >> (s - 1)) & (other >> (s + 5)) & 1:
                        stops[1] = b.point_at[i][s - 1]
                        m = 2
                    elif (other >> (s - 1)) & (empty >> (s + 5)) & 1:
                        stops[1] = b.point_at[i][s + 5]
                        m = 2
                    if n < 0:
                        out[0] = stops[0]
                        out[1] = stops[1] if m == 2 else 0
                        n = m
                        continue
                    kept = 0
                    for k in range(n):
                        if out[k] == stops[0] or (m == 2 and out[k] == stops[1]):
                            out[kept] = out[k]
                            kept += 1
                    n = kept
                    if n == 0:
                        return 0
    return n


cdef inline int blocks(const BoardState* b, int colour, uint16_t* out) noexcept nogil:
    """Write to `out` (2 places) the points where a stone of the opponent leaves `colour` no five point.

    Return how many: 0 if no stone does, -1 if `colour` has no five point.
    """
    cdef uint64_t words
    cdef uint32_t fives
    cdef int w, i, n = -1
    cdef uint16_t point
    if not any_line(b.with_five[colour]):
        return -1
    if b.caro:
        return caro_blocks(b, colour, out)
    for w in range(LINE_WORDS):
        words = b.with_five[colour][w]
        while words:
            i = w * 64 + lowest64(words)
            words &= words - 1
            fives = b.lines[i].five[colour]
            if fives & (fives - 1):
                return 0
            point = b.point_at[i][lowest32(fives)]
            if n == 1 and out[0] != point:
                return 0
            out[0] = point
            n = 1
    return n


cdef inline int completions(const BoardState* b, int point, int colour) noexcept nogil:
    """Count the fours that a stone would make; those of one line with two or more completions count as two."""
    cdef const Line* line
    cdef int d, bit, n = 0
    for d in range(4):
        line = &b.lines[b.line_of[d][point]]
        bit = b.bit_of[d][point]
        n += ((line.four[colour] >> bit) & 1) + ((line.double_four[colour] >> bit) & 1)
    return n


cdef inline void mark_mask(const BoardState* b, int line, uint32_t mask, PointSet* marks) noexcept nogil:
    while mask:
        mark(marks, b.point_at[line][lowest32(mask)])
        mask &= mask - 1


cdef inline void mark_fours(const BoardState* b, int colour, PointSet* marks) noexcept nogil:
    cdef uint64_t words
    cdef int w, i
    for w in range(LINE_WORDS):
        words = b.with_four[colour][w]
        while words:
            i = w * 64 + lowest64(words)
            words &= words - 1
            mark_mask(b, i, b.lines[i].four[colour], marks)


cdef inline void mark_fives(const BoardState* b, int colour, PointSet* marks) noexcept nogil:
    """Mark the five points and, under caro, every empty cell that may be next to such a five."""
    cdef uint64_t words
    cdef uint32_t near
    cdef int w, i
    for w in range(LINE_WORDS):
        words = b.with_five[colour][w]
        while words:
            i = w * 64 + lowest64(words)
            words &= words - 1
            near = b.lines[i].five[colour]
            if b.caro:
                near |= near << 1 | near << 2 | near << 3 | near << 4 | near << 5
                near |= near >> 1 | near >> 2 | near >> 3 | near >> 4 | near >> 5
            mark_mask(b, i, near & b.lines[i].empty, marks)

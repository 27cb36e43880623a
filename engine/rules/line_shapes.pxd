# cython: language_level=3
"""Shapes of one colour on one line, for all its cells at once: shifts and half adders, no pattern table."""
from libc.stdint cimport uint32_t

from engine.rules._board cimport Line


cdef inline void evaluate_line(Line* line, int c, bint exact, bint caro, bint threes) noexcept nogil:
    """Compute the shape masks of one colour on one line from its stones.

    Bit s of a window mask is about the window that starts at bit s. Half adders count the stones of each
    window: `bit0`, `bit1`, `bit2` are the binary digits of their number.
    """
    cdef uint32_t own = line.stones[c], other = line.stones[1 - c], empty = line.empty
    cdef uint32_t free_, valid, valid4, sum1, carry1, sum2, carry2, carry3, bit0, bit1, bit2
    cdef uint32_t w3, w4, five, ones, twos, m, e1, e2, e3, e4, t, plus1, plus2, plus3, plus4
    cdef uint32_t minus1, minus2, minus3, minus4, straight, inner2, inner3, n1, n2
    line.five[c] = 0
    line.four[c] = 0
    line.double_four[c] = 0
    line.open_four[c] = 0
    if threes:
        line.open_three[c] = 0
    if (own & (own - 1)) == 0:      # fewer than two stones make no shape
        return
    free_ = own | empty
    valid4 = free_ & (free_ >> 1) & (free_ >> 2) & (free_ >> 3)     # four cells without an opponent
    valid = valid4 & (free_ >> 4)
    if exact:
        valid &= ~((own << 1) | (own >> 5))
    if caro:
        valid &= ~((other << 1) & (other >> 5))
    if valid == 0:
        return
    # stones in each window of five
    sum1 = own ^ (own >> 1) ^ (own >> 2)
    carry1 = (own & (own >> 1)) | ((own ^ (own >> 1)) & (own >> 2))
    sum2 = sum1 ^ (own >> 3) ^ (own >> 4)
    carry2 = (sum1 & (own >> 3)) | ((sum1 ^ (own >> 3)) & (own >> 4))
    bit0 = sum2
    bit1 = carry1 ^ carry2
    bit2 = carry1 & carry2
    w4 = valid & bit2 & ~bit0
    w3 = valid & bit1 & bit0
    five = (w4 | (w4 << 1) | (w4 << 2) | (w4 << 3) | (w4 << 4)) & empty
    line.five[c] = five
    e1 = empty >> 1
    e2 = empty >> 2
    e3 = empty >> 3
    e4 = empty >> 4
    ones = 0
    twos = 0
    if w3 != 0:
        # plus_d: cells whose four is completed d cells further on; minus_d: d cells before
        t = w3 & empty & e1
        plus1 = t
        minus1 = t << 1
        t = w3 & e1 & e2
        plus1 |= t << 1
        minus1 |= t << 2
        t = w3 & e2 & e3
        plus1 |= t << 2
        minus1 |= t << 3
        t = w3 & e3 & e4
        plus1 |= t << 3
        minus1 |= t << 4
        t = w3 & empty & e2
        plus2 = t
        minus2 = t << 2
        t = w3 & e1 & e3
        plus2 |= t << 1
        minus2 |= t << 3
        t = w3 & e2 & e4
        plus2 |= t << 2
        minus2 |= t << 4
        t = w3 & empty & e3
        plus3 = t
        minus3 = t << 3
        t = w3 & e1 & e4
        plus3 |= t << 1
        minus3 |= t << 4
        t = w3 & empty & e4
        plus4 = t
        minus4 = t << 4
        ones = plus1 | minus1
        twos = plus1 & minus1
        m = plus2 | minus2
        twos |= (plus2 & minus2) | (ones & m)
        ones |= m
        m = plus3 | minus3
        twos |= (plus3 & minus3) | (ones & m)
        ones |= m
        m = plus4 | minus4
        twos |= (plus4 & minus4) | (ones & m)
        ones |= m
        ones &= ~five
        twos &= ~five
        line.four[c] = ones
        line.double_four[c] = twos
    if twos == 0 and not threes:
        return
    # straight fours: six cells, both ends empty, four inner cells without an opponent
    straight = empty & (valid4 >> 1) & (empty >> 5)
    if exact:
        straight &= ~((own << 1) | (own >> 6))
    if caro:
        straight &= ~((other << 1) | (other >> 6))
    if straight == 0:
        return
    # stones among the four inner cells
    n1 = (own >> 1) ^ (own >> 2)
    n2 = (own >> 3) ^ (own >> 4)
    carry1 = (own >> 1) & (own >> 2)
    carry2 = (own >> 3) & (own >> 4)
    carry3 = n1 & n2
    bit0 = n1 ^ n2
    bit1 = carry1 ^ carry2 ^ carry3     # four stones would give bit2; then nothing is missing
    bit2 = (carry1 & carry2) | (carry1 & carry3) | (carry2 & carry3)
    if twos != 0:
        inner3 = straight & bit1 & bit0
        line.open_four[c] = ((inner3 << 1) | (inner3 << 2) | (inner3 << 3) | (inner3 << 4)) & empty & ~five
    if threes:
        inner2 = straight & bit1 & ~bit0 & ~bit2
        line.open_three[c] = (
            ((inner2 << 1) | (inner2 << 2) | (inner2 << 3) | (inner2 << 4)) & empty & ~five & ~ones
        )

# cython: language_level=3
"""All forbidden points of a position at once."""
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from engine.rules._board cimport (
    FORBID_OVERLINE, SHAPE_DOUBLE_FOUR, SHAPE_FORK, BoardState, board_forbidden, board_shapes, count32, lowest32,
)


cdef inline void mark_forbidden(BoardState* b, int colour, uint8_t* out) noexcept nogil:
    """Mark each point that is forbidden to a colour by 1, others by 0.

    Args:
        b: with the tables of open threes.
        out: `points` bytes.
    """
    cdef uint32_t mask
    cdef int p, i
    if not b.forbids[colour]:
        memset(out, 0, b.points)
        return
    # Only a fork, a double four or a line with five stones can be forbidden.
    board_shapes(b, colour, out)
    for p in range(b.points):
        out[p] = out[p] & (SHAPE_FORK | SHAPE_DOUBLE_FOUR)
    if b.forbids[colour] & FORBID_OVERLINE:
        for i in range(b.n_lines):
            if count32(b.lines[i].stones[colour]) >= 5:
                mask = b.lines[i].empty
                while mask:
                    out[b.point_at[i][lowest32(mask)]] = 1
                    mask &= mask - 1
    for p in range(b.points):
        if out[p]:
            out[p] = board_forbidden(b, p, colour)

# cython: language_level=3
"""Points where one more stone of the defender may refute a VCF: after any other stone its proof still holds."""
from libc.stdint cimport uint16_t

from engine.rules._board cimport (
    EMPTY, TABLES_ALL, BoardState, Line, board_forbidden, board_place, board_undo,
)
from engine.threats.kernel.masks cimport PointSet, blocks, mark, mark_fives, mark_fours, marked
from engine.threats.kernel.state cimport SolverState
from engine.threats.kernel.vcf cimport iterate_vcf


cdef inline bint mark_refuters(SolverState* s, BoardState* b, int fours, PointSet* marks) noexcept nogil:
    """Mark every point where one more stone of the defender may refute a VCF with at most `fours` fours.

    The attacker is to move. Any other stone leaves each four of the proof a four with the same
    blocks, and gives the defender no four or five anywhere in it: a line where the stone would
    give one has the point in its four or five mask. Where the proof depends on forbidden points,
    each stone is tried. Return False if the call must end.
    """
    cdef uint16_t move = 0
    cdef int result = iterate_vcf(s, b, fours, s.limit, 0, &move)
    if result < 0:
        return False
    return mark_win_refuters(s, b, move, result, marks)


cdef inline bint mark_win_refuters(SolverState* s, BoardState* b, int move, int fours, PointSet* marks) noexcept nogil:
    """Do what `mark_refuters` does for the VCF that begins with `move`, the five or the first of `fours` fours."""
    cdef int att = s.attacker, dfn = 1 - att, d, k, n, threes = 0
    cdef const Line* line
    cdef uint16_t replies[2]
    cdef bint complete = True
    mark_fours(b, dfn, marks)
    mark_fives(b, dfn, marks)
    mark(marks, move)
    if fours == 0:
        mark_fives(b, att, marks)
        return True
    if b.forbids[att]:
        for d in range(4):
            line = &b.lines[b.line_of[d][move]]
            threes += (line.open_three[att] >> b.bit_of[d][move]) & 1
        if threes >= 2:     # a stone of the defender can forbid `move` only where it has two threes
            mark_legality(s, b, move, att, marks)
    board_place(b, move, att, s.tables)
    mark_fives(b, att, marks)
    n = blocks(b, att, replies)
    for k in range(n):
        mark(marks, replies[k])
        if board_forbidden(b, replies[k], dfn):
            mark_legality(s, b, replies[k], dfn, marks)
            continue
        board_place(b, replies[k], dfn, s.tables)
        complete = mark_refuters(s, b, fours - 1, marks)
        board_undo(b)
        if not complete:
            break
    board_undo(b)
    return complete


cdef inline void mark_legality(SolverState* s, BoardState* b, int point, int colour, PointSet* marks) noexcept nogil:
    """Mark where a stone of the defender changes whether `point` is forbidden to a colour."""
    cdef int p, dfn = 1 - s.attacker
    cdef bint forbidden = board_forbidden(b, point, colour)
    for p in range(b.points):
        if b.cells[p] != EMPTY or marked(marks, p) or p == point:
            continue
        s.next_poll -= 2        # takes the time of two nodes, but is none of the budget
        board_place(b, p, dfn, TABLES_ALL)
        if board_forbidden(b, point, colour) != forbidden:
            mark(marks, p)
        board_undo(b)

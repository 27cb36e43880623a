# cython: language_level=3
"""Where one more stone of the defender could spoil a win by fours: every other stone leaves the proof as it is."""
from libc.stdint cimport uint16_t

from engine.rules._board cimport (
    EMPTY, TABLES_ALL, BoardState, Line, board_forbidden, board_place, board_undo,
)
from engine.threats.kernel.masks cimport Points, blocks, mark, mark_fives, mark_fours, marked
from engine.threats.kernel.state cimport SolverState
from engine.threats.kernel.vcf cimport deepen


cdef inline bint mark_refuters(SolverState* s, BoardState* b, int fours, Points* marks) noexcept nogil:
    """Mark every point where one more stone of the defender could spoil a VCF with at most `fours` fours.

    The attacker is to move. Any other stone leaves each four of the proof a four with the same
    answers, and gives the defender no four or five at any stage of it: a line of his that such a
    stone makes dangerous has that point in its four or five mask. Where the proof rests on
    forbidden points, each stone is tried. Returns False if the call must end.
    """
    cdef uint16_t move = 0
    cdef int result = deepen(s, b, fours, s.limit, 0, &move)
    if result < 0:
        return False
    return mark_win(s, b, move, result, marks)


cdef inline bint mark_win(SolverState* s, BoardState* b, int move, int fours, Points* marks) noexcept nogil:
    """`mark_refuters` of the VCF that begins with `move`, the five or the first of `fours` fours."""
    cdef int att = s.attacker, dfn = 1 - att, d, k, n, threes = 0
    cdef const Line* line
    cdef uint16_t replies[2]
    cdef bint fine = True
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
        if threes >= 2:     # a stone of the defender forbids only by making a second three real
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
        fine = mark_refuters(s, b, fours - 1, marks)
        board_undo(b)
        if not fine:
            break
    board_undo(b)
    return fine


cdef inline void mark_legality(SolverState* s, BoardState* b, int point, int colour, Points* marks) noexcept nogil:
    """Mark where a stone of the defender changes whether `point` is forbidden to a colour."""
    cdef int p, dfn = 1 - s.attacker
    cdef bint forbidden = board_forbidden(b, point, colour)
    for p in range(b.points):
        if b.cells[p] != EMPTY or marked(marks, p) or p == point:
            continue
        board_place(b, p, dfn, TABLES_ALL)
        if board_forbidden(b, point, colour) != forbidden:
            mark(marks, p)
        board_undo(b)

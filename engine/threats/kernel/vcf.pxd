# cython: language_level=3
"""Wins by continuous fours. Rules 1 to 4 of a VCF stand in `_solver.pyx`.

The search is depth-first, with one shallow pass before the unlimited one (`deepen`). The table keeps, by position, the
largest number of fours that failed and the smallest that won.
"""
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from engine.rules._board cimport (
    LINE_WORDS, BoardState, board_any_five, board_forbidden, board_place, board_undo, lowest32, lowest64,
)
from engine.threats.kernel.masks cimport any_line, blocks, completions
from engine.threats.kernel.state cimport (
    ABORTED, CUT, EXHAUSTED, NEVER, WHITE_ATTACKS, FourEntry, SolverState, spent,
)
from engine.threats.kernel.table cimport await_four, find_four, keep_four

cdef enum:
    FIRST_FOURS = 5         # limit of the first pass of a VCF; tuned (random positions: freestyle wants none)


cdef inline int fours(SolverState* s, BoardState* b, int limit, uint16_t* stack, uint16_t* best) noexcept nogil:
    """Number of fours (at most `limit`) with which the attacker, to move, wins; else EXHAUSTED, CUT or ABORTED.

    `best` gets the first move of a win. `stack` is free space for moves.
    """
    cdef int att = s.attacker, dfn = 1 - att, w, i, k, n = 0, threatened, answers, result, worst, r
    cdef uint64_t words, key
    cdef uint32_t four, double_
    cdef uint16_t point
    cdef uint16_t forced[2]
    cdef uint16_t replies[2]
    cdef bint cut = False, tactical
    cdef FourEntry* e
    cdef int64_t start = s.nodes
    key = b.hash ^ (WHITE_ATTACKS if att else 0)
    await_four(s, key)
    i = board_any_five(b, att)
    if i >= 0:
        best[0] = <uint16_t>i
        return 0
    if not any_line(b.with_four[att]):
        return EXHAUSTED
    if limit == 0:
        return CUT
    threatened = blocks(b, dfn, forced)
    if threatened == 0:
        return EXHAUSTED
    if limit > 1:
        e = find_four(s, key)
        if e != NULL:
            if e.fours <= limit:
                best[0] = e.move
                return e.fours
            if e.failed >= limit:
                return EXHAUSTED if e.failed == NEVER else CUT
    # collect the fours; those with several completions come first, and win at once under most rules
    tactical = not b.caro and not b.forbids[att]
    if threatened > 0:
        for k in range(threatened):
            point = forced[k]
            answers = completions(b, point, att)
            if answers == 0:
                continue
            if answers > 1 and tactical:
                best[0] = point
                return 1
            stack[n] = point
            n += 1
    else:
        s.stamp += 1
        for w in range(LINE_WORDS):
            words = b.with_four[att][w]
            while words:
                i = w * 64 + lowest64(words)
                words &= words - 1
                four = b.lines[i].four[att]
                double_ = b.lines[i].double_four[att]
                if double_ != 0 and tactical:
                    best[0] = b.point_at[i][lowest32(double_)]
                    return 1
                while four:
                    point = b.point_at[i][lowest32(four)]
                    if s.seen[point] == s.stamp:
                        if tactical:
                            best[0] = point
                            return 1
                    else:
                        s.seen[point] = s.stamp
                        stack[n] = point
                        n += 1
                    four &= four - 1
        if not tactical:
            # straight and double fours to the front
            w = 0
            for k in range(n):
                point = stack[k]
                answers = completions(b, point, att)
                if answers > 1:
                    stack[k] = stack[w]
                    stack[w] = point
                    w += 1
            if limit == 1 and not b.forbids[dfn]:
                cut = w < n     # a four with one completion needs a second four
                n = w
    if limit == 1 and tactical and not b.forbids[dfn]:
        return CUT if n else EXHAUSTED
    for k in range(n):
        point = stack[k]
        if b.forbids[att] and board_forbidden(b, point, att):
            continue
        if spent(s):
            return ABORTED
        s.nodes += 1
        board_place(b, point, att, s.tables)
        answers = blocks(b, att, replies)
        worst = 0
        for r in range(answers):
            if b.forbids[dfn] and board_forbidden(b, replies[r], dfn):
                continue
            if limit == 1:
                worst = CUT
                break
            s.nodes += 1
            board_place(b, replies[r], dfn, s.tables)
            result = fours(s, b, limit - 1, stack + n, best)
            board_undo(b)
            if result < 0:
                worst = result
                break
            if result > worst:
                worst = result
        board_undo(b)
        if worst == ABORTED:
            return ABORTED
        if worst >= 0:
            best[0] = point
            if limit > 1:
                keep_four(s, key, 0, worst + 1, point, s.nodes - start)
            return worst + 1
        if worst == CUT:
            cut = True
    if limit > 1 or not cut:
        keep_four(s, key, limit if cut else NEVER, NEVER, 0, s.nodes - start)
    return CUT if cut else EXHAUSTED


cdef inline int deepen(
    SolverState* s, BoardState* b, int limit, int64_t node_budget, int64_t shorten_budget, uint16_t* best
) noexcept nogil:
    """`fours` of a win with at most `limit`, with a budget within that of the call.

    With a budget of its own, a win is then made the shortest one.
    """
    cdef int first = FIRST_FOURS if b.rule and FIRST_FOURS < limit else limit, failed = 0, result, shorter
    cdef int64_t outer = s.limit
    cdef uint16_t point = 0
    if s.nodes + node_budget < outer:
        s.limit = s.nodes + node_budget
    result = fours(s, b, first, s.moves, best)
    if result == CUT and first < limit:
        failed = first
        result = fours(s, b, limit, s.moves, best)
    if shorten_budget > 0:
        s.limit = s.nodes + shorten_budget
    while shorten_budget > 0 and result > failed + 1:
        failed += 1
        shorter = fours(s, b, failed, s.moves, &point)
        if shorter == ABORTED:
            break
        if shorter >= 0:
            best[0] = point
            result = shorter
    s.limit = outer
    return result


cdef inline int answers(SolverState* s, BoardState* b, uint16_t* out) noexcept nogil:
    """`blocks` of the attacker's fives that are legal for the defender, to move."""
    cdef int n = blocks(b, s.attacker, out), k, kept = 0, dfn = 1 - s.attacker
    if not b.forbids[dfn] or n < 0:
        return n
    for k in range(n):
        if not board_forbidden(b, out[k], dfn):
            out[kept] = out[k]
            kept += 1
    return kept

# cython: language_level=3
"""Wins by continuous fours (VCF); `_solver.pyx` defines them by rules 1 to 4.

The search is depth-first, with one shallow pass before the unlimited one (`iterate_vcf`). The table has, for a
position, the largest number of fours that failed and the smallest that won.
"""
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from engine.rules._board cimport (
    LINE_WORDS, BoardState, board_any_five, board_forbidden, board_place, board_undo, lowest32, lowest64,
)
from engine.threats.kernel.masks cimport any_line, blocks, completions
from engine.threats.kernel.state cimport (
    ABORTED, CUTOFF, EXHAUSTED, NO_WIN, WHITE_ATTACKS, SolverState, VcfEntry, should_stop,
)
from engine.threats.kernel.table cimport prefetch_vcf, probe_vcf, store_vcf

cdef enum:
    FIRST_FOURS = 5         # limit of the first pass of a VCF; tuned (random positions: best without in freestyle)


cdef inline int search_vcf(SolverState* s, BoardState* b, int limit, uint16_t* stack, uint16_t* best) noexcept nogil:
    """Return the fours (at most `limit`) with which the attacker, to move, wins; else EXHAUSTED, CUTOFF or ABORTED.

    `best` gets the first move of a win. `stack` is free space for moves.
    """
    cdef int att = s.attacker, dfn = 1 - att, w, i, k, n = 0, threatened, answers, result, worst, r
    cdef uint64_t words, key
    cdef uint32_t four, double_
    cdef uint16_t point
    cdef uint16_t forced[2]
    cdef uint16_t replies[2]
    cdef bint cut = False, tactical
    cdef VcfEntry* e
    cdef int64_t start = s.nodes
    key = b.hash ^ (WHITE_ATTACKS if att else 0)
    prefetch_vcf(s, key)
    i = board_any_five(b, att)
    if i >= 0:
        best[0] = <uint16_t>i
        return 0
    if not any_line(b.with_four[att]):
        return EXHAUSTED
    if limit == 0:
        return CUTOFF
    threatened = blocks(b, dfn, forced)
    if threatened == 0:
        return EXHAUSTED
    if limit > 1:
        e = probe_vcf(s, key)
        if e != NULL:
            if e.fours <= limit:
                best[0] = e.move
                return e.fours
            if e.failed >= limit:
                return EXHAUSTED if e.failed == NO_WIN else CUTOFF
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
            # straight and double fours first
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
        return CUTOFF if n else EXHAUSTED
    for k in range(n):
        point = stack[k]
        if b.forbids[att] and board_forbidden(b, point, att):
            continue
        if should_stop(s):
            return ABORTED
        s.nodes += 1
        board_place(b, point, att, s.tables)
        answers = blocks(b, att, replies)
        worst = 0
        for r in range(answers):
            if b.forbids[dfn] and board_forbidden(b, replies[r], dfn):
                continue
            if limit == 1:
                worst = CUTOFF
                break
            s.nodes += 1
            board_place(b, replies[r], dfn, s.tables)
            result = search_vcf(s, b, limit - 1, stack + n, best)
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
                store_vcf(s, key, 0, worst + 1, point, s.nodes - start)
            return worst + 1
        if worst == CUTOFF:
            cut = True
    if limit > 1 or not cut:
        store_vcf(s, key, limit if cut else NO_WIN, NO_WIN, 0, s.nodes - start)
    return CUTOFF if cut else EXHAUSTED


cdef inline int iterate_vcf(
    SolverState* s, BoardState* b, int limit, int64_t node_budget, int64_t shorten_budget, uint16_t* best
) noexcept nogil:
    """Do what `search_vcf` does with at most `node_budget` of the call's nodes.

    A win is then shortened, with `shorten_budget` nodes more.
    """
    cdef int first = FIRST_FOURS if b.rule and FIRST_FOURS < limit else limit, failed = 0, result, shorter
    cdef int64_t outer = s.limit
    cdef uint16_t point = 0
    if s.nodes + node_budget < outer:
        s.limit = s.nodes + node_budget
    result = search_vcf(s, b, first, s.moves, best)
    if result == CUTOFF and first < limit:
        failed = first
        result = search_vcf(s, b, limit, s.moves, best)
    if shorten_budget > 0:
        s.limit = s.nodes + shorten_budget
    while shorten_budget > 0 and result > failed + 1:
        failed += 1
        shorter = search_vcf(s, b, failed, s.moves, &point)
        if shorter == ABORTED:
            break
        if shorter >= 0:
            best[0] = point
            result = shorter
    s.limit = outer
    return result


cdef inline int legal_blocks(SolverState* s, BoardState* b, uint16_t* out) noexcept nogil:
    """Do what `blocks` does for the attacker's fives; only points that are legal for the defender, to move."""
    cdef int n = blocks(b, s.attacker, out), k, kept = 0, dfn = 1 - s.attacker
    if not b.forbids[dfn] or n < 0:
        return n
    for k in range(n):
        if not board_forbidden(b, out[k], dfn):
            out[kept] = out[k]
            kept += 1
    return kept

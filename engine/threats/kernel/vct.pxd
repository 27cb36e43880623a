# cython: language_level=3
"""Wins by fours and threes (VCT): depth-first proof-number search (df-pn; A. Nagai, 2002).

The attacker's positions are OR nodes, the defender's are AND nodes. The defences that must be tried follow from the
threatened win (`refute`), as with the relevance zones of Thomsen's lambda search
(https://doi.org/10.3233/ICG-2000-23403).
"""
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from engine.rules._board cimport (
    EMPTY, LINE_WORDS, MAX_POINTS, TABLES_ALL, BoardState, board_any_five, board_forbidden, board_place,
    board_set_to_move, board_undo, lowest32, lowest64,
)
from engine.threats.kernel.masks cimport (
    PointSet, any_line, blocks, clear, completions, intersect, list_points, mark_fours,
)
from engine.threats.kernel.refute cimport mark_refuters, mark_win_refuters
from engine.threats.kernel.state cimport (
    ABORTED, EXHAUSTED, INFINITE, MAX_FOURS, WHITE_ATTACKS, Child, ProofEntry, SolverState, should_stop,
)
from engine.threats.kernel.table cimport prefetch_proof, probe_proof, store_proof
from engine.threats.kernel.vcf cimport iterate_vcf, legal_blocks

cdef enum:
    THREAT_FOURS = 4        # part of the definition of VCT
    QUICK_NODES = 300       # VCF budget at a new VCT position; tuned (random attacking positions)


cdef inline void set_proven(ProofEntry* entry, int distance, int move) noexcept nogil:
    entry.proof = 0
    entry.disproof = INFINITE
    entry.distance = <uint16_t>distance
    entry.move = <uint16_t>move


cdef inline void set_disproven(ProofEntry* entry) noexcept nogil:
    entry.proof = INFINITE
    entry.disproof = 0


cdef inline int threatened_vcf(SolverState* s, BoardState* b, PointSet* marks) noexcept nogil:
    """Return the fours of the VCF that the attacker would have if the defender, to move, passed.

    Mark the points where a stone of the defender may refute it, and no others. Return EXHAUSTED or CUTOFF
    without such a VCF of at most THREAT_FOURS fours, ABORTED if the call must end. No side has a five point.
    """
    cdef int att = s.attacker, dfn = 1 - att, k, n, winning = 0, result = EXHAUSTED
    cdef uint16_t points[484]
    cdef uint16_t replies[2]
    cdef PointSet one
    if not any_line(b.with_four[att]):
        return EXHAUSTED
    board_set_to_move(b, att)
    clear(&one)
    mark_fours(b, att, &one)
    n = list_points(&one, points)
    # wins by one four: a defence must refute them all
    for k in range(n):
        if not b.caro and not b.forbids[dfn] and completions(b, points[k], att) < 2:
            continue
        if b.forbids[att] and board_forbidden(b, points[k], att):
            continue
        if should_stop(s):
            winning = -1
            break
        s.nodes += 1
        board_place(b, points[k], att, s.tables)
        result = legal_blocks(s, b, replies)
        board_undo(b)
        if result != 0:
            continue
        clear(&one)
        mark_win_refuters(s, b, points[k], 1, &one)
        if winning == 0:
            marks[0] = one
        else:
            intersect(marks, &one)
        winning += 1
    if winning < 0:
        result = ABORTED
    elif winning > 0:
        result = 1
    else:
        result = iterate_vcf(s, b, THREAT_FOURS, s.limit, QUICK_NODES, replies)
        if result > 0:
            clear(marks)
            if not mark_refuters(s, b, result, marks):
                result = ABORTED
    board_set_to_move(b, 1 - att)
    return result


cdef inline int expand_attacker(SolverState* s, BoardState* b, Child* children, ProofEntry* out) noexcept nogil:
    """List the moves of an OR node. Return how many, 0 with `out` filled if it is solved, or ABORTED."""
    cdef int att = s.attacker, k, n = 0, threatened, result, w, i
    cdef uint64_t words
    cdef uint32_t bits
    cdef uint16_t forced[2]
    cdef uint16_t move = 0
    k = board_any_five(b, att)
    if k >= 0:
        set_proven(out, 1, k)
        return 0
    threatened = blocks(b, 1 - att, forced)
    if threatened != 0 and out.work == 0:
        result = iterate_vcf(s, b, MAX_FOURS, QUICK_NODES, QUICK_NODES, &move)
        if result >= 0:
            set_proven(out, 2 * result + 1, move)
            return 0
        if result == ABORTED and should_stop(s):
            return ABORTED
    if threatened >= 0:
        for k in range(threatened):
            children[n].point = forced[k]
            n += 1
    else:
        s.stamp += 1
        for w in range(LINE_WORDS):
            words = b.with_four[att][w] | b.with_open_three[att][w]
            while words:
                i = w * 64 + lowest64(words)
                words &= words - 1
                bits = b.lines[i].four[att] | b.lines[i].open_three[att]
                while bits:
                    move = b.point_at[i][lowest32(bits)]
                    bits &= bits - 1
                    if s.seen[move] != s.stamp:
                        s.seen[move] = s.stamp
                        children[n].point = move
                        n += 1
    k = 0
    for i in range(n):
        if not (b.forbids[att] and board_forbidden(b, children[i].point, att)):
            children[k].point = children[i].point
            k += 1
    if k == 0:
        set_disproven(out)
    return k


cdef inline int expand_defender(SolverState* s, BoardState* b, Child* children, ProofEntry* out) noexcept nogil:
    """List the moves of an AND node that may refute; `out.distance` is that of all other moves.

    Return as `expand_attacker` does.
    """
    cdef int n, k, kept = 0, result, dfn = 1 - s.attacker
    cdef uint16_t replies[2]
    cdef uint16_t points[484]
    cdef PointSet marks
    n = legal_blocks(s, b, replies)
    if n >= 0:
        out.distance = 2
        for k in range(n):
            children[k].point = replies[k]
        kept = n
    else:
        result = threatened_vcf(s, b, &marks)
        if result == ABORTED:
            return ABORTED
        if result < 0:
            set_disproven(out)
            return 0
        out.distance = <uint16_t>(2 * result + 2)
        n = list_points(&marks, points)
        for k in range(n):
            if b.cells[points[k]] == EMPTY:
                if not (b.forbids[dfn] and board_forbidden(b, points[k], dfn)):
                    children[kept].point = points[k]
                    kept += 1
    if kept == 0:
        set_proven(out, out.distance, 0)
    return kept


cdef inline bint dfpn(
    SolverState* s, BoardState* b, uint32_t proof_threshold, uint32_t disproof_threshold, Child* children,
    ProofEntry* out
) noexcept nogil:
    """Search below `b` until its proof or disproof number reaches its threshold.

    Stones are only added, so there are no cycles, and the numbers of a position do not depend on
    the path to it. Return False if the call must end; `out` is then invalid.
    """
    cdef int colour = b.to_move, n, i, best, others
    cdef bint attacking = colour == s.attacker, complete
    cdef uint32_t low, second, total, number
    cdef int64_t start = s.nodes
    cdef uint64_t before
    cdef ProofEntry e
    probe_proof(s, b.hash ^ (WHITE_ATTACKS if s.attacker else 0), out)
    if out.proof >= proof_threshold or out.disproof >= disproof_threshold:
        return True
    n = expand_attacker(s, b, children, out) if attacking else expand_defender(s, b, children, out)
    if n == ABORTED:
        return False
    others = 0 if attacking else out.distance
    before = out.key ^ s.turn_key
    for i in range(n):      # prefetch all at once: the table is larger than the caches
        prefetch_proof(s, before ^ s.keys[colour * MAX_POINTS + children[i].point])
    for i in range(n):
        probe_proof(s, before ^ s.keys[colour * MAX_POINTS + children[i].point], &e)
        children[i].proof = e.proof
        children[i].disproof = e.disproof
        children[i].distance = e.distance
    while n > 0:
        # OR node: least proof number, sum of disproof numbers; AND node: the reverse
        best = 0
        low = INFINITE
        second = INFINITE
        total = 0
        for i in range(n):
            number = children[i].proof if attacking else children[i].disproof
            if number < low:
                second = low
                low = number
                best = i
            elif number < second:
                second = number
            total += children[i].disproof if attacking else children[i].proof
            if total > INFINITE:
                total = INFINITE
        out.proof = low if attacking else total
        out.disproof = total if attacking else low
        if out.proof == 0 or out.disproof == 0 or out.proof >= proof_threshold or out.disproof >= disproof_threshold:
            break
        if should_stop(s):
            return False
        s.nodes += 1
        second += second // 4 + 1
        board_place(b, children[best].point, colour, TABLES_ALL)
        if attacking:
            complete = dfpn(
                s, b, second if second < proof_threshold else proof_threshold,
                disproof_threshold - total + children[best].disproof, children + n, &e
            )
        else:
            complete = dfpn(
                s, b, proof_threshold - total + children[best].proof,
                second if second < disproof_threshold else disproof_threshold, children + n, &e
            )
        board_undo(b)
        if not complete:
            return False
        children[best].proof = e.proof
        children[best].disproof = e.disproof
        children[best].distance = e.distance
    if n > 0 and out.proof == 0:
        best = 0
        for i in range(n):
            if attacking:
                if children[i].proof == 0 and (
                    children[best].proof != 0 or children[i].distance < children[best].distance
                ):
                    best = i
            elif children[i].distance + 1 > others:
                others = children[i].distance + 1
        set_proven(out, children[best].distance + 1 if attacking else others, children[best].point)
    elif n > 0 and out.disproof == 0:
        set_disproven(out)
    store_proof(s, out, s.nodes - start)
    return True

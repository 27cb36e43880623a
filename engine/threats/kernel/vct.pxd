# cython: language_level=3
"""Wins by fours and threes: a depth-first proof-number search (df-pn; A. Nagai, 2002).

Which answers to a threat have to be tried follows from the threatened win (`refute`), as with the relevance zones of
Thomsen's lambda search (https://doi.org/10.3233/ICG-2000-23403).
"""
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from engine.rules._board cimport (
    EMPTY, LINE_WORDS, MAX_POINTS, TABLES_ALL, BoardState, board_any_five, board_forbidden, board_place,
    board_set_to_move, board_undo, lowest32, lowest64,
)
from engine.threats.kernel.masks cimport (
    Points, any_line, blocks, clear, completions, keep_common, list_marked, mark_fours,
)
from engine.threats.kernel.refute cimport mark_refuters, mark_win
from engine.threats.kernel.state cimport (
    ABORTED, EXHAUSTED, INFINITE, MAX_FOURS, WHITE_ATTACKS, Child, ProofEntry, SolverState, spent,
)
from engine.threats.kernel.table cimport await_proof, keep_proof, load_proof
from engine.threats.kernel.vcf cimport answers, deepen

cdef enum:
    THREAT_FOURS = 4        # part of the definition of VCT
    QUICK_NODES = 300       # VCF budget at a new VCT position; tuned (random attacking positions)


cdef inline void win(ProofEntry* entry, int distance, int move) noexcept nogil:
    entry.proof = 0
    entry.disproof = INFINITE
    entry.distance = <uint16_t>distance
    entry.move = <uint16_t>move


cdef inline void loss(ProofEntry* entry) noexcept nogil:
    entry.proof = INFINITE
    entry.disproof = 0


cdef inline int threat(SolverState* s, BoardState* b, Points* marks) noexcept nogil:
    """Fours of the VCF that the attacker would have if the defender, to move, passed.

    Marks the points where a stone of the defender may spoil it, and no others. Returns EXHAUSTED or CUT
    without such a VCF of at most THREAT_FOURS fours, else ABORTED. Nobody has a five point.
    """
    cdef int att = s.attacker, dfn = 1 - att, k, n, winning = 0, result = EXHAUSTED
    cdef uint16_t points[484]
    cdef uint16_t replies[2]
    cdef Points one
    if not any_line(b.with_four[att]):
        return EXHAUSTED
    board_set_to_move(b, att)
    clear(&one)
    mark_fours(b, att, &one)
    n = list_marked(&one, points)
    # wins by one four: a defence has to spoil them all
    for k in range(n):
        if not b.caro and not b.forbids[dfn] and completions(b, points[k], att) < 2:
            continue
        if b.forbids[att] and board_forbidden(b, points[k], att):
            continue
        if spent(s):
            winning = -1
            break
        s.nodes += 1
        board_place(b, points[k], att, s.tables)
        result = answers(s, b, replies)
        board_undo(b)
        if result != 0:
            continue
        clear(&one)
        mark_win(s, b, points[k], 1, &one)
        if winning == 0:
            marks[0] = one
        else:
            keep_common(marks, &one)
        winning += 1
    if winning < 0:
        result = ABORTED
    elif winning > 0:
        result = 1
    else:
        result = deepen(s, b, THREAT_FOURS, s.limit, QUICK_NODES, replies)
        if result > 0:
            clear(marks)
            if not mark_refuters(s, b, result, marks):
                result = ABORTED
    board_set_to_move(b, 1 - att)
    return result


cdef inline int open_attack(SolverState* s, BoardState* b, Child* children, ProofEntry* out) noexcept nogil:
    """List the attacker's moves. Returns how many, 0 with `out` filled if it is settled, or ABORTED."""
    cdef int att = s.attacker, k, n = 0, threatened, result, w, i
    cdef uint64_t words
    cdef uint32_t bits
    cdef uint16_t forced[2]
    cdef uint16_t move = 0
    k = board_any_five(b, att)
    if k >= 0:
        win(out, 1, k)
        return 0
    threatened = blocks(b, 1 - att, forced)
    if threatened != 0 and out.work == 0:
        result = deepen(s, b, MAX_FOURS, QUICK_NODES, QUICK_NODES, &move)
        if result >= 0:
            win(out, 2 * result + 1, move)
            return 0
        if result == ABORTED and spent(s):
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
        loss(out)
    return k


cdef inline int open_defence(SolverState* s, BoardState* b, Child* children, ProofEntry* out) noexcept nogil:
    """List the defender's moves that may refute; `out.distance` is that of all others. Else as `open_attack`."""
    cdef int n, k, kept = 0, result, dfn = 1 - s.attacker
    cdef uint16_t replies[2]
    cdef uint16_t points[484]
    cdef Points marks
    n = answers(s, b, replies)
    if n >= 0:
        out.distance = 2
        for k in range(n):
            children[k].point = replies[k]
        kept = n
    else:
        result = threat(s, b, &marks)
        if result == ABORTED:
            return ABORTED
        if result < 0:
            loss(out)
            return 0
        out.distance = <uint16_t>(2 * result + 2)
        n = list_marked(&marks, points)
        for k in range(n):
            if b.cells[points[k]] == EMPTY:
                if not (b.forbids[dfn] and board_forbidden(b, points[k], dfn)):
                    children[kept].point = points[k]
                    kept += 1
    if kept == 0:
        win(out, out.distance, 0)
    return kept


cdef inline bint prove(
    SolverState* s, BoardState* b, uint32_t proof_limit, uint32_t disproof_limit, Child* children, ProofEntry* out
) noexcept nogil:
    """Depth-first proof-number search below `b`, until one of its numbers reaches its limit.

    Stones are only ever added, so there are no cycles, and the numbers of a position never depend on
    the path to it. Returns False if the call must end; `out` is then of no use.
    """
    cdef int colour = b.to_move, n, i, best, others
    cdef bint attacking = colour == s.attacker, fine
    cdef uint32_t low, second, total, number
    cdef int64_t start = s.nodes
    cdef uint64_t before
    cdef ProofEntry e
    load_proof(s, b.hash ^ (WHITE_ATTACKS if s.attacker else 0), out)
    if out.proof >= proof_limit or out.disproof >= disproof_limit:
        return True
    n = open_attack(s, b, children, out) if attacking else open_defence(s, b, children, out)
    if n == ABORTED:
        return False
    others = 0 if attacking else out.distance
    before = out.key ^ s.turn_key
    for i in range(n):      # the table is larger than the caches: all at once
        await_proof(s, before ^ s.keys[colour * MAX_POINTS + children[i].point])
    for i in range(n):
        load_proof(s, before ^ s.keys[colour * MAX_POINTS + children[i].point], &e)
        children[i].proof = e.proof
        children[i].disproof = e.disproof
        children[i].distance = e.distance
    while n > 0:
        # the attacker needs one proof: least proof, all disproofs; the defender the other way round
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
        if out.proof == 0 or out.disproof == 0 or out.proof >= proof_limit or out.disproof >= disproof_limit:
            break
        if spent(s):
            return False
        s.nodes += 1
        second += second // 4 + 1
        board_place(b, children[best].point, colour, TABLES_ALL)
        if attacking:
            fine = prove(
                s, b, second if second < proof_limit else proof_limit,
                disproof_limit - total + children[best].disproof, children + n, &e
            )
        else:
            fine = prove(
                s, b, proof_limit - total + children[best].proof,
                second if second < disproof_limit else disproof_limit, children + n, &e
            )
        board_undo(b)
        if not fine:
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
        win(out, children[best].distance + 1 if attacking else others, children[best].point)
    elif n > 0 and out.disproof == 0:
        loss(out)
    keep_proof(s, out, s.nodes - start)
    return True

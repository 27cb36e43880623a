# cython: language_level=3
"""Entry points: solve a position, list the defences that may refute a win, find the longest defence."""
from libc.stdint cimport int64_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, malloc
from libc.string cimport memset

from engine.rules._board cimport (
    EMPTY, MAX_POINTS, MAX_SIDE, TABLES_ALL, BoardState, board_any_five, board_forbidden, board_place,
    board_set_to_move, board_undo, stone_key, turn_key,
)
from engine.threats.kernel.masks cimport PointSet, any_line, clear, list_points, mark, mark_fives, marked
from engine.threats.kernel.refute cimport mark_refuters
from engine.threats.kernel.state cimport (
    ABORTED, INFINITE, MAX_FOURS, SOLVER_NONE, SOLVER_UNKNOWN, SOLVER_WIN, Child, ProofEntry, SolverResult,
    SolverState, begin,
)
from engine.threats.kernel.vcf cimport iterate_vcf, legal_blocks
from engine.threats.kernel.vct cimport dfpn, expand_defender

cdef enum:
    CHILDREN_SIZE = 120000  # a path has 484 + 483 + ... moves, 117,370 at most
    SHORTEN_NODES = 100000  # more than the budget, to shorten a VCF that was found
    LEAF_SHORTEN_NODES = 64  # the same at leaves of a search tree, where any win will do


cdef inline void solve_to_move(
    SolverState* s, BoardState* b, bint vct, bint shortest, int64_t node_budget, SolverResult* out
) noexcept nogil:
    """Solve for the attacker, to move, with the counters of the running call."""
    cdef uint16_t best = 0
    cdef int result
    cdef int64_t start = s.nodes, outer = s.limit, share = node_budget // 4 if vct else node_budget
    cdef ProofEntry entry
    out.verdict = SOLVER_NONE
    out.distance = 0
    out.move = -1
    cdef int64_t shorten = node_budget + SHORTEN_NODES if shortest else LEAF_SHORTEN_NODES
    result = iterate_vcf(s, b, MAX_FOURS, share, shorten, &best)
    if result >= 0:
        out.verdict = SOLVER_WIN
        out.distance = 2 * result + 1
        out.move = best
    elif vct:
        out.verdict = SOLVER_UNKNOWN
        if start + node_budget < outer:
            s.limit = start + node_budget
        if dfpn(s, b, INFINITE, INFINITE, s.children, &entry):
            if entry.proof == 0:
                out.verdict = SOLVER_WIN
                out.distance = entry.distance
                out.move = entry.move
            elif entry.disproof == 0:
                out.verdict = SOLVER_NONE
        s.limit = outer
    elif result == ABORTED:
        out.verdict = SOLVER_UNKNOWN
    out.nodes = s.nodes - start


cdef inline bint begin_vct(SolverState* s, BoardState* b) noexcept nogil:
    """Prepare for VCT: memory, on first use, and the keys of this board. Return False without memory."""
    cdef int p, c
    if s.proof_table == NULL:
        s.proof_table = <ProofEntry*>calloc(s.mask + 1, sizeof(ProofEntry))
    if s.children == NULL:
        s.children = <Child*>malloc(CHILDREN_SIZE * sizeof(Child))
    if s.keys == NULL:
        s.keys = <uint64_t*>calloc(2 * MAX_POINTS, sizeof(uint64_t))
    if s.proof_table == NULL or s.children == NULL or s.keys == NULL:
        return False
    if s.keys_width != b.width:
        s.keys_width = b.width
        s.turn_key = turn_key()
        for p in range(MAX_POINTS):
            for c in range(2):
                s.keys[c * MAX_POINTS + p] = stone_key(b, p, c) if p < b.width * MAX_SIDE else 0
    return True


cdef inline void solve_vcf(
    SolverState* s, BoardState* b, int attacker, int64_t node_budget, SolverResult* out
) noexcept nogil:
    """Solve VCF for `attacker`, as if it were to move; never allocates."""
    cdef int to_move = b.to_move
    if b.winner != EMPTY or not (any_line(b.with_four[attacker]) or any_line(b.with_five[attacker])):
        out.verdict = SOLVER_NONE
        out.distance = 0
        out.move = -1
        out.nodes = 0
        return
    begin(s, b, attacker, node_budget)
    board_set_to_move(b, attacker)
    solve_to_move(s, b, False, s.shortest, node_budget, out)
    board_set_to_move(b, to_move)


cdef inline void solve_vct(
    SolverState* s, BoardState* b, int attacker, int64_t node_budget, SolverResult* out
) noexcept nogil:
    """Solve VCT for `attacker`, as if it were to move."""
    cdef int to_move = b.to_move
    out.verdict = SOLVER_NONE
    out.distance = 0
    out.move = -1
    out.nodes = 0
    if b.winner != EMPTY:
        return
    begin(s, b, attacker, node_budget)
    if not begin_vct(s, b):
        out.verdict = SOLVER_UNKNOWN
        return
    board_set_to_move(b, attacker)
    solve_to_move(s, b, True, s.shortest, node_budget, out)
    board_set_to_move(b, to_move)


cdef inline int solve_defences(
    SolverState* s, BoardState* b, int attacker, bint vct, int64_t node_budget, SolverResult* out, uint16_t* points
) noexcept nogil:
    """Solve for the attacker after a pass of the defender; then try every defence that may refute.

    Return how many defences were written to `points`, -1 unless `out` is a win.
    """
    cdef int to_move = b.to_move, dfn = 1 - attacker, p, k, n = 0, n_marked, n_tried = 0
    cdef int64_t end
    cdef bint found = False
    cdef uint16_t tried[484]
    cdef PointSet marks
    cdef SolverResult after
    if vct:
        solve_vct(s, b, attacker, node_budget, out)
    else:
        solve_vcf(s, b, attacker, node_budget, out)
    out.longest = out.distance
    if out.verdict != SOLVER_WIN:
        return -1
    # candidates: what may refute the VCF; without a VCF, every point
    s.limit = s.nodes + node_budget
    clear(&marks)
    board_set_to_move(b, attacker)
    solve_to_move(s, b, False, False, node_budget, &after)
    if after.verdict == SOLVER_WIN:
        found = mark_refuters(s, b, (after.distance - 1) // 2, &marks)
    board_set_to_move(b, dfn)
    s.limit = s.nodes + node_budget
    end = s.limit
    if not found:
        for p in range(b.points):
            mark(&marks, p)
    n_marked = list_points(&marks, tried)
    for k in range(n_marked):
        p = tried[k]
        if b.cells[p] == EMPTY and not board_forbidden(b, p, dfn):
            tried[n_tried] = <uint16_t>p
            n_tried += 1
    for k in range(n_tried):
        p = tried[k]
        # an equal share of the remaining nodes for each; a defence that wins at once refutes
        board_place(b, p, dfn, TABLES_ALL)
        s.nodes += 1
        if b.winner == dfn:
            after.verdict = SOLVER_NONE
        else:
            solve_to_move(s, b, vct, False, 1 + (end - s.nodes) // (n_tried - k), &after)
        board_undo(b)
        if after.verdict != SOLVER_WIN:
            points[n] = <uint16_t>p
            n += 1
        elif after.distance > out.longest:      # it loses, but by another win
            out.longest = after.distance
    board_set_to_move(b, to_move)
    out.nodes = s.nodes
    return n


cdef inline int longest_defence(SolverState* s, BoardState* b, bint vct, int64_t node_budget) noexcept nogil:
    """Return the defender's legal move that delays the proven loss longest; -1 if it has no legal move."""
    cdef int n, k, p, best = -1, longest = 0, dfn = 1 - s.attacker
    cdef SolverResult out
    cdef ProofEntry entry
    cdef uint16_t replies[2]
    cdef Child children[484]
    cdef PointSet fives, tried
    clear(&fives)
    clear(&tried)
    if vct:
        memset(&entry, 0, sizeof(entry))
        n = expand_defender(s, b, children, &entry)
        if n > 0 and board_any_five(b, s.attacker) < 0:
            longest = entry.distance - 1    # after any other move
            for k in range(n):
                mark(&tried, children[k].point)
    else:
        n = legal_blocks(s, b, replies)
        for k in range(n):
            children[k].point = replies[k]
    for k in range(n):
        board_place(b, children[k].point, dfn, TABLES_ALL)
        s.limit = s.nodes + node_budget
        solve_to_move(s, b, vct, True, node_budget, &out)
        board_undo(b)
        if out.verdict == SOLVER_WIN and out.distance > longest:
            longest = out.distance
            best = children[k].point
    if best >= 0:
        return best
    mark_fives(b, s.attacker, &fives)
    for p in range(b.points):
        if b.cells[p] != EMPTY or marked(&tried, p) or board_forbidden(b, p, dfn):
            continue
        if marked(&fives, p):
            return p
        if best < 0:
            best = p
    return best

# cython: language_level=3
"""Leaf status: what rules and solver know of a position before the net evaluates it."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from engine.rules._board cimport (
    EMPTY, TABLES_FOURS, BoardState, board_any_five, board_five_points, board_forbidden,
    board_place, board_undo, lowest32, lowest64,
)
from engine.rules.forbidden cimport mark_forbidden
from engine.search.kernel.expand cimport MoveList
from engine.search.kernel.node cimport (
    NO_MOVE, PROVEN_DRAW, PROVEN_LOSS, PROVEN_NONE, PROVEN_WIN,
)
from engine.search.kernel.select cimport SearchSettings
from engine.threats._solver cimport Solver
from engine.threats.kernel.state cimport SOLVER_NONE, SOLVER_WIN, SolverResult, Threat

cdef enum:
    LEAF_OPEN = 0           # to be evaluated
    LEAF_FORCED = 1         # one move only
    LEAF_PROVEN = 2

cdef struct LeafStatus:
    int kind                # POSITION_*
    int proven              # PROVEN_* for the side to move
    int distance            # plies until the proven game ends
    int move                # the forced one, or one that proves the result; else NO_MOVE


cdef inline LeafStatus proven_status(int proven, int distance, int move) noexcept nogil:
    cdef LeafStatus status
    status.kind = LEAF_PROVEN
    status.proven = proven
    status.distance = distance
    status.move = move
    return status


cdef inline LeafStatus open_status() noexcept nogil:
    cdef LeafStatus status
    status.kind = LEAF_OPEN
    status.proven = PROVEN_NONE
    status.distance = 0
    status.move = NO_MOVE
    return status


cdef inline LeafStatus forced_status(int move) noexcept nogil:
    cdef LeafStatus status = open_status()
    status.kind = LEAF_FORCED
    status.move = move
    return status


# --- rules -------------------------------------------------------------------------------------------------

cdef inline void list_legal(BoardState* b, MoveList* moves) noexcept nogil:
    """List the legal moves of the side to move, ascending."""
    cdef uint8_t forbidden[484]
    cdef int p, n = 0, own = b.to_move
    if not b.forbids[own]:
        for p in range(b.points):
            moves.points[n] = <uint16_t>p
            n += b.cells[p] == EMPTY
        moves.n = n
        return
    mark_forbidden(b, own, forbidden)
    for p in range(b.points):
        if b.cells[p] == EMPTY and not forbidden[p]:
            moves.points[n] = <uint16_t>p
            n += 1
    moves.n = n


cdef inline void list_caro_blocks(BoardState* b, MoveList* moves) noexcept nogil:
    """List the moves that leave the opponent without a five point, if blocked fives do not count.

    A stone at the end of a five blocks it too if both ends are blocked then, so cells near five points are tried.
    """
    cdef int own = b.to_move, other = 1 - b.to_move, i, k, n = 0
    cdef uint64_t words
    cdef uint32_t mask
    cdef uint8_t tried[484]
    memset(tried, 0, b.points)
    for i in range(3):
        words = b.with_five[other][i]
        while words:
            k = i * 64 + lowest64(words)
            words &= words - 1
            mask = b.lines[k].five[other]
            for _ in range(5):      # the end of a five is at most five cells from each of its cells
                mask |= mask << 1 | mask >> 1
            mask &= b.lines[k].empty
            while mask:
                tried[b.point_at[k][lowest32(mask)]] = 1
                mask &= mask - 1
    for k in range(b.points):
        if tried[k]:
            board_place(b, k, own, TABLES_FOURS)
            if board_any_five(b, other) < 0:
                moves.points[n] = <uint16_t>k
                n += 1
            board_undo(b)
    moves.n = n


cdef inline LeafStatus status_by_rules(BoardState* b, MoveList* moves) noexcept nogil:
    """Return the status of a position from fives alone; list the moves of an open one."""
    cdef int own = b.to_move, other = 1 - b.to_move, n, i, p, block = NO_MOVE
    cdef uint16_t fives[2]
    if b.n_empty == 0:
        return proven_status(PROVEN_DRAW, 0, NO_MOVE)
    p = board_any_five(b, own)
    if p >= 0:
        return proven_status(PROVEN_WIN, 1, p)
    p = board_any_five(b, other)
    if p < 0:
        list_legal(b, moves)
        if moves.n > 0:
            return open_status()
        p = 0       # every move is forbidden
        while b.cells[p] != EMPTY:
            p += 1
        return proven_status(PROVEN_LOSS, 2, p)
    if b.caro:
        list_caro_blocks(b, moves)
        if moves.n == 0:
            return proven_status(PROVEN_LOSS, 2, p)
        return forced_status(moves.points[0]) if moves.n == 1 else open_status()
    n = board_five_points(b, other, fives, 2)
    for i in range(n):
        if not board_forbidden(b, fives[i], own):
            block = fives[i]
    if block == NO_MOVE:        # the block is forbidden
        list_legal(b, moves)
        return proven_status(PROVEN_LOSS, 2, moves.points[0] if moves.n else p)
    return forced_status(block) if n == 1 else proven_status(PROVEN_LOSS, 2, block)


# --- solver ------------------------------------------------------------------------------------------------

cdef inline int64_t round_visits(const SearchSettings* s, int rounds) noexcept nogil:
    """Return the visits at which the solver runs again, after `rounds` calls (at least one, at the leaf)."""
    return s.tree_vct_visits << 2 * (rounds - 1)


cdef inline int64_t round_nodes(const SearchSettings* s, int rounds) noexcept nogil:
    """Return the budget of that call: twice the previous one, for four times the visits."""
    return s.tree_vct_nodes * s.tree_vct_visits << (rounds - 1)


cdef inline LeafStatus solve_leaf(Solver solver, BoardState* b, int64_t budget, int64_t* spent) noexcept nogil:
    """Search for a VCF at a new leaf: round 0."""
    cdef SolverResult result
    solver.vcf(b, b.to_move, budget, &result)
    spent[0] += result.nodes
    if result.verdict != SOLVER_WIN:
        return open_status()
    return proven_status(PROVEN_WIN, result.distance, result.move)


cdef inline LeafStatus keep_defences(const Threat* threat, MoveList* moves) noexcept nogil:
    """Keep only the moves that may stop a VCF which the opponent threatens."""
    cdef int i, move = moves.points[0]
    if threat.n == 0:       # its first point delays the win most; it may be forbidden
        for i in range(moves.n):
            if moves.points[i] == threat.move:
                move = threat.move
        return proven_status(PROVEN_LOSS, threat.longest + 1, move)
    memcpy(moves.points, threat.points, threat.n * sizeof(uint16_t))
    moves.n = threat.n
    return open_status() if threat.n > 1 else forced_status(threat.points[0])

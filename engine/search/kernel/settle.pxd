# cython: language_level=3
"""What rules and solver say of a position, before any net is asked."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from engine.rules._board cimport (
    BLACK, EMPTY, SHAPE_DOUBLE_FOUR, SHAPE_FORK, TABLES_FOURS, BoardState, board_any_five, board_five_points,
    board_forbidden, board_place, board_shapes, board_undo, count32, lowest32, lowest64,
)
from engine.search.kernel.expand cimport Moves, narrow
from engine.search.kernel.graph cimport Graph
from engine.search.kernel.node cimport (
    NO_MOVE, PROVEN_DRAW, PROVEN_LOSS, PROVEN_NONE, PROVEN_WIN, ROUNDS_DONE, Node, Path,
)
from engine.search.kernel.select cimport Settings
from engine.threats._solver cimport Solver
from engine.threats.kernel.state cimport SOLVER_NONE, SOLVER_WIN, SolverResult, Threat

cdef enum:
    POSITION_OPEN = 0       # its moves are to be judged
    POSITION_FORCED = 1     # there is but one move
    POSITION_PROVEN = 2

cdef struct Ruling:
    int kind                # POSITION_*
    int proven              # PROVEN_* for the side to move
    int distance            # plies until the proven game is over
    int move                # the forced one, or one that shows the result; else NO_MOVE


cdef inline Ruling proven_to_be(int proven, int distance, int move) noexcept nogil:
    cdef Ruling ruling
    ruling.kind = POSITION_PROVEN
    ruling.proven = proven
    ruling.distance = distance
    ruling.move = move
    return ruling


cdef inline Ruling still_open() noexcept nogil:
    cdef Ruling ruling
    ruling.kind = POSITION_OPEN
    ruling.proven = PROVEN_NONE
    ruling.distance = 0
    ruling.move = NO_MOVE
    return ruling


cdef inline Ruling forced_to(int move) noexcept nogil:
    cdef Ruling ruling = still_open()
    ruling.kind = POSITION_FORCED
    ruling.move = move
    return ruling


# --- rules -------------------------------------------------------------------------------------------------

cdef inline void list_legal(BoardState* b, Moves* moves) noexcept nogil:
    """List the moves of the side to move, ascending."""
    cdef uint8_t suspect[484]
    cdef uint32_t mask
    cdef int p, i, n = 0
    if not (b.renju and b.to_move == BLACK):
        for p in range(b.points):
            moves.points[n] = <uint16_t>p
            n += b.cells[p] == EMPTY
        moves.n = n
        return
    # Only a fork, a double four or a line with five stones can make a foul.
    board_shapes(b, BLACK, suspect)
    for p in range(b.points):
        suspect[p] = suspect[p] & (SHAPE_FORK | SHAPE_DOUBLE_FOUR)
    for i in range(b.n_lines):
        if count32(b.lines[i].stones[BLACK]) >= 5:
            mask = b.lines[i].empty
            while mask:
                suspect[b.point_at[i][lowest32(mask)]] = 1
                mask &= mask - 1
    for p in range(b.points):
        if b.cells[p] == EMPTY and not (suspect[p] and board_forbidden(b, p)):
            moves.points[n] = <uint16_t>p
            n += 1
    moves.n = n


cdef inline void list_blocks_caro(BoardState* b, Moves* moves) noexcept nogil:
    """List the moves that leave the opponent without a five point, under caro.

    A stone at the end of a five stops it as well, if both ends are blocked then; so cells near five points are tried.
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
            for _ in range(5):      # the end of a five lies at most five cells from any of its cells
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


cdef inline Ruling examine(BoardState* b, Moves* moves) noexcept nogil:
    """Settle a position by fives alone, else list its moves."""
    cdef int own = b.to_move, other = 1 - b.to_move, n, i, p, block = NO_MOVE
    cdef uint16_t fives[2]
    if b.n_empty == 0:
        return proven_to_be(PROVEN_DRAW, 0, NO_MOVE)
    p = board_any_five(b, own)
    if p >= 0:
        return proven_to_be(PROVEN_WIN, 1, p)
    p = board_any_five(b, other)
    if p < 0:
        list_legal(b, moves)
        if moves.n > 0:
            return still_open()
        p = 0       # renju: every move is a foul
        while b.cells[p] != EMPTY:
            p += 1
        return proven_to_be(PROVEN_LOSS, 2, p)
    if b.caro:
        list_blocks_caro(b, moves)
        if moves.n == 0:
            return proven_to_be(PROVEN_LOSS, 2, p)
        return forced_to(moves.points[0]) if moves.n == 1 else still_open()
    n = board_five_points(b, other, fives, 2)
    for i in range(n):
        if not (b.renju and own == BLACK and board_forbidden(b, fives[i])):
            block = fives[i]
    if block == NO_MOVE:        # renju: the block is a foul; so is the whole defence
        list_legal(b, moves)
        return proven_to_be(PROVEN_LOSS, 2, moves.points[0] if moves.n else p)
    return forced_to(block) if n == 1 else proven_to_be(PROVEN_LOSS, 2, block)


# --- solver ------------------------------------------------------------------------------------------------

cdef inline int64_t round_visits(const Settings* s, int rounds) noexcept nogil:
    """Visits from which on the solver is asked again, after so many rounds (one at the leaf, at least)."""
    return s.tree_vct_visits << 2 * (rounds - 1)


cdef inline int64_t round_nodes(const Settings* s, int rounds) noexcept nogil:
    """Budget of that call: twice the one before, for four times the visits."""
    return s.tree_vct_nodes * s.tree_vct_visits << (rounds - 1)


cdef inline Ruling solve_fours(Solver solver, BoardState* b, int64_t budget, int64_t* spent) noexcept nogil:
    """Look for a win by fours at a new leaf: round 0."""
    cdef SolverResult result
    solver.vcf(b, b.to_move, budget, &result)
    spent[0] += result.nodes
    if result.verdict != SOLVER_WIN:
        return still_open()
    return proven_to_be(PROVEN_WIN, result.distance, result.move)


cdef inline Ruling answer_threat(const Threat* threat, Moves* moves) noexcept nogil:
    """Leave an open position, where the opponent threatens to win by fours, only the moves that may stop him."""
    cdef int i, move = moves.points[0]
    if threat.n == 0:       # the point where he would begin delays him most; black may be forbidden to play there
        for i in range(moves.n):
            if moves.points[i] == threat.move:
                move = threat.move
        return proven_to_be(PROVEN_LOSS, threat.distance + 1, move)
    memcpy(moves.points, threat.points, threat.n * sizeof(uint16_t))
    moves.n = threat.n
    return still_open() if threat.n > 1 else forced_to(threat.points[0])


cdef inline Ruling solve_threes(
    Solver solver, const Settings* s, Graph* graph, const Path* path, Node* node, BoardState* b, int64_t* spent
) noexcept nogil:
    """Look for a win by fours and threes at a node, and for the moves that stop one of the opponent's.

    The budget follows the rounds. Where the opponent threatens to win by fours, the node keeps only the moves that may
    stop him (`narrow`). Below a quiet move that prepares a win, the values of a small net are wrong until its answers
    have been refuted one by one; this is how that happens quickly.
    """
    cdef SolverResult result
    cdef uint16_t points[484]
    cdef int64_t budget = round_nodes(s, node.solver_rounds)
    cdef int others, n
    if budget > s.max_tree_vct_nodes:
        node.solver_rounds = ROUNDS_DONE
        return still_open()
    node.solver_rounds += 1
    solver.vcf(b, 1 - b.to_move, budget, &result)
    spent[0] += result.nodes
    others = result.verdict
    if others == SOLVER_WIN:
        # What stops a win by fours has a short list; behind another win, each move would have to be tried.
        n = solver.vct_defences(b, 1 - b.to_move, budget, &result, points)
        spent[0] += result.nodes
        if n >= 0 and not narrow(graph, path, node, points, n, result.distance + 1, s.minimax_share > 0):
            return proven_to_be(PROVEN_LOSS, result.distance + 1, NO_MOVE)
        solver.vcf(b, b.to_move, budget, &result)       # his fours answer threes, which hardly ever win
    else:
        solver.vct(b, b.to_move, budget, &result)
    spent[0] += result.nodes
    if result.verdict == SOLVER_WIN:
        return proven_to_be(PROVEN_WIN, result.distance, result.move)
    if result.verdict == SOLVER_NONE and others == SOLVER_NONE:
        node.solver_rounds = ROUNDS_DONE
    return still_open()

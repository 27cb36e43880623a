# cython: language_level=3
"""Planes of a position; `engine.encoding` says what each plane means."""
from libc.stdint cimport int32_t, uint8_t, uint16_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from engine.planes cimport (
    PLANE_BLACK_FORBIDDEN, PLANE_BLOCKED_FIVES, PLANE_COUNT, PLANE_OTHER_EXACT, PLANE_OTHER_RESTRICTED,
    PLANE_OTHER_STONE, PLANE_OWN_EXACT, PLANE_OWN_FIVE, PLANE_OWN_FORK, PLANE_OWN_FOUR, PLANE_OWN_IS_BLACK,
    PLANE_OWN_OPEN_FOUR, PLANE_OWN_OPEN_THREE, PLANE_OWN_RESTRICTED, PLANE_OWN_STONE, PLANE_THREATENED,
    PLANE_THREAT_DEFENCE, PLANE_THREAT_MOVE, PLANE_USABLE,
)
from engine.rules._board cimport (
    BLACK, EMPTY, OBSTACLE, SHAPE_DOUBLE_FOUR, SHAPE_FIVE, SHAPE_FORK, SHAPE_FOUR, SHAPE_OPEN_FOUR,
    SHAPE_OPEN_THREE, TABLES_ALL, Board, BoardState, board_copy, board_place, board_set_to_move,
    board_shapes,
)
from engine.rules.forbidden cimport mark_forbidden
from engine.threats._solver cimport Solver
from engine.threats.kernel.state cimport Threat

import numpy as np

cdef extern from *:
    """
    #define TENGEN_PAIR(name) (PLANE_OTHER_##name == PLANE_OWN_##name + 1)
    TENGEN_STATIC_ASSERT(pairs, TENGEN_PAIR(FIVE) && TENGEN_PAIR(OPEN_FOUR) && TENGEN_PAIR(FOUR)
        && TENGEN_PAIR(OPEN_THREE) && TENGEN_PAIR(FORK));
    TENGEN_STATIC_ASSERT(first_planes, PLANE_USABLE + PLANE_OWN_STONE + PLANE_OTHER_STONE == 3
        && PLANE_OWN_FIVE == 3);        /* those that are written whole */
    """

cdef enum:
    TABLE_LOG2 = 10         # of the solver for one position or one batch (derived: 16 KB)


cdef void fill(float* plane, int n, float value) noexcept nogil:
    cdef int i
    for i in range(n):
        plane[i] = value


cdef void encode_planes(BoardState* b, const Threat* threat, float* out) noexcept nogil:
    cdef int n = b.points, own = b.to_move, other = 1 - b.to_move, i, side, colour, shape
    cdef uint8_t shapes[484]
    for i in range(n):
        out[PLANE_USABLE * n + i] = b.cells[i] != OBSTACLE
        out[PLANE_OWN_STONE * n + i] = b.cells[i] == own
        out[PLANE_OTHER_STONE * n + i] = b.cells[i] == other
    memset(out + PLANE_OWN_FIVE * n, 0, (PLANE_COUNT - PLANE_OWN_FIVE) * n * sizeof(float))
    for side in range(2):
        colour = own if side == 0 else other
        board_shapes(b, colour, shapes)
        for i in range(n):
            shape = shapes[i]
            if shape == 0:
                continue
            if shape & SHAPE_FIVE:
                out[(PLANE_OWN_FIVE + side) * n + i] = 1
            if shape & (SHAPE_OPEN_FOUR | SHAPE_DOUBLE_FOUR):
                out[(PLANE_OWN_OPEN_FOUR + side) * n + i] = 1
            if shape & SHAPE_FOUR:
                out[(PLANE_OWN_FOUR + side) * n + i] = 1
            if shape & SHAPE_OPEN_THREE:
                out[(PLANE_OWN_OPEN_THREE + side) * n + i] = 1
            if shape & SHAPE_FORK:
                out[(PLANE_OWN_FORK + side) * n + i] = 1
    if b.forbidden_plane:
        mark_forbidden(b, BLACK, shapes)
        for i in range(n):
            out[PLANE_BLACK_FORBIDDEN * n + i] = shapes[i]
        fill(out + (PLANE_OWN_RESTRICTED if own == BLACK else PLANE_OTHER_RESTRICTED) * n, n, 1)
    if threat.found:
        out[PLANE_THREAT_MOVE * n + threat.move] = 1
        for i in range(threat.n):
            out[PLANE_THREAT_DEFENCE * n + threat.points[i]] = 1
        fill(out + PLANE_THREATENED * n, n, 1)
    if own == BLACK:
        fill(out + PLANE_OWN_IS_BLACK * n, n, 1)
    if b.exact[own]:
        fill(out + PLANE_OWN_EXACT * n, n, 1)
    if b.exact[other]:
        fill(out + PLANE_OTHER_EXACT * n, n, 1)
    if b.caro:
        fill(out + PLANE_BLOCKED_FIVES * n, n, 1)


def planes(Board board):
    out = np.empty((PLANE_COUNT, board.state.height, board.state.width), dtype=np.float32)
    cdef float[:, :, ::1] view = out
    cdef Threat threat
    Solver(TABLE_LOG2).threat(board.state, THREAT_NODES, &threat)
    encode_planes(board.state, &threat, &view[0, 0, 0])
    return out


def planes_of_moves(int width, int height, rules, const int32_t[::1] plies, const uint16_t[::1] moves,
                    float[:, :, :, ::1] out):
    cdef Py_ssize_t n = plies.shape[0], b, k, at = 0
    cdef Board board = Board(width, height), empty
    cdef Solver solver = Solver(TABLE_LOG2)
    cdef Threat threat
    cdef BoardState* state = board.state
    cdef BoardState** begin
    cdef int points = width * height, wrong = -1
    empties = {rule: Board(width, height, rule) for rule in set(rules)}
    if len(rules) != n or out.shape[0] != n or out.shape[1] != PLANE_COUNT or out.shape[2] != height:
        raise ValueError("rules, plies and planes of another number")
    if out.shape[3] != width or np.sum(plies) != moves.shape[0] or (n and np.min(plies) < 0):
        raise ValueError("planes or moves of another number")
    begin = <BoardState**>malloc(max(n, 1) * sizeof(BoardState*))
    if begin == NULL:
        raise MemoryError("no memory for a batch")
    for b in range(n):
        empty = empties[rules[b]]
        begin[b] = empty.state
    with nogil:     # for the whole batch, so that other threads can run Python
        for b in range(n):
            board_copy(state, begin[b])
            for k in range(at, at + plies[b]):
                if moves[k] >= points or state.cells[moves[k]] != EMPTY:
                    wrong = moves[k]
                    break
                board_place(state, moves[k], <int>((k - at) & 1), TABLES_ALL)
            if wrong >= 0:
                break
            board_set_to_move(state, <int>(plies[b] & 1))
            solver.threat(state, THREAT_NODES, &threat)
            encode_planes(state, &threat, &out[b, 0, 0, 0])
            at += plies[b]
    free(begin)
    if wrong >= 0:
        raise ValueError(f"point {wrong} is taken or off the board")

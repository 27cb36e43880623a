# cython: language_level=3
"""Pure MCTS with random playouts: see the stub file for the contract."""
from libc.math cimport sqrt
from libc.stdint cimport int32_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc, realloc

from engine.rules._board cimport (
    EMPTY, TABLES_ALL, TABLES_FOURS, Board, BoardState, board_forbidden, board_place, board_undo,
)

cdef struct Node:
    double total        # of results for the player who moved here
    int32_t visits
    int32_t first       # index of the first child, -1 before expansion
    uint16_t n_children
    uint16_t point      # move that leads here

cdef struct Pool:
    Node* nodes
    int32_t used
    int32_t room


cdef inline uint64_t next_random(uint64_t* state) noexcept nogil:
    state[0] += <uint64_t>0x9E3779B97F4A7C15
    cdef uint64_t z = state[0]
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


cdef bint is_legal(BoardState* b, int point) noexcept nogil:
    return b.cells[point] == EMPTY and not board_forbidden(b, point, b.to_move)


cdef int expand(Pool* pool, int index, BoardState* b) noexcept nogil:
    """Give a node one child a legal point; return -1 without memory."""
    cdef Node* grown
    cdef int p, n = 0
    if pool.used + b.n_empty > pool.room:
        grown = <Node*>realloc(pool.nodes, 2 * (pool.used + b.n_empty) * sizeof(Node))
        if grown == NULL:
            return -1
        pool.nodes = grown
        pool.room = 2 * (pool.used + b.n_empty)
    pool.nodes[index].first = pool.used
    for p in range(b.points):
        if is_legal(b, p):
            pool.nodes[pool.used] = Node(0, 0, -1, 0, <uint16_t>p)
            pool.used += 1
            n += 1
    pool.nodes[index].n_children = <uint16_t>n
    return 0


cdef int pick_child(Pool* pool, int index, double c_puct) noexcept nogil:
    cdef Node* node = &pool.nodes[index]
    cdef Node* child
    cdef double explore = c_puct * sqrt(<double>node.visits) / node.n_children, score, best_score = -1e9
    cdef int i, best = -1
    for i in range(node.first, node.first + node.n_children):
        child = &pool.nodes[i]
        score = explore / (1 + child.visits)
        if child.visits:
            score += child.total / child.visits
        if score > best_score:
            best_score, best = score, i
    return best


cdef int random_game(BoardState* b, uint64_t* rng) noexcept nogil:
    """Play to the end with random legal moves and take them back; return the winner, 2 for a draw."""
    cdef uint16_t order[484]
    cdef int n = 0, p, i, k, winner, played = 0
    for p in range(b.points):
        if b.cells[p] == EMPTY:
            order[n] = <uint16_t>p
            n += 1
    while b.winner == EMPTY and n:
        # A forbidden pick is put aside; with nothing else left the game is called a draw.
        k = n
        while k:
            i = <int>(next_random(rng) % <uint64_t>k)
            p = order[i]
            k -= 1
            order[i], order[k] = order[k], <uint16_t>p
            if is_legal(b, p):
                break
            p = -1
        if p < 0:
            break
        n -= 1
        order[k], order[n] = order[n], order[k]
        board_place(b, p, b.to_move, TABLES_ALL if b.forbids[0] or b.forbids[1] else TABLES_FOURS)
        played += 1
    winner = b.winner
    for _ in range(played):
        board_undo(b)
    return winner


cdef int search(BoardState* b, int simulations, uint64_t seed, double c_puct, Pool* pool) noexcept nogil:
    cdef int path[485]
    cdef int depth, index, i, winner, mover, best = -1, best_visits = -1
    pool.nodes[0] = Node(0, 0, -1, 0, 0)
    pool.used = 1
    for _ in range(simulations):
        index, depth = 0, 0
        path[0] = 0
        while pool.nodes[index].first >= 0 and pool.nodes[index].n_children and b.winner == EMPTY:
            index = pick_child(pool, index, c_puct)
            board_place(b, pool.nodes[index].point, b.to_move, TABLES_ALL)
            depth += 1
            path[depth] = index
        if b.winner == EMPTY and pool.nodes[index].first < 0 and expand(pool, index, b) < 0:
            return -1
        winner = random_game(b, &seed) if b.winner == EMPTY else b.winner
        mover = 1 - b.to_move
        while depth >= 0:
            index = path[depth]
            pool.nodes[index].visits += 1
            if winner != EMPTY:
                pool.nodes[index].total += 1 if winner == mover else -1
            mover = 1 - mover
            if depth:
                board_undo(b)
            depth -= 1
    for i in range(pool.nodes[0].first, pool.nodes[0].first + pool.nodes[0].n_children):
        if pool.nodes[i].visits > best_visits:
            best_visits, best = pool.nodes[i].visits, pool.nodes[i].point
    return best


def rollout_move(Board board, int simulations, uint64_t seed, double c_puct=5.0):
    cdef Pool pool
    cdef int best
    if simulations < 1:
        raise ValueError(f"simulations must be at least 1, not {simulations}")
    if not board.legal_points():
        raise ValueError("there is no legal move")
    pool.room = 4096
    pool.nodes = <Node*>malloc(pool.room * sizeof(Node))
    if pool.nodes == NULL:
        raise MemoryError("no memory for the tree")
    with nogil:
        best = search(board.state, simulations, seed, c_puct, &pool)
    free(pool.nodes)
    if best < 0:
        raise MemoryError("no memory for the tree")
    return best

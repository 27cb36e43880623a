# cython: language_level=3
"""One simulation, from top to bottom, in the order in which it happens.

    simulate        once more with less in memory, if there was too little
      attempt
        descend     from the root along the moves that `select` chooses; a node visited often is solved on the way
        look        what rules and solver say of the position at the end; forced moves are followed
        ask         the judge, if they say nothing
      finish        the new nodes join the tree (`attach`), expanded by the judge's answer or proven; backup

The board is the tree's own and stands at the root between simulations. A judge may put its answer off: then the walk
stays pending until `answer` brings it, or the next simulation drops it without a trace.
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memset

from engine._encoding cimport THREAT_NODES, encode_planes
from engine.evaluator._judge cimport Judge, Question
from engine.rules._board cimport TABLES_ALL, TABLES_FOURS, BoardState, board_place, board_undo
from engine.search.kernel.accounts cimport SOUND, Delta, add, audit, backup, nothing
from engine.search.kernel.arena cimport Arena, Ref, give
from engine.search.kernel.expand cimport Moves, softmax, store_moves, widen
from engine.search.kernel.graph cimport (
    Graph, enter, find, free_node, grow_edges, new_edge, new_node, release, strip, take,
)
from engine.search.kernel.node cimport (
    FIRST_ROOM, PROVEN_NONE, ROUNDS_DONE, Edge, Node, Path, edges_of, edges_units, moves_of, moves_units,
    node_at, priors_of,
)
from engine.search.kernel.noise cimport Noise, mix
from engine.search.kernel.room cimport condense, make_room
from engine.search.kernel.select cimport Settings, choose, find_move
from engine.search.kernel.settle cimport (
    POSITION_FORCED, POSITION_OPEN, POSITION_PROVEN, Ruling, answer_threat, examine, round_visits, solve_fours,
    solve_threes,
)
from engine.threats._solver cimport Solver
from engine.threats.kernel.state cimport Threat

cdef extern from *:
    """
    #ifndef TENGEN_DEBUG
    #define TENGEN_DEBUG 0
    #endif
    """
    const bint DEBUG "TENGEN_DEBUG"     # every simulation is followed by an audit of its path

# How a simulation ended. The first ones are shown to Python.
cdef enum:
    IDLE = 0                # none was done
    LEAF = 1                # a leaf waits for its evaluation
    SOLVED = 2              # done, without the judge
    NOTHING_LEFT = 3        # the root is proven, or the move that it had to begin with
    FULL = 4                # no memory
    EVALUATED = 5           # done, with the judge's answer
    BAD_MOVE = -2           # the root has no such move
    BAD_ANSWER = -3         # the judge's answer is not finite, or no chances
    UNSOUND = -4            # debug builds: the accounts do not add up

# Where `descend` came to, if to an end.
cdef enum:
    AT_END = 10             # a position without a node, or a node without moves
    AT_KNOWN = 11           # a node that can tell the last move of the path more than it has heard
    AT_SOLVED = 12          # a node that the solver has just decided

cdef struct Walk:           # the simulation under way
    bint pending            # a leaf waits for its evaluation
    Path path
    Ref leaf                # node at the end; 0: it has to be made
    int chain               # forced moves behind the path
    uint16_t chain_moves[486]
    uint64_t chain_keys[487]    # hashes of the new positions: at the end of the path, behind each forced move
    Ref joined              # known node behind the chain, 0: none
    int solver_rounds       # times that the solver was asked at the end
    Threat threat           # of the opponent there, where somebody wants to know
    Ruling ruling           # what rules and solver say of the end
    Moves moves             # of an open one

cdef struct Counters:       # since they were last set to zero
    int64_t simulations, evaluations, solved_leaves, solver_nodes
    int64_t depth_sum
    int depth_max

cdef struct TreeState:
    Settings settings
    Graph graph
    BoardState* board       # of the root; NULL: no root yet
    void* solver            # a `Solver`, not owned; asked about threats only where `leaf_vcf_nodes` is 0
    Noise noise
    Walk walk
    Counters counters
    int cramped             # simulations that failed for lack of memory since the last success


cdef inline int run(TreeState* t, Judge* judge, int most, int root_move, bint threes, int* done) noexcept nogil:
    """Do simulations until there are `most`, or one does not come to an end; returns the status of the last one.

    Args:
        judge: what is asked about leaves.
        root_move: point of the move that each begins with, -1 for the tree's choice.
        threes: whether nodes that are visited often are solved by fours and threes, if the settings have it.
        done: counts simulations that came to an end.
    """
    cdef int status = IDLE
    threes = threes and t.settings.tree_vct_nodes > 0
    while done[0] < most:
        status = simulate(t, judge, root_move, threes)
        if status != SOLVED and status != EVALUATED:
            break
        done[0] += 1
    return status


cdef inline int simulate(TreeState* t, Judge* judge, int root_move, bint threes) noexcept nogil:
    """Do one simulation; if memory does not suffice for it, give up what lies below the root's moves and try again."""
    cdef int status
    if t.cramped == 0:
        status = attempt(t, judge, root_move, threes)
        if status != FULL:
            return status
        t.cramped = 1
    t.walk.pending = False
    if t.cramped > 1 or t.graph.root == 0 or not condense(&t.graph):
        return FULL
    status = attempt(t, judge, root_move, threes)
    if status == FULL:
        t.cramped += 1
    return status


cdef inline int attempt(TreeState* t, Judge* judge, int root_move, bint threes) noexcept nogil:
    """Walk to a leaf, judge it, come back. Returns a status; with LEAF, the judge has put its answer off."""
    cdef Walk* w = &t.walk
    cdef int where, tables
    cdef float logits[484]
    cdef float wdl[3]
    w.pending = False
    w.path.depth = w.chain = 0
    w.leaf = w.joined = 0
    if t.graph.root != 0 and node_at(&t.graph.arena, t.graph.root).proven != PROVEN_NONE:
        return NOTHING_LEFT
    if not make_room(&t.graph):
        return FULL
    # Placements are dearer with open threes: for the solver, the planes, black's forbidden points.
    tables = TABLES_ALL if threes or judge.planes != NULL or t.board.renju else TABLES_FOURS
    where = descend(t, root_move, threes, tables)
    if where == AT_END:
        look(t, judge, tables)
        if w.joined == 0 and w.ruling.kind == POSITION_OPEN:
            w.pending = not ask(t, judge, logits, wdl)
    go_back(t)
    if where == AT_KNOWN:
        return finish(t, w.leaf, nothing(), SOLVED)
    if where == AT_END and w.joined != 0:
        return join(t)
    if where == AT_SOLVED or (where == AT_END and w.ruling.kind == POSITION_PROVEN):
        return prove(t)
    if where != AT_END:
        return where
    return LEAF if w.pending else expand(t, logits, wdl)


# --- down --------------------------------------------------------------------------------------------------

cdef inline int descend(TreeState* t, int root_move, bint threes, int tables) noexcept nogil:
    """Follow moves from the root, on the board too. Returns AT_*, or a status if there is no way down."""
    cdef Graph* graph = &t.graph
    cdef Arena* arena = &graph.arena
    cdef Walk* w = &t.walk
    cdef BoardState* b = t.board
    cdef Node* node
    cdef Ref ref = graph.root
    cdef int i
    while ref != 0:
        node = node_at(arena, ref)
        if node.moves == 0:
            w.leaf = ref
            return AT_END
        if w.path.depth == 0 and root_move >= 0:
            i = find_move(arena, node, root_move)
            if i < 0:
                return BAD_MOVE
            if i < node.n_visited and edges_of(arena, node)[i].proven != PROVEN_NONE:
                return NOTHING_LEFT
            if i == node.n_visited and not grow_edges(graph, node):
                return FULL
        else:
            # The root has a solver of its own.
            if threes and w.path.depth > 0 and node.solver_rounds < ROUNDS_DONE and node.n_legal > 1:
                if node.visits >= round_visits(&t.settings, node.solver_rounds):
                    w.ruling = solve_threes(
                        <Solver>t.solver, &t.settings, graph, &w.path, node, b, &t.counters.solver_nodes
                    )
                    if w.ruling.kind == POSITION_PROVEN:
                        w.leaf = ref
                        return AT_SOLVED
            if node.n_visited == node.n_moves:
                store_others(t, node)
            i = choose(graph, &t.settings, ref)
            if i < 0:
                return FULL
        w.path.nodes[w.path.depth] = ref
        w.path.edges[w.path.depth] = <uint16_t>i
        w.path.depth += 1
        ref = edges_of(arena, node)[i].child if i < node.n_visited else 0
        board_place(b, moves_of(arena, node)[i], b.to_move, tables)
        if ref == 0 and t.settings.transpositions:
            ref = find(graph, b.hash)
            if ref != 0:
                new_edge(arena, node, ref)
        if ref != 0 and knows_more(&edges_of(arena, node)[i], node_at(arena, ref)):
            w.leaf = ref
            return AT_KNOWN
    return AT_END


cdef inline bint knows_more(const Edge* edge, const Node* child) noexcept nogil:
    """Whether a node can tell a move that leads to it more than the move has heard."""
    return child.proven != PROVEN_NONE or (child.shared and edge.visits < child.visits)


cdef inline void store_others(TreeState* t, Node* node) noexcept nogil:
    """Store the legal moves of a node, whose position is on the board, that are not stored yet."""
    if node.n_moves < node.n_legal:
        if examine(t.board, &t.walk.moves).kind == POSITION_OPEN and t.walk.moves.n == node.n_legal:
            widen(&t.graph, node, &t.walk.moves)


cdef inline void look(TreeState* t, Judge* judge, int tables) noexcept nogil:
    """Settle the position at the end of the path by rules and solver, after the moves that it forces.

    A position with a single sensible move (the block of a five) is never evaluated: the walk goes on, until a position
    is open or proven, or known already (`joined`).
    """
    cdef Walk* w = &t.walk
    cdef BoardState* b = t.board
    w.solver_rounds = 0
    w.chain_keys[0] = b.hash
    w.ruling = settle(t, judge)
    while w.ruling.kind == POSITION_FORCED:
        w.chain_moves[w.chain] = <uint16_t>w.ruling.move
        w.chain += 1
        board_place(b, w.ruling.move, b.to_move, tables)
        w.chain_keys[w.chain] = b.hash
        if t.settings.transpositions:
            w.joined = find(&t.graph, b.hash)
            if w.joined != 0:
                return
        w.ruling = settle(t, judge)


cdef inline Ruling settle(TreeState* t, Judge* judge) noexcept nogil:
    """Settle the position on the board by rules and fours, else list the moves that count."""
    cdef Walk* w = &t.walk
    cdef Ruling ruling = examine(t.board, &w.moves)
    w.solver_rounds = 0
    if ruling.kind == POSITION_OPEN and t.settings.leaf_vcf_nodes > 0:
        w.solver_rounds = 1
        ruling = solve_fours(<Solver>t.solver, t.board, t.settings.leaf_vcf_nodes, &t.counters.solver_nodes)
    if ruling.kind != POSITION_OPEN:
        return ruling
    w.threat.there = False
    if t.settings.leaf_defences or judge.planes != NULL:
        t.counters.solver_nodes += (<Solver>t.solver).threat(t.board, THREAT_NODES, &w.threat)
    # A new root keeps all its moves: it has a solver of its own, and people look at it.
    if w.threat.there and t.settings.leaf_defences and w.path.depth + w.chain > 0:
        return answer_threat(&w.threat, &w.moves)
    return ruling


cdef inline bint ask(TreeState* t, Judge* judge, float* logits, float* wdl) noexcept nogil:
    """Ask the judge about the position on the board; False if it puts its answer off."""
    cdef BoardState* b = t.board
    cdef Question question
    question.key = b.hash
    question.width = b.width
    question.height = b.height
    question.points = t.walk.moves.points
    question.n_points = t.walk.moves.n
    question.planes = judge.planes
    if judge.planes != NULL:
        encode_planes(b, &t.walk.threat, judge.planes)
    return judge.answer(judge.self, &question, logits, wdl)


cdef inline bint put_off(void* self, const Question* question, float* logits, float* wdl) noexcept nogil:
    """Keep the key of the position, whose planes are kept already, for an evaluator that is asked from Python."""
    (<uint64_t*>self)[0] = question.key
    return False


cdef inline Judge asked_from_python(float* planes, uint64_t* key) noexcept nogil:
    """A judge that puts its answers off, and leaves the question at these places."""
    cdef Judge judge
    judge.answer = put_off
    judge.self = key
    judge.planes = planes
    return judge


cdef inline void go_back(TreeState* t) noexcept nogil:
    """Bring the board back to the root."""
    for _ in range(t.walk.path.depth + t.walk.chain):
        board_undo(t.board)


# --- and up ------------------------------------------------------------------------------------------------

cdef inline bint attach(TreeState* t) noexcept nogil:
    """Make the nodes of the walk's end, without moves in the last one; all or nothing.

    The last one may be known already (`joined`). Afterwards the path leads to `leaf` through the chain.
    """
    cdef Graph* graph = &t.graph
    cdef Arena* arena = &graph.arena
    cdef Walk* w = &t.walk
    cdef Node* node
    cdef Ref* nodes = w.path.nodes + w.path.depth
    cdef int j, i
    cdef bint ok = True
    for j in range(w.chain + 1):
        if j == w.chain and w.joined != 0:
            nodes[j] = w.joined
        else:
            nodes[j] = w.leaf if j == 0 and w.leaf != 0 else new_node(graph)
        if nodes[j] == 0:
            ok = False
        elif j < w.chain:
            node = node_at(arena, nodes[j])
            node.moves = take(graph, moves_units(1))
            node.n_moves = 1
            node.edges = take(graph, edges_units(FIRST_ROOM))
            node.room = FIRST_ROOM
            ok = node.moves != 0 and node.edges != 0
        if not ok:
            for i in range(j + 1):
                if nodes[i] != 0 and nodes[i] != w.leaf:
                    free_node(graph, nodes[i])
                elif nodes[i] != 0:
                    strip(graph, node_at(arena, nodes[i]))
            return False
    for j in range(w.chain):
        node = node_at(arena, nodes[j])
        node.n_legal = 1
        priors_of(arena, node)[0] = 1
        moves_of(arena, node)[0] = w.chain_moves[j]
        new_edge(arena, node, nodes[j + 1])
        w.path.edges[w.path.depth + j] = 0
    if w.path.depth == 0:
        graph.root = nodes[0]
    elif w.leaf == 0:
        new_edge(arena, node_at(arena, w.path.nodes[w.path.depth - 1]), nodes[0])
    if t.settings.transpositions:
        for j in range(w.chain + 1):
            if nodes[j] != w.leaf and nodes[j] != w.joined:
                enter(graph, nodes[j], w.chain_keys[j])
    w.path.depth += w.chain
    w.leaf = w.path.nodes[w.path.depth]
    return True


cdef inline int join(TreeState* t) noexcept nogil:
    """Back up what the known node behind the forced moves has to tell."""
    cdef Ref joined = t.walk.joined
    cdef bint attached
    node_at(&t.graph.arena, joined).references += 1     # taking memory may free what only dead nodes refer to
    attached = attach(t)
    release(&t.graph, joined)
    return finish(t, joined, nothing(), SOLVED) if attached else FULL


cdef inline int prove(TreeState* t) noexcept nogil:
    """Back up the result that was found at the walk's end."""
    cdef Node* node
    if not attach(t):
        return FULL
    node = node_at(&t.graph.arena, t.walk.leaf)
    node.proven = <uint8_t>t.walk.ruling.proven
    node.distance = <uint16_t>t.walk.ruling.distance
    node.proof_move = <uint16_t>t.walk.ruling.move
    node.visits += 1
    t.counters.solved_leaves += 1
    return finish(t, t.walk.leaf, nothing(), SOLVED)


cdef inline int expand(TreeState* t, const float* logits, const float* wdl) noexcept nogil:
    """Give the walk's end its moves and its value, and back it up; nothing happens without memory.

    Args:
        logits: by point, at least of the walk's moves.
        wdl: chances of win, draw and loss for the side to move.
    """
    cdef Walk* w = &t.walk
    cdef Node* node
    cdef Node filled
    cdef Delta delta
    cdef float priors[484]
    cdef bint at_root = w.path.depth + w.chain == 0
    cdef int cap = t.settings.edge_cap
    w.pending = False
    delta.weight = 1
    delta.value = <double>wdl[0] - <double>wdl[2]
    delta.draw = wdl[1]
    if not (-1.001 <= delta.value <= 1.001 and -0.001 <= delta.draw <= 1.001):
        return BAD_ANSWER
    if not softmax(logits, &w.moves, t.settings.inverse_temperature, priors):
        return BAD_ANSWER
    memset(&filled, 0, sizeof(Node))
    if at_root or (w.threat.there and t.settings.leaf_defences):    # those that a threat leaves are few, and all wanted
        cap = w.moves.n
    if not store_moves(&t.graph, &filled, &w.moves, priors, cap):
        return FULL
    if not attach(t):
        give(&t.graph.arena, filled.moves, moves_units(filled.n_moves))
        return FULL
    node = node_at(&t.graph.arena, w.leaf)
    node.moves = filled.moves
    node.n_moves = filled.n_moves
    node.n_legal = filled.n_legal
    node.tail_prior = filled.tail_prior
    node.raw_win = wdl[0]
    node.raw_draw = wdl[1]
    node.solver_rounds = <uint8_t>w.solver_rounds
    node.visits += 1
    add(node, &delta)
    t.counters.evaluations += 1
    if at_root and t.noise.epsilon > 0:
        mix(&t.graph.arena, node, &t.noise)
    return finish(t, w.leaf, delta, EVALUATED)


cdef inline int answer(TreeState* t, const float* logits, const float* wdl) noexcept nogil:
    """Bring the answer that the judge has put off; see `expand`."""
    cdef int status = expand(t, logits, wdl)
    if status == FULL:
        t.cramped += 1
    return status


cdef inline int finish(TreeState* t, Ref leaf, Delta delta, int status) noexcept nogil:
    """Back the simulation up and count it. Returns `status`."""
    cdef Arena* arena = &t.graph.arena
    cdef const Path* path = &t.walk.path
    cdef int i
    backup(arena, path, node_at(arena, leaf), delta, t.settings.minimax_share > 0)
    t.cramped = 0
    t.counters.simulations += 1
    t.counters.depth_sum += path.depth
    if path.depth > t.counters.depth_max:
        t.counters.depth_max = path.depth
    if DEBUG:
        for i in range(path.depth):
            if audit(arena, node_at(arena, path.nodes[i]), t.graph.lossy) != SOUND:
                return UNSOUND
    return status

# cython: language_level=3
"""Threat solver kernel: wins by continuous fours (VCF), and by fours and threes (VCT).

Both kinds speak of the *attacker*, to move, and the *defender*. A move of either is legal on any empty
cell that the rule does not forbid to its colour; a forbidden move counts as a loss, so a defender that could
only answer there has no answer. Which lines are fives is the board's business
(`engine.rules._board`): everything here follows from its five points, under every rule.

VCF, for the attacker to move:

1. If he has a five point, he wins at once (distance 1).
2. Else if the defender has five points, he must move where no five point of the defender is left.
3. Each move must be a *four*: legal, and making at least one five point of his own.
4. The defender answers with any legal move that leaves no five point of the attacker. Without such an
   answer the attacker wins (distance 3: four, anything, five). Otherwise the attacker must win by VCF,
   again from 1, after every answer.

Under most rules rule 4 leaves one answer, the five point, and two different five points win. Under caro
(8, 9) a four with one end closed may also be answered at its other end, since the five would then be
blocked at both ends; one stone may so stop two five points. Exactly-five rules need nothing special: the
defender cannot lengthen the attacker's line. The attacker only plays points
that are not forbidden to it, and may win because the answer is forbidden. A five is never forbidden.

VCT, for the attacker to move: 1 and 2 as above; 3 becomes: each move must be a four, or a *threat*: a legal
move on a point of the open-three table (any legal move, where 2 restricts him) after which he would win
by VCF of at most `THREAT_FOURS` fours if the defender passed. To a four the defender answers as above; to
a threat, with any legal move at all. The attacker must win by VCT after every answer.

A win is reported only when proven, "none" only when the space above is exhausted. A distance counts plies
until the five stands: of a VCF the shortest, of a VCT an upper bound.

`Solver.solve` looks for shorter wins once it has one; `vcf`, for the leaves of a search tree, hardly does. One
node is one placement tried. How it is done stands in `kernel/`.
"""
cimport cython
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from engine.rules._board cimport (
    BLACK, EMPTY, MAX_POINTS, TABLES_ALL, WHITE, Board, BoardState, board_place, board_set_to_move, board_undo,
)
from engine.threats.kernel.solve cimport defend, longest_answer, solve_now, solve_vcf, solve_vct
from engine.threats.kernel.state cimport SOLVER_WIN, FourEntry, ProofEntry, SolverResult, SolverState, Threat
from engine.threats.kernel.vct cimport THREAT_FOURS

from engine.threats.solution import Solution, Verdict

cdef enum:
    MOVES_SIZE = 65536      # a path takes two cells a four: 484 + 482 + ... moves, 58,806 at most

globals().update(THREAT_FOURS=THREAT_FOURS)     # once more as a Python name


cdef bint ask_python(void* owner) noexcept nogil:
    """Ask the `stop` of the running `Solver.solve`."""
    with gil:
        return (<Solver>owner).poll()


@cython.final
cdef class Solver:
    """Solves forced wins; see the stub file for the contract of each method."""

    def __cinit__(self, int table_log2=16):
        cdef SolverState* s = &self.state
        if not 4 <= table_log2 <= 28:
            raise ValueError(f"table_log2 must be 4 to 28, not {table_log2}")
        s.owner = <void*>self
        s.mask = ((<uint64_t>1) << table_log2) - 1
        s.four_table = <FourEntry*>calloc(s.mask + 1, sizeof(FourEntry))
        s.moves = <uint16_t*>malloc(MOVES_SIZE * sizeof(uint16_t))
        s.seen = <uint32_t*>calloc(MAX_POINTS, sizeof(uint32_t))
        if s.four_table == NULL or s.moves == NULL or s.seen == NULL:
            raise MemoryError("no memory for the solver's table")

    def __dealloc__(self):
        free(self.state.four_table)
        free(self.state.proof_table)
        free(self.state.children)
        free(self.state.moves)
        free(self.state.keys)
        free(self.state.seen)

    cpdef void clear(self) noexcept nogil:
        cdef SolverState* s = &self.state
        memset(s.four_table, 0, (s.mask + 1) * sizeof(FourEntry))
        if s.proof_table != NULL:
            memset(s.proof_table, 0, (s.mask + 1) * sizeof(ProofEntry))

    cdef void vcf(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil:
        solve_vcf(&self.state, b, attacker, node_budget, out)

    cdef void vct(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil:
        solve_vct(&self.state, b, attacker, node_budget, out)

    cdef int vct_defences(
        self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out, uint16_t* points
    ) noexcept nogil:
        return defend(&self.state, b, attacker, True, node_budget, out, points)

    cdef int64_t threat(self, BoardState* b, int64_t node_budget, Threat* out) noexcept nogil:
        cdef SolverResult result
        out.n = defend(&self.state, b, 1 - b.to_move, False, node_budget, &result, out.points)
        out.found = out.n >= 0
        out.distance = result.distance
        out.move = result.move
        return result.nodes

    cdef list winning_line(self, BoardState* b, bint threes, int64_t node_budget):
        """Moves from the attacker's, to move, to his five, which stay on the board. Shorter only if stopped."""
        cdef SolverState* s = &self.state
        cdef SolverResult out
        cdef int point
        cdef list line = []
        while True:
            with nogil:
                s.limit = s.nodes + node_budget
                solve_now(s, b, threes, True, node_budget, &out)
            if out.verdict != SOLVER_WIN:
                return line
            line.append(out.move)
            board_place(b, out.move, s.attacker, TABLES_ALL)
            if b.winner == s.attacker:
                return line
            with nogil:
                point = longest_answer(s, b, threes, node_budget)
            if point < 0:
                board_set_to_move(b, s.attacker)
            else:
                line.append(point)
                board_place(b, point, 1 - s.attacker, TABLES_ALL)

    def solve(self, Board board, str kind="vcf", attacker=None, int64_t nodes=1_000_000, stop=None):
        cdef SolverState* s = &self.state
        cdef SolverResult out
        cdef BoardState* b = board.state
        cdef int att = b.to_move, to_move = b.to_move, ply = b.ply, n = 0, k
        cdef bint threes = kind == "vct"
        cdef uint16_t points[484]
        cdef list line = []
        if kind not in ("vcf", "vct"):
            raise ValueError(f"a kind is 'vcf' or 'vct', not {kind!r}")
        if attacker is not None:
            if attacker != BLACK and attacker != WHITE:
                raise ValueError(f"an attacker is 0 or 1, not {attacker!r}")
            att = attacker
        if nodes < 1:
            raise ValueError(f"a budget is at least one node, not {nodes}")
        if b.winner != EMPTY:
            raise ValueError("the game is over: there is a five on the board")
        s.stop_flag = 0
        s.shortest = True
        self.poll = stop
        s.poll = NULL
        if stop is not None:
            s.poll = ask_python
        try:
            with nogil:
                if att != to_move:
                    n = defend(s, b, att, threes, nodes, &out, points)
                elif threes:
                    solve_vct(s, b, att, nodes, &out)
                else:
                    solve_vcf(s, b, att, nodes, &out)
            if out.verdict == SOLVER_WIN:
                board_set_to_move(b, att)
                line = self.winning_line(b, threes and out.distance > 1, 4 * nodes) or [out.move]
                if threes and len(line) > out.distance:     # the table forgot the proof; another one was longer
                    out.distance = len(line)
        finally:
            s.shortest = False
            s.poll = NULL
            self.poll = None
            while b.ply > ply:
                board_undo(b)
            board_set_to_move(b, to_move)
        return Solution(
            Verdict(out.verdict), out.distance, tuple(line), tuple([points[k] for k in range(n)]), out.nodes
        )

    def stop(self):
        self.state.stop_flag = 1

    @property
    def memory_bytes(self):
        cdef uint64_t entry = sizeof(FourEntry) + (sizeof(ProofEntry) if self.state.proof_table != NULL else 0)
        return (self.state.mask + 1) * entry


def vcf_loop(Board board, int attacker, int64_t nodes, int table_log2=16):
    cdef Solver solver = Solver(table_log2)
    cdef SolverResult out
    cdef int64_t total = 0
    if attacker != BLACK and attacker != WHITE:
        raise ValueError(f"an attacker is 0 or 1, not {attacker!r}")
    with nogil:
        while total < nodes:
            solver.clear()
            solver.vcf(board.state, attacker, nodes - total, &out)
            if out.nodes == 0:
                break
            total += out.nodes
    return total

# cython: language_level=3
"""Threat solver kernel: wins by continuous fours (VCF), and by fours and threes (VCT).

The *attacker* is to move; the other side is the *defender*. A move is legal on any empty point that the rule
does not forbid to its colour. A forbidden move counts as a loss: a defender whose only blocks are forbidden
has no block. The board (`engine.rules._board`) says which lines are fives; all that follows uses only its
five points, under every rule.

VCF, for the attacker to move:

1. With a five point, the attacker wins at once (distance 1).
2. Else if the defender has five points, the attacker must move where none of them is left.
3. Each move must be a *four*: legal, and making at least one five point of the attacker.
4. The defender blocks with any legal move that leaves the attacker no five point. Without such a block the
   attacker wins (distance 3: four, any move, five). Otherwise the attacker must win by VCF, again from 1,
   after every block.

Under most rules rule 4 leaves one block, the five point, and two different five points win. Under caro
(8, 9) a four with one end closed may also be blocked at its other end, since the five would then be
blocked at both ends; one stone may so stop two five points. Exactly-five rules need nothing special: the
defender cannot lengthen the attacker's line. The attacker plays only points that are not forbidden to it,
and may win because the block is forbidden. A five is never forbidden.

VCT, for the attacker to move: 1 and 2 as above; 3 becomes: each move must be a four, or a *threat*: a legal
move on a point of the open-three table (any legal move, where 2 restricts the attacker) after which it would
win by VCF of at most `THREAT_FOURS` fours if the defender passed. The defender blocks a four as above; after
a threat, any legal move is a defence. The attacker must win by VCT after every defence.

A win is reported only when it is proven, "none" only when the space above is exhausted. A distance is the
number of plies to the five: of a VCF the smallest, of a VCT an upper bound.

`Solver.solve` looks for shorter wins once it has one; `vcf`, for the leaves of a search tree, hardly does. One
node is one placement. The algorithms are in `kernel/`.
"""
cimport cython
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from engine.rules._board cimport (
    BLACK, EMPTY, MAX_POINTS, TABLES_ALL, WHITE, Board, BoardState, board_place, board_set_to_move, board_undo,
)
from engine.threats.kernel.solve cimport longest_defence, solve_defences, solve_to_move, solve_vcf, solve_vct
from engine.threats.kernel.state cimport SOLVER_WIN, ProofEntry, SolverResult, SolverState, Threat, VcfEntry
from engine.threats.kernel.vct cimport THREAT_FOURS

from engine.threats.solution import Solution, Verdict

cdef enum:
    MOVES_SIZE = 65536      # a path has two moves a four: 484 + 482 + ... moves, 58,806 at most

globals().update(THREAT_FOURS=THREAT_FOURS)     # also a Python name


cdef bint poll_python(void* owner) noexcept nogil:
    """Call the `stop` of the running `Solver.solve`."""
    with gil:
        return (<Solver>owner).poll()


@cython.final
cdef class Solver:
    """Threat solver; the stub file documents each method."""

    def __cinit__(self, int table_log2=16):
        cdef SolverState* s = &self.state
        if not 4 <= table_log2 <= 28:
            raise ValueError(f"table_log2 must be 4 to 28, not {table_log2}")
        s.owner = <void*>self
        s.mask = ((<uint64_t>1) << table_log2) - 1
        s.vcf_table = <VcfEntry*>calloc(s.mask + 1, sizeof(VcfEntry))
        s.moves = <uint16_t*>malloc(MOVES_SIZE * sizeof(uint16_t))
        s.seen = <uint32_t*>calloc(MAX_POINTS, sizeof(uint32_t))
        if s.vcf_table == NULL or s.moves == NULL or s.seen == NULL:
            raise MemoryError("no memory for the solver's table")

    def __dealloc__(self):
        free(self.state.vcf_table)
        free(self.state.proof_table)
        free(self.state.children)
        free(self.state.moves)
        free(self.state.keys)
        free(self.state.seen)

    cpdef void clear(self) noexcept nogil:
        cdef SolverState* s = &self.state
        memset(s.vcf_table, 0, (s.mask + 1) * sizeof(VcfEntry))
        if s.proof_table != NULL:
            memset(s.proof_table, 0, (s.mask + 1) * sizeof(ProofEntry))

    cdef void vcf(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil:
        solve_vcf(&self.state, b, attacker, node_budget, out)

    cdef void vct(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil:
        solve_vct(&self.state, b, attacker, node_budget, out)

    cdef int vct_defences(
        self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out, uint16_t* points
    ) noexcept nogil:
        return solve_defences(&self.state, b, attacker, True, node_budget, out, points)

    cdef int64_t threat(self, BoardState* b, int64_t node_budget, Threat* out) noexcept nogil:
        cdef SolverResult result
        out.n = solve_defences(&self.state, b, 1 - b.to_move, False, node_budget, &result, out.points)
        out.found = out.n >= 0
        out.distance = result.distance
        out.longest = result.longest
        out.move = result.move
        return result.nodes

    cdef list winning_line(self, BoardState* b, bint vct, int64_t node_budget):
        """Play out a win from the attacker's move to the five; return the moves. They end early only after a stop."""
        cdef SolverState* s = &self.state
        cdef SolverResult out
        cdef int point
        cdef list line = []
        while True:
            with nogil:
                s.limit = s.nodes + node_budget
                solve_to_move(s, b, vct, True, node_budget, &out)
            if out.verdict != SOLVER_WIN:
                return line
            line.append(out.move)
            board_place(b, out.move, s.attacker, TABLES_ALL)
            if b.winner == s.attacker:
                return line
            with nogil:
                point = longest_defence(s, b, vct, node_budget)
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
        cdef bint vct = kind == "vct"
        cdef uint16_t points[484]
        cdef list line = []
        out.longest = 0
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
            s.poll = poll_python
        try:
            with nogil:
                if att != to_move:
                    n = solve_defences(s, b, att, vct, nodes, &out, points)
                elif vct:
                    solve_vct(s, b, att, nodes, &out)
                else:
                    solve_vcf(s, b, att, nodes, &out)
            if out.verdict == SOLVER_WIN:
                board_set_to_move(b, att)
                line = self.winning_line(b, vct and out.distance > 1, 4 * nodes) or [out.move]
                if vct and len(line) > out.distance:    # the line follows another proof: the first was replaced
                    out.distance = len(line)
        finally:
            s.shortest = False
            s.stop_flag = 0     # the calls of a tree search do not clear it
            s.poll = NULL
            self.poll = None
            while b.ply > ply:
                board_undo(b)
            board_set_to_move(b, to_move)
        return Solution(
            Verdict(out.verdict), out.distance, tuple(line), tuple([points[k] for k in range(n)]), out.nodes,
            max(out.distance, out.longest),
        )

    def stop(self):
        self.state.stop_flag = 1

    @property
    def memory_bytes(self):
        cdef uint64_t entry = sizeof(VcfEntry) + (sizeof(ProofEntry) if self.state.proof_table != NULL else 0)
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

# cython: language_level=3
"""Threat solver kernel: wins by continuous fours (VCF), and by fours and threes (VCT).

Both kinds speak of the *attacker*, to move, and the *defender*. A move of either is legal on any empty
cell, except black's forbidden points under renju; a forbidden move counts as a loss for black, so a black
defender who could only answer there has no answer. Which lines are fives is the board's business
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
defender cannot lengthen the attacker's line. Renju: black attacks only on points that are not forbidden;
white may win because black's answer is forbidden. A five of black is never forbidden.

VCT, for the attacker to move: 1 and 2 as above; 3 becomes: each move must be a four, or a *threat*: a legal
move on a point of the open-three table (any legal move, where 2 restricts him) after which he would win
by VCF of at most `THREAT_FOURS` fours if the defender passed. To a four the defender answers as above; to
a threat, with any legal move at all. The attacker must win by VCT after every answer.

A win is reported only when proven, "none" only when the space above is exhausted. A distance counts plies
until the five stands: of a VCF the shortest, of a VCT an upper bound.

The VCF search is depth-first with iterative deepening over the number of fours. A table keeps, by
position, the largest number of fours that failed and the smallest that won: facts, so that they hold for
later calls with any budget. One node is one placement tried.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from engine.rules._board cimport (
    BLACK, EMPTY, LINE_WORDS, MAX_POINTS, TABLES_ALL, TABLES_FOURS, Board, BoardState, Line, board_any_five,
    board_forbidden, board_place, board_set_to_move, board_undo, lowest32, lowest64,
)

cdef enum:
    EXHAUSTED = -1      # no win, however many fours
    CUT = -2            # no win within the limit of fours
    ABORTED = -3        # budget spent or stopped: nothing is known
    NEVER = 255         # `failed` of an exhausted position; `fours` where no win is known
    MOVES_SIZE = 65536

cdef uint64_t WHITE_ATTACKS = 0x9E3779B97F4A7C15ULL     # tells the attackers' entries apart


cdef inline bint any_line(const uint64_t* words) noexcept nogil:
    return (words[0] | words[1] | words[2]) != 0


cdef int blocks_caro(const BoardState* b, int colour, uint16_t* out) noexcept nogil:
    """`blocks` where a stone next to a five may stop it as well: intersect over all windows of four stones."""
    cdef const Line* line
    cdef uint64_t words
    cdef uint32_t own, other, empty, fives, cell, window
    cdef int w, i, s, f, k, n = -1, kept, m
    cdef uint16_t stops[2]
    for w in range(LINE_WORDS):
        words = b.with_five[colour][w]
        while words:
            i = w * 64 + lowest64(words)
            words &= words - 1
            line = &b.lines[i]
            own = line.stones[colour]
            other = line.stones[1 - colour]
            empty = line.empty
            fives = line.five[colour]
            while fives:
                f = lowest32(fives)
                cell = (<uint32_t>1) << f
                fives &= fives - 1
                for s in range(f - 4 if f > 4 else 1, f + 1):
                    window = (<uint32_t>31) << s
                    if ((own | cell) & window) != window:
                        continue
                    if b.exact[colour] and ((own >> (s - 1)) | (own >> (s + 5))) & 1:
                        continue
                    if (other >> (s - 1)) & (other >> (s + 5)) & 1:
                        continue
                    m = 1
                    stops[0] = b.point_at[i][f]
                    if (empty >> (s - 1)) & (other >> (s + 5)) & 1:
                        stops[1] = b.point_at[i][s - 1]
                        m = 2
                    elif (other >> (s - 1)) & (empty >> (s + 5)) & 1:
                        stops[1] = b.point_at[i][s + 5]
                        m = 2
                    if n < 0:
                        out[0] = stops[0]
                        out[1] = stops[1] if m == 2 else 0
                        n = m
                        continue
                    kept = 0
                    for k in range(n):
                        if out[k] == stops[0] or (m == 2 and out[k] == stops[1]):
                            out[kept] = out[k]
                            kept += 1
                    n = kept
                    if n == 0:
                        return 0
    return n


cdef inline int blocks(const BoardState* b, int colour, uint16_t* out) noexcept nogil:
    """Points where a stone of the opponent leaves `colour` without five points, written to `out` (2 places).

    Returns how many: 0 if no stone does, -1 if there is no five point to stop.
    """
    cdef uint64_t words
    cdef uint32_t fives
    cdef int w, i, n = -1
    cdef uint16_t point
    if not any_line(b.with_five[colour]):
        return -1
    if b.caro:
        return blocks_caro(b, colour, out)
    for w in range(LINE_WORDS):
        words = b.with_five[colour][w]
        while words:
            i = w * 64 + lowest64(words)
            words &= words - 1
            fives = b.lines[i].five[colour]
            if fives & (fives - 1):
                return 0
            point = b.point_at[i][lowest32(fives)]
            if n == 1 and out[0] != point:
                return 0
            out[0] = point
            n = 1
    return n


@cython.final
cdef class Solver:
    """Solves forced wins; see the stub file for the contract of each method."""

    def __cinit__(self, int table_log2=16):
        if not 4 <= table_log2 <= 28:
            raise ValueError(f"table_log2 must be 4 to 28, not {table_log2}")
        self.table_log2 = table_log2
        self.mask = ((<uint64_t>1) << table_log2) - 1
        self.four_table = <FourEntry*>calloc(self.mask + 1, sizeof(FourEntry))
        self.moves = <uint16_t*>malloc(MOVES_SIZE * sizeof(uint16_t))
        self.seen = <uint32_t*>calloc(MAX_POINTS, sizeof(uint32_t))
        if self.four_table == NULL or self.moves == NULL or self.seen == NULL:
            raise MemoryError("no memory for the solver's table")

    def __dealloc__(self):
        free(self.four_table)
        free(self.proof_table)
        free(self.children)
        free(self.moves)
        free(self.seen)

    cpdef void clear(self) noexcept nogil:
        memset(self.four_table, 0, (self.mask + 1) * sizeof(FourEntry))
        if self.proof_table != NULL:
            memset(self.proof_table, 0, (self.mask + 1) * sizeof(ProofEntry))

    cdef FourEntry* find_four(self, uint64_t key) noexcept nogil:
        cdef FourEntry* e = &self.four_table[key & self.mask & ~(<uint64_t>1)]
        if e.key == key:
            return e
        if e[1].key == key:
            return e + 1
        return NULL

    cdef void keep_four(self, uint64_t key, int failed, int fours, int move, int64_t work) noexcept nogil:
        """Add a fact; of two entries, the first keeps the dearer position, the second the latest."""
        cdef FourEntry* e = self.find_four(key)
        cdef uint32_t cost = <uint32_t>work if work < 0xFFFFFFFFLL else <uint32_t>0xFFFFFFFFU
        if e == NULL:
            e = &self.four_table[key & self.mask & ~(<uint64_t>1)]
            if e.key != 0:
                if cost >= e.work:
                    e[1] = e[0]
                else:
                    e.work -= e.work >> 3   # age, so that old positions make room at last
                    e += 1
            e.key = key
            e.failed = 0
            e.fours = NEVER
            e.move = 0
            e.work = 0
        if failed > e.failed:
            e.failed = <uint8_t>failed
        if fours < e.fours:
            e.fours = <uint8_t>fours
            e.move = <uint16_t>move
        if cost > e.work:
            e.work = cost

    cdef int fours(self, BoardState* b, int limit, uint16_t* stack, uint16_t* best) noexcept nogil:
        """Number of fours (at most `limit`) with which the attacker, to move, wins; else EXHAUSTED, CUT or ABORTED.

        `best` gets the first move of a win. `stack` is free space for moves.
        """
        cdef int att = self.attacker, dfn = 1 - att, w, i, k, n = 0, threatened, answers, result, worst, r
        cdef uint64_t words, key
        cdef uint32_t four, double_
        cdef const Line* line
        cdef uint16_t point
        cdef uint16_t forced[2]
        cdef uint16_t replies[2]
        cdef bint cut = False, tactical
        cdef FourEntry* e
        cdef int64_t start = self.nodes
        i = board_any_five(b, att)
        if i >= 0:
            best[0] = <uint16_t>i
            return 0
        if not any_line(b.with_four[att]):
            return EXHAUSTED
        if limit == 0:
            return CUT
        threatened = blocks(b, dfn, forced)
        if threatened == 0:
            return EXHAUSTED
        key = b.hash ^ (WHITE_ATTACKS if att else 0)
        if limit > 1:
            e = self.find_four(key)
            if e != NULL:
                if e.fours <= limit:
                    best[0] = e.move
                    return e.fours
                if e.failed >= limit:
                    return EXHAUSTED if e.failed == NEVER else CUT
        # collect the fours; those with several completions come first, and win at once under most rules
        tactical = not b.caro and not (b.renju and att == BLACK)
        if threatened > 0:
            for k in range(threatened):
                point = forced[k]
                answers = 0
                for i in range(4):
                    line = &b.lines[b.line_of[i][point]]
                    if (line.four[att] >> b.bit_of[i][point]) & 1:
                        answers += 1 + ((line.double_four[att] >> b.bit_of[i][point]) & 1)
                if answers == 0:
                    continue
                if answers > 1 and tactical:
                    best[0] = point
                    return 1
                stack[n] = point
                n += 1
        else:
            self.stamp += 1
            for w in range(LINE_WORDS):
                words = b.with_four[att][w]
                while words:
                    i = w * 64 + lowest64(words)
                    words &= words - 1
                    four = b.lines[i].four[att]
                    double_ = b.lines[i].double_four[att]
                    if double_ != 0 and tactical:
                        best[0] = b.point_at[i][lowest32(double_)]
                        return 1
                    while four:
                        point = b.point_at[i][lowest32(four)]
                        if self.seen[point] == self.stamp:
                            if tactical:
                                best[0] = point
                                return 1
                        else:
                            self.seen[point] = self.stamp
                            stack[n] = point
                            n += 1
                        four &= four - 1
            if not tactical:
                # straight and double fours to the front
                w = 0
                for k in range(n):
                    point = stack[k]
                    answers = 0
                    for i in range(4):
                        line = &b.lines[b.line_of[i][point]]
                        if (line.four[att] >> b.bit_of[i][point]) & 1:
                            answers += 1 + ((line.double_four[att] >> b.bit_of[i][point]) & 1)
                    if answers > 1:
                        stack[k] = stack[w]
                        stack[w] = point
                        w += 1
                if limit == 1 and not (b.renju and att != BLACK):
                    cut = w < n     # a four with one completion needs a second four
                    n = w
        if limit == 1 and tactical and not b.renju:
            return CUT if n else EXHAUSTED
        for k in range(n):
            point = stack[k]
            if self.legality and att == BLACK and board_forbidden(b, point):
                continue
            if self.nodes >= self.limit or self.stop_flag:
                return ABORTED
            self.nodes += 1
            board_place(b, point, att, self.tables)
            answers = blocks(b, att, replies)
            worst = 0
            for r in range(answers):
                if self.legality and dfn == BLACK and board_forbidden(b, replies[r]):
                    continue
                if limit == 1:
                    worst = CUT
                    break
                self.nodes += 1
                board_place(b, replies[r], dfn, self.tables)
                result = self.fours(b, limit - 1, stack + n, best)
                board_undo(b)
                if result < 0:
                    worst = result
                    break
                if result > worst:
                    worst = result
            board_undo(b)
            if worst == ABORTED:
                return ABORTED
            if worst >= 0:
                best[0] = point
                if limit > 1:
                    self.keep_four(key, 0, worst + 1, point, self.nodes - start)
                return worst + 1
            if worst == CUT:
                cut = True
        if limit > 1 or not cut:
            self.keep_four(key, limit if cut else NEVER, NEVER, 0, self.nodes - start)
        return CUT if cut else EXHAUSTED

    cdef void begin(self, BoardState* b, int attacker, int64_t node_budget) noexcept nogil:
        self.attacker = attacker
        self.nodes = 0
        self.limit = node_budget
        self.legality = b.renju
        self.tables = TABLES_ALL if b.renju else TABLES_FOURS
        if self.stamp > 0xF0000000U:
            self.stamp = 0
            memset(self.seen, 0, MAX_POINTS * sizeof(uint32_t))

    cdef void vcf(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil:
        cdef int limit = 0, result = EXHAUSTED, to_move = b.to_move
        cdef uint16_t best = 0
        out.verdict = SOLVER_NONE
        out.distance = 0
        out.move = -1
        out.nodes = 0
        if b.winner != EMPTY or not (any_line(b.with_four[attacker]) or any_line(b.with_five[attacker])):
            return
        self.begin(b, attacker, node_budget)
        board_set_to_move(b, attacker)
        while True:
            limit += 1
            result = self.fours(b, limit, self.moves, &best)
            if result != CUT:
                break
        board_set_to_move(b, to_move)
        out.nodes = self.nodes
        if result >= 0:
            out.verdict = SOLVER_WIN
            out.distance = 2 * result + 1
            out.move = best
        elif result == ABORTED:
            out.verdict = SOLVER_UNKNOWN

    cdef void vct(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil:
        self.vcf(b, attacker, node_budget, out)

    cdef int vcf_defences(
        self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out, uint16_t* points
    ) noexcept nogil:
        return -1

    def solve(self, Board board, str kind="vcf", attacker=None, int64_t nodes=1_000_000, stop=None):
        cdef SolverResult out
        cdef int att = board.state.to_move if attacker is None else attacker
        with nogil:
            self.vcf(board.state, att, nodes, &out)
        return out.verdict, out.distance, out.move, out.nodes

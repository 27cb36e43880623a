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

The VCF search is depth-first, with one shallow pass before the unlimited one; `Solver.solve` then looks for
shorter wins by iterative deepening; `vcf`, for the leaves of a search tree, hardly does. A table keeps, by
position, the largest number of fours that failed and the smallest that won: facts, so that they hold for
later calls with any budget. VCT is a depth-first proof-number search (df-pn; A. Nagai, 2002); which answers to
a threat have to be tried follows from the threatened win (`mark_refuters`), as with the relevance zones of
Thomsen's lambda search (https://doi.org/10.3233/ICG-2000-23403). One node is one placement tried.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from engine.rules._board cimport (
    BLACK, EMPTY, LINE_WORDS, MAX_POINTS, MAX_SIDE, TABLES_ALL, TABLES_FOURS, WHITE, Board, BoardState, Line,
    board_any_five, board_forbidden, board_place, board_set_to_move, board_undo, lowest32, lowest64,
    stone_key, turn_key,
)
from engine.threats._masks cimport any_line, blocks, completions, mark_fives, mark_fours

from engine.threats.solution import Solution, Verdict

cdef enum:
    EXHAUSTED = -1      # no win, however many fours
    CUT = -2            # no win within the limit of fours
    ABORTED = -3        # budget spent or stopped: nothing is known
    MAX_FOURS = 250     # more than a board has room for
    NEVER = 255         # `failed` of an exhausted position; `fours` where no win is known
    MOVES_SIZE = 65536      # more than half of MAX_POINTS attacks on the path, each with MAX_POINTS moves
    CHILDREN_SIZE = 120000  # likewise for all plies of a path
    THREAT_FOURS = 4        # part of the definition of VCT above
    FIRST_FOURS = 5         # limit of the first pass of a VCF; tuned (random positions: freestyle wants none)
    SHORTEN_NODES = 100000  # granted on top of a budget to find the shortest VCF once there is one
    LEAF_SHORTEN_NODES = 64  # likewise for the leaves of a search tree, where any win will do
    QUICK_NODES = 300       # VCF budget at a new VCT position; tuned (random attacking positions)
    POLL_NODES = 4096       # nodes between two questions whether to stop
    INFINITE = 1 << 28      # a proof number out of reach

globals().update(THREAT_FOURS=THREAT_FOURS)     # once more as a Python name

cdef int64_t NO_POLL = (<int64_t>1) << 62
cdef uint64_t WHITE_ATTACKS = 0x9E3779B97F4A7C15ULL     # tells the attackers' entries apart


cdef inline void win(ProofEntry* entry, int distance, int move) noexcept nogil:
    entry.proof = 0
    entry.disproof = INFINITE
    entry.distance = <uint16_t>distance
    entry.move = <uint16_t>move


cdef inline void loss(ProofEntry* entry) noexcept nogil:
    entry.proof = INFINITE
    entry.disproof = 0


@cython.final
cdef class Solver:
    """Solves forced wins; see the stub file for the contract of each method."""

    def __cinit__(self, int table_log2=16):
        if not 4 <= table_log2 <= 28:
            raise ValueError(f"table_log2 must be 4 to 28, not {table_log2}")
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
        free(self.keys)
        free(self.seen)

    cdef inline bint spent(self) noexcept nogil:
        """Whether the running call must end without an answer."""
        return self.nodes >= self.limit or self.stop_flag or (self.nodes >= self.next_poll and self.ask_poll())

    cdef bint ask_poll(self) noexcept nogil:
        self.next_poll = self.nodes + POLL_NODES
        with gil:
            if self.poll is not None and self.poll():
                self.stop_flag = 1
        return self.stop_flag

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
                answers = completions(b, point, att)
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
                    answers = completions(b, point, att)
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
            if self.spent():
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
        self.next_poll = 0 if self.polling else NO_POLL
        self.legality = b.renju
        self.tables = TABLES_ALL if b.renju else TABLES_FOURS
        if self.stamp > 0xF0000000U:
            self.stamp = 0
            memset(self.seen, 0, MAX_POINTS * sizeof(uint32_t))

    cdef int deepen(
        self, BoardState* b, int limit, int64_t node_budget, int64_t shorten_budget, uint16_t* best
    ) noexcept nogil:
        """`fours` of a win with at most `limit`, with a budget within that of the call.

        With a budget of its own, a win is then made the shortest one.
        """
        cdef int first = FIRST_FOURS if b.rule and FIRST_FOURS < limit else limit, failed = 0, result, shorter
        cdef int64_t outer = self.limit
        cdef uint16_t point = 0
        if self.nodes + node_budget < outer:
            self.limit = self.nodes + node_budget
        result = self.fours(b, first, self.moves, best)
        if result == CUT and first < limit:
            failed = first
            result = self.fours(b, limit, self.moves, best)
        if shorten_budget > 0:
            self.limit = self.nodes + shorten_budget
        while shorten_budget > 0 and result > failed + 1:
            failed += 1
            shorter = self.fours(b, failed, self.moves, &point)
            if shorter == ABORTED:
                break
            if shorter >= 0:
                best[0] = point
                result = shorter
        self.limit = outer
        return result

    cdef int answers(self, BoardState* b, uint16_t* out) noexcept nogil:
        """`blocks` of the attacker's fives that are legal for the defender, to move."""
        cdef int n = blocks(b, self.attacker, out), k, kept = 0
        if not self.legality or self.attacker == BLACK or n < 0:
            return n
        for k in range(n):
            if not board_forbidden(b, out[k]):
                out[kept] = out[k]
                kept += 1
        return kept

    cdef void mark_legality(self, BoardState* b, int point, uint8_t* marks) noexcept nogil:
        """Mark where a stone of the defender turns the legality of black's move at `point` for the better."""
        cdef int p, dfn = 1 - self.attacker
        cdef bint forbidden = board_forbidden(b, point)
        for p in range(b.points):
            if b.cells[p] != EMPTY or marks[p] or p == point:
                continue
            board_place(b, p, dfn, TABLES_ALL)
            if board_forbidden(b, point) != forbidden:
                marks[p] = 1
            board_undo(b)

    cdef bint mark_refuters(self, BoardState* b, int fours, uint8_t* marks) noexcept nogil:
        """Mark every point where one more stone of the defender could spoil a VCF with at most `fours` fours.

        The attacker is to move. Any other stone leaves each four of the proof a four with the same
        answers, and gives the defender no four or five at any stage of it: a line of his that such a
        stone makes dangerous has that point in its four or five mask. Under renju, where the proof rests
        on black's forbidden points, each stone is tried. Returns False if the call must end.
        """
        cdef uint16_t move = 0
        cdef int result = self.deepen(b, fours, self.limit, 0, &move)
        if result < 0:
            return False
        return self.mark_win(b, move, result, marks)

    cdef bint mark_win(self, BoardState* b, int move, int fours, uint8_t* marks) noexcept nogil:
        """`mark_refuters` of the VCF that begins with `move`, the five or the first of `fours` fours."""
        cdef int att = self.attacker, dfn = 1 - att, d, k, n, threes = 0
        cdef const Line* line
        cdef uint16_t replies[2]
        cdef bint fine = True
        mark_fours(b, dfn, marks)
        mark_fives(b, dfn, marks)
        marks[move] = 1
        if fours == 0:
            mark_fives(b, att, marks)
            return True
        if self.legality and att == BLACK:
            for d in range(4):
                line = &b.lines[b.line_of[d][move]]
                threes += (line.open_three[BLACK] >> b.bit_of[d][move]) & 1
            if threes >= 2:     # a white stone forbids only by making a second three real
                self.mark_legality(b, move, marks)
        board_place(b, move, att, self.tables)
        mark_fives(b, att, marks)
        n = blocks(b, att, replies)
        for k in range(n):
            marks[replies[k]] = 1
            if self.legality and dfn == BLACK and board_forbidden(b, replies[k]):
                self.mark_legality(b, replies[k], marks)
                continue
            board_place(b, replies[k], dfn, self.tables)
            fine = self.mark_refuters(b, fours - 1, marks)
            board_undo(b)
            if not fine:
                break
        board_undo(b)
        return fine

    cdef int threat(self, BoardState* b, uint8_t* marks) noexcept nogil:
        """Fours of the VCF that the attacker would have if the defender, to move, passed.

        Marks the points where a stone of the defender may spoil it, all others zero. Returns EXHAUSTED or CUT
        without such a VCF of at most THREAT_FOURS fours, else ABORTED. Nobody has a five point.
        """
        cdef int att = self.attacker, k, p, n = 0, winning = 0, result = EXHAUSTED
        cdef uint16_t points[484]
        cdef uint16_t replies[2]
        cdef uint8_t one[484]
        if not any_line(b.with_four[att]):
            return EXHAUSTED
        board_set_to_move(b, att)
        memset(one, 0, b.points)
        mark_fours(b, att, one)
        for p in range(b.points):
            if one[p]:
                points[n] = <uint16_t>p
                n += 1
        # wins by one four: a defence has to spoil them all
        for k in range(n):
            if not b.caro and not (b.renju and att == WHITE) and completions(b, points[k], att) < 2:
                continue
            if self.legality and att == BLACK and board_forbidden(b, points[k]):
                continue
            if self.spent():
                winning = -1
                break
            self.nodes += 1
            board_place(b, points[k], att, self.tables)
            result = self.answers(b, replies)
            board_undo(b)
            if result != 0:
                continue
            memset(one, 0, b.points)
            self.mark_win(b, points[k], 1, one)
            for p in range(b.points):
                marks[p] = one[p] if winning == 0 else marks[p] & one[p]
            winning += 1
        if winning < 0:
            result = ABORTED
        elif winning > 0:
            result = 1
        else:
            result = self.deepen(b, THREAT_FOURS, self.limit, QUICK_NODES, replies)
            if result > 0:
                memset(marks, 0, b.points)
                if not self.mark_refuters(b, result, marks):
                    result = ABORTED
        board_set_to_move(b, 1 - att)
        return result

    cdef void load_proof(self, uint64_t key, ProofEntry* out) noexcept nogil:
        """Copy what is known of a position; an unknown one has both numbers 1 and no work."""
        cdef const ProofEntry* e = &self.proof_table[key & self.mask]
        if e.key == key:
            out[0] = e[0]
            return
        memset(out, 0, sizeof(ProofEntry))
        out.key = key
        out.proof = 1
        out.disproof = 1

    cdef int open_attack(self, BoardState* b, Child* children, ProofEntry* out) noexcept nogil:
        """List the attacker's moves. Returns how many, 0 with `out` filled if it is settled, or ABORTED."""
        cdef int att = self.attacker, k, n = 0, threatened, result, w, i
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
            result = self.deepen(b, MAX_FOURS, QUICK_NODES, QUICK_NODES, &move)
            if result >= 0:
                win(out, 2 * result + 1, move)
                return 0
            if result == ABORTED and self.spent():
                return ABORTED
        if threatened >= 0:
            for k in range(threatened):
                children[n].point = forced[k]
                n += 1
        else:
            self.stamp += 1
            for w in range(LINE_WORDS):
                words = b.with_four[att][w] | b.with_open_three[att][w]
                while words:
                    i = w * 64 + lowest64(words)
                    words &= words - 1
                    bits = b.lines[i].four[att] | b.lines[i].open_three[att]
                    while bits:
                        move = b.point_at[i][lowest32(bits)]
                        bits &= bits - 1
                        if self.seen[move] != self.stamp:
                            self.seen[move] = self.stamp
                            children[n].point = move
                            n += 1
        k = 0
        for i in range(n):
            if not (self.legality and att == BLACK and board_forbidden(b, children[i].point)):
                children[k].point = children[i].point
                k += 1
        if k == 0:
            loss(out)
        return k

    cdef int open_defence(self, BoardState* b, Child* children, ProofEntry* out) noexcept nogil:
        """List the defender's moves that may refute; `out.distance` is that of all others. Else as `open_attack`."""
        cdef int n, p, kept = 0, result
        cdef uint16_t replies[2]
        cdef uint8_t marks[484]
        n = self.answers(b, replies)
        if n >= 0:
            out.distance = 2
            for p in range(n):
                children[p].point = replies[p]
            kept = n
        else:
            result = self.threat(b, marks)
            if result == ABORTED:
                return ABORTED
            if result < 0:
                loss(out)
                return 0
            out.distance = <uint16_t>(2 * result + 2)
            for p in range(b.points):
                if marks[p] and b.cells[p] == EMPTY:
                    if not (self.legality and self.attacker == WHITE and board_forbidden(b, p)):
                        children[kept].point = <uint16_t>p
                        kept += 1
        if kept == 0:
            win(out, out.distance, 0)
        return kept

    cdef bint prove(
        self, BoardState* b, uint32_t proof_limit, uint32_t disproof_limit, Child* children, ProofEntry* out
    ) noexcept nogil:
        """Depth-first proof-number search below `b`, until one of its numbers reaches its limit.

        Stones are only ever added, so there are no cycles, and the numbers of a position never depend on
        the path to it. Returns False if the call must end; `out` is then of no use.
        """
        cdef int colour = b.to_move, n, i, best, others
        cdef bint attacking = colour == self.attacker, fine
        cdef uint32_t low, second, total, number
        cdef int64_t start = self.nodes
        cdef ProofEntry e
        self.load_proof(b.hash ^ (WHITE_ATTACKS if self.attacker else 0), out)
        if out.proof >= proof_limit or out.disproof >= disproof_limit:
            return True
        n = self.open_attack(b, children, out) if attacking else self.open_defence(b, children, out)
        if n == ABORTED:
            return False
        others = 0 if attacking else out.distance
        for i in range(n):
            self.load_proof(
                out.key ^ self.keys[colour * MAX_POINTS + children[i].point] ^ self.turn_key, &e
            )
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
            if self.spent():
                return False
            self.nodes += 1
            second += second // 4 + 1
            board_place(b, children[best].point, colour, TABLES_ALL)
            if attacking:
                fine = self.prove(
                    b, second if second < proof_limit else proof_limit,
                    disproof_limit - total + children[best].disproof, children + n, &e
                )
            else:
                fine = self.prove(
                    b, proof_limit - total + children[best].proof,
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
        self.keep_proof(out, self.nodes - start)
        return True

    cdef void keep_proof(self, ProofEntry* entry, int64_t work) noexcept nogil:
        """Store an entry, unless its place holds another position that cost more; that one then ages."""
        cdef ProofEntry* e = &self.proof_table[entry.key & self.mask]
        work += entry.work + 1
        entry.work = <uint32_t>work if work < 0xFFFFFFFFLL else <uint32_t>0xFFFFFFFFU
        if e.key == entry.key or e.work <= entry.work:
            e[0] = entry[0]
        else:
            e.work -= (e.work >> 2) + 1

    cdef void solve_now(
        self, BoardState* b, bint threes, bint shortest, int64_t node_budget, SolverResult* out
    ) noexcept nogil:
        """Solve with the running call's counters, for the attacker to move."""
        cdef uint16_t best = 0
        cdef int result
        cdef int64_t start = self.nodes, outer = self.limit, share = node_budget // 4 if threes else node_budget
        cdef ProofEntry entry
        out.verdict = SOLVER_NONE
        out.distance = 0
        out.move = -1
        cdef int64_t shorten = node_budget + SHORTEN_NODES if shortest else LEAF_SHORTEN_NODES
        result = self.deepen(b, MAX_FOURS, share, shorten, &best)
        if result >= 0:
            out.verdict = SOLVER_WIN
            out.distance = 2 * result + 1
            out.move = best
        elif threes:
            out.verdict = SOLVER_UNKNOWN
            if start + node_budget < outer:
                self.limit = start + node_budget
            if self.prove(b, INFINITE, INFINITE, self.children, &entry):
                if entry.proof == 0:
                    out.verdict = SOLVER_WIN
                    out.distance = entry.distance
                    out.move = entry.move
                elif entry.disproof == 0:
                    out.verdict = SOLVER_NONE
            self.limit = outer
        elif result == ABORTED:
            out.verdict = SOLVER_UNKNOWN
        out.nodes = self.nodes - start

    cdef bint begin_threes(self, BoardState* b) noexcept nogil:
        """Prepare for VCT: memory, on first use, and the keys of this board. Returns False without memory."""
        cdef int p, c
        if self.proof_table == NULL:
            self.proof_table = <ProofEntry*>calloc(self.mask + 1, sizeof(ProofEntry))
        if self.children == NULL:
            self.children = <Child*>malloc(CHILDREN_SIZE * sizeof(Child))
        if self.keys == NULL:
            self.keys = <uint64_t*>calloc(2 * MAX_POINTS, sizeof(uint64_t))
        if self.proof_table == NULL or self.children == NULL or self.keys == NULL:
            return False
        if self.keys_width != b.width:
            self.keys_width = b.width
            self.turn_key = turn_key()
            for p in range(MAX_POINTS):
                for c in range(2):
                    self.keys[c * MAX_POINTS + p] = stone_key(b, p, c) if p < b.width * MAX_SIDE else 0
        return True

    cdef void vcf(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil:
        cdef int to_move = b.to_move
        if b.winner != EMPTY or not (any_line(b.with_four[attacker]) or any_line(b.with_five[attacker])):
            out.verdict = SOLVER_NONE
            out.distance = 0
            out.move = -1
            out.nodes = 0
            return
        self.begin(b, attacker, node_budget)
        board_set_to_move(b, attacker)
        self.solve_now(b, False, self.shortest, node_budget, out)
        board_set_to_move(b, to_move)

    cdef void vct(self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out) noexcept nogil:
        cdef int to_move = b.to_move
        out.verdict = SOLVER_NONE
        out.distance = 0
        out.move = -1
        out.nodes = 0
        if b.winner != EMPTY:
            return
        self.begin(b, attacker, node_budget)
        if not self.begin_threes(b):
            out.verdict = SOLVER_UNKNOWN
            return
        board_set_to_move(b, attacker)
        self.solve_now(b, True, self.shortest, node_budget, out)
        board_set_to_move(b, to_move)

    cdef int defend(
        self, BoardState* b, int attacker, bint threes, int64_t node_budget, SolverResult* out, uint16_t* points
    ) noexcept nogil:
        """Solve for the attacker after a pass, then every defence that may refute."""
        cdef int to_move = b.to_move, dfn = 1 - attacker, p, n = 0, left
        cdef int64_t end
        cdef bint marked = False
        cdef uint8_t marks[484]
        cdef SolverResult after
        if threes:
            self.vct(b, attacker, node_budget, out)
        else:
            self.vcf(b, attacker, node_budget, out)
        if out.verdict != SOLVER_WIN:
            return -1
        # candidates: what may spoil the VCF; without one, everything
        self.limit = self.nodes + node_budget
        memset(marks, 0, b.points)
        board_set_to_move(b, attacker)
        self.solve_now(b, False, False, node_budget, &after)
        if after.verdict == SOLVER_WIN:
            marked = self.mark_refuters(b, (after.distance - 1) // 2, marks)
        board_set_to_move(b, dfn)
        self.limit = self.nodes + node_budget
        end = self.limit
        for p in range(b.points):
            if not marked:
                marks[p] = 1
            if b.cells[p] != EMPTY or (self.legality and dfn == BLACK and board_forbidden(b, p)):
                marks[p] = 0
            n += marks[p]
        left = n
        n = 0
        for p in range(b.points):
            if not marks[p]:
                continue
            # a fair share of what is left for each; a defence that wins at once is one
            board_place(b, p, dfn, TABLES_ALL)
            self.nodes += 1
            if b.winner == dfn:
                after.verdict = SOLVER_NONE
            else:
                self.solve_now(b, threes, False, 1 + (end - self.nodes) // left, &after)
            board_undo(b)
            if after.verdict != SOLVER_WIN:
                points[n] = <uint16_t>p
                n += 1
            left -= 1
        board_set_to_move(b, to_move)
        out.nodes = self.nodes
        return n

    cdef int vcf_defences(
        self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out, uint16_t* points
    ) noexcept nogil:
        return self.defend(b, attacker, False, node_budget, out, points)

    cdef int vct_defences(
        self, BoardState* b, int attacker, int64_t node_budget, SolverResult* out, uint16_t* points
    ) noexcept nogil:
        return self.defend(b, attacker, True, node_budget, out, points)

    cdef int longest_answer(self, BoardState* b, bint threes, int64_t node_budget) noexcept nogil:
        """The defender's legal move that delays the proven loss longest; -1 if he has no legal move at all."""
        cdef int n, k, p, best = -1, longest = 0, dfn = 1 - self.attacker
        cdef SolverResult out
        cdef ProofEntry entry
        cdef uint16_t replies[2]
        cdef Child children[484]
        cdef uint8_t fives[484]
        memset(fives, 0, b.points)
        if threes:
            memset(&entry, 0, sizeof(entry))
            n = self.open_defence(b, children, &entry)
            if n > 0 and board_any_five(b, self.attacker) < 0:
                longest = entry.distance - 1    # after any other move
                for k in range(n):
                    fives[children[k].point] = 2
        else:
            n = self.answers(b, replies)
            for k in range(n):
                children[k].point = replies[k]
        for k in range(n):
            board_place(b, children[k].point, dfn, TABLES_ALL)
            self.limit = self.nodes + node_budget
            self.solve_now(b, threes, True, node_budget, &out)
            board_undo(b)
            if out.verdict == SOLVER_WIN and out.distance > longest:
                longest = out.distance
                best = children[k].point
        if best >= 0:
            return best
        mark_fives(b, self.attacker, fives)
        for p in range(b.points):
            if b.cells[p] != EMPTY or fives[p] == 2 or (self.legality and dfn == BLACK and board_forbidden(b, p)):
                continue
            if fives[p] == 1:
                return p
            if best < 0:
                best = p
        return best

    cdef list winning_line(self, BoardState* b, bint threes, int64_t node_budget):
        """Moves from the attacker's, to move, to his five, which stay on the board. Shorter only if stopped."""
        cdef SolverResult out
        cdef int point
        cdef list line = []
        while True:
            with nogil:
                self.limit = self.nodes + node_budget
                self.solve_now(b, threes, True, node_budget, &out)
            if out.verdict != SOLVER_WIN:
                return line
            line.append(out.move)
            board_place(b, out.move, self.attacker, TABLES_ALL)
            if b.winner == self.attacker:
                return line
            with nogil:
                point = self.longest_answer(b, threes, node_budget)
            if point < 0:
                board_set_to_move(b, self.attacker)
            else:
                line.append(point)
                board_place(b, point, 1 - self.attacker, TABLES_ALL)

    def solve(self, Board board, str kind="vcf", attacker=None, int64_t nodes=1_000_000, stop=None):
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
        self.stop_flag = 0
        self.shortest = True
        self.poll = stop
        self.polling = stop is not None
        try:
            with nogil:
                if att != to_move:
                    n = self.defend(b, att, threes, nodes, &out, points)
                elif threes:
                    self.vct(b, att, nodes, &out)
                else:
                    self.vcf(b, att, nodes, &out)
            if out.verdict == SOLVER_WIN:
                board_set_to_move(b, att)
                line = self.winning_line(b, threes and out.distance > 1, 4 * nodes) or [out.move]
                if threes and len(line) > out.distance:     # the table forgot the proof; another one was longer
                    out.distance = len(line)
        finally:
            self.polling = self.shortest = False
            self.poll = None
            while b.ply > ply:
                board_undo(b)
            board_set_to_move(b, to_move)
        return Solution(
            Verdict(out.verdict), out.distance, tuple(line), tuple([points[k] for k in range(n)]), out.nodes
        )

    def stop(self):
        self.stop_flag = 1

    @property
    def memory_bytes(self):
        cdef uint64_t entry = sizeof(FourEntry) + (sizeof(ProofEntry) if self.proof_table != NULL else 0)
        return (self.mask + 1) * entry


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

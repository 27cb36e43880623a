# cython: language_level=3
"""Rules kernel: stones, lines, fives and forbidden points.

All shapes follow from the *valid window*: five cells in a row without an opponent's stone that would win if
the colour filled them. Freestyle accepts every such window; exactly-five rules refuse one with a stone of the
same colour next to it; caro refuses one with an opponent's stone at both ends. A valid window with four
stones gives a five point, one with three stones gives fours, and a straight four is a pair of neighbouring
windows. Shifts and half adders compute every mask of a line for all its cells at once; there is no pattern
table to build at start.

Forbidden points follow RIF's definition for renju (https://www.renju.net/rifrules/): a three counts only if
the stone that would make the straight four is itself allowed, which is a recursion. `RuleSpec.forbidden` says
which of overline, double four and double three a rule forbids to which colour.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from engine.rules.line_shapes cimport evaluate_line

import numpy as np

from engine.rules.rule import Forbidden, Rule

# The C constants of the .pxd, also as Python names.
globals().update(
    BLACK=BLACK, WHITE=WHITE, EMPTY=EMPTY, OBSTACLE=OBSTACLE,
    MIN_SIDE=MIN_SIDE, MAX_SIDE=MAX_SIDE,
    SHAPE_FIVE=SHAPE_FIVE, SHAPE_OPEN_FOUR=SHAPE_OPEN_FOUR, SHAPE_DOUBLE_FOUR=SHAPE_DOUBLE_FOUR,
    SHAPE_FOUR=SHAPE_FOUR, SHAPE_OPEN_THREE=SHAPE_OPEN_THREE, SHAPE_FORK=SHAPE_FORK,
)

cdef bint VECTORS = tengen_have_shapes()
cdef RuleFlags RULES[256]       # by value
cdef uint64_t ZOBRIST[3][484]   # by colour (OBSTACLE last) and y * MAX_SIDE + x
cdef uint64_t ZOBRIST_WHITE_TO_MOVE


cdef uint64_t splitmix64(uint64_t* state) noexcept nogil:
    """Return the next value of the SplitMix64 generator (https://prng.di.unimi.it/splitmix64.c)."""
    cdef uint64_t z
    state[0] += 0x9E3779B97F4A7C15ULL
    z = state[0]
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL
    return z ^ (z >> 31)


cdef void fill_zobrist() noexcept nogil:
    global ZOBRIST_WHITE_TO_MOVE
    cdef uint64_t seed = 0x54454E47454E0001ULL  # any constant; part of the bench signature
    cdef int c, i
    for c in range(3):
        for i in range(484):
            ZOBRIST[c][i] = splitmix64(&seed)
    ZOBRIST_WHITE_TO_MOVE = splitmix64(&seed)


def _fill_rules():
    """Copy the table of rules; the bits must be those of the .pxd."""
    cdef RuleFlags* flags
    cdef int c
    assert list(Forbidden) == [FORBID_OVERLINE, FORBID_DOUBLE_FOUR, FORBID_DOUBLE_THREE]
    for rule in Rule:
        flags = &RULES[<uint8_t>rule]
        flags.known = 1
        flags.blocked_fives = rule.spec.blocked_fives
        for c in range(2):
            flags.exact[c] = rule.spec.exact[c]
            flags.forbidden[c] = rule.spec.forbidden[c]
        flags.forbidden_plane = rule.spec.seen_as is None and flags.forbidden[BLACK] != 0


fill_zobrist()
_fill_rules()


cdef uint64_t stone_key(const BoardState* b, int point, int colour) noexcept nogil:
    cdef int y = point // b.width
    return ZOBRIST[colour if colour < 2 else 2][y * MAX_SIDE + point - y * b.width]


cdef void add_line(BoardState* b, int direction, int x, int y, int dx, int dy) noexcept nogil:
    """Number the cells of one line, starting at (x, y)."""
    cdef int bit = 1, point
    cdef Line* line = &b.lines[b.n_lines]
    while 0 <= x < b.width and 0 <= y < b.height:
        point = y * b.width + x
        b.line_of[direction][point] = <uint8_t>b.n_lines
        b.bit_of[direction][point] = <uint8_t>bit
        b.point_at[b.n_lines][bit] = <uint16_t>point
        line.empty |= (<uint32_t>1) << bit
        bit += 1
        x += dx
        y += dy
    b.n_lines += 1


cdef void board_init(BoardState* b, int width, int height, int rule) noexcept nogil:
    cdef int i
    cdef uint64_t seed
    memset(b, 0, sizeof(BoardState))
    b.width = width
    b.height = height
    b.points = width * height
    b.n_empty = b.points
    b.rule = <uint16_t>rule
    b.winner = EMPTY
    b.to_move = BLACK
    b.caro = RULES[rule].blocked_fives
    for i in range(2):
        b.exact[i] = RULES[rule].exact[i]
        b.forbids[i] = RULES[rule].forbidden[i]
    b.forbidden_plane = RULES[rule].forbidden_plane
    memset(b.cells, EMPTY, sizeof(b.cells))
    for i in range(height):
        add_line(b, 0, 0, i, 1, 0)
    for i in range(width):
        add_line(b, 1, i, 0, 0, 1)
    for i in range(height - 1, -1, -1):
        add_line(b, 2, 0, i, 1, 1)
    for i in range(1, width):
        add_line(b, 2, i, 0, 1, 1)
    for i in range(width):
        add_line(b, 3, i, 0, -1, 1)
    for i in range(1, height):
        add_line(b, 3, width - 1, i, -1, 1)
    seed = (<uint64_t>width << 32) ^ (<uint64_t>height << 16) ^ <uint64_t>rule
    b.hash = splitmix64(&seed)


def use_vectors(on):
    """Set whether placements use AVX2 or NEON, if the processor has it; return the old value. For tests."""
    global VECTORS
    before = bool(VECTORS)
    VECTORS = bool(on) and tengen_have_shapes()
    return before


cdef inline void set_bit(uint64_t* words, int line, bint value) noexcept nogil:
    cdef uint64_t bit = (<uint64_t>1) << (line & 63)
    if value:
        words[line >> 6] |= bit
    else:
        words[line >> 6] &= ~bit


cdef inline void index_line(BoardState* b, int i) noexcept nogil:
    """Update the with_* sets from the masks of one line."""
    cdef int c
    cdef const Line* line = &b.lines[i]
    for c in range(2):
        set_bit(b.with_five[c], i, line.five[c] != 0)
        set_bit(b.with_four[c], i, line.four[c] != 0)
        set_bit(b.with_open_three[c], i, line.open_three[c] != 0)


cdef inline void index_lanes(uint64_t (*sets)[3], const int* lines, unsigned some) noexcept nogil:
    """Update one of the with_* sets; bit 2 d + c of `some` is whether line d has such a point of colour c."""
    cdef int d, c
    cdef uint64_t bit
    for d in range(4):
        bit = (<uint64_t>1) << (lines[d] & 63)
        for c in range(2):
            sets[c][lines[d] >> 6] = (sets[c][lines[d] >> 6] & ~bit) | (bit & -<uint64_t>(some & 1))
            some >>= 1


cdef void board_place(BoardState* b, int point, int colour, int tables) noexcept nogil:
    cdef Saved* saved = &b.saved[b.ply]
    cdef Line* line
    cdef uint32_t* lines[4]
    cdef int numbers[4]
    cdef unsigned some[3]
    cdef uint32_t bit
    cdef int d, i
    memcpy(saved.sets, b.with_five, sizeof(saved.sets))
    saved.point = <uint16_t>point
    saved.colour = <uint8_t>colour
    saved.to_move = b.to_move
    saved.winner = b.winner
    for d in range(4):
        i = b.line_of[d][point]
        line = &b.lines[i]
        saved.lines[d] = line[0]
        bit = (<uint32_t>1) << b.bit_of[d][point]
        line.empty &= ~bit
        if colour < 2:
            if line.five[colour] & bit:
                b.winner = <uint8_t>colour
            tengen_add_stone(<uint32_t*>line, colour, bit)
        if VECTORS:
            lines[d] = <uint32_t*>line
            numbers[d] = i
        else:
            evaluate_line(line, BLACK, b.exact[BLACK], b.caro, tables == TABLES_ALL)
            evaluate_line(line, WHITE, b.exact[WHITE], b.caro, tables == TABLES_ALL)
            index_line(b, i)
    if VECTORS:
        tengen_shapes(lines, b.exact[BLACK], b.exact[WHITE], b.caro, tables == TABLES_ALL, some)
        index_lanes(b.with_five, numbers, some[0])
        index_lanes(b.with_four, numbers, some[1])
        if tables == TABLES_ALL:
            index_lanes(b.with_open_three, numbers, some[2])
    b.cells[point] = <uint8_t>colour
    b.hash ^= stone_key(b, point, colour)
    b.ply += 1
    b.n_empty -= 1
    if colour < 2:
        board_set_to_move(b, 1 - colour)


cdef void board_undo(BoardState* b) noexcept nogil:
    cdef Saved* saved
    cdef int d, point
    b.ply -= 1
    b.n_empty += 1
    saved = &b.saved[b.ply]
    point = saved.point
    for d in range(4):
        b.lines[b.line_of[d][point]] = saved.lines[d]
    memcpy(b.with_five, saved.sets, sizeof(saved.sets))
    b.cells[point] = EMPTY
    b.hash ^= stone_key(b, point, saved.colour)
    board_set_to_move(b, saved.to_move)
    b.winner = saved.winner


cdef uint64_t turn_key() noexcept nogil:
    return ZOBRIST_WHITE_TO_MOVE


cdef void board_set_to_move(BoardState* b, int colour) noexcept nogil:
    if b.to_move != colour:
        b.hash ^= ZOBRIST_WHITE_TO_MOVE
        b.to_move = <uint8_t>colour


cdef void board_copy(BoardState* to, const BoardState* source) noexcept nogil:
    # the undo stack is last; only its used part is copied
    memcpy(to, source, sizeof(BoardState) - sizeof(source.saved) + source.ply * sizeof(Saved))


cdef int board_shape(const BoardState* b, int point, int colour) noexcept nogil:
    cdef const Line* line
    cdef uint32_t bit
    cdef int d, shape = 0, strong = 0
    if b.cells[point] != EMPTY:
        return 0
    for d in range(4):
        line = &b.lines[b.line_of[d][point]]
        bit = (<uint32_t>1) << b.bit_of[d][point]
        if line.five[colour] & bit:
            shape |= SHAPE_FIVE
        elif line.four[colour] & bit:
            shape |= SHAPE_FOUR
            strong += 1
            if line.double_four[colour] & bit:
                shape |= SHAPE_DOUBLE_FOUR
            if line.open_four[colour] & bit:
                shape |= SHAPE_OPEN_FOUR
        elif line.open_three[colour] & bit:
            shape |= SHAPE_OPEN_THREE
            strong += 1
    if strong >= 2:
        shape |= SHAPE_FORK
    return shape


cdef inline void spread(const BoardState* b, int i, uint32_t mask, int shape, uint8_t* out) noexcept nogil:
    """Or a shape bit into the points of a line mask; a second line with a four or three makes a fork."""
    cdef int point
    while mask:
        point = b.point_at[i][lowest32(mask)]
        mask &= mask - 1
        if shape & (SHAPE_FOUR | SHAPE_OPEN_THREE) and out[point] & (SHAPE_FOUR | SHAPE_OPEN_THREE):
            out[point] |= SHAPE_FORK
        out[point] |= <uint8_t>shape


cdef void board_shapes(const BoardState* b, int colour, uint8_t* out) noexcept nogil:
    cdef const Line* line
    cdef uint64_t words
    cdef int w, i
    memset(out, 0, b.points)
    for w in range(LINE_WORDS):
        words = b.with_five[colour][w] | b.with_four[colour][w] | b.with_open_three[colour][w]
        while words:
            i = w * 64 + lowest64(words)
            words &= words - 1
            line = &b.lines[i]
            spread(b, i, line.five[colour], SHAPE_FIVE, out)
            spread(b, i, line.four[colour], SHAPE_FOUR, out)
            spread(b, i, line.double_four[colour], SHAPE_DOUBLE_FOUR, out)
            spread(b, i, line.open_four[colour], SHAPE_OPEN_FOUR, out)
            spread(b, i, line.open_three[colour], SHAPE_OPEN_THREE, out)


cdef int board_any_five(const BoardState* b, int colour) noexcept nogil:
    cdef int w, i
    for w in range(LINE_WORDS):
        if b.with_five[colour][w]:
            i = w * 64 + lowest64(b.with_five[colour][w])
            return b.point_at[i][lowest32(b.lines[i].five[colour])]
    return -1


cdef int board_five_points(const BoardState* b, int colour, uint16_t* out, int limit) noexcept nogil:
    cdef uint64_t words
    cdef uint32_t mask
    cdef int w, i, k, n = 0
    cdef uint16_t point
    for w in range(LINE_WORDS):
        words = b.with_five[colour][w]
        while words:
            i = w * 64 + lowest64(words)
            words &= words - 1
            mask = b.lines[i].five[colour]
            while mask:
                point = b.point_at[i][lowest32(mask)]
                mask &= mask - 1
                for k in range(n):
                    if out[k] == point:
                        break
                else:
                    if n == limit:
                        return n
                    out[n] = point
                    n += 1
    return n


cdef int run_length(const BoardState* b, int point, int direction, int colour) noexcept nogil:
    """Return the length of the run that a stone at `point` would be part of."""
    cdef uint32_t own = b.lines[b.line_of[direction][point]].stones[colour]
    cdef int bit = b.bit_of[direction][point], low = bit, high = bit
    while (own >> (low - 1)) & 1:
        low -= 1
    while (own >> (high + 1)) & 1:
        high += 1
    return high - low + 1


cdef bint is_straight_window(const BoardState* b, const Line* line, int s, int colour) noexcept nogil:
    """Return whether the six cells from bit s on lack one stone for a straight four of a colour."""
    cdef uint32_t own = line.stones[colour], other = line.stones[1 - colour]
    if s < 1 or not ((line.empty >> s) & (line.empty >> (s + 5)) & 1):
        return False
    if b.exact[colour] and ((own >> (s - 1)) | (own >> (s + 6))) & 1:
        return False
    if b.caro and ((other >> (s - 1)) | (other >> (s + 6))) & 1:
        return False
    if (((own | line.empty) >> (s + 1)) & 15) != 15:
        return False
    return count32((own >> (s + 1)) & 15) == 3


cdef bint three_is_real(BoardState* b, int point, int direction, int colour) noexcept nogil:
    """Return whether a three through `point`, a stone just placed, can become a straight four by a legal move."""
    cdef int i = b.line_of[direction][point], bit = b.bit_of[direction][point], s, k, q
    for s in range(bit - 4, bit):
        if s < 1 or s + 5 >= LINE_BITS or not is_straight_window(b, &b.lines[i], s, colour):
            continue
        for k in range(s + 1, s + 5):
            if (b.lines[i].empty >> k) & 1:
                q = b.point_at[i][k]
                if not shape_fails(b, q, colour, False):
                    return True
    return False


cdef bint shape_fails(BoardState* b, int point, int colour, bint five_allowed) noexcept nogil:
    """Return whether a stone is forbidden; a five counts as failure unless `five_allowed`."""
    cdef const Line* line
    cdef uint32_t bit
    cdef int d, fours = 0, threes = 0, real = 0
    cdef int directions[4]
    cdef int forbids = b.forbids[colour]
    cdef bint overline = False
    for d in range(4):
        line = &b.lines[b.line_of[d][point]]
        bit = (<uint32_t>1) << b.bit_of[d][point]
        if line.five[colour] & bit:
            return not five_allowed
        if line.four[colour] & bit:
            fours += 1
            if line.double_four[colour] & ~line.open_four[colour] & bit:
                fours += 1
        elif line.open_three[colour] & bit:
            directions[threes] = d
            threes += 1
        if forbids & FORBID_OVERLINE and run_length(b, point, d, colour) >= 6:
            overline = True
    if overline or (forbids & FORBID_DOUBLE_FOUR and fours >= 2):
        return True
    if threes < 2 or not forbids & FORBID_DOUBLE_THREE:
        return False
    board_place(b, point, colour, TABLES_ALL)
    for d in range(threes):
        if three_is_real(b, point, directions[d], colour):
            real += 1
        if real >= 2 or real + threes - d - 1 < 2:
            break
    board_undo(b)
    return real >= 2


cdef bint board_forbidden(BoardState* b, int point, int colour) noexcept nogil:
    if not b.forbids[colour] or b.cells[point] != EMPTY:
        return False
    return shape_fails(b, point, colour, True)


cdef class Board:
    """A position with incremental line tables; the stub file documents each method."""

    def __cinit__(self, int width=15, height=None, int rule=0):
        cdef int rows = width if height is None else height
        if not (MIN_SIDE <= width <= MAX_SIDE and MIN_SIDE <= rows <= MAX_SIDE):
            raise ValueError(f"a board has {MIN_SIDE} to {MAX_SIDE} cells a side, not {width}x{rows}")
        if not 0 <= rule < 256 or not RULES[rule].known:
            raise ValueError(f"rule must be {', '.join(str(int(r)) for r in Rule)}, not {rule}")
        self.state = <BoardState*>calloc(1, sizeof(BoardState))
        if self.state == NULL:
            raise MemoryError("no memory for a board")
        board_init(self.state, width, rows, rule)

    def __dealloc__(self):
        free(self.state)

    @property
    def width(self):
        return self.state.width

    @property
    def height(self):
        return self.state.height

    @property
    def points(self):
        return self.state.points

    @property
    def rule(self):
        return self.state.rule

    @property
    def ply(self):
        return self.state.ply

    @property
    def n_empty(self):
        return self.state.n_empty

    @property
    def to_move(self):
        return self.state.to_move

    @property
    def winner(self):
        return self.state.winner

    @property
    def hash(self):
        return self.state.hash

    cdef int check_empty(self, point) except -1:
        if not 0 <= point < self.state.points:
            raise ValueError(f"point {point} is off the board")
        if self.state.cells[<int>point] != EMPTY:
            raise ValueError(f"point {point} is taken")
        return <int>point

    cdef int check_colour(self, colour) except -1:
        if colour != BLACK and colour != WHITE:
            raise ValueError(f"a colour is 0 or 1, not {colour!r}")
        return <int>colour

    cdef int check_point(self, point) except -1:
        if not 0 <= point < self.state.points:
            raise ValueError(f"point {point} is off the board")
        return <int>point

    def place(self, point, colour=None):
        cdef int c = self.state.to_move if colour is None else self.check_colour(colour)
        board_place(self.state, self.check_empty(point), c, TABLES_ALL)

    def block(self, point):
        board_place(self.state, self.check_empty(point), OBSTACLE, TABLES_ALL)

    def undo(self):
        if self.state.ply == 0:
            raise ValueError("there is no placement to take back")
        board_undo(self.state)

    def set_to_move(self, colour):
        board_set_to_move(self.state, self.check_colour(colour))

    def cell(self, point):
        return self.state.cells[self.check_point(point)]

    def cells(self):
        out = np.empty((self.state.height, self.state.width), dtype=np.uint8)
        cdef uint8_t[:, ::1] view = out
        memcpy(&view[0, 0], self.state.cells, self.state.points)
        return out

    def stones(self):
        cdef int i
        return [(self.state.saved[i].point, self.state.saved[i].colour) for i in range(self.state.ply)]

    def shape(self, point, colour):
        return board_shape(self.state, self.check_point(point), self.check_colour(colour))

    def shapes(self, colour):
        out = np.empty((self.state.height, self.state.width), dtype=np.uint8)
        cdef uint8_t[:, ::1] view = out
        board_shapes(self.state, self.check_colour(colour), &view[0, 0])
        return out

    def line_masks(self, point, int direction, colour):
        cdef int p = self.check_point(point), c = self.check_colour(colour)
        if not 0 <= direction < 4:
            raise ValueError(f"a direction is 0 to 3, not {direction}")
        cdef const Line* line = &self.state.lines[self.state.line_of[direction][p]]
        cdef int bit = self.state.bit_of[direction][p]
        return {
            "five": bool((line.five[c] >> bit) & 1),
            "four": bool((line.four[c] >> bit) & 1),
            "double_four": bool((line.double_four[c] >> bit) & 1),
            "open_four": bool((line.open_four[c] >> bit) & 1),
            "open_three": bool((line.open_three[c] >> bit) & 1),
        }

    def five_points(self, colour):
        cdef uint16_t out[484]
        cdef int n = board_five_points(self.state, self.check_colour(colour), out, 484), i
        return sorted([out[i] for i in range(n)])

    cdef int restricted(self, colour) except -1:
        """Return a colour; for None the side to move, or the other one if only that has forbidden moves."""
        cdef int own = self.state.to_move
        if colour is not None:
            return self.check_colour(colour)
        return own if self.state.forbids[own] else 1 - own

    def is_forbidden(self, point, colour=None):
        return bool(board_forbidden(self.state, self.check_point(point), self.restricted(colour)))

    def forbidden_points(self, colour=None):
        cdef int p, own = self.restricted(colour)
        return [p for p in range(self.state.points) if board_forbidden(self.state, p, own)]

    def legal_points(self):
        cdef BoardState* b = self.state
        cdef int p
        if b.winner != EMPTY:
            return []
        return [p for p in range(b.points) if b.cells[p] == EMPTY and not board_forbidden(b, p, b.to_move)]

    def copy(self):
        cdef Board other = Board.__new__(Board, self.state.width, self.state.height, self.state.rule)
        board_copy(other.state, self.state)
        return other

    @staticmethod
    def from_stones(width, height, rule, stones):
        board = Board(width, height, rule)
        for point, colour in stones:
            if colour == OBSTACLE:
                board.block(point)
            else:
                board.place(point, colour)
        return board

    def __reduce__(self):
        return (_rebuild, (self.width, self.height, self.rule, self.stones(), self.to_move))


def _rebuild(width, height, rule, stones, to_move):
    board = Board.from_stones(width, height, rule, stones)
    board.set_to_move(to_move)
    return board


def place_undo_loop(Board board, int pairs, uint64_t seed):
    cdef BoardState* b = board.state
    cdef uint64_t total = 0
    cdef int point
    if b.n_empty == 0:
        raise ValueError("the board is full")
    with nogil:
        for _ in range(pairs):
            point = <int>(splitmix64(&seed) % <uint64_t>b.points)
            while b.cells[point] != EMPTY:
                point = point + 1 if point + 1 < b.points else 0
            board_place(b, point, b.to_move, TABLES_ALL)
            total += b.hash
            board_undo(b)
    return total

# cython: language_level=3
"""Rules kernel: C declarations of the board, for the other kernel modules.

Every row, column and diagonal is a `Line`: bit masks over its cells. After each stone the masks of the four
lines through it are computed again, so that they are current for every empty point and both colours. Cell i
of a line is bit i + 1 (bit 0 and the bits after the last cell are off the board). A point is y * width + x; a
colour is BLACK or WHITE.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "shapes.h" nogil:
    int tengen_have_shapes()
    void tengen_add_stone(uint32_t* line, int colour, uint32_t bit)
    void tengen_shapes(uint32_t** lines, int exact_black, int exact_white, int caro, int threes, unsigned* some)

cdef extern from "bits.h" nogil:
    int lowest32 "tengen_lowest32"(uint32_t v)
    int lowest64 "tengen_lowest64"(uint64_t v)
    int count32 "tengen_count32"(uint32_t v)

cdef enum:
    MIN_SIDE = 5
    MAX_SIDE = 22
    MAX_POINTS = 484        # MAX_SIDE squared
    MAX_LINES = 130         # rows, columns and both diagonals of the largest board
    LINE_BITS = 24          # bits of a line that can be used, padding included
    LINE_WORDS = 3          # 64-bit words that hold one bit a line

cdef enum:
    BLACK = 0
    WHITE = 1
    EMPTY = 2
    OBSTACLE = 3            # a cell neither side can use (stone of a finished five in a continuous game)

# Shape bits of a point for one colour: what a stone of that colour there would make.
cdef enum:
    SHAPE_FIVE = 1          # a winning line
    SHAPE_OPEN_FOUR = 2     # a straight four (two completions)
    SHAPE_DOUBLE_FOUR = 4   # two or more completions in all (straight four included)
    SHAPE_FOUR = 8          # at least one completion
    SHAPE_OPEN_THREE = 16   # a three that can become a straight four
    SHAPE_FORK = 32         # four or open three in two or more directions

# Tables that a placement updates.
cdef enum:
    TABLES_FOURS = 0        # five, four, double_four, open_four; open_three becomes stale
    TABLES_ALL = 1

# Moves that a colour may not make: `engine.rules.rule.Forbidden`.
cdef enum:
    FORBID_OVERLINE = 1
    FORBID_DOUBLE_FOUR = 2
    FORBID_DOUBLE_THREE = 4

cdef struct RuleFlags:      # of `engine.rules.rule.RuleSpec`; pairs by colour
    uint8_t known
    uint8_t exact[2]
    uint8_t blocked_fives
    uint8_t forbidden[2]
    uint8_t forbidden_plane  # nets see the forbidden points of black

cdef struct Line:           # `shapes.h` relies on this order
    uint32_t empty          # empty cells
    uint32_t stones[2]      # stones by colour; a cell in none of the three masks is off board or an obstacle
    uint32_t five[2]        # empty cells that complete a five
    uint32_t four[2]        # ... that make at least one four (a five next on this line)
    uint32_t double_four[2]  # ... that make fours with two or more different completions
    uint32_t open_four[2]   # ... that make a straight four
    uint32_t open_three[2]  # ... that make an open three (and no four on this line)

cdef struct Saved:
    Line lines[4]           # the four lines as they were
    uint64_t sets[18]       # with_five, with_four and with_open_three as they were
    uint16_t point
    uint8_t colour          # BLACK, WHITE or OBSTACLE
    uint8_t to_move         # side to move before
    uint8_t winner          # before

cdef struct BoardState:
    int32_t width
    int32_t height
    int32_t points          # width * height
    int32_t n_lines
    int32_t ply             # placements since the empty board, obstacles included
    int32_t n_empty
    uint8_t to_move
    uint8_t winner          # BLACK, WHITE, or EMPTY while neither has won
    uint8_t exact[2]        # colour needs exactly five
    uint8_t caro            # a five blocked by the opponent at both ends does not count
    uint8_t forbids[2]      # FORBID_* of each colour; 0: every empty point is legal
    uint8_t forbidden_plane  # nets see the forbidden points of black
    uint16_t rule           # a value of `engine.rules.rule.Rule`
    uint64_t hash           # stones, side to move, size and rule
    # the three sets are kept and restored as one block
    uint64_t with_five[2][3]       # lines with a five point, one bit a line, by colour
    uint64_t with_four[2][3]       # lines with a four point
    uint64_t with_open_three[2][3]  # lines with an open-three point
    uint8_t cells[484]      # BLACK, WHITE, EMPTY or OBSTACLE a point
    uint8_t line_of[4][484]  # line of a point by direction: row, column, diagonal, anti-diagonal
    uint8_t bit_of[4][484]  # bit of a point within that line
    uint16_t point_at[130][24]     # point of a line's bit
    Line lines[130]
    Saved saved[485]        # undo stack, `ply` entries used

# Set up an empty board. The caller has checked sizes and rule.
cdef void board_init(BoardState* b, int width, int height, int rule) noexcept nogil
# Put a stone (or OBSTACLE) on an empty point; the other colour is to move afterwards (an obstacle keeps the turn).
cdef void board_place(BoardState* b, int point, int colour, int tables) noexcept nogil
# Undo the last placement; every table is restored.
cdef void board_undo(BoardState* b) noexcept nogil
# Set the side to move, without a stone; updates the hash.
cdef void board_set_to_move(BoardState* b, int colour) noexcept nogil
# Zobrist keys of a stone on a point, and of the side to move.
cdef uint64_t stone_key(const BoardState* b, int point, int colour) noexcept nogil
cdef uint64_t turn_key() noexcept nogil
# Copy a position together with its undo stack.
cdef void board_copy(BoardState* to, const BoardState* source) noexcept nogil
# SHAPE_* bits of one empty point.
cdef int board_shape(const BoardState* b, int point, int colour) noexcept nogil
# SHAPE_* bits of all points at once (zero on taken points); `out` holds `points` bytes.
cdef void board_shapes(const BoardState* b, int colour, uint8_t* out) noexcept nogil
# A five point of a colour, on the line with the lowest number, or -1.
cdef int board_any_five(const BoardState* b, int colour) noexcept nogil
# Write different five points of a colour to `out` (at most `limit`); return how many.
cdef int board_five_points(const BoardState* b, int colour, uint16_t* out, int limit) noexcept nogil
# Return whether a colour may not play on a point; false on taken points and where it makes five.
cdef bint board_forbidden(BoardState* b, int point, int colour) noexcept nogil

cdef class Board:
    cdef BoardState* state      # owned
    # Argument checks of the Python methods; each raises ValueError.
    cdef int check_empty(self, point) except -1
    cdef int check_colour(self, colour) except -1
    cdef int restricted(self, colour) except -1
    cdef int check_point(self, point) except -1

/* The line net in memory: sizes, structs, how weights are packed, who owns what.

What is computed is told in `net.h`, and by the naive twin `tests.reference.lines`. Shape letters: C channels,
N blocks, P policy channels, V value channels, D hidden values (rounded up to a multiple of 8, the rest is zeros).

Invariants, set up by `_lines.pyx` from weights that it has checked, and relied on by all loops without another look:
- C, P, V and D are multiples of 8, C from 16 to 96 (so that sums of 16-bit products fit), the others up to 1024;
  N is 1 to 32.
- Every pointer is aligned to 32 bytes and holds as many numbers as its comment says; those in brackets may be NULL.
- A board has sides from 5 to LINES_SIDE, so `width * height` is at most LINES_POINTS.
- `entries` are below LINES_ENTRIES whatever the planes hold, since digits are 0 to 3; `bits` have LINES_LOCAL bits.
- Whole vectors may be written behind the last cell of a row: LINES_SLACK - 1 numbers at most, where there is room.
- What is pooled, or becomes a byte, is never negative. */
#ifndef TENGEN_LINES_LAYOUT_H
#define TENGEN_LINES_LAYOUT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"

#if defined(_WIN32)
#include <malloc.h>
#elif defined(__linux__)
#include <sys/mman.h>
#endif

enum {
    LINES_SIDE = 22,
    LINES_POINTS = LINES_SIDE * LINES_SIDE,
    LINES_SLACK = 16,
    LINES_REACH = 5,                            /* cells seen on each side of a line */
    LINES_STRIDE = LINES_SIDE + 2 * LINES_REACH + LINES_SLACK,  /* of `digits` */
    LINES_IDS = 364,                            /* contents of one side: (3^6 - 1) / 2 */
    LINES_ENTRIES = LINES_IDS * (LINES_IDS + 1) / 2,            /* of the codebook: pairs of sides */
    LINES_OPEN_SIDE = 121,                      /* number of a side with five empty cells */
    LINES_GAP = LINES_POINTS + LINES_SLACK,     /* from one direction to the next in `entries` */
    LINES_LOCAL = 16,                           /* planes that differ by cell come first ... */
    LINES_PLANES = 23,                          /* ... the others hold one value each */
    LINES_GLOBALS = LINES_PLANES - LINES_LOCAL,
    LINES_HALF = 256,                           /* sums of the weights of 8 local planes */
    LINES_LARGEST = 24575,                      /* of a packed row of activations in 16 bits ... */
    LINES_LOAD = 87000,                         /* ... and of the sum of an output's weights: 31 bits in all */
    LINES_BYTE = 127,                           /* largest activation in 8 bits */
    LINES_BYTE_LOAD = 32767 / LINES_BYTE,       /* of the sum of either sign of the weights that share a 16-bit sum */
    LINES_FARS = 64,                            /* empty boards that are kept */
    LINES_FEW = 5                               /* stones that a window needs (tuned: docs/line-nets.md) */
};

/* --- memory -------------------------------------------------------------------------------------------------- */

/* Owner of pieces of memory: it gives back all that has been taken through it. All zeros: owns nothing. */
typedef struct {
    struct lines_piece* last;
} lines_owner;

/* Stands before each piece; as long as a cache line, so that what follows is aligned like it. */
typedef struct lines_piece {
    struct lines_piece* before;
    char spare[64 - sizeof(void*)];
} lines_piece;

/* Return aligned memory of zeros, or NULL. Large pieces ask Linux for huge pages: the codebook is read at random. */
static void* lines_take(lines_owner* owner, size_t bytes)
{
    lines_piece* piece;
    void* p = NULL;
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes += sizeof(lines_piece);
#if defined(_WIN32)
    p = _aligned_malloc(bytes, 64);
#else
    size_t align = bytes >= ((size_t)1 << 21) ? (size_t)1 << 21 : 64;
    if (posix_memalign(&p, align, bytes) != 0)
        return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (align > 64)
        (void)madvise(p, bytes, MADV_HUGEPAGE);
#endif
#endif
    if (p == NULL)
        return NULL;
    memset(p, 0, bytes);
    piece = (lines_piece*)p;
    piece->before = owner->last;
    owner->last = piece;
    return piece + 1;
}

/* Give back everything. */
static void lines_release(lines_owner* owner)
{
    while (owner->last != NULL) {
        lines_piece* piece = owner->last;
        owner->last = piece->before;
#if defined(_WIN32)
        _aligned_free(piece);
#else
        free(piece);
#endif
    }
}

/* --- weights ------------------------------------------------------------------------------------------------- */

/* In floats. Products are [in, out]. */
typedef struct {
    float scale;                /* of the codebook */
    int narrow;                 /* 1: the sum of any four codebook entries fits 16 bits */
    int16_t* codebook;          /* [LINES_ENTRIES, C]: of sides (l, r) with l >= r at l (l + 1) / 2 + r */
    float* local;               /* [2, LINES_HALF, C]: local planes 0..7 and 8..15, by the bits that are set */
    float* global;              /* [LINES_GLOBALS, C]: the other planes */
    float* bias;                /* [C] */
    float* dw;                  /* [N, 9, C] */
    float* dw_bias;             /* [N, C] */
    float* pw;                  /* [N, C, C] */
    float* pw_bias;             /* [N, C] */
    float* pool;                /* [3C, C] */
    float* pool_bias;           /* [C] */
    float* pool_usual;          /* ([C]): what pooling adds in most positions, for empty boards */
    float* head;                /* [C, P + V]: the first layers of both heads side by side */
    float* head_bias;           /* [P + V] */
    float* policy_out;          /* [P] */
    float* hidden;              /* [3V, D] */
    float* hidden_bias;         /* [D] */
    float* out;                 /* [D, 3] */
    float* out_bias;            /* [3] */
} lines_weights;

/* The same products in 16 bits, [in / 2, out, 2]: pairs of inputs side by side. What one step of each output is worth
is next to them. A row of activations is rounded by its largest value, to LINES_LARGEST at most, and weights are such
that sums fit 32 bits whatever comes. */
typedef struct {
    int16_t* pw;                /* [N, C / 2, C, 2] */
    float* pw_step;             /* [N, C] */
    int16_t* head;              /* [C / 2, P + V, 2] */
    float* head_step;           /* [P + V] */
} lines_shorts;

/* The same products in 8 bits, [in / 4, out, 4]: fours of inputs side by side. Activations are rounded to 0 to
LINES_BYTE in a unit of each channel, into which the depthwise part is scaled; of the weights that share a 16-bit sum
(inputs 0, 1, 4, 5, 8, ... or the others) those of either sign add up to LINES_BYTE_LOAD at most, so that sums fit
whatever comes. */
typedef struct {
    int8_t* pw;                 /* [N, C / 4, C, 4] */
    float* pw_step;             /* [N, C] */
    float* pw_bias;             /* [N, C] */
    float* dw;                  /* [N, 9, C] */
    float* dw_bias;             /* [N, C] */
    float* per_unit;            /* [N, C]: steps to one unit of a depthwise output */
    int8_t* head;               /* [C / 4, P + V, 4] */
    float* head_step;           /* [P + V] */
    float* head_bias;           /* [P + V] */
    float* head_per_unit;       /* [C] */
} lines_bytes;

/* --- positions ----------------------------------------------------------------------------------------------- */

/* The part of the board that is computed cell by cell. */
typedef struct {
    int width, height;          /* of the board */
    int top, bottom;            /* from row `top` to before `bottom` ... */
    int from[LINES_SIDE];       /* ... and from this column of a row ... */
    int until[LINES_SIDE];      /* ... to before this one */
    int left;                   /* column that `x` begins with */
    int stride;                 /* floats between two rows of `x` */
} lines_window;

/* An empty board of one size under one rule for one colour. */
typedef struct {
    int width, height;          /* 0: free */
    float global[LINES_GLOBALS];
    lines_owner memory;         /* of all below */
    float* x;                   /* [N + 1, points, C]: the trunk before each block and at the end */
    float* value;               /* [points, V] */
    float* policy;              /* [points] */
    float* cell;                /* [N + 1, C]: as `x`, of a cell that sees neither stones nor edges */
    float* cell_value;          /* [V] */
    float cell_policy;
} lines_far;

/* Room for one position at a time. */
typedef struct {
    float* cell;                /* [3, 3, C]: a cell that sees neither stones nor edges, among its like */
    float* cell_value;          /* [V] */
    float cell_policy;
    float* shift;               /* [max(C, V)]: what `cell` holds more than that of `far` */
    float* blank;               /* [LINES_PLANES, LINES_POINTS]: planes of an empty board */
    float* y;                   /* [2, LINES_SIDE, C]: depthwise rows */
    int16_t* shorts;            /* ([LINES_SIDE, C]): a row in 16 bits */
    uint8_t* bytes;             /* ([2, LINES_SIDE, C]): depthwise rows in 8 bits */
    float* heads;               /* [LINES_SIDE, P + V] */
    float* pool;                /* [3 max(C, V)] */
    float* vector;              /* [max(C, D)] */
    float* base;                /* [C] */
    uint16_t* digits;           /* [LINES_SIDE + 10, LINES_STRIDE]: 0 edge, 1 empty, 2 own, 3 opponent */
    uint16_t* bits;             /* [LINES_GAP]: local planes that are set */
    int32_t* entries;           /* [4, LINES_GAP]: places in the codebook by direction */
} lines_scratch;

typedef struct lines_loops lines_loops;     /* `loops.h` */

typedef struct {
    int channels;               /* C */
    int blocks;                 /* N */
    int policy;                 /* P */
    int value;                  /* V */
    int hidden;                 /* D */
    int pooled;                 /* block with global pooling, or -1 */
    int margin;                 /* cells around the stones that are computed; 0: all of the board */
    int closed;                 /* 1: what is beyond them is off the board; 0: an empty board, as far as it pays */
    int bits;                   /* of the pointwise products: 32, 16 or 8; 16 and 8 only where `loops` has them */
    const lines_loops* loops;   /* of the chosen path */
    float* x;                   /* [LINES_SIDE + 2, LINES_SIDE + 2, C]: trunk with its border; NULL: not built */
    lines_weights weights;
    lines_shorts shorts;        /* NULLs but with 16 bits */
    lines_bytes bytes;          /* NULLs but with 8 bits */
    lines_scratch scratch;
    lines_owner memory;         /* of all but the empty boards */
    /* the position at hand */
    lines_window window;
    int shifted;                /* 0: `scratch.shift` is zero */
    const lines_far* far;       /* what is beyond the window, or NULL: nothing does */
    lines_far* record;          /* where an empty board is kept, or NULL */
    /* empty boards */
    lines_far fars[LINES_FARS];
    int next_far;               /* the one to replace */
} tengen_lines;

/* --- where things lie ---------------------------------------------------------------------------------------- */

/* Return the digit of a cell of the board. */
static inline uint16_t* lines_digit(const tengen_lines* net, int x, int y)
{
    return net->scratch.digits + (y + LINES_REACH) * LINES_STRIDE + LINES_REACH + x;
}

/* Return from one cell to the next in `digits`, by direction. */
static inline int lines_step(int direction)
{
    static const int steps[4] = {1, LINES_STRIDE, LINES_STRIDE + 1, 1 - LINES_STRIDE};
    return steps[direction];
}

/* Return the codebook's entry for a cell, by direction. */
static inline const int16_t* lines_entry(const tengen_lines* net, int direction, int cell, int channels)
{
    return net->weights.codebook + (size_t)net->scratch.entries[direction * LINES_GAP + cell] * channels;
}

/* Return the summed weights of a cell's local planes, the first eight or (`half` 1) the others. */
static inline const float* lines_local(const tengen_lines* net, int half, int cell, int channels)
{
    int bits = net->scratch.bits[cell];
    return net->weights.local + (half ? LINES_HALF + (bits >> 8) : bits & (LINES_HALF - 1)) * channels;
}

/* Return the first cell of a row of the window, `row` counted on the board. */
static float* lines_row(const tengen_lines* net, int row)
{
    const lines_window* w = &net->window;
    return net->x + (row - w->top + 1) * w->stride + (w->from[row] - w->left + 1) * net->channels;
}

static int lines_cells(const tengen_lines* net, int row)
{
    return net->window.until[row] - net->window.from[row];
}

#endif

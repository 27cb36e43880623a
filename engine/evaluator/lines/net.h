/* The line net's forward pass, in the order in which it happens: planes, window, first layer, blocks, heads, value.

A board cell holds C floats. The trunk `x` has a border one cell wide, so that the depthwise loop needs no branches.
Blocks work in place, row by row: the depthwise part of row r + 1 is taken before row r is overwritten.

With a margin only a window is computed: in each row the cells from the first to the last stone of the rows that are
no farther than the margin, and so many more on each side. What the cells beyond it hold is taken from an empty board
of that size under that rule, evaluated once (`lines_empty`) with what pooling adds in most positions, and moved with the
position: by the difference between what a cell without stones or edges around it (`cell`) holds here and there. They
make the border, take part in the pooling and get their logits so. Without a margin, with obstacles or few stones, or
where it would save little, the window is the whole board and the border zero.

A closed net has learned with its margin: what is beyond the window is off the board for it. The border is zero, and
the cells beyond hold zeros until the heads look at them. Its window is the whole board without stones alone.

The pointwise products are taken in floats, in 16 bits or in 8 (`bits`, `layout.h`). */
#ifndef TENGEN_LINES_NET_H
#define TENGEN_LINES_NET_H

#include <math.h>

#include "bits.h"
#include "loops.h"

/* --- planes and window --------------------------------------------------------------------------------------- */

static void lines_scan(tengen_lines* net, const float* planes, int width, int height)
{
    if (width != net->window.width || height != net->window.height)     /* edges where cells have been */
        memset(net->scratch.digits, 0, sizeof(uint16_t) * LINES_STRIDE * (LINES_SIDE + 2 * LINES_REACH));
    net->window.width = width;
    net->window.height = height;
    net->loops->scan(net, planes, width, height);
}

/* Put the window around the stones; return whether it leaves out enough of a board without obstacles, or is that of a
closed net.

What pooling usually adds is a mean of positions with many stones; behind one or two stones it is far off. */
static int lines_around(tengen_lines* net)
{
    lines_window* w = &net->window;
    uint32_t stones[LINES_SIDE];
    uint16_t unusable = 0;
    int width = w->width, height = w->height, margin = net->margin, cells = 0, n_stones = 0, x, y;
    for (y = 0; y < height; y++) {
        const uint16_t* row = lines_digit(net, 0, y);
        uint32_t mask = 0;
        for (x = 0; x < width; x++)
            unusable |= row[x] == 0;
        for (x = 0; x < width; x++)
            mask |= (uint32_t)(row[x] >> 1) << x;           /* 2 and 3 */
        n_stones += tengen_count32(mask);
        stones[y] = mask;
    }
    if (net->closed ? n_stones == 0 : unusable || n_stones < LINES_FEW)
        return 0;
    w->left = w->top = LINES_SIDE;
    w->bottom = 0;
    for (y = 0; y < height; y++) {
        int near = y > margin ? y - margin : 0, last = y + margin < height ? y + margin : height - 1;
        int low, high;
        uint32_t mask = 0;
        for (; near <= last; near++)
            mask |= stones[near];
        w->from[y] = w->until[y] = 0;
        if (mask == 0)
            continue;
        low = tengen_lowest32(mask);
        high = tengen_highest32(mask);
        w->from[y] = low > margin ? low - margin : 0;
        w->until[y] = high + margin < width ? high + margin + 1 : width;
        cells += w->until[y] - w->from[y];
        w->left = w->from[y] < w->left ? w->from[y] : w->left;
        w->top = y < w->top ? y : w->top;
        w->bottom = y + 1;
    }
    for (y = w->top; y < w->bottom; y++)
        if (w->until[y] == 0)                               /* no cell of this row: stones lie far above and below */
            w->from[y] = w->until[y] = w->left;
    return net->closed || (cells > 0 && 8 * cells <= 7 * width * height);
}

/* Make the window all of the board. */
static void lines_whole(tengen_lines* net)
{
    lines_window* w = &net->window;
    int y;
    w->left = w->top = 0;
    w->bottom = w->height;
    for (y = 0; y < w->height; y++) {
        w->from[y] = 0;
        w->until[y] = w->width;
    }
}

/* --- first layer --------------------------------------------------------------------------------------------- */

/* Put one cell into all nine of `cell`. */
static void lines_spread(tengen_lines* net, const float* cell)
{
    int channels = net->channels, i;
    for (i = 0; i < 9; i++)
        if (net->scratch.cell + i * channels != cell)
            memcpy(net->scratch.cell + i * channels, cell, sizeof(float) * channels);
}

/* `x` of all cells of the window, and `cell`. */
static void lines_first(tengen_lines* net, const float* global)
{
    const lines_weights* weights = &net->weights;
    lines_window* w = &net->window;
    lines_scratch* s = &net->scratch;
    int channels = net->channels, right = 0, c, k, y;
    memcpy(s->base, weights->bias, sizeof(float) * channels);
    for (k = 0; k < LINES_GLOBALS; k++)
        if (global[k] != 0)
            for (c = 0; c < channels; c++)
                s->base[c] += global[k] * weights->global[k * channels + c];
    for (y = w->top; y < w->bottom; y++)
        right = w->until[y] > right ? w->until[y] : right;
    w->stride = (right - w->left + 2) * channels;
    net->loops->entries(net);
    for (y = w->top; y < w->bottom; y++)
        net->loops->gather(net, y * w->width + w->from[y], lines_cells(net, y), lines_row(net, y));
    if (net->far != NULL || net->record != NULL) {
        const int16_t* open = weights->codebook + (size_t)(LINES_OPEN_SIDE * (LINES_OPEN_SIDE + 3) / 2) * channels;
        const float* usable = weights->local + channels;
        const float* none = weights->local + LINES_HALF * channels;
        for (c = 0; c < channels; c++) {
            float v = (float)(4 * open[c]) * weights->scale + s->base[c] + usable[c] + none[c];
            s->cell[c] = v > 0 ? v : 0;
        }
        lines_spread(net, s->cell);
    }
}

/* --- the border ---------------------------------------------------------------------------------------------- */

/* Fill the border's cells of a row, counted on the board, from column `a` to before `b`. */
static void lines_beyond(tengen_lines* net, int layer, int row, int a, int b)
{
    const lines_window* w = &net->window;
    int channels = net->channels;
    float* to = net->x + (row - w->top + 1) * w->stride + (a - w->left + 1) * channels;
    int off = net->far == NULL || row < 0 || row >= w->height;
    int before = off ? b - a : a < 0 ? -a : 0, after = off || b <= w->width ? 0 : b - w->width;
    int cells = b - a - before - after;
    if (before > 0)     /* rarely: the calls would cost more than the cells */
        memset(to, 0, sizeof(float) * channels * before);
    to += before * channels;
    if (cells > 0) {
        const float* from = net->far->x + (((size_t)layer * w->height + row) * w->width + a + before) * channels;
        if (net->shifted)
            net->loops->move(from, net->scratch.shift, cells, channels, to);
        else
            memcpy(to, from, sizeof(float) * channels * cells);
    }
    if (after > 0)
        memset(to + cells * channels, 0, sizeof(float) * channels * after);
}

/* Find by how much `n` numbers of `cell` lie above those of an empty board. Until stones come in by the pooling, a cell
that sees none is what it is on an empty board, and nothing is shifted. */
static void lines_shift(tengen_lines* net, const float* cell, const float* far, int n)
{
    int c;
    net->shifted = 0;
    for (c = 0; c < n; c++) {
        net->scratch.shift[c] = cell[c] - far[c];
        net->shifted |= net->scratch.shift[c] != 0;
    }
}

/* Before block `layer`, or at the end: what is to be kept, `shift`, and the border, which the heads do not need. */
static void lines_border(tengen_lines* net, int layer)
{
    const lines_window* w = &net->window;
    int channels = net->channels, points = w->width * w->height, y, k;
    if (net->record != NULL) {
        float* to = net->record->x + (size_t)layer * points * channels;
        for (y = 0; y < w->height; y++)
            memcpy(to + y * w->width * channels, lines_row(net, y), sizeof(float) * w->width * channels);
        memcpy(net->record->cell + layer * channels, net->scratch.cell, sizeof(float) * channels);
    }
    if (layer == net->blocks || (layer > 0 && net->far == NULL))
        return;     /* not needed, or zero already */
    if (net->far != NULL)
        lines_shift(net, net->scratch.cell, net->far->cell + layer * channels, channels);
    for (y = w->top - 1; y <= w->bottom; y++) {
        int a = LINES_SIDE, b = 0;      /* what this row and its neighbours see of it */
        for (k = y - 1; k <= y + 1; k++)
            if (k >= w->top && k < w->bottom && lines_cells(net, k) > 0) {
                a = w->from[k] - 1 < a ? w->from[k] - 1 : a;
                b = w->until[k] + 1 > b ? w->until[k] + 1 : b;
            }
        if (y >= w->top && y < w->bottom && lines_cells(net, y) > 0) {
            lines_beyond(net, layer, y, a, w->from[y]);
            lines_beyond(net, layer, y, w->until[y], b);
        } else if (a < b)
            lines_beyond(net, layer, y, a, b);
    }
}

/* --- pooling ------------------------------------------------------------------------------------------------- */

static void lines_begin_pool(float* pool, int n)
{
    memset(pool, 0, sizeof(float) * 3 * n);     /* what is pooled is never negative: 0 will do as first maximum */
}

/* Add the cells beyond the window, n floats each, moved by `shift` if that is not zero. */
static void lines_pool_far(tengen_lines* net, const float* cells, int n)
{
    const lines_window* w = &net->window;
    const float* shift = net->shifted ? net->scratch.shift : NULL;
    float* sum = net->scratch.pool;
    float* top = sum + 2 * n;
    int y;
    for (y = 0; y < w->height; y++, cells += w->width * n)
        if (y < w->top || y >= w->bottom)
            net->loops->pool(cells, shift, w->width, n, n, sum, top);
        else {
            net->loops->pool(cells, shift, w->from[y], n, n, sum, top);
            net->loops->pool(cells + w->until[y] * n, shift, w->width - w->until[y], n, n, sum, top);
        }
}

/* Sums and maxima (at 0 and 2n) to mean, scaled mean, maximum. */
static void lines_end_pool(float* pool, int n, int points)
{
    float share = 1.0f / (float)points, size = (float)points / 225.0f - 1.0f;
    int c;
    for (c = 0; c < n; c++) {
        pool[c] *= share;
        pool[n + c] = pool[c] * size;
    }
}

/* --- blocks -------------------------------------------------------------------------------------------------- */

/* Bias of the depthwise part: that of the weights, or with what pooling adds. */
static const float* lines_bias(tengen_lines* net, int block)
{
    const lines_weights* weights = &net->weights;
    lines_scratch* s = &net->scratch;
    int channels = net->channels, points = net->window.width * net->window.height, y, c;
    if (block != net->pooled)
        return (net->bits == 8 ? net->bytes.dw_bias : weights->dw_bias) + block * channels;
    memcpy(s->vector, weights->dw_bias + block * channels, sizeof(float) * channels);
    if (net->record != NULL && weights->pool_usual != NULL) {
        for (c = 0; c < channels; c++)
            s->vector[c] += weights->pool_usual[c];
    } else {
        lines_begin_pool(s->pool, channels);
        for (y = net->window.top; y < net->window.bottom; y++)
            net->loops->pool(lines_row(net, y), NULL, lines_cells(net, y), channels, channels, s->pool,
                             s->pool + 2 * channels);
        if (net->far != NULL)
            lines_pool_far(net, net->far->x + (size_t)block * points * channels, channels);
        lines_end_pool(s->pool, channels, points);
        net->loops->product(s->pool, 1, 3 * channels, weights->pool, weights->pool_bias, s->vector, channels, 1, 0);
    }
    if (net->bits == 8)
        for (c = 0; c < channels; c++)
            s->vector[c] *= net->bytes.per_unit[block * channels + c];
    return s->vector;
}

/* Depthwise part of a row of cells, to one of two places, 0 or 1. */
static void lines_depth(tengen_lines* net, int block, const float* bias, const float* x, int cells, int stride,
                        int place)
{
    int channels = net->channels, offset = place * LINES_SIDE * channels, first = block * 9 * channels;
    if (net->bits == 8)
        net->loops->depth_bytes(x, stride, cells, channels, net->bytes.dw + first, bias, net->scratch.bytes + offset);
    else
        net->loops->depth(x, stride, cells, channels, net->weights.dw + first, bias, net->scratch.y + offset);
}

/* Pointwise part of a row of cells, added to them. */
static void lines_point(tengen_lines* net, int block, int place, int cells, float* x)
{
    const lines_loops* loops = net->loops;
    lines_scratch* s = &net->scratch;
    int channels = net->channels, offset = place * LINES_SIDE * channels;
    int first = block * channels, weights = first * channels;
    if (net->bits == 8)
        loops->product_bytes(s->bytes + offset, cells, channels, net->bytes.pw + weights, net->bytes.pw_bias + first,
                             net->bytes.pw_step + first, x, channels, 1);
    else if (net->bits == 16) {
        float size = loops->shorts(s->y + offset, cells * channels, s->shorts);
        loops->product_shorts(s->shorts, cells, channels, net->shorts.pw + weights, net->weights.pw_bias + first,
                              net->shorts.pw_step + first, size, x, channels, 1);
    } else
        loops->product(s->y + offset, cells, channels, net->weights.pw + weights, net->weights.pw_bias + first, x,
                       channels, 1, 1);
}

static void lines_block(tengen_lines* net, int block)
{
    const lines_window* w = &net->window;
    const float* bias = lines_bias(net, block);
    int place = 0, y;
    lines_depth(net, block, bias, lines_row(net, w->top), lines_cells(net, w->top), w->stride, place);
    for (y = w->top; y < w->bottom; y++, place ^= 1) {
        if (y + 1 < w->bottom)
            lines_depth(net, block, bias, lines_row(net, y + 1), lines_cells(net, y + 1), w->stride, place ^ 1);
        lines_point(net, block, place, lines_cells(net, y), lines_row(net, y));
    }
    if (net->far != NULL || net->record != NULL) {
        float* cell = net->scratch.cell + 4 * net->channels;    /* the one in the middle */
        lines_depth(net, block, bias, cell, 1, 3 * net->channels, 0);
        lines_point(net, block, 0, 1, cell);
        lines_spread(net, cell);
    }
}

/* --- heads and value ----------------------------------------------------------------------------------------- */

/* First layer of both heads for a row of cells, to `heads`. */
static void lines_head(tengen_lines* net, const float* x, int cells)
{
    const lines_loops* loops = net->loops;
    lines_scratch* s = &net->scratch;
    int channels = net->channels, wide = net->policy + net->value;
    if (net->bits == 8) {
        loops->bytes(x, cells, channels, net->bytes.head_per_unit, s->bytes);
        loops->product_bytes(s->bytes, cells, channels, net->bytes.head, net->bytes.head_bias, net->bytes.head_step,
                             s->heads, wide, 0);
    } else if (net->bits == 16) {
        float size = loops->shorts(x, cells * channels, s->shorts);
        loops->product_shorts(s->shorts, cells, channels, net->shorts.head, net->weights.head_bias,
                              net->shorts.head_step, size, s->heads, wide, 0);
    } else
        loops->product(x, cells, channels, net->weights.head, net->weights.head_bias, s->heads, wide, 0, 1);
}

/* The heads of the cells beyond a closed net's window, which hold zeros: their logits, and their part of the pooling. */
static void lines_heads_beyond(tengen_lines* net, float* policy)
{
    const lines_window* w = &net->window;
    lines_scratch* s = &net->scratch;
    int value = net->value, points = w->width * w->height, beyond = points, c, y;
    for (y = w->top; y < w->bottom; y++)
        beyond -= lines_cells(net, y);
    if (beyond == 0)
        return;
    memset(s->cell, 0, sizeof(float) * net->channels);
    lines_head(net, s->cell, 1);
    net->loops->policy(s->heads, 1, net->policy + value, net->policy, net->weights.policy_out, &s->cell_policy);
    for (c = 0; c < points; c++)
        policy[c] = s->cell_policy;
    for (c = 0; c < value; c++) {
        s->pool[c] = (float)beyond * s->heads[net->policy + c];
        s->pool[2 * value + c] = s->heads[net->policy + c];
    }
}

/* Logits of all cells, and the value head's pooling. */
static void lines_heads(tengen_lines* net, float* policy)
{
    const lines_loops* loops = net->loops;
    const lines_window* w = &net->window;
    const float* out = net->weights.policy_out;
    lines_scratch* s = &net->scratch;
    int wide = net->policy + net->value, value = net->value, points = w->width * w->height, c, y;
    const lines_far* far = net->far;
    lines_far* record = net->record;
    lines_begin_pool(s->pool, value);
    if (net->closed)
        lines_heads_beyond(net, policy);
    if (far != NULL || record != NULL) {
        lines_head(net, s->cell, 1);
        loops->policy(s->heads, 1, wide, net->policy, out, &s->cell_policy);
        memcpy(s->cell_value, s->heads + net->policy, sizeof(float) * value);
    }
    if (far != NULL) {
        lines_shift(net, s->cell_value, far->cell_value, value);
        lines_pool_far(net, far->value, value);
        for (c = 0; c < points; c++)
            policy[c] = far->policy[c] + (s->cell_policy - far->cell_policy);
    }
    for (y = w->top; y < w->bottom; y++) {
        int cells = lines_cells(net, y), first = y * w->width + w->from[y];
        lines_head(net, lines_row(net, y), cells);
        loops->policy(s->heads, cells, wide, net->policy, out, policy + first);
        loops->pool(s->heads + net->policy, NULL, cells, wide, value, s->pool, s->pool + 2 * value);
        if (record != NULL)
            for (c = 0; c < cells; c++)
                memcpy(record->value + (first + c) * value, s->heads + c * wide + net->policy, sizeof(float) * value);
    }
    if (record != NULL) {
        memcpy(record->cell_value, s->cell_value, sizeof(float) * value);
        record->cell_policy = s->cell_policy;
    }
    lines_end_pool(s->pool, value, points);
}

/* What was pooled to win, draw, loss. */
static void lines_value(tengen_lines* net, float* wdl)
{
    const lines_weights* weights = &net->weights;
    const float* hidden = net->scratch.vector;
    float out[3], top, total;
    int d, k;
    net->loops->product(net->scratch.pool, 1, 3 * net->value, weights->hidden, weights->hidden_bias,
                        net->scratch.vector, net->hidden, 0, 1);
    for (k = 0; k < 3; k++)
        out[k] = weights->out_bias[k];
    for (d = 0; d < net->hidden; d++)
        for (k = 0; k < 3; k++)
            out[k] += hidden[d] * weights->out[3 * d + k];
    top = out[0] > out[1] ? out[0] : out[1];
    top = top > out[2] ? top : out[2];
    total = 0;
    for (k = 0; k < 3; k++)
        total += out[k] = expf(out[k] - top);
    for (k = 0; k < 3; k++)
        wdl[k] = out[k] / total;
}

/* --- all together -------------------------------------------------------------------------------------------- */

/* Evaluate the window; `planes` have been scanned. */
static void lines_run(tengen_lines* net, const float* global, float* policy)
{
    int block;
    lines_first(net, global);
    for (block = 0; block < net->blocks; block++) {
        lines_border(net, block);
        lines_block(net, block);
    }
    lines_border(net, net->blocks);
    lines_heads(net, policy);
}

/* Make room for one more empty board in place of the oldest; return it, or NULL: no memory. */
static lines_far* lines_new_far(tengen_lines* net, const float* global, int width, int height)
{
    const size_t points = (size_t)width * height, kept = (size_t)(net->blocks + 1) * net->channels;
    lines_far* far = net->fars + net->next_far;
    net->next_far = (net->next_far + 1) % LINES_FARS;
    lines_release(&far->memory);
    memset(far, 0, sizeof *far);
    far->x = (float*)lines_take(
        &far->memory, sizeof(float) * (points * (kept + net->value) + kept + net->value + points));
    if (far->x == NULL)
        return NULL;
    far->value = far->x + points * kept;
    far->cell = far->value + points * net->value;
    far->cell_value = far->cell + kept;
    far->policy = far->cell_value + net->value;
    far->width = width;
    far->height = height;
    memcpy(far->global, global, sizeof far->global);
    return far;
}

/* Return the empty board for a position, which is scanned and evaluated if it is not known, or NULL: no memory. */
static const lines_far* lines_empty(tengen_lines* net, const float* global, int width, int height, int* evaluated)
{
    const int points = width * height;
    float* blank = net->scratch.blank;
    lines_far* far;
    int i, k;
    *evaluated = 0;
    for (i = 0; i < LINES_FARS; i++) {
        far = net->fars + i;
        if (far->width == width && far->height == height && memcmp(far->global, global, sizeof far->global) == 0)
            return far;
    }
    far = lines_new_far(net, global, width, height);
    if (far == NULL)
        return NULL;
    memset(blank, 0, sizeof(float) * LINES_PLANES * points);
    for (i = 0; i < points; i++)
        blank[i] = 1;
    for (k = 0; k < LINES_GLOBALS; k++)
        for (i = 0; i < points; i++)
            blank[(LINES_LOCAL + k) * points + i] = global[k];
    lines_scan(net, blank, width, height);
    lines_whole(net);
    net->far = NULL;
    net->record = far;
    lines_run(net, global, far->policy);
    net->record = NULL;
    *evaluated = 1;
    return far;
}

/* Evaluate one position: planes [23, height, width] to logits [height * width] and win, draw, loss. */
static void tengen_lines_evaluate(tengen_lines* net, const float* planes, int width, int height, float* policy,
                               float* wdl)
{
    float global[LINES_GLOBALS];
    int k, evaluated;
    for (k = 0; k < LINES_GLOBALS; k++)
        global[k] = planes[(LINES_LOCAL + k) * width * height];
    net->far = NULL;
    lines_scan(net, planes, width, height);
    if (net->closed) {
        if (!lines_around(net))
            lines_whole(net);
    } else if (net->margin > 0 && lines_around(net)) {
        const lines_far* far = lines_empty(net, global, width, height, &evaluated);
        if (evaluated) {
            lines_scan(net, planes, width, height);
            lines_around(net);
        }
        net->far = far;
    }
    if (net->far == NULL && !net->closed)
        lines_whole(net);
    lines_run(net, global, policy);
    lines_value(net, wdl);
}

/* Make `to` a net with the weights of `from`, which must outlive it, and with neither scratch nor empty boards. */
static void tengen_lines_share(tengen_lines* to, const tengen_lines* from)
{
    *to = *from;
    to->x = NULL;
    to->far = NULL;
    to->record = NULL;
    to->next_far = 0;
    memset(&to->scratch, 0, sizeof to->scratch);
    memset(&to->memory, 0, sizeof to->memory);
    memset(to->fars, 0, sizeof to->fars);
}

/* Give back all that the net has taken. */
static void tengen_lines_release(tengen_lines* net)
{
    int i;
    for (i = 0; i < LINES_FARS; i++)
        lines_release(&net->fars[i].memory);
    lines_release(&net->memory);
}

#endif

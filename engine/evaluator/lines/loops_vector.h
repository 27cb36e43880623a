/* The loops of `loops.h` on vectors, written once. A path includes this file after it has said what its vectors can do;
`avx2.h`, `avxvnni.h`, `avx512.h` and `neon.h` do so. Every path makes each number from the same numbers in the same
order, or in whole numbers, so that all give the same bits.

What a path defines (all of it is undefined again at the end):
    NAMED(name)         name of this path's function
    LOOP, INNER         attributes of a loop, and of what is inlined into it
    WITH_FLOATS, WITH_BYTES, WITH_BYTE_PRODUCT      1 for the parts that the path takes from here
    WIDTH               floats of a vector, 8 or 16
    VECTOR, LOAD, STORE (aligned), LOAD_ANY, STORE_ANY, SPREAD (of one float), NUMBER, ZERO, ADD, MUL, MAX, FMA
    WITH_FLOATS:        LANES16, U16, U16_LOAD, U16_STORE, U16_BITS, U16_DIGITS, U16_MORE, U16_MAX, U16_MIN,
                        STORE_ENTRIES, TOTAL, LARGEST, STORE_SHORTS,
                        PAIR_SUM, PAIR_ZERO, PAIR_WEIGHT, PAIR_LOAD, PAIR_VALUE, PAIR_SPREAD, PAIR_DOT, PAIR_FLOAT
    WITH_BYTES:         USUAL (channels of the usual net), SHORTS, SHORTS_LOAD, SHORTS_ADD, SHORTS_FLOAT,
                        SHORTS_SUM_FLOAT, STORE_BYTES
    WITH_BYTE_PRODUCT:  BYTE_CELLS (cells of a tile), BYTE_SUM, BYTE_ZERO, BYTE_WEIGHT, BYTE_LOAD, BYTE_VALUE,
                        BYTE_SPREAD, BYTE_DOT, BYTE_FLOAT */

#if WITH_FLOATS

/* --- planes to places in the codebook -------------------------------------------------------------------------- */

LOOP void NAMED(scan)(tengen_lines* net, const float* planes, int width, int height)
{
    /* Vectors that run over a row's end are safe: there are more planes behind, and the next row overwrites. */
    int points = width * height, y, x;
    for (y = 0; y < height; y++)
        for (x = 0; x < width; x += LANES16) {
            const U16 bits = U16_BITS(planes + y * width + x, points);
            U16_STORE(net->scratch.bits + y * width + x, bits);
            U16_STORE(lines_digit(net, x, y), U16_DIGITS(bits, width - x));
        }
}

INNER U16 NAMED(side)(const uint16_t* cell, int step)
{
    U16 id = U16_LOAD(cell + LINES_REACH * step);
    int j;
#pragma GCC unroll 4
    for (j = LINES_REACH - 1; j >= 1; j--)
        id = U16_MORE(id, U16_LOAD(cell + j * step));
    return id;
}

LOOP void NAMED(entries)(tengen_lines* net)
{
    const lines_window* w = &net->window;
    int d, y, x;
#pragma GCC unroll 4
    for (d = 0; d < 4; d++) {
        for (y = w->top; y < w->bottom; y++)
            for (x = w->from[y]; x < w->until[y]; x += LANES16) {
                const uint16_t* cell = lines_digit(net, x, y);
                const U16 a = NAMED(side)(cell, -lines_step(d)), b = NAMED(side)(cell, lines_step(d));
                STORE_ENTRIES(net->scratch.entries + d * LINES_GAP + y * w->width + x, U16_MAX(a, b), U16_MIN(a, b));
            }
    }
}

/* --- products in floats ---------------------------------------------------------------------------------------- */

/* `cells` x `vectors` sums stay in registers; both are constants. */
INNER void NAMED(product_tile)(const float* in, int n_in, const float* w, const float* bias, float* out, int n_out,
                               int residual, int relu, int cells, int vectors)
{
    VECTOR sum[4][4];
    int i, v, k;
#pragma GCC unroll 4
    for (i = 0; i < cells; i++)
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++) {
            sum[i][v] = LOAD(bias + WIDTH * v);
            if (residual)
                sum[i][v] = ADD(sum[i][v], LOAD(out + i * n_out + WIDTH * v));
        }
    /* The fewer of the two operands stay in registers, the others pass through one: 16 are enough. */
    for (k = 0; k < n_in; k++, w += n_out)
        if (cells <= vectors) {
            VECTOR value[4];
#pragma GCC unroll 4
            for (i = 0; i < cells; i++)
                value[i] = SPREAD(in + i * n_in + k);
#pragma GCC unroll 4
            for (v = 0; v < vectors; v++) {
                const VECTOR weight = LOAD(w + WIDTH * v);
#pragma GCC unroll 4
                for (i = 0; i < cells; i++)
                    sum[i][v] = FMA(value[i], weight, sum[i][v]);
            }
        } else {
            VECTOR weight[4];
#pragma GCC unroll 4
            for (v = 0; v < vectors; v++)
                weight[v] = LOAD(w + WIDTH * v);
#pragma GCC unroll 4
            for (i = 0; i < cells; i++) {
                const VECTOR value = SPREAD(in + i * n_in + k);
#pragma GCC unroll 4
                for (v = 0; v < vectors; v++)
                    sum[i][v] = FMA(value, weight[v], sum[i][v]);
            }
        }
#pragma GCC unroll 4
    for (i = 0; i < cells; i++)
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++)
            STORE(out + i * n_out + WIDTH * v, relu ? MAX(sum[i][v], ZERO) : sum[i][v]);
}

/* One column of the product, `vectors` wide, `max_cells` cells at a time. */
INNER void NAMED(product_column)(const float* in, int cells, int n_in, const float* w, const float* bias, float* out,
                                 int n_out, int residual, int relu, int max_cells, int vectors)
{
    while (cells > 0) {
        /* no single cell is left over where two pairs do */
        int now = cells >= max_cells && cells != max_cells + 1 ? max_cells : cells >= 2 ? 2 : 1;
        if (now == max_cells)
            NAMED(product_tile)(in, n_in, w, bias, out, n_out, residual, relu, max_cells, vectors);
        else if (now == 2)
            NAMED(product_tile)(in, n_in, w, bias, out, n_out, residual, relu, 2, vectors);
        else
            NAMED(product_tile)(in, n_in, w, bias, out, n_out, residual, relu, 1, vectors);
        cells -= now;
        in += now * n_in;
        out += now * n_out;
    }
}

/* The product for one cell: eight vectors of outputs at a time, so that no sum has to wait for itself. Same bits as a
tile. */
INNER void NAMED(product_cell)(const float* in, int n_in, const float* w, const float* bias, float* out, int n_out,
                               int residual, int relu)
{
    VECTOR sum[8];
    int v, k;
#pragma GCC unroll 8
    for (v = 0; v < 8; v++) {
        sum[v] = LOAD(bias + WIDTH * v);
        if (residual)
            sum[v] = ADD(sum[v], LOAD(out + WIDTH * v));
    }
    for (k = 0; k < n_in; k++, w += n_out) {
        const VECTOR value = SPREAD(in + k);
#pragma GCC unroll 8
        for (v = 0; v < 8; v++)
            sum[v] = FMA(value, LOAD(w + WIDTH * v), sum[v]);
    }
#pragma GCC unroll 8
    for (v = 0; v < 8; v++)
        STORE(out + WIDTH * v, relu ? MAX(sum[v], ZERO) : sum[v]);
}

INNER void NAMED(product_body)(const float* in, int cells, int n_in, const float* w, const float* bias, float* out,
                               int n_out, int residual, int relu)
{
    int left = n_out / WIDTH;
    for (; cells == 1 && left >= 8; left -= 8, w += 8 * WIDTH, bias += 8 * WIDTH, out += 8 * WIDTH)
        NAMED(product_cell)(in, n_in, w, bias, out, n_out, residual, relu);
    while (left > 0) {
        int take = left == 6 || left == 5 || left == 3 ? 3 : left >= 4 ? 4 : left;
        if (take == 4)
            NAMED(product_column)(in, cells, n_in, w, bias, out, n_out, residual, relu, 3, 4);
        else if (take == 3)
            NAMED(product_column)(in, cells, n_in, w, bias, out, n_out, residual, relu, 4, 3);
        else if (take == 2)
            NAMED(product_column)(in, cells, n_in, w, bias, out, n_out, residual, relu, 4, 2);
        else
            NAMED(product_column)(in, cells, n_in, w, bias, out, n_out, residual, relu, 4, 1);
        left -= take;
        w += WIDTH * take;
        bias += WIDTH * take;
        out += WIDTH * take;
    }
}

LOOP void NAMED(product)(const float* in, int cells, int n_in, const float* w, const float* bias, float* out, int n_out,
                         int residual, int relu)
{
    if (n_in == 32 && n_out == 32 && residual && relu)
        NAMED(product_column)(in, cells, 32, w, bias, out, 32, 1, 1, 3, 32 / WIDTH);
    else if (n_in == 32 && n_out == 32 && !residual && relu)
        NAMED(product_column)(in, cells, 32, w, bias, out, 32, 0, 1, 3, 32 / WIDTH);
    else
        NAMED(product_body)(in, cells, n_in, w, bias, out, n_out, residual, relu);
}

/* --- products in 16 bits --------------------------------------------------------------------------------------- */

LOOP float NAMED(shorts)(const float* from, int n, int16_t* to)
{
    VECTOR top = ZERO, other = top, factor;
    float largest;
    int i;
    for (i = 0; i + 2 * WIDTH <= n; i += 2 * WIDTH) {
        top = MAX(top, LOAD(from + i));
        other = MAX(other, LOAD(from + i + WIDTH));
    }
    if (i < n)
        top = MAX(top, LOAD(from + i));
    largest = LARGEST(MAX(top, other));
    if (largest < 1e-20f)
        largest = 1e-20f;
    factor = NUMBER((float)LINES_LARGEST / largest);
    for (i = 0; i < n; i += WIDTH)
        STORE_SHORTS(to + i, MUL(LOAD(from + i), factor));
    return largest / (float)LINES_LARGEST;
}

INNER void NAMED(shorts_tile)(const int16_t* in, int n_in, const int16_t* w, const float* bias, const float* step,
                              float size, float* out, int n_out, int residual, int cells, int vectors)
{
    PAIR_SUM sum[2][4];
    const VECTOR scale = NUMBER(size);
    int i, v, k;
#pragma GCC unroll 2
    for (i = 0; i < cells; i++)
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++)
            sum[i][v] = PAIR_ZERO;
    for (k = 0; k < n_in; k += 2, w += 2 * n_out) {
        PAIR_VALUE value[2];
#pragma GCC unroll 2
        for (i = 0; i < cells; i++) {
            int32_t pair;
            memcpy(&pair, in + i * n_in + k, sizeof pair);
            value[i] = PAIR_SPREAD(pair);
        }
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++) {
            PAIR_WEIGHT weight = PAIR_LOAD(w + 2 * WIDTH * v);
            KEEP(weight);
#pragma GCC unroll 2
            for (i = 0; i < cells; i++)
                PAIR_DOT(sum[i][v], value[i], weight);
        }
    }
#pragma GCC unroll 4
    for (v = 0; v < vectors; v++) {
        const VECTOR worth = MUL(scale, LOAD(step + WIDTH * v));
#pragma GCC unroll 2
        for (i = 0; i < cells; i++) {
            float* to = out + i * n_out + WIDTH * v;
            VECTOR start = LOAD(bias + WIDTH * v);
            if (residual)
                start = ADD(start, LOAD(to));
            STORE(to, MAX(FMA(PAIR_FLOAT(sum[i][v]), worth, start), ZERO));
        }
    }
}

INNER void NAMED(shorts_column)(const int16_t* in, int cells, int n_in, const int16_t* w, const float* bias, const float*
                                step, float size, float* out, int n_out, int residual, int vectors)
{
    for (; cells >= 2; cells -= 2, in += 2 * n_in, out += 2 * n_out)
        NAMED(shorts_tile)(in, n_in, w, bias, step, size, out, n_out, residual, 2, vectors);
    if (cells)
        NAMED(shorts_tile)(in, n_in, w, bias, step, size, out, n_out, residual, 1, vectors);
}

LOOP void NAMED(product_shorts)(const int16_t* in, int cells, int n_in, const int16_t* w, const float* bias, const float*
                                step, float size, float* out, int n_out, int residual)
{
    int left = n_out / WIDTH;
    if (n_in == 32 && n_out == 32) {
        if (residual)
            NAMED(shorts_column)(in, cells, 32, w, bias, step, size, out, 32, 1, 32 / WIDTH);
        else
            NAMED(shorts_column)(in, cells, 32, w, bias, step, size, out, 32, 0, 32 / WIDTH);
        return;
    }
    while (left > 0) {
        int take = left >= 4 && left != 5 && left != 6 ? 4 : left >= 3 ? 3 : left;
        if (take == 4)
            NAMED(shorts_column)(in, cells, n_in, w, bias, step, size, out, n_out, residual, 4);
        else if (take == 3)
            NAMED(shorts_column)(in, cells, n_in, w, bias, step, size, out, n_out, residual, 3);
        else if (take == 2)
            NAMED(shorts_column)(in, cells, n_in, w, bias, step, size, out, n_out, residual, 2);
        else
            NAMED(shorts_column)(in, cells, n_in, w, bias, step, size, out, n_out, residual, 1);
        left -= take;
        w += 2 * WIDTH * take;
        bias += WIDTH * take;
        step += WIDTH * take;
        out += WIDTH * take;
    }
}

/* --- pooling and policy ---------------------------------------------------------------------------------------- */

INNER void NAMED(pool_tile)(const float* x, const float* shift, int cells, int stride, float* sum, float* top, int
                            vectors)
{
    VECTOR s[4], t[4], move[4];
    int i, v;
#pragma GCC unroll 4
    for (v = 0; v < vectors; v++) {
        s[v] = LOAD_ANY(sum + WIDTH * v);
        t[v] = LOAD_ANY(top + WIDTH * v);
        move[v] = shift == NULL ? ZERO : LOAD(shift + WIDTH * v);
    }
    for (i = 0; i < cells; i++, x += stride)
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++) {
            VECTOR value = LOAD(x + WIDTH * v);
            if (shift != NULL)
                value = MAX(ADD(value, move[v]), ZERO);
            s[v] = ADD(s[v], value);
            t[v] = MAX(t[v], value);
        }
#pragma GCC unroll 4
    for (v = 0; v < vectors; v++) {
        STORE_ANY(sum + WIDTH * v, s[v]);
        STORE_ANY(top + WIDTH * v, t[v]);
    }
}

INNER void NAMED(pool_body)(const float* x, const float* shift, int cells, int stride, int n, float* sum, float* top)
{
    int c = 0;
    for (; c + 4 * WIDTH <= n; c += 4 * WIDTH)
        NAMED(pool_tile)(x + c, shift == NULL ? NULL : shift + c, cells, stride, sum + c, top + c, 4);
    for (; c < n; c += WIDTH)
        NAMED(pool_tile)(x + c, shift == NULL ? NULL : shift + c, cells, stride, sum + c, top + c, 1);
}

LOOP void NAMED(pool)(const float* x, const float* shift, int cells, int stride, int n, float* sum, float* top)
{
    if (shift == NULL)
        NAMED(pool_body)(x, NULL, cells, stride, n, sum, top);
    else
        NAMED(pool_body)(x, shift, cells, stride, n, sum, top);
}

LOOP void NAMED(policy)(const float* hidden, int cells, int stride, int n, const float* w, float* logits)
{
    int i, c;
    for (i = 0; i < cells; i++, hidden += stride) {
        VECTOR sum = MUL(LOAD(hidden), LOAD(w));
        for (c = WIDTH; c < n; c += WIDTH)
            sum = FMA(LOAD(hidden + c), LOAD(w + c), sum);
        logits[i] = TOTAL(sum);
    }
}
#endif

#if WITH_BYTES

/* --- first layer, depthwise part ------------------------------------------------------------------------------- */

INNER void NAMED(gather_body)(const tengen_lines* net, int cell, int cells, float* x, int channels, int narrow)
{
    const VECTOR scale = NUMBER(net->weights.scale);
    int i, c;
    for (i = cell; i < cell + cells; i++, x += channels) {
        const int16_t* a = lines_entry(net, 0, i, channels);
        const int16_t* b = lines_entry(net, 1, i, channels);
        const int16_t* e = lines_entry(net, 2, i, channels);
        const int16_t* f = lines_entry(net, 3, i, channels);
        const float* low = lines_local(net, 0, i, channels);
        const float* high = lines_local(net, 1, i, channels);
        lines_prefetch(net, i + LINES_AHEAD, channels);
        for (c = 0; c < channels; c += WIDTH) {
            const SHORTS va = SHORTS_LOAD(a + c), vb = SHORTS_LOAD(b + c);
            const SHORTS ve = SHORTS_LOAD(e + c), vf = SHORTS_LOAD(f + c);
            VECTOR v = narrow ? SHORTS_FLOAT(SHORTS_ADD(SHORTS_ADD(va, vb), SHORTS_ADD(ve, vf)))
                              : SHORTS_SUM_FLOAT(va, vb, ve, vf);
            v = FMA(v, scale, LOAD(net->scratch.base + c));
            v = ADD(v, ADD(LOAD(low + c), LOAD(high + c)));
            STORE(x + c, MAX(v, ZERO));
        }
    }
}

LOOP void NAMED(gather)(const tengen_lines* net, int cell, int cells, float* x)
{
    if (!net->weights.narrow)
        NAMED(gather_body)(net, cell, cells, x, net->channels, 0);
    else if (net->channels == USUAL)
        NAMED(gather_body)(net, cell, cells, x, USUAL, 1);
    else
        NAMED(gather_body)(net, cell, cells, x, net->channels, 1);
}

/* One vector of channels along a row: nine weights stay in registers, each loaded column serves three outputs.

The row becomes floats in `y`, or bytes in `bytes` if that is not NULL. */
INNER void NAMED(depth_body)(const float* x, int stride, int cells, int channels, const float* w, const float* bias,
                             float* y, uint8_t* bytes)
{
    int c, i;
    for (c = 0; c < channels; c += WIDTH) {
        const float* from = x + c;
        float* to = y + c;
        uint8_t* to_bytes = bytes + c;
        const VECTOR w0 = LOAD(w + c), w1 = LOAD(w + channels + c), w2 = LOAD(w + 2 * channels + c);
        const VECTOR w3 = LOAD(w + 3 * channels + c), w4 = LOAD(w + 4 * channels + c);
        const VECTOR w5 = LOAD(w + 5 * channels + c), w6 = LOAD(w + 6 * channels + c);
        const VECTOR w7 = LOAD(w + 7 * channels + c), w8 = LOAD(w + 8 * channels + c), b = LOAD(bias + c);
        VECTOR up = LOAD(from - stride), mid = LOAD(from), down = LOAD(from + stride);
        /* `now` has its left and middle column, `next` its left one. */
        VECTOR now = FMA(LOAD(from - stride - channels), w0, b);
        VECTOR next = FMA(down, w6, FMA(mid, w3, FMA(up, w0, b)));
        now = FMA(LOAD(from - channels), w3, now);
        now = FMA(LOAD(from + stride - channels), w6, now);
        now = FMA(down, w7, FMA(mid, w4, FMA(up, w1, now)));
        for (i = 0; i < cells; i++) {
            VECTOR after;
            from += channels;
            up = LOAD(from - stride);
            mid = LOAD(from);
            down = LOAD(from + stride);
            after = FMA(down, w6, FMA(mid, w3, FMA(up, w0, b)));
            now = FMA(down, w8, FMA(mid, w5, FMA(up, w2, now)));
            next = FMA(down, w7, FMA(mid, w4, FMA(up, w1, next)));
            now = MAX(now, ZERO);
            if (bytes != NULL) {
                STORE_BYTES(to_bytes, now);
                to_bytes += channels;
            } else {
                STORE(to, now);
                to += channels;
            }
            now = next;
            next = after;
        }
    }
}

#if WITH_FLOATS
LOOP void NAMED(depth)(const float* x, int stride, int cells, int channels, const float* w, const float* bias, float* y)
{
    if (channels == 32)
        NAMED(depth_body)(x, stride, cells, 32, w, bias, y, NULL);
    else
        NAMED(depth_body)(x, stride, cells, channels, w, bias, y, NULL);
}
#endif

LOOP void NAMED(depth_bytes)(const float* x, int stride, int cells, int channels, const float* w, const float* bias,
                             uint8_t* bytes)
{
    if (channels == 64)
        NAMED(depth_body)(x, stride, cells, 64, w, bias, NULL, bytes);
    else
        NAMED(depth_body)(x, stride, cells, channels, w, bias, NULL, bytes);
}

LOOP void NAMED(bytes)(const float* x, int cells, int n, const float* per_unit, uint8_t* bytes)
{
    int i, c;
    for (i = 0; i < cells; i++, x += n, bytes += n)
        for (c = 0; c < n; c += WIDTH)
            STORE_BYTES(bytes + c, MUL(LOAD(x + c), LOAD(per_unit + c)));
}

LOOP void NAMED(move)(const float* from, const float* shift, int cells, int n, float* to)
{
    int i, c;
    for (i = 0; i < cells; i++, from += n, to += n)
        for (c = 0; c < n; c += WIDTH)
            STORE(to + c, MAX(ADD(LOAD(from + c), LOAD(shift + c)), ZERO));
}
#endif

#if WITH_BYTE_PRODUCT

/* --- products in 8 bits ---------------------------------------------------------------------------------------- */

/* Sums of `cells` x WIDTH `vectors` outputs; both are constants. */
INNER void NAMED(bytes_tile)(const uint8_t* in, int n_in, const int8_t* w, const float* bias, const float* step, float*
                             out, int n_out, int residual, int cells, int vectors)
{
    BYTE_SUM sum[BYTE_CELLS][4];
    int i, v, k;
#pragma GCC unroll 4
    for (i = 0; i < cells; i++)
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++)
            sum[i][v] = BYTE_ZERO;
    for (k = 0; k < n_in; k += 4, w += 4 * n_out) {
        BYTE_VALUE value[BYTE_CELLS];
#pragma GCC unroll 4
        for (i = 0; i < cells; i++) {
            int32_t four;
            memcpy(&four, in + i * n_in + k, sizeof four);
            value[i] = BYTE_SPREAD(four);
        }
#pragma GCC unroll 4
        for (v = 0; v < vectors; v++) {
            BYTE_WEIGHT weight = BYTE_LOAD(w + 4 * WIDTH * v);
            KEEP(weight);
#pragma GCC unroll 4
            for (i = 0; i < cells; i++)
                BYTE_DOT(sum[i][v], value[i], weight);
        }
    }
#pragma GCC unroll 4
    for (v = 0; v < vectors; v++) {
        const VECTOR worth = LOAD(step + WIDTH * v), start = LOAD(bias + WIDTH * v);
#pragma GCC unroll 4
        for (i = 0; i < cells; i++) {
            float* to = out + i * n_out + WIDTH * v;
            const VECTOR base = residual ? ADD(start, LOAD(to)) : start;
            STORE(to, MAX(FMA(BYTE_FLOAT(sum[i][v]), worth, base), ZERO));
        }
    }
}

INNER void NAMED(bytes_column)(const uint8_t* in, int cells, int n_in, const int8_t* w, const float* bias, const float*
                               step, float* out, int n_out, int residual, int vectors)
{
    for (; cells >= BYTE_CELLS; cells -= BYTE_CELLS, in += BYTE_CELLS * n_in, out += BYTE_CELLS * n_out)
        NAMED(bytes_tile)(in, n_in, w, bias, step, out, n_out, residual, BYTE_CELLS, vectors);
#if BYTE_CELLS > 3
    if (cells == 3)
        NAMED(bytes_tile)(in, n_in, w, bias, step, out, n_out, residual, 3, vectors);
#endif
#if BYTE_CELLS > 2
    if (cells == 2)
        NAMED(bytes_tile)(in, n_in, w, bias, step, out, n_out, residual, 2, vectors);
#endif
#if BYTE_CELLS > 1
    if (cells == 1)
        NAMED(bytes_tile)(in, n_in, w, bias, step, out, n_out, residual, 1, vectors);
#endif
}

INNER void NAMED(bytes_body)(const uint8_t* in, int cells, int n_in, const int8_t* w, const float* bias, const float*
                             step, float* out, int n_out, int residual)
{
    int c;
    for (c = 0; c + 4 * WIDTH <= n_out; c += 4 * WIDTH)
        NAMED(bytes_column)(in, cells, n_in, w + 4 * c, bias + c, step + c, out + c, n_out, residual, 4);
    if (c + 2 * WIDTH <= n_out) {
        NAMED(bytes_column)(in, cells, n_in, w + 4 * c, bias + c, step + c, out + c, n_out, residual, 2);
        c += 2 * WIDTH;
    }
    if (c < n_out)
        NAMED(bytes_column)(in, cells, n_in, w + 4 * c, bias + c, step + c, out + c, n_out, residual, 1);
}

LOOP void NAMED(product_bytes)(const uint8_t* in, int cells, int n_in, const int8_t* w, const float* bias, const float*
                               step, float* out, int n_out, int residual)
{
    if (n_in == 64 && n_out == 64 && residual)
        NAMED(bytes_body)(in, cells, 64, w, bias, step, out, 64, 1);
    else
        NAMED(bytes_body)(in, cells, n_in, w, bias, step, out, n_out, residual);
}
#endif

#include "vector_end.h"

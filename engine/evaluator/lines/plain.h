/* The loops of `loops.h` in plain C: for every processor, and to see what the others should give. */
#ifndef TENGEN_LINES_PLAIN_H
#define TENGEN_LINES_PLAIN_H

#include "layout.h"

static void lines_scan_plain(tengen_lines* net, const float* planes, int width, int height)
{
    int points = width * height, y, x, k;
    for (y = 0; y < height; y++)
        for (x = 0; x < width; x++) {
            int i = y * width + x;
            unsigned bits = 0;
            for (k = 0; k < LINES_LOCAL; k++)
                bits |= (unsigned)(planes[k * points + i] != 0) << k;
            net->scratch.bits[i] = (uint16_t)bits;
            k = 1 + (int)((bits >> 1) & 3);
            *lines_digit(net, x, y) = (uint16_t)((bits & 1) ? (k < 3 ? k : 3) : 0);  /* both stones: the opponent's */
        }
}

/* Number of what is on one side of a cell: digits (one more than in the definition) up to the first edge. */
static int lines_side(const uint16_t* cell, int step)
{
    int j, id = 0;
    for (j = LINES_REACH; j >= 1; j--) {
        int digit = cell[j * step];
        id = digit ? digit + 3 * id : 0;
    }
    return id;
}

static void lines_entries_plain(tengen_lines* net)
{
    const lines_window* w = &net->window;
    int d, y, x;
    for (d = 0; d < 4; d++)
        for (y = w->top; y < w->bottom; y++)
            for (x = w->from[y]; x < w->until[y]; x++) {
                const uint16_t* cell = lines_digit(net, x, y);
                int a = lines_side(cell, -lines_step(d)), b = lines_side(cell, lines_step(d));
                int high = a > b ? a : b, low = a > b ? b : a;
                net->scratch.entries[d * LINES_GAP + y * w->width + x] = high * (high + 1) / 2 + low;
            }
}

static void lines_gather_plain(const tengen_lines* net, int cell, int cells, float* x)
{
    int channels = net->channels, i, c, d;
    for (i = cell; i < cell + cells; i++, x += channels) {
        const int16_t* entries[4];
        const float* low = lines_local(net, 0, i, channels);
        const float* high = lines_local(net, 1, i, channels);
        for (d = 0; d < 4; d++)
            entries[d] = lines_entry(net, d, i, channels);
        for (c = 0; c < channels; c++) {
            int sum = entries[0][c] + entries[1][c] + entries[2][c] + entries[3][c];
            float v = (float)sum * net->weights.scale + net->scratch.base[c] + low[c] + high[c];
            x[c] = v > 0 ? v : 0;
        }
    }
}

static void lines_depth_plain(const float* x, int stride, int cells, int channels, const float* w, const float*
                              bias, float* y)
{
    int i, c, row;
    for (i = 0; i < cells; i++, x += channels, y += channels) {
        for (c = 0; c < channels; c++)
            y[c] = bias[c];
        for (row = 0; row < 3; row++) {
            const float* from = x + (row - 1) * stride - channels;
            const float* taps = w + 3 * row * channels;
            for (c = 0; c < channels; c++)
                y[c] += from[c] * taps[c] + from[c + channels] * taps[c + channels]
                    + from[c + 2 * channels] * taps[c + 2 * channels];
        }
        for (c = 0; c < channels; c++)
            y[c] = y[c] > 0 ? y[c] : 0;
    }
}

static void lines_product_plain(const float* in, int cells, int n_in, const float* w, const float* bias, float* out,
                                int n_out, int residual, int relu)
{
    int i, k, c;
    for (i = 0; i < cells; i++, in += n_in, out += n_out) {
        for (c = 0; c < n_out; c++)
            out[c] = residual ? out[c] + bias[c] : bias[c];
        for (k = 0; k < n_in; k++) {
            const float* row = w + k * n_out;
            float v = in[k];
            for (c = 0; c < n_out; c++)
                out[c] += v * row[c];
        }
        if (relu)
            for (c = 0; c < n_out; c++)
                out[c] = out[c] > 0 ? out[c] : 0;
    }
}

static void lines_pool_plain(const float* x, const float* shift, int cells, int stride, int n, float* sum, float*
                             top)
{
    int i, c;
    for (i = 0; i < cells; i++, x += stride)
        for (c = 0; c < n; c++) {
            float v = x[c];
            if (shift != NULL)
                v = v + shift[c] > 0 ? v + shift[c] : 0;
            sum[c] += v;
            top[c] = v > top[c] ? v : top[c];
        }
}

static void lines_move_plain(const float* from, const float* shift, int cells, int n, float* to)
{
    int i, c;
    for (i = 0; i < cells; i++, from += n, to += n)
        for (c = 0; c < n; c++)
            to[c] = from[c] + shift[c] > 0 ? from[c] + shift[c] : 0;
}

static void lines_policy_plain(const float* hidden, int cells, int stride, int n, const float* w, float* logits)
{
    int i, c;
    for (i = 0; i < cells; i++, hidden += stride) {
        float sum = 0;
        for (c = 0; c < n; c++)
            sum += hidden[c] * w[c];
        logits[i] = sum;
    }
}

static const lines_loops lines_plain = {
    lines_scan_plain, lines_entries_plain, lines_gather_plain, lines_depth_plain, lines_product_plain,
    lines_pool_plain, lines_move_plain, lines_policy_plain, NULL, NULL, NULL, NULL, NULL,
};

#endif

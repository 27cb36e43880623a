/* The passes, with vectors of WIDTH floats: `fused.h` includes this once for each width and says what the names in
capitals are. Every width adds in the same order, and so finds the same bits. */

/* The mean of each channel of a position, and the sum of the squares around it. */
INNER void NAMED(moments)(const float* x, int hw, int c, float* mean, float* square)
{
    for (int k = 0; k < c; k += WIDTH) {
        const float* p = x + k;
        VECTOR s[4], q[4], mid;
        int r = 0;
        for (int j = 0; j < 4; j++)
            s[j] = q[j] = ZERO;
        for (; r + 4 <= hw; r += 4, p += 4 * c)
            for (int j = 0; j < 4; j++)
                s[j] = ADD(s[j], LOAD(p + j * c));
        for (; r < hw; r++, p += c)
            s[0] = ADD(s[0], LOAD(p));
        mid = DIV(ADD(ADD(s[0], s[1]), ADD(s[2], s[3])), NUMBER((float)hw));
        for (r = 0, p = x + k; r + 4 <= hw; r += 4, p += 4 * c)
            for (int j = 0; j < 4; j++) {
                const VECTOR e = SUB(LOAD(p + j * c), mid);
                q[j] = FMA(e, e, q[j]);
            }
        for (; r < hw; r++, p += c) {
            const VECTOR e = SUB(LOAD(p), mid);
            q[0] = FMA(e, e, q[0]);
        }
        STORE(mean + k, mid);
        STORE(square + k, ADD(ADD(q[0], q[1]), ADD(q[2], q[3])));
    }
}

/* out = sums over taps of w[9, C] x[padded]; its moments. */
PASS void NAMED(depthwise)(const float* x, int height, int width, int c, const float* w,
    float* out, float* mean, float* square, float* room)
{
    const size_t row = (size_t)(width + 2) * c;
    fused_pad(x, height, width, c, room);
    for (int y = 0; y < height; y++)
        for (int k = 0; k < c; k += WIDTH) {
            const float* p = room + y * row + k;
            float* to = out + (size_t)y * width * c + k;
            VECTOR tap[9];
            for (int j = 0; j < 9; j++)
                tap[j] = LOAD(w + j * c + k);
            for (int i = 0; i < width; i++, p += c, to += c) {
                VECTOR a = MUL(tap[0], LOAD(p));
                VECTOR b = MUL(tap[3], LOAD(p + row));
                VECTOR d = MUL(tap[6], LOAD(p + 2 * row));
                a = FMA(tap[1], LOAD(p + c), a);
                b = FMA(tap[4], LOAD(p + row + c), b);
                d = FMA(tap[7], LOAD(p + 2 * row + c), d);
                a = FMA(tap[2], LOAD(p + 2 * c), a);
                b = FMA(tap[5], LOAD(p + row + 2 * c), b);
                d = FMA(tap[8], LOAD(p + 2 * row + 2 * c), d);
                STORE(to, ADD(ADD(a, b), d));
            }
        }
    NAMED(moments)(out, height * width, c, mean, square);
}

/* out = relu(scale in + shift) for some cells. */
INNER void NAMED(norm_relu)(const float* in, int cells, int c, const float* scale, const float* shift, float* out)
{
    for (int r = 0; r < cells; r++, in += c, out += c)
        for (int k = 0; k < c; k += WIDTH)
            STORE(out + k, MAX(FMA(LOAD(scale + k), LOAD(in + k), LOAD(shift + k)), ZERO));
}

/* `rows` rows of out [., n] = in [., depth] w [depth, n]. */
INNER void NAMED(rows)(const float* in, int depth, const float* w, int n, float* out, int rows)
{
    for (int k = 0; k < n; k += FUSED_STEP) {
        VECTOR acc[TILE_ROWS][PARTS], part[PARTS];
        for (int r = 0; r < rows; r++)
            for (int j = 0; j < PARTS; j++)
                acc[r][j] = ZERO;
        for (int i = 0; i < depth; i++) {
            for (int j = 0; j < PARTS; j++)
                part[j] = LOAD(w + (size_t)i * n + k + j * WIDTH);
            for (int r = 0; r < rows; r++) {
                const VECTOR x = SPREAD(in + (size_t)r * depth + i);
                for (int j = 0; j < PARTS; j++)
                    acc[r][j] = FMA(x, part[j], acc[r][j]);
            }
        }
        for (int r = 0; r < rows; r++)
            for (int j = 0; j < PARTS; j++)
                STORE(out + (size_t)r * n + k + j * WIDTH, acc[r][j]);
    }
}

/* out [cells, n] = in [cells, depth] w [depth, n]. */
INNER void NAMED(product)(const float* in, int cells, int depth, const float* w, int n, float* out)
{
    int r = 0;
    for (; r + TILE_ROWS <= cells; r += TILE_ROWS)
        NAMED(rows)(in + (size_t)r * depth, depth, w, n, out + (size_t)r * n, TILE_ROWS);
    for (; r + 3 <= cells; r += 3)
        NAMED(rows)(in + (size_t)r * depth, depth, w, n, out + (size_t)r * n, 3);
    for (; r < cells; r++)
        NAMED(rows)(in + (size_t)r * depth, depth, w, n, out + (size_t)r * n, 1);
}

/* sum [m, n] += a' b, for a [cells, m] and b [cells, n]. */
INNER void NAMED(outer)(const float* a, int m, const float* b, int n, int cells, float* sum)
{
    for (int i = 0; i < m; i += OUTER_ROWS)
        for (int k = 0; k < n; k += FUSED_STEP) {
            VECTOR acc[OUTER_ROWS][PARTS], part[PARTS];
            float* to = sum + (size_t)i * n + k;
            for (int r = 0; r < OUTER_ROWS; r++)
                for (int j = 0; j < PARTS; j++)
                    acc[r][j] = LOAD(to + (size_t)r * n + j * WIDTH);
            for (int cell = 0; cell < cells; cell++) {
                for (int j = 0; j < PARTS; j++)
                    part[j] = LOAD(b + (size_t)cell * n + k + j * WIDTH);
                for (int r = 0; r < OUTER_ROWS; r++) {
                    const VECTOR v = SPREAD(a + (size_t)cell * m + i + r);
                    for (int j = 0; j < PARTS; j++)
                        acc[r][j] = FMA(v, part[j], acc[r][j]);
                }
            }
            for (int r = 0; r < OUTER_ROWS; r++)
                for (int j = 0; j < PARTS; j++)
                    STORE(to + (size_t)r * n + j * WIDTH, acc[r][j]);
        }
}

/* v = relu(scale u + shift) w, for w [C in, C out], and its moments. */
PASS void NAMED(pointwise)(const float* u, int hw, int c, const float* scale, const float* shift,
    const float* w, float* v, float* mean, float* square, float* room)
{
    for (int r = 0; r < hw; r += FUSED_TILE) {
        const int cells = hw - r < FUSED_TILE ? hw - r : FUSED_TILE;
        NAMED(norm_relu)(u + (size_t)r * c, cells, c, scale, shift, room);
        NAMED(product)(room, cells, c, w, c, v + (size_t)r * c);
    }
    NAMED(moments)(v, hw, c, mean, square);
}

/* out = relu(x + scale v + shift) */
PASS void NAMED(residual)(const float* x, const float* v, int hw, int c, const float* scale,
    const float* shift, float* out)
{
    for (size_t r = 0; r < (size_t)hw * c; r += c)
        for (int k = 0; k < c; k += WIDTH) {
            const VECTOR y = FMA(LOAD(scale + k), LOAD(v + r + k), LOAD(shift + k));
            STORE(out + r + k, MAX(ADD(LOAD(x + r + k), y), ZERO));
        }
}

/* out[cell] = the sum of four rows of the table; its moments. */
PASS void NAMED(lines)(const float* table, const int32_t* rows, int hw, int c, float* out,
    float* mean, float* square)
{
    for (int r = 0; r < hw; r++, rows += 4) {
        const float *p0 = table + (size_t)rows[0] * c, *p1 = table + (size_t)rows[1] * c;
        const float *p2 = table + (size_t)rows[2] * c, *p3 = table + (size_t)rows[3] * c;
        float* to = out + (size_t)r * c;
        for (int k = 0; k < c; k += WIDTH) {
            const VECTOR a = ADD(LOAD(p0 + k), LOAD(p1 + k)), b = ADD(LOAD(p2 + k), LOAD(p3 + k));
            STORE(to + k, ADD(a, b));
        }
    }
    NAMED(moments)(out, hw, c, mean, square);
}

/* out = relu(scale lines + shift + planes' w) for planes [P, hw] and w [P, C]. */
PASS void NAMED(stem)(const float* lines, const float* planes, int n_planes, int hw, int c,
    const float* scale, const float* shift, const float* w, float* out)
{
    for (int r = 0; r < hw; r++) {
        float* to = out + (size_t)r * c;
        for (int k = 0; k < c; k += WIDTH)
            STORE(to + k, FMA(LOAD(scale + k), LOAD(lines + (size_t)r * c + k), LOAD(shift + k)));
        for (int p = 0; p < n_planes; p++) {
            const float value = planes[(size_t)p * hw + r];
            const VECTOR times = NUMBER(value);
            if (value == 0)     /* as most are */
                continue;
            for (int k = 0; k < c; k += WIDTH)
                STORE(to + k, FMA(times, LOAD(w + (size_t)p * c + k), LOAD(to + k)));
        }
        for (int k = 0; k < c; k += WIDTH)
            STORE(to + k, MAX(LOAD(to + k), ZERO));
    }
}

/* g = dout where out > 0; sums of g and of g (z - mean). `dout` may be `g`. */
INNER void NAMED(gate)(const float* dout, const float* out, const float* z, const float* mean, int cells, int c,
    float* g, float* sum, float* along)
{
    for (int k = 0; k < c; k += WIDTH) {
        VECTOR mid = LOAD(mean + k), s = LOAD(sum + k), t = LOAD(along + k);
        for (size_t r = k; r < (size_t)cells * c; r += c) {
            const VECTOR d = ABOVE(LOAD(out + r), LOAD(dout + r));
            STORE(g + r, d);
            s = ADD(s, d);
            t = FMA(d, SUB(LOAD(z + r), mid), t);
        }
        STORE(sum + k, s);
        STORE(along + k, t);
    }
}

/* The heads: hidden [hw, np + nv] = relu(x w + bias); logits [3, hw] of its first np channels by v [3, np]; the sum
and the largest of each of its last nv. */
PASS void NAMED(heads)(const float* x, int hw, int c, const float* w, const float* bias, const float* v,
    int np, int nv, float* hidden, float* logits, float* sum, float* top)
{
    const int n = np + nv;
    memset(sum, 0, nv * sizeof(float));
    memset(top, 0, nv * sizeof(float));
    NAMED(product)(x, hw, c, w, n, hidden);
    for (int r = 0; r < hw; r++) {
        float* h = hidden + (size_t)r * n;
        for (int k = 0; k < n; k += WIDTH)
            STORE(h + k, MAX(ADD(LOAD(h + k), LOAD(bias + k)), ZERO));
        for (int j = 0; j < 3; j++) {
            __m256 total = _mm256_setzero_ps();     /* eight at a time, so that every width adds in the same order */
            for (int k = 0; k < np; k += 8)
                total = _mm256_fmadd_ps(_mm256_loadu_ps(h + k), _mm256_loadu_ps(v + (size_t)j * np + k), total);
            logits[(size_t)j * hw + r] = fused_total(total);
        }
        for (int k = 0; k < nv; k += WIDTH) {
            STORE(sum + k, ADD(LOAD(sum + k), LOAD(h + np + k)));
            STORE(top + k, MAX(LOAD(top + k), LOAD(h + np + k)));
        }
    }
}

/* Back through the heads: g, the gradient of what the relu of x saw, and its sums as those of `gate`.

Logits have the gradient dlogits [3, hw]; each value channel `every` in each cell and `at_top` / (how many) where it
is `top`. dw [np + nv, C], dbias [np + nv] and dv [3, np] grow; w is [np + nv, C]. */
PASS void NAMED(heads_back)(const float* dlogits, const float* every, const float* at_top,
    const float* top, const float* hidden, const float* x, const float* z, const float* mean, int hw, int c,
    const float* w, const float* v, int np, int nv, float* g, float* sum, float* along, float* dw, float* dbias,
    float* dv, float* room)
{
    const int n = np + nv;
    float *share = room, *dh = room + nv;
    memset(sum, 0, c * sizeof(float));
    memset(along, 0, c * sizeof(float));
    for (int k = 0; k < nv; k += WIDTH) {
        const VECTOR best = LOAD(top + k);
        VECTOR many = ZERO;
        for (int r = 0; r < hw; r++) {
            many = ADD(many, SAME(LOAD(hidden + (size_t)r * n + np + k), best, NUMBER(1)));
        }
        STORE(share + k, DIV(LOAD(at_top + k), many));
    }
    for (int start = 0; start < hw; start += FUSED_TILE) {
        const int cells = hw - start < FUSED_TILE ? hw - start : FUSED_TILE;
        const size_t at = (size_t)start * c;
        for (int r = 0; r < cells; r++) {
            const float* h = hidden + (size_t)(start + r) * n;
            float* d = dh + (size_t)r * n;
            VECTOR by[3];
            for (int j = 0; j < 3; j++)
                by[j] = SPREAD(dlogits + (size_t)j * hw + start + r);
            for (int k = 0; k < np; k += WIDTH) {
                VECTOR e = MUL(by[0], LOAD(v + k)), seen = LOAD(h + k);
                e = FMA(by[1], LOAD(v + np + k), e);
                e = FMA(by[2], LOAD(v + 2 * (size_t)np + k), e);
                STORE(d + k, ABOVE(seen, e));
                for (int j = 0; j < 3; j++) {
                    float* to = dv + (size_t)j * np + k;
                    STORE(to, FMA(by[j], seen, LOAD(to)));
                }
            }
            for (int k = 0; k < nv; k += WIDTH) {
                const VECTOR seen = LOAD(h + np + k);
                const VECTOR e = ADD(LOAD(every + k), SAME(seen, LOAD(top + k), LOAD(share + k)));
                STORE(d + np + k, ABOVE(seen, e));
            }
            for (int k = 0; k < n; k += WIDTH)
                STORE(dbias + k, ADD(LOAD(dbias + k), LOAD(d + k)));
        }
        NAMED(outer)(dh, n, x + at, c, cells, dw);
        NAMED(product)(dh, cells, n, w, c, g + at);
        NAMED(gate)(g + at, x + at, z + at, mean, cells, c, g + at, sum, along);
    }
}

/* Back through v = relu(scale u + shift) w: dy of what the relu saw, for w [C out, C in]; the sums of dy and of
dy (u - mean); dw [C out, C in] of this position. dv = slope g + tilt v + level. */
PASS void NAMED(pointwise_back)(const float* g, const float* v, const float* slope, const float* tilt,
    const float* level, const float* u, const float* scale, const float* shift, const float* mean, const float* w,
    int hw, int c, float* dy, float* sum, float* along, float* dw, float* room)
{
    float *t = room, *dv = room + (size_t)FUSED_TILE * c;
    memset(sum, 0, c * sizeof(float));
    memset(along, 0, c * sizeof(float));
    for (int start = 0; start < hw; start += FUSED_TILE) {
        const int cells = hw - start < FUSED_TILE ? hw - start : FUSED_TILE;
        const size_t at = (size_t)start * c;
        NAMED(norm_relu)(u + at, cells, c, scale, shift, t);
        for (size_t r = 0; r < (size_t)cells * c; r += c)
            for (int k = 0; k < c; k += WIDTH) {
                const VECTOR e = FMA(LOAD(tilt + k), LOAD(v + at + r + k), LOAD(level + k));
                STORE(dv + r + k, FMA(LOAD(slope + k), LOAD(g + at + r + k), e));
            }
        NAMED(outer)(dv, c, t, c, cells, dw);
        NAMED(product)(dv, cells, c, w, c, dy + at);
        NAMED(gate)(dy + at, t, u + at, mean, cells, c, dy + at, sum, along);
    }
}

/* Back through u = depthwise(x), x = relu(...): g becomes the gradient of what that relu saw, for g the gradient that
reaches x on the way around the block. du = slope dy + tilt u + level. dw [9, C] and the sums of the new g and of
g (z - mean). */
PASS void NAMED(depthwise_back)(const float* dy, const float* u, const float* slope, const float* tilt,
    const float* level, const float* x, const float* w, const float* z, const float* mean, int height, int width,
    int c, float* g, float* dw, float* sum, float* along, float* room)
{
    const size_t row = (size_t)(width + 2) * c;
    float *du = room, *px = room + (height + 2) * row;
    memset(dw, 0, 9 * (size_t)c * sizeof(float));
    memset(sum, 0, c * sizeof(float));
    memset(along, 0, c * sizeof(float));
    fused_pad(x, height, width, c, px);
    fused_rim(height, width, c, du);
    for (int y = 0; y < height; y++)
        for (int i = 0; i < width; i++) {
            const size_t at = ((size_t)y * width + i) * c;
            float* to = du + (y + 1) * row + (size_t)(i + 1) * c;
            for (int k = 0; k < c; k += WIDTH) {
                const VECTOR e = FMA(LOAD(tilt + k), LOAD(u + at + k), LOAD(level + k));
                STORE(to + k, FMA(LOAD(slope + k), LOAD(dy + at + k), e));
            }
        }
    for (int y = 0; y < height; y++)
        for (int k = 0; k < c; k += WIDTH) {
            const float *p = px + y * row + k, *from = du + (y + 1) * row + c + k;
            VECTOR acc[9];
            for (int j = 0; j < 9; j++)
                acc[j] = LOAD(dw + j * c + k);
            for (int i = 0; i < width; i++, p += c, from += c) {
                const VECTOR d = LOAD(from);
                for (int j = 0; j < 9; j++)
                    acc[j] = FMA(d, LOAD(p + j / 3 * row + j % 3 * c), acc[j]);
            }
            for (int j = 0; j < 9; j++)
                STORE(dw + j * c + k, acc[j]);
        }
    for (int y = 0; y < height; y++)
        for (int k = 0; k < c; k += WIDTH) {
            VECTOR tap[9], mid = LOAD(mean + k), s = LOAD(sum + k), t = LOAD(along + k);
            const float* p = du + y * row + k;
            size_t at = (size_t)y * width * c + k;
            for (int j = 0; j < 9; j++)
                tap[j] = LOAD(w + j * c + k);
            for (int i = 0; i < width; i++, p += c, at += c) {
                VECTOR a = LOAD(g + at), b = MUL(tap[5], LOAD(p + row));
                VECTOR d = MUL(tap[2], LOAD(p + 2 * row));
                a = FMA(tap[8], LOAD(p), a);
                b = FMA(tap[4], LOAD(p + row + c), b);
                d = FMA(tap[1], LOAD(p + 2 * row + c), d);
                a = FMA(tap[7], LOAD(p + c), a);
                b = FMA(tap[3], LOAD(p + row + 2 * c), b);
                d = FMA(tap[0], LOAD(p + 2 * row + 2 * c), d);
                a = FMA(tap[6], LOAD(p + 2 * c), a);
                a = ABOVE(LOAD(x + at), ADD(ADD(a, b), d));
                STORE(g + at, a);
                s = ADD(s, a);
                t = FMA(a, SUB(LOAD(z + at), mid), t);
            }
            STORE(sum + k, s);
            STORE(along + k, t);
        }
}

/* The sum and the largest of each channel of x, none below zero. */
PASS void NAMED(pool)(const float* x, int hw, int c, float* sum, float* top)
{
    for (int k = 0; k < c; k += WIDTH) {
        VECTOR s = ZERO, t = s;
        for (size_t r = k; r < (size_t)hw * c; r += c) {
            s = ADD(s, LOAD(x + r));
            t = MAX(t, LOAD(x + r));
        }
        STORE(sum + k, s);
        STORE(top + k, t);
    }
}

/* g += every, and at_top / (how many) where x is top. */
PASS void NAMED(pool_back)(const float* x, const float* top, const float* every, const float* at_top,
    int hw, int c, float* g)
{
    for (int k = 0; k < c; k += WIDTH) {
        const VECTOR all = LOAD(every + k), best = LOAD(top + k);
        VECTOR n = ZERO, share;
        for (size_t r = k; r < (size_t)hw * c; r += c)
            n = ADD(n, SAME(LOAD(x + r), best, NUMBER(1)));
        share = DIV(LOAD(at_top + k), MAX(n, NUMBER(1)));
        for (size_t r = k; r < (size_t)hw * c; r += c) {
            const VECTOR here = SAME(LOAD(x + r), best, share);
            STORE(g + r, ADD(LOAD(g + r), ADD(all, here)));
        }
    }
}

/* Back through the stem: the gradient of the table's rows and of w [P, C]; dl = slope g + tilt lines + level. */
PASS void NAMED(stem_back)(const float* g, const float* lines, const float* slope, const float* tilt,
    const float* level, const int32_t* rows, const float* planes, int n_planes, int hw, int c, float* dtable,
    float* dw)
{
    for (int r = 0; r < hw; r++, rows += 4) {
        const size_t at = (size_t)r * c;
        for (int k = 0; k < c; k += WIDTH) {
            const VECTOR e = FMA(LOAD(tilt + k), LOAD(lines + at + k), LOAD(level + k));
            const VECTOR d = FMA(LOAD(slope + k), LOAD(g + at + k), e);
            for (int j = 0; j < 4; j++) {
                float* to = dtable + (size_t)rows[j] * c + k;
                STORE(to, ADD(LOAD(to), d));
            }
        }
        for (int p = 0; p < n_planes; p++) {
            const float value = planes[(size_t)p * hw + r];
            const VECTOR times = NUMBER(value);
            float* to = dw + (size_t)p * c;
            if (value == 0)
                continue;
            for (int k = 0; k < c; k += WIDTH)
                STORE(to + k, FMA(times, LOAD(g + at + k), LOAD(to + k)));
        }
    }
}

static const fused_passes NAMED(passes) = {
    NAMED(depthwise), NAMED(pointwise), NAMED(residual), NAMED(lines), NAMED(stem), NAMED(heads), NAMED(heads_back),
    NAMED(pointwise_back), NAMED(depthwise_back), NAMED(pool), NAMED(pool_back), NAMED(stem_back),
};

#undef NAMED
#undef PASS
#undef INNER
#undef VECTOR
#undef LOAD
#undef STORE
#undef SPREAD
#undef NUMBER
#undef ZERO
#undef ADD
#undef SUB
#undef MUL
#undef DIV
#undef MAX
#undef FMA
#undef ABOVE
#undef SAME
#undef WIDTH
#undef PARTS
#undef TILE_ROWS
#undef OUTER_ROWS

# cython: language_level=3
"""The line net: a codebook of line contents, then small separable convolutions, computed here without a runtime.

For each cell and each of the four directions, the five cells before it and the five behind name one row of the
codebook; four rows make the first layer. What follows is a short trunk of 3x3 depthwise and pointwise products and
two heads. `tests.reference.lines` is the naive twin and says what is computed; the loops stand in `lines.h`.

Shape letters: C channels, N blocks, P policy channels, V value channels, D hidden values, B batch, H W board.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t
from libc.string cimport memcpy, memset

import numpy as np

cdef enum:
    MIN_CHANNELS = 16
    MAX_CHANNELS = 96
    MAX_WIDTH = 1024            # of a head or the hidden layer
    MIN_BOARD = 5


cdef void* take(size_t bytes) except NULL:
    cdef void* p = tengen_lines_take(bytes)
    if p == NULL:
        raise MemoryError(f"no memory for the line net: {bytes} bytes")
    return p


cdef int16_t* keep_short(array) except NULL:
    """Copy an int16 array to aligned memory, in C order."""
    cdef int16_t[::1] flat = np.ascontiguousarray(array).reshape(-1)
    cdef int16_t* to = <int16_t*>take(flat.shape[0] * sizeof(int16_t))
    memcpy(to, &flat[0], flat.shape[0] * sizeof(int16_t))
    return to


cdef int8_t* keep_bytes(array) except NULL:
    """Copy an int8 array to aligned memory, in C order."""
    cdef int8_t[::1] flat = np.ascontiguousarray(array).reshape(-1)
    cdef int8_t* to = <int8_t*>take(flat.shape[0])
    memcpy(to, &flat[0], flat.shape[0])
    return to


cdef float* keep(array) except NULL:
    """Copy an array to aligned memory, as float32 in C order."""
    cdef float[::1] flat = np.ascontiguousarray(array, dtype=np.float32).reshape(-1)
    cdef float* to = <float*>take(flat.shape[0] * sizeof(float))
    memcpy(to, &flat[0], flat.shape[0] * sizeof(float))
    return to


def _floats(weights, key, shape):
    """Return the weights of a key as float32, checked; -1 in `shape` stands for any size above zero."""
    if key not in weights:
        raise ValueError(f"line net: weights lack '{key}'")
    array = np.asarray(weights[key])
    if array.dtype != np.float32:
        raise ValueError(f"line net: '{key}' is {array.dtype}, not float32")
    if array.ndim != len(shape) or any(
        have != want and not (want == -1 and have > 0) for have, want in zip(array.shape, shape)
    ):
        wanted = ", ".join("any" if n == -1 else str(n) for n in shape)
        raise ValueError(f"line net: '{key}' has shape {list(array.shape)}, not [{wanted}]")
    if not np.isfinite(array).all():
        raise ValueError(f"line net: '{key}' is not finite")
    return array


def _in_steps(name, size, low, high):
    if size % 8 or not low <= size <= high:
        raise ValueError(f"line net: {name} must be a multiple of 8 from {low} to {high}, not {size}")
    return size


def _codebook(weights):
    """Return the codebook, checked, int16 [364 * 365 / 2, C]."""
    if "codebook" not in weights:
        raise ValueError("line net: weights lack 'codebook'")
    book = np.asarray(weights["codebook"])
    if book.dtype != np.int16:
        raise ValueError(f"line net: 'codebook' is {book.dtype}, not int16")
    if book.ndim != 2 or book.shape[0] != LINES_ROWS:
        raise ValueError(f"line net: 'codebook' has shape {list(book.shape)}, not [{LINES_ROWS}, any]")
    _in_steps("channels", book.shape[1], MIN_CHANNELS, MAX_CHANNELS)
    return book


def _local_sums(plane_weight):
    """Return the sums of plane weights for every set of planes 0..6, and of planes 7..13: [2, 128, C]."""
    held = (np.arange(LINES_HALF)[:, None] >> np.arange(LINES_LOCAL // 2)) & 1
    halves = plane_weight[:LINES_LOCAL].reshape(2, LINES_LOCAL // 2, -1).astype(np.float64)
    return (held.astype(np.float64) @ halves).astype(np.float32)


def _shorten(weights):
    """Round products [..., n, m] to 16 bits, each output in steps of its own.

    Returns:
        int16 [..., n / 2, m, 2], pairs of inputs side by side, and the steps, float32 [..., m]. No sum over the
        inputs can leave 32 bits.
    """
    exact = weights.astype(np.float64)
    *lead, inputs, outputs = exact.shape
    load, top = np.abs(exact).sum(axis=-2), np.abs(exact).max(axis=-2)
    step = np.maximum(np.maximum(load / (LINES_LOAD - inputs), top / 32767), 1e-30)
    rounded = np.rint(exact / step[..., None, :]).astype(np.int16)
    pairs = rounded.reshape(*lead, inputs // 2, 2, outputs)
    return np.ascontiguousarray(np.swapaxes(pairs, -1, -2)), step.astype(np.float32)


def _levels(weights, key, inputs, outputs, *lead):
    """Return products in 8 bits, checked, or None if the weights have no levels at all.

    Returns:
        levels int8 [..., inputs / 4, outputs, 4], and float32: what a step of each output is worth [..., outputs],
        the bias to take with them [..., outputs], and the levels to one unit of each input [..., inputs].
    """
    if not any(name.endswith("_levels") for name in weights):
        return None
    name = f"{key}_levels"
    if name not in weights:
        raise ValueError(f"line net: weights lack '{name}'")
    levels = np.asarray(weights[name])
    if levels.dtype != np.int8 or levels.shape != (*lead, inputs, outputs):
        raise ValueError(f"line net: '{name}' is {levels.dtype} {list(levels.shape)}, not int8 "
                         f"{[*lead, inputs, outputs]}")
    step, bias = (_floats(weights, f"{name}_{part}", (*lead, outputs)) for part in ("step", "bias"))
    unit = _floats(weights, f"{key}_unit", (*lead, inputs))
    if not (unit > 0).all():
        raise ValueError(f"line net: '{key}_unit' is not above 0")
    # 16-bit sums: of inputs 0, 1, 4, 5, 8, ... and of the others
    lanes = levels.astype(np.int64).reshape(*lead, inputs // 4, 2, 2, outputs)
    for sign in (1, -1):
        load = np.maximum(sign * lanes, 0).sum(axis=(-4, -2))
        if load.size and load.max() > LINES_LEVEL_LOAD:
            raise ValueError(f"line net: '{name}' add up to {load.max()} in a sum, above {LINES_LEVEL_LOAD}")
    fours = levels.reshape(*lead, inputs // 4, 4, outputs)
    return np.ascontiguousarray(np.swapaxes(fours, -1, -2)), step, bias, 1 / unit


cdef class LineNet:
    """A net of weights that judges positions.

    Args:
        weights: arrays by name, float32 unless told otherwise: codebook int16 [364 * 365 / 2, C] (the row of
            sides h and l, h >= l, whichever is left, at h * (h + 1) / 2 + l), codebook_scale [],
            plane_weight [20, C], bias [C], dw [N, 9, C], dw_bias [N, C], pw [N, C, C] (in, out), pw_bias [N, C],
            pool_weight [3C, C], pool_bias [C], policy_in [C, P],
            policy_bias [P], policy_out [P], value_in [C, V], value_bias [V], hidden_w [3V, D], hidden_b [D],
            out_w [D, 3], out_b [3]. C, P and V are multiples of 8. Copies are kept. Where there are
            levels, they are used: pw_levels int8 [N, C, C] (in, out), pw_levels_step [N, C] (out), pw_levels_bias
            [N, C] (out) and pw_unit [N, C] (in), the pointwise products for inputs that are rounded to levels from 0
            to 127, worth pw_unit each; and head_levels int8 [C, P + V], head_levels_step, head_levels_bias [P + V]
            and head_unit [C], the same for policy_in and value_in side by side. A 16-bit sum holds every second pair
            of inputs: of the weights in one, those of either sign must not add up to more than 258. And pool_usual
            [C], what pooling adds to its block in most positions: with a margin, the empty board is judged with it.
        pooled: the block with global pooling, or -1.
        vectors: use AVX2 where the processor has it.
        wide: with levels, use AVX-512 where the processor has it with VNNI, and C and P + V are multiples of 16: the
            same numbers, sooner.
        exact: take the pointwise products in float32 with AVX2 too. Else they are taken in 8 bits there if the
            weights have levels, which is the fastest; without them in 16 bits (weights rounded output by output,
            activations row by row), which moves logits by some 1e-4.
        margin: compute only the rectangle that leaves so many cells on each side of the stones, and take what lies
            beyond it to be an empty board, moved with the position (`lines.h`); 0: all of the board.

    Raises:
        ValueError: a key is missing, or has another type or shape, or is not finite; or the margin is negative.
    """

    def __cinit__(self):
        memset(&self.net, 0, sizeof(tengen_lines))

    def __init__(self, weights, pooled, *, vectors=True, exact=False, margin=0, wide=True):
        if self.net.x != NULL:
            raise ValueError("line net: already built")
        book = _codebook(weights)
        channels = book.shape[1]
        scale = _floats(weights, "codebook_scale", ())
        plane_weight = _floats(weights, "plane_weight", (LINES_PLANES, channels))
        bias = _floats(weights, "bias", (channels,))
        dw = _floats(weights, "dw", (-1, 9, channels))
        blocks = dw.shape[0]
        dw_bias = _floats(weights, "dw_bias", (blocks, channels))
        pw = _floats(weights, "pw", (blocks, channels, channels))
        pw_bias = _floats(weights, "pw_bias", (blocks, channels))
        pw_levels = _levels(weights, "pw", channels, channels, blocks)
        pool_weight = _floats(weights, "pool_weight", (3 * channels, channels))
        pool_bias = _floats(weights, "pool_bias", (channels,))
        pool_usual = _floats(weights, "pool_usual", (channels,)) if "pool_usual" in weights else None
        policy_in = _floats(weights, "policy_in", (channels, -1))
        policy = _in_steps("policy channels", policy_in.shape[1], 8, MAX_WIDTH)
        policy_bias = _floats(weights, "policy_bias", (policy,))
        policy_out = _floats(weights, "policy_out", (policy,))
        value_in = _floats(weights, "value_in", (channels, -1))
        value = _in_steps("value channels", value_in.shape[1], 8, MAX_WIDTH)
        value_bias = _floats(weights, "value_bias", (value,))
        head_levels = _levels(weights, "head", channels, policy + value)
        hidden_w = _floats(weights, "hidden_w", (3 * value, -1))
        hidden = hidden_w.shape[1]
        if hidden > MAX_WIDTH:
            raise ValueError(f"line net: at most {MAX_WIDTH} hidden values, not {hidden}")
        hidden_b = _floats(weights, "hidden_b", (hidden,))
        out_w = _floats(weights, "out_w", (hidden, 3))
        out_b = _floats(weights, "out_b", (3,))
        if isinstance(pooled, bool) or not isinstance(pooled, (int, np.integer)) or not -1 <= pooled < blocks:
            raise ValueError(f"line net: pooled must be a block from 0 to {blocks - 1}, or -1, not {pooled!r}")
        if isinstance(margin, bool) or not isinstance(margin, int) or margin < 0:
            raise ValueError(f"line net: margin must be a whole number from 0, not {margin!r}")
        spare = -hidden % 8  # zeros, so that vectors are whole

        cdef tengen_lines* net = &self.net
        net.channels = channels
        net.blocks = blocks
        net.policy = policy
        net.value = value
        net.hidden = hidden + spare
        net.pooled = pooled
        net.margin = min(margin, LINES_SIDE)
        net.vectors = 1 if vectors and tengen_have_vectors() else 0
        net.narrow = 1 if 4 * int(book.max()) <= 32767 and 4 * int(book.min()) >= -32768 else 0
        net.scale = float(scale)
        net.codebook = keep_short(book)
        net.local_ = keep(_local_sums(plane_weight))
        net.global_ = keep(plane_weight[LINES_LOCAL:])
        net.bias = keep(bias)
        net.dw = keep(dw)
        net.dw_bias = keep(dw_bias)
        net.pw = keep(pw)
        net.pw_bias = keep(pw_bias)
        net.pool_weight = keep(pool_weight)
        net.pool_bias = keep(pool_bias)
        if pool_usual is not None:
            net.pool_usual = keep(pool_usual)
        heads = np.concatenate([policy_in, value_in], axis=1)
        net.head = keep(heads)
        if net.vectors and not exact and pw_levels is None:
            pairs, steps = _shorten(pw)
            net.pw_short = keep_short(pairs)
            net.pw_step = keep(steps)
            pairs, steps = _shorten(heads)
            net.head_short = keep_short(pairs)
            net.head_step = keep(steps)
            net.packed = <int16_t*>take(LINES_SIDE * net.channels * sizeof(int16_t))
        elif net.vectors and not exact:
            if wide and tengen_have_wide_vectors() and channels % 16 == 0 and (policy + value) % 16 == 0:
                net.vectors = 2
            net.levels = <uint8_t*>take(2 * LINES_SIDE * net.channels)
            whole, step, shifted, per_unit = head_levels
            net.head_byte = keep_bytes(whole)
            net.head_byte_step = keep(step)
            net.head_byte_bias = keep(shifted)
            net.head_per_unit = keep(per_unit)
            if blocks > 0:
                whole, step, shifted, per_unit = pw_levels
                net.pw_byte = keep_bytes(whole)
                net.pw_byte_step = keep(step)
                net.pw_byte_bias = keep(shifted)
                net.per_unit = keep(per_unit)
                net.dw_byte = keep(dw * per_unit[:, None])
                net.dw_byte_bias = keep(dw_bias * per_unit)
        net.head_bias = keep(np.concatenate([policy_bias, value_bias]))
        net.policy_out = keep(policy_out)
        net.hidden_w = keep(np.pad(hidden_w, ((0, 0), (0, spare))))
        net.hidden_b = keep(np.pad(hidden_b, (0, spare)))
        net.out_w = keep(np.pad(out_w, ((0, spare), (0, 0))))
        net.out_b = keep(out_b)
        net.y = <float*>take(2 * LINES_SIDE * net.channels * sizeof(float))
        net.heads = <float*>take(LINES_SIDE * (net.policy + net.value) * sizeof(float))
        net.pool = <float*>take(3 * max(net.channels, net.value) * sizeof(float))
        net.vector = <float*>take(max(net.channels, net.hidden) * sizeof(float))
        net.base = <float*>take(net.channels * sizeof(float))
        net.digits = <uint16_t*>take((LINES_SIDE + 2 * LINES_REACH) * LINES_STRIDE * sizeof(uint16_t))
        net.bits = <uint16_t*>take((LINES_POINTS + LINES_SLACK) * sizeof(uint16_t))
        net.rows = <int32_t*>take(4 * (LINES_POINTS + LINES_SLACK) * sizeof(int32_t))
        net.cell = <float*>take(9 * net.channels * sizeof(float))
        net.cell_value = <float*>take(net.value * sizeof(float))
        net.shift = <float*>take(max(net.channels, net.value) * sizeof(float))
        net.blank = <float*>take(LINES_PLANES * LINES_POINTS * sizeof(float))
        net.x = <float*>take((LINES_SIDE + 2) * (LINES_SIDE + 2) * net.channels * sizeof(float))

    def __dealloc__(self):
        cdef tengen_lines* net = &self.net
        cdef void** parts = [
            net.codebook, net.local_, net.global_, net.bias, net.dw, net.dw_bias, net.pw, net.pw_bias,
            net.pool_weight, net.pool_bias, net.head, net.head_bias, net.policy_out, net.hidden_w, net.hidden_b,
            net.out_w, net.out_b, net.x, net.y, net.heads, net.pool, net.vector, net.base, net.digits, net.bits,
            net.rows, net.pw_short, net.pw_step, net.head_short, net.head_step, net.packed, net.pw_byte,
            net.pw_byte_step, net.pw_byte_bias, net.dw_byte, net.dw_byte_bias, net.per_unit, net.levels,
            net.head_byte, net.head_byte_step, net.head_byte_bias, net.head_per_unit, net.cell, net.cell_value,
            net.shift, net.blank, net.pool_usual,
        ]
        cdef int i
        for i in range(47):
            tengen_lines_release(parts[i])
        tengen_lines_forget(net)

    @property
    def channels(self):
        """Trunk channels."""
        return self.net.channels

    @property
    def blocks(self):
        """Blocks of the trunk."""
        return self.net.blocks

    @property
    def vectors(self):
        """Whether AVX2 is used."""
        return self.net.vectors != 0

    @property
    def wide(self):
        """Whether AVX-512 is used."""
        return self.net.vectors > 1

    @property
    def margin(self):
        """Cells around the stones that are computed; 0: all of the board."""
        return self.net.margin

    @property
    def bits(self):
        """Of the numbers in the pointwise products: 8, 16, or 32 for floats."""
        return 8 if self.net.head_byte != NULL else 16 if self.net.head_short != NULL else 32

    cdef void judge(self, const float* planes, int width, int height, float* policy, float* wdl) noexcept nogil:
        tengen_lines_judge(&self.net, planes, width, height, policy, wdl)

    def evaluate(self, planes, policy_out_array, wdl_out_array):
        """Judge a batch; not for two threads at once.

        Args:
            planes: float32 [B, 20, H, W] of `engine.encoding`, sides from 5 to 22, zeros and ones only.
            policy_out_array: float32 [B, H * W], takes the logits.
            wdl_out_array: float32 [B, 3], takes win, draw and loss for the side to move.

        Raises:
            ValueError: an array has another shape or type, or is not contiguous.
        """
        cdef const float[:, :, :, ::1] view = planes
        cdef float[:, ::1] policy = policy_out_array
        cdef float[:, ::1] wdl = wdl_out_array
        cdef Py_ssize_t batch = view.shape[0], i
        cdef int height = <int>view.shape[2], width = <int>view.shape[3]
        if self.net.x == NULL:
            raise ValueError("line net: not built")
        if view.shape[1] != LINES_PLANES:
            raise ValueError(f"line net: {view.shape[1]} planes, not {LINES_PLANES}")
        if not (MIN_BOARD <= view.shape[2] <= LINES_SIDE and MIN_BOARD <= view.shape[3] <= LINES_SIDE):
            raise ValueError(
                f"line net: sides must be {MIN_BOARD} to {LINES_SIDE}, not {view.shape[3]}x{view.shape[2]}")
        if policy.shape[0] != batch or policy.shape[1] != height * width:
            raise ValueError(f"line net: policy must be [{batch}, {height * width}]")
        if wdl.shape[0] != batch or wdl.shape[1] != 3:
            raise ValueError(f"line net: wdl must be [{batch}, 3]")
        with nogil:
            for i in range(batch):
                self.judge(&view[i, 0, 0, 0], width, height, &policy[i, 0], &wdl[i, 0])

# cython: language_level=3
"""The line net: a codebook of line contents, then small separable convolutions, computed here without a runtime.

For each cell and each of the four lines through it, the five cells before it and the five behind name one entry of the
codebook; four entries make the first layer. What follows is a short trunk of 3x3 depthwise and pointwise products and
two heads. Weights are checked and packed here; `lines/net.h` computes, `tests.reference.lines` is the naive twin and
says what.

The loops of the forward pass are there for plain C, AVX2, AVX-512 and NEON: a net takes one of these paths when it
is built.

Shape letters: C channels, N blocks, P policy channels, V value channels, D hidden values, B batch, H W board.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcpy, memset

import numpy as np

cdef extern from *:
    """
    #include "planes.h"
    #include "lines/layout.h"
    TENGEN_STATIC_ASSERT(planes, (int)LINES_PLANES == (int)PLANE_COUNT);
    TENGEN_STATIC_ASSERT(local_planes, (int)LINES_LOCAL == (int)PLANE_OWN_IS_BLACK);    /* others hold one value */
    """

cdef extern from "lines/net.h" nogil:
    enum:
        LINES_PLAIN
        LINES_AVX512
        LINES_SIDE
        LINES_GAP
        LINES_REACH
        LINES_STRIDE
        LINES_ENTRIES
        LINES_LOCAL
        LINES_HALF
        LINES_LOAD
        LINES_BYTE_LOAD

    const lines_loops* lines_loops_of(int path)
    void* lines_take(lines_owner* owner, size_t bytes)
    void tengen_lines_share(tengen_lines* to, const tengen_lines* source)
    void tengen_lines_release(tengen_lines* net)
    void tengen_lines_evaluate(tengen_lines* net, const float* planes, int width, int height, float* policy, float* wdl)

cdef enum:
    MIN_BOARD = 5

PATHS = ("plain", "avx2", "avxvnni", "avx512", "neon", "neon-dot")
"""Names of the paths, the slowest first."""

# Sizes that a net may have: least, most, and what they are multiples of. 16-bit products add up to 96 inputs; the
# others bound what a damaged file makes us take (derived: 32 blocks of 96 channels keep 6 MB for an empty 22x22 board).
LIMITS = {"C": (16, 96, 8), "N": (1, 32, 1), "P": (8, 1024, 8), "V": (8, 1024, 8), "D": (1, 1024, 1)}

# Float32 arrays and their sizes. A letter is the size of the first array that has it.
SHAPES = {
    "codebook_scale": (), "plane_weight": (LINES_PLANES, "C"), "bias": ("C",),
    "dw": ("N", 9, "C"), "dw_bias": ("N", "C"), "pw": ("N", "C", "C"), "pw_bias": ("N", "C"),
    "pool_weight": ("3C", "C"), "pool_bias": ("C",), "pool_usual": ("C",),
    "policy_in": ("C", "P"), "policy_bias": ("P",), "policy_out": ("P",),
    "value_in": ("C", "V"), "value_bias": ("V",),
    "hidden_w": ("3V", "D"), "hidden_b": ("D",), "out_w": ("D", 3), "out_b": (3,),
}
OPTIONAL = ("pool_usual",)

# What 8-bit products need besides `..._levels`, which are int8: for the blocks, and for both heads side by side.
BYTE_SHAPES = {
    "pw": {"levels": ("N", "C", "C"), "levels_step": ("N", "C"), "levels_bias": ("N", "C"), "unit": ("N", "C")},
    "head": {"levels": ("C", "P+V"), "levels_step": ("P+V",), "levels_bias": ("P+V",), "unit": ("C",)},
}
MIN_UNIT = 1e-30      # one divided by it is a number (derived: float32 ends at 3e38)


def paths():
    """Return the paths that this processor can take, the fastest last."""
    return tuple(name for i, name in enumerate(PATHS) if lines_loops_of(i) != NULL)


def _array(weights, key, dtype, shape, sizes):
    """Return the weights of a key, checked; letters of `shape` that `sizes` lacks are added to it."""
    if key not in weights:
        raise ValueError(f"line net: weights lack '{key}'")
    array = np.asarray(weights[key])
    if array.dtype != dtype:
        raise ValueError(f"line net: '{key}' is {array.dtype}, not {np.dtype(dtype)}")
    wanted = [sizes.get(size) if isinstance(size, str) else size for size in shape]
    if array.ndim != len(shape) or any(
        have != want and (want is not None or have == 0) for have, want in zip(array.shape, wanted)
    ):
        names = ", ".join("any" if want is None else str(want) for want in wanted)
        raise ValueError(f"line net: '{key}' has shape {list(array.shape)}, not [{names}]")
    for letter, have in zip(shape, array.shape):
        if isinstance(letter, str) and letter not in sizes:
            low, high, multiple = LIMITS[letter]
            if have % multiple or not low <= have <= high:
                raise ValueError(f"line net: {letter} (in '{key}') must be a multiple of {multiple} from {low} to "
                                 f"{high}, not {have}")
            sizes[letter] = have
            sizes["3" + letter] = 3 * have
    if not np.isfinite(array).all():
        raise ValueError(f"line net: '{key}' is not finite")
    return array


def _checked(weights):
    """Return the arrays by name and the sizes by letter, "3C", "3V" and "P+V" among them."""
    sizes = {}
    arrays = {"codebook": _array(weights, "codebook", np.int16, (LINES_ENTRIES, "C"), sizes)}
    for key, shape in SHAPES.items():
        if key in weights or key not in OPTIONAL:
            arrays[key] = _array(weights, key, np.float32, shape, sizes)
    sizes["P+V"] = sizes["P"] + sizes["V"]
    if any(key.endswith("_levels") for key in weights):
        for layer, shapes in BYTE_SHAPES.items():
            for part, shape in shapes.items():
                key = f"{layer}_{part}"
                arrays[key] = _array(weights, key, np.int8 if part == "levels" else np.float32, shape, sizes)
            if not (arrays[f"{layer}_unit"] > MIN_UNIT).all():
                raise ValueError(f"line net: '{layer}_unit' is not above 0")
            _check_load(arrays[f"{layer}_levels"], f"{layer}_levels")
    return arrays, sizes


def _check_load(whole, key):
    """Refuse int8 products [..., in, out] whose 16-bit sums can overflow: inputs 0, 1, 4, 5, 8, ..., or the others."""
    *lead, inputs, outputs = whole.shape
    shares = whole.astype(np.int64).reshape(*lead, inputs // 4, 2, 2, outputs)
    for sign in (1, -1):
        load = np.maximum(sign * shares, 0).sum(axis=(-4, -2)).max()
        if load > LINES_BYTE_LOAD:
            raise ValueError(f"line net: '{key}' add up to {load} in a sum, above {LINES_BYTE_LOAD}")


def _local_sums(plane_weight):
    """Return the sums of plane weights for every set of planes 0..7, and of planes 8..15: [2, 256, C]."""
    held = (np.arange(LINES_HALF)[:, None] >> np.arange(LINES_LOCAL // 2)) & 1
    halves = plane_weight[:LINES_LOCAL].reshape(2, LINES_LOCAL // 2, -1).astype(np.float64)
    return (held.astype(np.float64) @ halves).astype(np.float32)


def _as_shorts(weights):
    """Round products [..., n, m] to 16 bits, each output in steps of its own.

    Returns:
        int16 [..., n / 2, m, 2], pairs of inputs side by side, and the steps, float32 [..., m]. No sum over the
        inputs can leave 32 bits.
    """
    exact = weights.astype(np.float64)
    *_, inputs, _ = exact.shape
    load, top = np.abs(exact).sum(axis=-2), np.abs(exact).max(axis=-2)
    step = np.maximum(np.maximum(load / (LINES_LOAD - inputs), top / 32767), 1e-30)
    rounded = np.rint(exact / step[..., None, :]).astype(np.int16)
    return _side_by_side(rounded, 2), step.astype(np.float32)


def _side_by_side(weights, count):
    """Turn products [..., in, out] into [..., in / count, out, count]."""
    *lead, inputs, outputs = weights.shape
    return np.swapaxes(weights.reshape(*lead, inputs // count, count, outputs), -1, -2)


cdef class LineNet:
    """A line net that evaluates positions.

    Args:
        weights: arrays by name, float32 unless told otherwise: codebook int16 [364 * 365 / 2, C] (the entry of
            sides h and l, h >= l, whichever is left, at h * (h + 1) / 2 + l), codebook_scale [],
            plane_weight [23, C], bias [C], dw [N, 9, C], dw_bias [N, C], pw [N, C, C] (in, out), pw_bias [N, C],
            pool_weight [3C, C], pool_bias [C], policy_in [C, P],
            policy_bias [P], policy_out [P], value_in [C, V], value_bias [V], hidden_w [3V, D], hidden_b [D],
            out_w [D, 3], out_b [3]. C, P and V are multiples of 8. Copies are kept. 8-bit products are used where
            they are there: pw_levels int8 [N, C, C] (in, out), pw_levels_step [N, C] (out), pw_levels_bias
            [N, C] (out) and pw_unit [N, C] (in), the pointwise products for inputs that are rounded to whole numbers
            from 0 to 127, worth pw_unit each; and head_levels int8 [C, P + V], head_levels_step, head_levels_bias
            [P + V] and head_unit [C], the same for policy_in and value_in side by side. A 16-bit sum holds every
            second pair of inputs: of the weights in one, those of either sign must not add up to more than 258. And
            pool_usual [C], what pooling adds to its block in most positions: with a margin, the empty board is
            evaluated with it.
        pooled: the block with global pooling, or -1.
        path: one of `paths()`; None: the fastest that suits processor and net. All but "plain" give the
            same bits; "avxvnni", "avx512" and "neon-dot" do sooner where the net is one in 8 bits; "avx512" takes no
            others, and only if C and P + V are multiples of 16.
        exact: take the pointwise products in float32 on every path. Else they are taken in 8 bits on vectors if the
            weights have such, which is the fastest; without them in 16 bits (weights rounded output by output,
            activations row by row), which moves logits by some 1e-4.
        margin: compute only the rectangle that leaves so many cells on each side of the stones, and take what lies
            beyond it to be an empty board, moved with the position (`lines/net.h`); 0: all of the board.
        closed: the net has learned so that what lies beyond its margin is off the board, whatever that holds.

    Raises:
        ValueError: a key is missing, or has another type or shape, or is not finite; or the margin is negative, or
            0 of a closed net; or this processor or this net cannot take that path.
    """

    def __cinit__(self):
        memset(&self.net, 0, sizeof(tengen_lines))

    def __init__(self, weights, pooled, *, path=None, exact=False, margin=0, closed=False):
        if self.net.x != NULL:
            raise ValueError("line net: already built")
        arrays, sizes = _checked(weights)
        if isinstance(pooled, bool) or not isinstance(pooled, (int, np.integer)) or not -1 <= pooled < sizes["N"]:
            raise ValueError(f"line net: pooled must be a block from 0 to {sizes['N'] - 1}, or -1, not {pooled!r}")
        if isinstance(margin, bool) or not isinstance(margin, int) or margin < 0:
            raise ValueError(f"line net: margin must be a whole number from 0, not {margin!r}")
        if closed and margin == 0:
            raise ValueError("line net: a closed net has a margin")
        self.net.channels = sizes["C"]
        self.net.blocks = sizes["N"]
        self.net.policy = sizes["P"]
        self.net.value = sizes["V"]
        self.net.hidden = sizes["D"] + -sizes["D"] % 8
        self.net.pooled = pooled
        self.net.margin = min(margin, LINES_SIDE)
        self.net.closed = 1 if closed else 0
        self.choose(path, exact, "pw_levels" in arrays)
        with np.errstate(over="ignore", invalid="ignore"):  # what became infinite is refused when it is copied
            self.keep_weights(arrays)
            if self.net.bits == 16:
                self.keep_shorts(arrays)
            elif self.net.bits == 8:
                self.keep_bytes(arrays)
        self.allocate_scratch()

    cdef choose(self, path, exact, in_bytes):
        """Set path, loops and bits."""
        cdef int wide = self.net.policy + self.net.value
        possible = paths()
        if path is not None and path not in possible:
            raise ValueError(f"line net: this processor can take {', '.join(possible)}, not {path!r}")
        suits = in_bytes and not exact and self.net.channels % 16 == 0 and wide % 16 == 0
        if path == PATHS[LINES_AVX512] and not suits:
            raise ValueError("line net: avx512 takes nets in 8 bits whose channels, and both heads together, come in "
                             "sixteens; this is none")
        self.path = path or max(possible if suits else set(possible) - {PATHS[LINES_AVX512]}, key=PATHS.index)
        self.net.loops = lines_loops_of(PATHS.index(self.path))
        self.net.bits = 32 if exact or self.path == PATHS[LINES_PLAIN] else 8 if in_bytes else 16

    cdef void* allocate(self, size_t numbers, size_t bytes_each) except NULL:
        cdef void* to = lines_take(&self.net.memory, numbers * bytes_each)
        if to == NULL:
            raise MemoryError(f"no memory for the line net: {numbers * bytes_each} bytes")
        return to

    cdef float* floats(self, array) except NULL:
        cdef float[::1] flat = np.ascontiguousarray(array, dtype=np.float32).reshape(-1)
        cdef float* to = <float*>self.allocate(flat.shape[0], sizeof(float))
        if not np.isfinite(flat).all():
            raise ValueError("line net: weights are too large")
        memcpy(to, &flat[0], flat.shape[0] * sizeof(float))
        return to

    cdef int16_t* shorts(self, array) except NULL:
        cdef int16_t[::1] flat = np.ascontiguousarray(array).reshape(-1)
        cdef int16_t* to = <int16_t*>self.allocate(flat.shape[0], sizeof(int16_t))
        memcpy(to, &flat[0], flat.shape[0] * sizeof(int16_t))
        return to

    cdef int8_t* bytes(self, array) except NULL:
        cdef int8_t[::1] flat = np.ascontiguousarray(array).reshape(-1)
        cdef int8_t* to = <int8_t*>self.allocate(flat.shape[0], sizeof(int8_t))
        memcpy(to, &flat[0], flat.shape[0] * sizeof(int8_t))
        return to

    cdef keep_weights(self, a):
        """Copy the weights in floats."""
        cdef lines_weights* w = &self.net.weights
        cdef int spare = self.net.hidden - a["hidden_b"].shape[0]   # zeros, so that vectors are whole
        book = a["codebook"]
        w.scale = float(a["codebook_scale"])
        w.narrow = 1 if 4 * int(book.max()) <= 32767 and 4 * int(book.min()) >= -32768 else 0
        w.codebook = self.shorts(book)
        w.local_ = self.floats(_local_sums(a["plane_weight"]))
        w.global_ = self.floats(a["plane_weight"][LINES_LOCAL:])
        w.bias = self.floats(a["bias"])
        w.dw = self.floats(a["dw"])
        w.dw_bias = self.floats(a["dw_bias"])
        w.pw = self.floats(a["pw"])
        w.pw_bias = self.floats(a["pw_bias"])
        w.pool = self.floats(a["pool_weight"])
        w.pool_bias = self.floats(a["pool_bias"])
        if "pool_usual" in a:
            w.pool_usual = self.floats(a["pool_usual"])
        w.head = self.floats(np.concatenate([a["policy_in"], a["value_in"]], axis=1))
        w.head_bias = self.floats(np.concatenate([a["policy_bias"], a["value_bias"]]))
        w.policy_out = self.floats(a["policy_out"])
        w.hidden = self.floats(np.pad(a["hidden_w"], ((0, 0), (0, spare))))
        w.hidden_bias = self.floats(np.pad(a["hidden_b"], (0, spare)))
        w.out = self.floats(np.pad(a["out_w"], ((0, spare), (0, 0))))
        w.out_bias = self.floats(a["out_b"])

    cdef keep_shorts(self, a):
        """Round the products to 16 bits."""
        pairs, steps = _as_shorts(a["pw"])
        self.net.shorts.pw = self.shorts(pairs)
        self.net.shorts.pw_step = self.floats(steps)
        pairs, steps = _as_shorts(np.concatenate([a["policy_in"], a["value_in"]], axis=1))
        self.net.shorts.head = self.shorts(pairs)
        self.net.shorts.head_step = self.floats(steps)

    cdef keep_bytes(self, a):
        """Copy the products in 8 bits, and the depthwise part scaled to them."""
        cdef lines_bytes* b = &self.net.bytes
        per_unit = 1 / a["pw_unit"]
        b.pw = self.bytes(_side_by_side(a["pw_levels"], 4))
        b.pw_step = self.floats(a["pw_levels_step"])
        b.pw_bias = self.floats(a["pw_levels_bias"])
        b.dw = self.floats(a["dw"] * per_unit[:, None])
        b.dw_bias = self.floats(a["dw_bias"] * per_unit)
        b.per_unit = self.floats(per_unit)
        b.head = self.bytes(_side_by_side(a["head_levels"], 4))
        b.head_step = self.floats(a["head_levels_step"])
        b.head_bias = self.floats(a["head_levels_bias"])
        b.head_per_unit = self.floats(1 / a["head_unit"])

    cdef allocate_scratch(self):
        """Take the memory that positions pass through, the trunk last."""
        cdef lines_scratch* s = &self.net.scratch
        cdef size_t channels = self.net.channels, value = self.net.value, wide = self.net.policy + self.net.value
        s.cell = <float*>self.allocate(9 * channels, sizeof(float))
        s.cell_value = <float*>self.allocate(value, sizeof(float))
        s.shift = <float*>self.allocate(max(channels, value), sizeof(float))
        s.blank = <float*>self.allocate(LINES_PLANES * LINES_POINTS, sizeof(float))
        s.y = <float*>self.allocate(2 * LINES_SIDE * channels, sizeof(float))
        if self.net.bits == 16:
            s.shorts = <int16_t*>self.allocate(LINES_SIDE * channels, sizeof(int16_t))
        elif self.net.bits == 8:
            s.bytes = <uint8_t*>self.allocate(2 * LINES_SIDE * channels, sizeof(uint8_t))
        s.heads = <float*>self.allocate(LINES_SIDE * wide, sizeof(float))
        s.pool = <float*>self.allocate(3 * max(channels, value), sizeof(float))
        s.vector = <float*>self.allocate(max(channels, <size_t>self.net.hidden), sizeof(float))
        s.base = <float*>self.allocate(channels, sizeof(float))
        s.digits = <uint16_t*>self.allocate((LINES_SIDE + 2 * LINES_REACH) * LINES_STRIDE, sizeof(uint16_t))
        s.bits = <uint16_t*>self.allocate(LINES_GAP, sizeof(uint16_t))
        s.entries = <int32_t*>self.allocate(4 * LINES_GAP, sizeof(int32_t))
        self.net.x = <float*>self.allocate((LINES_SIDE + 2) * (LINES_SIDE + 2) * channels, sizeof(float))

    cdef LineNet for_thread(self):
        cdef LineNet other = LineNet.__new__(LineNet)
        if self.net.x == NULL:
            raise ValueError("line net: not built")
        tengen_lines_share(&other.net, &self.net)
        other.weights_of = self
        other.path = self.path
        other.allocate_scratch()
        return other

    cdef int64_t scratch_bytes(self, int points):
        cdef int64_t channels = self.net.channels, wide = self.net.policy + self.net.value
        cdef int64_t floats = (LINES_SIDE + 2) * (LINES_SIDE + 2) * channels + LINES_SIDE * (3 * channels + wide)
        floats += LINES_PLANES * LINES_POINTS + 6 * LINES_GAP
        if self.net.margin > 0 and not self.net.closed:
            floats += 2 * points * ((self.net.blocks + 1) * channels + self.net.value + 1)
        return floats * sizeof(float)

    def __dealloc__(self):
        tengen_lines_release(&self.net)

    @property
    def channels(self):
        """Trunk channels."""
        return self.net.channels

    @property
    def blocks(self):
        """Blocks of the trunk."""
        return self.net.blocks

    @property
    def margin(self):
        """Cells around the stones that are computed; 0: all of the board."""
        return self.net.margin

    @property
    def closed(self):
        """Whether what lies beyond the margin is off the board."""
        return self.net.closed != 0

    @property
    def bits(self):
        """Of the numbers in the pointwise products: 8, 16, or 32 for floats."""
        return self.net.bits

    cdef void compute(self, const float* planes, int width, int height, float* policy, float* wdl) noexcept nogil:
        tengen_lines_evaluate(&self.net, planes, width, height, policy, wdl)

    def evaluate(self, planes, policy_out_array, wdl_out_array):
        """Evaluate a batch. One thread at a time.

        Args:
            planes: float32 [B, 23, H, W] of `engine.encoding`, sides from 5 to 22, zeros and ones only.
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
                self.compute(&view[i, 0, 0, 0], width, height, &policy[i, 0], &wdl[i, 0])

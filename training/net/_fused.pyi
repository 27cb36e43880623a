"""The passes of a line net's trunk while it learns, in AVX2 or AVX-512; put together by `training.net.trunk`.

A usual framework goes over the board once for every step and keeps what each one made; at 64 channels that is
moving memory, not arithmetic. A pass here does all that can be done to a position while it is in the cache.

Cells are float32 [B, H, W, C], C a multiple of 16. `found` is what a pass finds over the cells of each
position, float32 [2, B, C]; `back` float32 [3, C] is the gradient of a normalisation,
dz = back[0] dy + back[1] z + back[2]. Vectors are float32 [C]. Gradients of weights, double, are added to
what `dw` holds. Where `sizes` [B, 2] is given, all is done to parts of boards of so many rows and columns,
which every array begins with (`training.net.window.Cut`). All raise ValueError for shapes that do not fit,
or where `able` says no.
"""

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float32]
_Doubles = npt.NDArray[np.float64]
_Rows = npt.NDArray[np.int32]

def paths() -> tuple[str, ...]:
    """Return what the passes can run on here, the slowest first: "avx2", "avx512"."""

def use(path: str | None = None) -> None:
    """Run the passes on one of `paths()` from here on; None: the fastest, as at first. Same bits.

    Raises:
        ValueError: this build or processor lacks it.
    """

def able(channels: int) -> bool:
    """Return whether this build and processor have the passes for so many channels."""

def places(planes: _Floats, side: _Rows, sides: int, rows: _Rows, pairs: _Rows) -> int:
    """Find the different lines through the cells of planes [B, P, H, W]; return how many there are.

    `pairs` [sides^2] begins with them in ascending order, each smaller side x sides + larger side; rows
    [B, A, 4] is where each cell's lines stand among them. `side` [1024] is `line_stem.side_of_code`.
    """

def lines(
    table: _Floats, rows: _Rows, planes: _Floats, out: _Floats, found: _Floats, sizes: _Rows | None = None
) -> None:
    """out = the sum of four rows [B, A, 4] of the table [K, C]; found: the moments of
    each position, its mean and the sum of the squares around that.

    Only the shape of `planes` [B, P, H, W] is looked at.
    """

def stem(
    summed: _Floats,
    planes: _Floats,
    scale: _Floats,
    shift: _Floats,
    weights: _Floats,
    out: _Floats,
    w: _Floats | None = None,
    u: _Floats | None = None,
    found: _Floats | None = None,
    pooled: _Floats | None = None,
    near: npt.NDArray[np.bool_] | None = None,
    sizes: _Rows | None = None,
) -> None:
    """out = relu(scale summed + shift + planes weights), for planes [B, P, H, W] and weights [P, C].

    With w [9, C], while out is in the cache, also what the block behind begins with: u = out with the 3x3
    convolution w of each channel; found: as in `lines`, of u. With `pooled` [2, B, C] also the sum and the
    largest of each channel of out. Where `near` [B, A] is false, out is 0.
    """

def pointwise(
    u: _Floats,
    scale: _Floats,
    shift: _Floats,
    w: _Floats,
    v: _Floats,
    found: _Floats,
    sizes: _Rows | None = None,
) -> None:
    """v = relu(scale u + shift) w, for shift [B, C] and w [C in, C out]; found: as in `lines`."""

def residual(
    x: _Floats,
    v: _Floats,
    scale: _Floats,
    shift: _Floats,
    out: _Floats,
    w: _Floats | None = None,
    u: _Floats | None = None,
    found: _Floats | None = None,
    pooled: _Floats | None = None,
    near: npt.NDArray[np.bool_] | None = None,
    sizes: _Rows | None = None,
) -> None:
    """out = relu(x + scale v + shift); the others as in `stem`."""

def heads(
    x: _Floats, w: _Floats, bias: _Floats, v: _Floats, hidden: _Floats, logits: _Floats, found: _Floats
) -> None:
    """hidden = relu(x w + bias) [B, H, W, np + nv], logits [B, 3, A] of its first np channels by v [3, np].

    w is [C, np + nv]; found: [2, B, nv] the sum and the largest of each of its last nv channels.
    """

def heads_back(
    dlogits: _Floats,
    every: _Floats,
    at_top: _Floats,
    top: _Floats,
    hidden: _Floats,
    x: _Floats,
    z: _Floats,
    mean: _Floats,
    w: _Floats,
    v: _Floats,
    g: _Floats,
    found: _Floats,
    dw: _Doubles,
) -> None:
    """Go back from the heads to g, the gradient of the sum that made x = relu(...).

    The last nv channels have the gradients `every` [B, nv] in each cell, and `at_top` in equal parts in those
    where they are `top`. w is [np + nv, C], dw those of w, bias and v one behind the other.
    found: sums of g and of g (z - mean).
    """

def pointwise_back(
    g: _Floats,
    v: _Floats,
    back: _Floats,
    u: _Floats,
    scale: _Floats,
    shift: _Floats,
    mean: _Floats,
    w: _Floats,
    dy: _Floats,
    found: _Floats,
    dw: _Doubles,
    sizes: _Rows | None = None,
) -> None:
    """Go back from g, the gradient of v's normalisation, to dy, that of u's; w [C out, C in] as `dw`.

    found: sums of dy and of dy (u - mean).
    """

def depthwise_back(
    dy: _Floats,
    u: _Floats,
    back: _Floats,
    x: _Floats,
    w: _Floats,
    z: _Floats,
    mean: _Floats,
    g: _Floats,
    found: _Floats,
    dw: _Doubles,
    top: _Floats | None = None,
    every: _Floats | None = None,
    at_top: _Floats | None = None,
    sizes: _Rows | None = None,
) -> None:
    """Go back to the sum that made x = relu(...): g, which came around the block, becomes its gradient.

    w and dw are [9, C]; found: sums of the new g and of g (z - mean). With `top` [B, C], what came from the
    pooled board is added to g first: `every` [B, C] to each cell, `at_top` [B, C] in equal parts to those
    where x is `top`.
    """

def stem_back(
    g: _Floats,
    summed: _Floats,
    back: _Floats,
    rows: _Rows,
    planes: _Floats,
    dtable: _Floats,
    dw: _Doubles,
    sizes: _Rows | None = None,
) -> None:
    """Add the gradient of the table's rows to dtable [K, C] and of the planes' weights to dw [P, C]."""

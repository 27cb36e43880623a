"""The seam between search and net: planes in, policy logits and WDL out.

Shapes: `B` batch, `C` planes, `H` `W` board, `A` = H * W points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from engine.evaluator._lines import LineNet

Planes = npt.NDArray[np.float32]
Keys = npt.NDArray[np.uint64]
Policy = npt.NDArray[np.float32]
Wdl = npt.NDArray[np.float32]

KERNEL_NONE = 0
KERNEL_UNIFORM = 1
KERNEL_HASHED = 2
"""Values of `Evaluator.kernel_kind`."""


class Evaluator(Protocol):
    """Judges positions. Implementations are called by one thread at a time.

    Attributes:
        name: what to show to a user.
        feature_version: version of the planes that it was made for (`engine.encoding.FEATURE_VERSION`).
        max_batch: largest B it takes, None for any.
        min_side, max_side: board sides, in cells, that it was made for; others work, but less well.
        rules: values of `engine.rules.rule.Rule` that it was made for.
        kernel_kind: KERNEL_NONE for one that is called from Python; else the tree kernel computes the same
            numbers itself.
        kernel_seed: seed of a KERNEL_HASHED evaluator, else 0.
        line_net: what the tree kernel may call instead of `evaluate`, with the same answers; None where there
            is no such thing.
    """

    @property
    def name(self) -> str: ...
    @property
    def feature_version(self) -> int: ...
    @property
    def max_batch(self) -> int | None: ...
    @property
    def min_side(self) -> int: ...
    @property
    def max_side(self) -> int: ...
    @property
    def rules(self) -> tuple[int, ...]: ...
    @property
    def kernel_kind(self) -> int: ...
    @property
    def kernel_seed(self) -> int: ...
    @property
    def line_net(self) -> LineNet | None: ...

    def evaluate(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        """Judge a batch of positions, each seen by its side to move.

        Args:
            planes: float32 [B, C, H, W], C-contiguous.
            keys: uint64 [B], `Board.hash` of each position.

        Returns:
            Policy logits float32 [B, A], unmasked, and WDL float32 [B, 3]: chances of win, draw and loss for
            the side to move; each row sums to 1. Both may be overwritten by the next call.
        """
        ...


class Decorator:
    """Base of evaluators around another one: the attributes are those of the inner one."""

    def __init__(self, inner: Evaluator) -> None:
        self.inner = inner
        self.name = inner.name
        self.feature_version = inner.feature_version
        self.max_batch = inner.max_batch
        self.min_side = inner.min_side
        self.max_side = inner.max_side
        self.rules = inner.rules
        self.kernel_kind = KERNEL_NONE
        self.kernel_seed = 0
        self.line_net = None

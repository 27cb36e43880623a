"""The seam between search and net: planes in, policy logits and WDL out.

Shapes: `B` batch, `C` planes, `H` `W` board, `A` = H * W points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from engine.evaluator._judge import KernelJudge

Planes = npt.NDArray[np.float32]
Keys = npt.NDArray[np.uint64]
Policy = npt.NDArray[np.float32]
Wdl = npt.NDArray[np.float32]

STUB_COST = 0.1
LINE_NET_COST = 1.0
PYTHON_COST = 4.0
"""Values of `Evaluator.cost`: without a net, with a line net inside the kernel, and with any evaluator that
is asked from Python (derived: measured on 15x15, 4 to 5 with a net in onnxruntime)."""


class Evaluator(Protocol):
    """Judges positions. Implementations are called by one thread at a time.

    Attributes:
        name: what to show to a user.
        feature_version: version of the planes that it was made for (`engine.encoding.FEATURE_VERSION`).
        max_batch: largest B it takes, None for any.
        min_side, max_side: board sides, in cells, that it was made for; others work, but less well.
        rules: values of `engine.rules.rule.Rule` that it was made for.
        judge: what the search kernel may ask instead of `evaluate`, with the same answers; None: there is no
            such thing, it is asked from Python.
        cost: time of a simulation with it, in that of one with a line net. What the solver may spend beside
            the simulations follows it.
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
    def judge(self) -> KernelJudge | None: ...
    @property
    def cost(self) -> float: ...

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
    """Base of evaluators around another one: the attributes are those of the inner one, but it is asked from
    Python."""

    judge: KernelJudge | None = None
    cost = PYTHON_COST

    def __init__(self, inner: Evaluator) -> None:
        self.inner = inner
        self.name = inner.name
        self.feature_version = inner.feature_version
        self.max_batch = inner.max_batch
        self.min_side = inner.min_side
        self.max_side = inner.max_side
        self.rules = inner.rules

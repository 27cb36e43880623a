"""The interface between search and net: planes in, policy logits and WDL out.

Shapes: `B` batch, `C` planes, `H` `W` board, `A` = H * W points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from engine.evaluator._backend import KernelBackend

Planes = npt.NDArray[np.float32]
Keys = npt.NDArray[np.uint64]
Policy = npt.NDArray[np.float32]
Wdl = npt.NDArray[np.float32]

STUB_COST = 0.1
LINE_NET_COST = 1.0
PYTHON_COST = 4.0
"""Values of `Evaluator.cost`: no net, a line net inside the kernel, any evaluator called from Python
(derived: measured on 15x15, 4 to 5 with a net in onnxruntime)."""


class Evaluator(Protocol):
    """Evaluates positions. One thread at a time calls an evaluator."""

    @property
    def name(self) -> str:
        """Name for users."""
        ...

    @property
    def feature_version(self) -> int:
        """Version of the planes that it needs (`engine.encoding.FEATURE_VERSION`)."""
        ...

    @property
    def max_batch(self) -> int | None:
        """Largest B, None for any."""
        ...

    @property
    def min_side(self) -> int:
        """Smallest side of the boards that it was trained on, in cells; smaller ones work, but less well."""
        ...

    @property
    def max_side(self) -> int:
        """Largest side of the boards that it was trained on, in cells; larger ones work, but less well."""
        ...

    @property
    def rules(self) -> tuple[int, ...]:
        """Values of `engine.rules.rule.Rule` that it was trained on."""
        ...

    @property
    def backend(self) -> KernelBackend | None:
        """What the search kernel calls in place of `evaluate`, with the same results.

        None: the search calls `evaluate` from Python.
        """
        ...

    @property
    def cost(self) -> float:
        """Time of a simulation relative to one with a line net; scales the budget of the root solver."""
        ...

    def evaluate(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        """Evaluate a batch of positions, each from the view of its side to move.

        Args:
            planes: float32 [B, C, H, W], C-contiguous.
            keys: uint64 [B], `Board.hash` of each position.

        Returns:
            Policy logits float32 [B, A], unmasked, and WDL float32 [B, 3]: probabilities of win, draw and
            loss for the side to move; each row sums to 1. The next call may overwrite both.
        """
        ...


class Decorator:
    """Base of evaluators that wrap another one: same attributes, but called from Python."""

    backend: KernelBackend | None = None
    cost = PYTHON_COST

    def __init__(self, inner: Evaluator) -> None:
        self.inner = inner
        self.name = inner.name
        self.feature_version = inner.feature_version
        self.max_batch = inner.max_batch
        self.min_side = inner.min_side
        self.max_side = inner.max_side
        self.rules = inner.rules

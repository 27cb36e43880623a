"""Interface of the line net of the kernel."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

PATHS: tuple[str, ...]
"""Instruction sets that the loops are compiled for, the slowest first."""

def paths() -> tuple[str, ...]:
    """Return those of `PATHS` that this processor has, the fastest last."""

class LineNet:
    """A line net that evaluates positions, one at a time; one thread uses it at a time."""

    path: str
    """The one of `PATHS` that it runs on."""
    def __init__(
        self,
        weights: Mapping[str, npt.NDArray[Any] | np.generic],
        pooled: int,
        *,
        path: str | None = None,
        exact: bool = False,
        margin: int = 0,
        closed: bool = False,
    ) -> None:
        """Check and copy the weights.

        Args:
            weights: arrays by name; the class in `_lines.pyx` lists names, types and shapes.
            pooled: the block with global pooling, or -1.
            path: one of `paths()`; None: the fastest that suits processor and net.
            exact: compute pointwise products in float32 instead of 8 or 16 bits.
            margin: cells around the stones that are computed; 0: the whole board.
            closed: the net is trained with its margin: what is beyond it is off the board.

        Raises:
            ValueError: weights, margin or path that cannot be used.
            MemoryError: no memory for the net.
        """
    @property
    def channels(self) -> int:
        """Channels of the trunk."""
    @property
    def blocks(self) -> int:
        """Blocks of the trunk."""
    @property
    def margin(self) -> int:
        """Cells around the stones that are computed; 0: the whole board."""
    @property
    def closed(self) -> bool:
        """Whether what is beyond the margin is off the board."""
    @property
    def bits(self) -> int:
        """Bits of a factor in pointwise products: 8, 16 or 32."""
    def evaluate(
        self,
        planes: npt.NDArray[np.float32],
        policy_out_array: npt.NDArray[np.float32],
        wdl_out_array: npt.NDArray[np.float32],
    ) -> None:
        """Evaluate a batch, each position from the view of its side to move.

        Args:
            planes: float32 [B, 23, H, W], C-contiguous.
            policy_out_array: float32 [B, H * W], gets the policy logits.
            wdl_out_array: float32 [B, 3], gets the probabilities of win, draw and loss.

        Raises:
            ValueError: arrays of other shapes.
        """

"""What a learner draws batches from.

Positions are kept as recorded (`training.data.replay_buffer`) or encoded in arrays
(`training.learn.encoded_dataset`).

Shapes: `B` batch, `C` planes, `A` = width * height.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

if TYPE_CHECKING:
    from training.net.network import Heads


@dataclass(frozen=True, slots=True)
class Batch:
    """Positions of one board size on the device of the learner.

    Attributes:
        planes: float32 [B, C, H, W].
        policy: float32 [B, A] target, sum 1; a row of 0 where there is none.
        reply: float32 [B, A] target for the opponent's answer; a row of 0 where there is none.
        z: float32 [B, 3] result as win, draw, loss of the side to move.
        root_wdl: float32 [B, 3] searched WDL; equal to `z` where the value is proven.
        rules: int64 [B].
        taught: log probabilities of a teacher's heads; None where there are no labels.
    """

    planes: Tensor
    policy: Tensor
    reply: Tensor
    z: Tensor
    root_wdl: Tensor
    rules: Tensor
    taught: Heads | None = None


class Dataset(Protocol):
    """Positions that are drawn by sampling weight, each batch of one board size, under random symmetries.

    Attributes:
        games_seen: games behind the positions.
        part: which positions of each batch this process computes; all, unless processes share them.
    """

    games_seen: int
    part: slice

    @property
    def seen(self) -> int:
        """Usable positions ever added."""

    def __len__(self) -> int: ...

    def batches(self, rng: np.random.Generator, batch: int, count: int) -> Iterator[Batch]:
        """Yield `count` batches of `batch` positions each, or of the `part` of them.

        Raises:
            ValueError: no position has a sampling weight above 0.
        """

    def calibration(
        self, rng: np.random.Generator, batch: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Draw positions for an export.

        Returns:
            Planes, float32 [B, C, H, W], and which positions have a policy target, bool [B].
        """

    def state(self) -> dict[str, object]:
        """Return what a checkpoint holds: names of shards and counts, no contents."""

    def restore(self, state: dict[str, object]) -> None:
        """Take up what `state` returned; what is not there any more is reported.

        Raises:
            ValueError: it is damaged.
        """

    def sides(self) -> tuple[int, int]:
        """Return the shortest and the longest side of all boards, in cells."""

"""The cells that a net with a margin evaluates; the others are off the board for it.

In each row of the board these are the cells from the first to the last stone of the rows that are no farther
than the margin, and so many more on each side: what the kernel computes (`engine/evaluator/lines/net.h`).
Where there are no stones, all cells are.

Shapes: `B` batch, `C` planes, `H` `W` board, `A` = H*W.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch.nn.functional as F
from torch import Tensor


def cells_near_stones(planes: Tensor, margin: int) -> Tensor:
    """Return bool [B, 1, H, W], true where a cell is evaluated.

    Args:
        planes: float [B, C, H, W] of `engine.encoding`.
        margin: cells around the stones, at least 1.
    """
    stones = (planes[:, 1:2] + planes[:, 2:3]).float()
    near = F.max_pool2d(stones, 2 * margin + 1, stride=1, padding=margin)
    behind = near.cumsum(3)  # of the row's cells up to here
    ahead = behind[..., -1:] - behind + near
    return ((behind > 0) & (ahead > 0)) | (stones.amax(dim=(2, 3), keepdim=True) == 0)


@dataclass(frozen=True, slots=True)
class Cut:
    """The part of each board that its cells near stones are in: what learns need not pass over the rest.

    What an array holds of a position is at the beginning of what it has for a board, one row of the
    part behind the other.

    Attributes:
        boxes: int [B, 4] top, bottom, left and right of the part, bottom and right behind the last cell.
        sizes: int32 [B, 2] its height and width.
        near: bool [B, A].
        boards: B, H and W.
    """

    boxes: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int32]
    near: npt.NDArray[np.bool_]
    boards: tuple[int, int, int]

    def rows(self, rows: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return the parts of [B, A, 4]."""
        out = np.zeros_like(rows)
        self.take(rows.reshape(*self.boards, -1), out)
        return out

    def planes(self, planes: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the parts of [B, C, H, W], plane by plane."""
        out = np.zeros_like(planes)
        flat = out.reshape(len(out), -1)
        for board, part, (top, bottom, left, right) in zip(planes, flat, self.boxes.tolist(), strict=True):
            cells = board[:, top:bottom, left:right]
            part[: cells.size].reshape(cells.shape)[...] = cells
        return out

    def _views(self, whole: npt.NDArray[Any], parts: npt.NDArray[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield what a board [H, W, ...] and its part have in common, as arrays of one shape."""
        tail = whole.shape[3:]
        flat = parts.reshape(len(parts), -1)
        for board, part, (top, bottom, left, right) in zip(whole, flat, self.boxes.tolist(), strict=True):
            shape = (bottom - top, right - left, *tail)
            yield board[top:bottom, left:right], part[: math.prod(shape)].reshape(shape)

    def take(self, whole: npt.NDArray[Any], parts: npt.NDArray[Any]) -> None:
        """Put the parts of boards [B, H, W, ...] into `parts`, as large as `whole`."""
        for board, part in self._views(whole, parts):
            part[...] = board

    def put(self, parts: npt.NDArray[Any], whole: npt.NDArray[Any]) -> None:
        """Put the parts back in their place on boards of zeros."""
        whole[...] = 0
        for board, part in self._views(whole, parts):
            board[...] = part


def cut_around(near: npt.NDArray[np.bool_]) -> Cut:
    """Return the parts of boards that hold the cells near stones, bool [B, H, W], at least one each."""
    edges = []
    for cells in (np.any(near, axis=2), np.any(near, axis=1)):
        edges += [cells.argmax(axis=1), cells.shape[1] - cells[:, ::-1].argmax(axis=1)]
    boxes = np.stack(edges, axis=1)
    sizes = np.stack([boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2]], axis=1).astype(np.int32)
    parts = np.zeros_like(near)
    batch, height, width = near.shape
    cut = Cut(boxes, sizes, parts.reshape(batch, -1), (batch, height, width))
    cut.take(near, parts)
    return cut

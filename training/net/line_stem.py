"""The trunk of a line net: what is on the four lines through each cell, then cheap blocks.

The first layer of a usual net sees a small square. This one sees each cell's four lines, five cells to either
side, which is as far as a five reaches: a dense net judges the two sides of a line together, and the engine
writes its answers for all of them into a table, once (`engine.evaluator.lines.codebook`). What is left to
compute in a search is the sum of four rows a cell and a few light blocks, a tenth of the work of a small
residual tower.

Tables of line patterns made from a net are the idea of Rapfi's "mixnet" (https://arxiv.org/abs/2503.13178).
The net here is another one: both sides of a line go through the same layers before they meet, so that
mirrored lines are equal, and the kernel's own shapes are added for each cell.

Shapes: `B` batch, `C` planes, `H` `W` board, `D` trunk channels, `S` = 364 sides of a line, `E` hidden units.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.encoding import N_PLANES

REACH = 5
"""Cells to either side that a line is seen (derived: the farthest cell of an overline or a blocked five)."""
SIDES = (3 ** (REACH + 1) - 1) // 2
"""Different sides: up to five cells, each empty, own or the opponent's, then perhaps the edge."""
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))
"""(dx, dy) of the four lines."""
EDGE = 3
"""Digit of a cell that is off the board or cannot be used; 0 empty, 1 own, 2 the opponent's."""


@cache
def side_digits() -> npt.NDArray[np.uint8]:
    """Return the digits of each side, the nearest cell first, uint8 [S, 5]."""
    out = np.full((SIDES, REACH), EDGE, np.uint8)
    for length in range(REACH + 1):
        for number in range(3**length):
            out[(3**length - 1) // 2 + number, :length] = [number // 3**k % 3 for k in range(length)]
    return out


@cache
def side_of_code() -> npt.NDArray[np.int64]:
    """Return the side of five digits, int64 [1024]: digit k (0 the nearest) counts 4^k in the index.

    What is behind an edge does not matter.
    """
    out = np.zeros(4**REACH, np.int64)
    for code in range(len(out)):
        side = number = 0
        for k in range(REACH):
            digit = code // 4**k % 4
            if digit == EDGE:
                break
            number += digit * 3**k
            side = (3 ** (k + 1) - 1) // 2 + number
        out[code] = side
    return out


class LineStem(nn.Module):
    """relu(norm(sum over four lines of table[left side, right side]) + weights of the cell's planes).

    The table is symmetric: both sides go through one dense net, their sum through another. What four rows add
    up to is normalised and begins small. (Without that the net learned the policy as fast, but explained 0.01
    to 0.03 of the results after 50,000 positions, instead of 0.06.)
    """

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.side_in = nn.Linear(3 * REACH, hidden)
        self.side_out = nn.Linear(hidden, hidden)
        self.middle = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, channels, bias=False)
        self.norm = nn.BatchNorm2d(channels, momentum=0.02)
        self.planes = nn.Conv2d(N_PLANES, channels, 1)
        digits = F.one_hot(torch.from_numpy(side_digits().astype(np.int64)), EDGE + 1)[:, :, 1:]
        self.register_buffer("digits", digits.flatten(1).float(), persistent=False)
        self.register_buffer("codes", torch.from_numpy(side_of_code()), persistent=False)
        nn.init.normal_(self.side_in.weight, std=0.5)
        for layer in (self.side_out, self.middle):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        for bias in (self.side_in.bias, self.side_out.bias, self.middle.bias):
            nn.init.zeros_(bias)
        nn.init.normal_(self.out.weight, std=0.5 / math.sqrt(hidden))
        nn.init.constant_(self.norm.weight, 0.3)
        nn.init.normal_(self.planes.weight, std=2.0 / math.sqrt(5 * 25))
        assert self.planes.bias is not None
        nn.init.zeros_(self.planes.bias)

    def sides(self) -> Tensor:
        """Return the vectors of all sides, [S, E]."""
        return self.side_out(F.relu(self.side_in(torch.as_tensor(self.digits))))  # type: ignore[no-any-return]

    def rows(self, planes: Tensor) -> Tensor:
        """Return the row of each line through each cell, int64 [B, H, W, 4]: left side x 364 + right."""
        own, other, usable = planes[:, 1], planes[:, 2], planes[:, 0]
        digits = (own + 2 * other + EDGE * (1 - usable)).to(torch.int32)
        board = F.pad(digits, [REACH] * 4, value=EDGE)
        height, width = digits.shape[1:]

        def side(dx: int, dy: int) -> Tensor:
            code = torch.zeros_like(digits)
            for k in range(REACH):
                y, x = REACH + dy * (k + 1), REACH + dx * (k + 1)
                code += board[:, y : y + height, x : x + width] << 2 * k
            return torch.as_tensor(self.codes)[code.long()]

        return torch.stack([side(-dx, -dy) * SIDES + side(dx, dy) for dx, dy in DIRECTIONS], dim=3)

    def rows_by_product(self, planes: Tensor) -> Tensor:
        """Return what `rows` does, in few steps: on a GPU each one costs the same, however small."""
        own, other, usable = planes[:, 1], planes[:, 2], planes[:, 0]
        board = F.pad(own + 2 * other + EDGE * (1 - usable), [REACH] * 4, value=EDGE).contiguous()
        batch, height, width = own.shape
        around, wide = board.shape[1] * board.shape[2], board.shape[2]
        powers = 4.0 ** torch.arange(REACH, device=planes.device)
        both = powers.new_zeros(2 * REACH + 1, 2)
        both[:REACH, 0], both[REACH + 1 :, 1] = powers.flip(0), powers
        out = []
        for dx, dy in DIRECTIONS:
            step = dy * wide + dx
            forward = step > 0
            step = abs(step)
            start = REACH * wide + REACH - REACH * step
            line = board.as_strided((batch, height, width, 2 * REACH + 1), (around, wide, 1, step), start)
            with torch.autocast(planes.device.type, enabled=False):
                code = torch.as_tensor(self.codes)[(line.float() @ both).long()]
            left, right = (0, 1) if forward else (1, 0)
            out.append(code[..., left] * SIDES + code[..., right])
        return torch.stack(out, dim=3)

    def table(self, left: Tensor, right: Tensor) -> Tensor:
        """Return the rows for pairs of sides, float [K, D], before the normalisation."""
        sides = self.sides()
        return self.out(F.relu(self.middle(F.relu(sides[left] + sides[right]))))  # type: ignore[no-any-return]

    def whole_table(self) -> Tensor:
        """Return the rows for all pairs of sides, left side x 364 + right, float [S S, D]."""
        sides = self.sides()
        both = F.relu(sides[:, None] + sides[None]).flatten(0, 1)
        return self.out(F.relu(self.middle(both))).float()  # type: ignore[no-any-return]

    def folded(self) -> tuple[Tensor, Tensor]:
        """Return the scale [D] that the normalisation puts on the table, and the bias [D] of all cells."""
        mean, variance = self.norm.running_mean, self.norm.running_var
        assert mean is not None and variance is not None and self.planes.bias is not None
        scale = self.norm.weight * torch.rsqrt(variance + self.norm.eps)
        return scale, self.norm.bias - mean * scale + self.planes.bias

    def table_of(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return the table's rows that a batch needs, float [K, D], and the place of each line in it.

        The places are int64 [B, H, W, 4].
        """
        if planes.is_cuda:
            return self.whole_table(), self.rows_by_product(planes)
        rows = self.rows(planes)
        left, right = rows // SIDES, rows % SIDES
        pair = torch.minimum(left, right) * SIDES + torch.maximum(left, right)
        # Each different line is computed once: a batch has a hundred times more lines than different ones.
        # (Not on a GPU: how many there are is not known without waiting for it.)
        seen = torch.zeros(SIDES * SIDES, dtype=torch.bool, device=planes.device)
        seen[pair.flatten()] = True
        place = seen.cumsum(0) - 1
        unique = seen.nonzero()[:, 0]
        return self.table(unique // SIDES, unique % SIDES).float(), place[pair]

    def forward(self, planes: Tensor) -> Tensor:
        """Return float [B, D, H, W] of planes float [B, C, H, W]."""
        batch, _, height, width = planes.shape
        table, place = self.table_of(planes)
        lines = F.embedding_bag(place.view(-1, len(DIRECTIONS)), table, mode="sum")
        lines = lines.view(batch, height, width, -1).permute(0, 3, 1, 2)
        return F.relu(self.norm(lines) + self.planes(planes))

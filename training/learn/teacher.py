"""Distillation: a trained net, usually a larger one, labels each batch for another."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from training.learn.checkpoint import CheckpointError
from training.net import trunk
from training.net.network import Heads, Network, computes_in_bf16


class Teacher:
    """The averaged net of a checkpoint, which learns no more.

    Attributes:
        source: its file.
        sides: shortest and longest side of the boards that it has learned.
    """

    def __init__(self, source: Path, net: Network, state: dict[str, Any], device: torch.device) -> None:
        """Put the net on a device.

        Args:
            source: the checkpoint, for messages.
            net: read from it.
            state: of the checkpoint.
            device: that batches are on.

        Raises:
            CheckpointError: the checkpoint does not say what it has learned.
        """
        self.source, self._device = source, device
        try:
            sides = [int(side) for w, h, seen, _ in state["window"]["sizes"] if seen for side in (w, h)]
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{source}: contents damaged ({error})") from error
        if not sides:
            raise CheckpointError(f"learner.teacher: {source} has learned from no position")
        self.sides = min(sides), max(sides)
        net.requires_grad_(False).eval()
        self._net = net.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._passes = device.type == "cpu" and trunk.able(net.config)
        self._bf16 = computes_in_bf16(device)

    @torch.no_grad()
    def predict(self, planes: Tensor) -> Heads:
        """Return the outputs of the net for planes [B, C, H, W].

        Raises:
            CheckpointError: boards of this size are smaller or larger than all that it has learned.
        """
        height, width = planes.shape[2:]
        low, high = self.sides
        if min(width, height) < low or max(width, height) > high:
            raise CheckpointError(
                f"learner.teacher: {self.source} has learned boards of {low} to {high} cells a side, "
                f"the records have {width}x{height}"
            )
        if self._passes:
            said: Heads = self._net.by_passes(planes)
            return said
        off = contextlib.nullcontext()
        with torch.autocast(self._device.type, torch.bfloat16) if self._bf16 else off:
            heads = self._net(planes)
        return Heads(*(head.float() for head in heads))

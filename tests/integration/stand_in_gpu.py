"""`training.selfplay` on the path it takes with a GPU, the processor in its place.

What asks whether the device is a GPU is told yes; torch is told the processor. So nets travel as weights and
are judged by torch in bfloat16, in large batches, as on CUDA. That tensors do not stray between two devices
is not seen here, but by `tests.training.learn.test_learner`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import training.loop
import training.net.network
from tests.integration.local_workers import FEW_BATCHES
from training import selfplay
from training.play.evaluators import TorchEvaluator


class StandIn(str):
    """The processor's name, which takes itself for that of a GPU."""

    def __new__(cls) -> StandIn:
        """Return the one name there is."""
        return super().__new__(cls, "cpu")

    def __eq__(self, other: object) -> bool:
        return other == "cuda"

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash("cuda")

    def __reduce__(self) -> tuple[type[StandIn], tuple[()]]:
        return StandIn, ()


_PADDED = 4
"""Positions that batches are padded to a multiple of: a processor takes its time over bfloat16."""


def pretend(setter: Callable[[object, str, object], None] = setattr) -> None:
    """Replace what chooses the device and how much is padded, by `setter`."""
    setter(TorchEvaluator, "_STEP", _PADDED)
    for module in (training.loop, training.net.network):
        setter(module, "choose_device", lambda name: SimpleNamespace(type=StandIn()))


if __name__ == "__mp_main__":  # a worker
    TorchEvaluator._STEP = _PADDED

if __name__ == "__main__":
    pretend()
    with FEW_BATCHES:
        sys.exit(selfplay.main(sys.argv[1:]))

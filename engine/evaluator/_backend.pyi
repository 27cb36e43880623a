"""Typed interface of evaluator backends, which the search kernel calls without Python.

Shapes: `C` planes, `H` `W` board, `A` = H * W points."""

import numpy as np
import numpy.typing as npt

from engine.evaluator._lines import LineNet

class KernelBackend:
    """An evaluation callback for `engine.search._tree.Tree.run`. One thread at a time may use it."""

    def evaluate(
        self, planes: npt.NDArray[np.float32], key: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Evaluate a position as the kernel does, for tests.

        Args:
            planes: float32 [C, H, W], C-contiguous; backends without planes only read the shape.
            key: hash of the position, 64 bits.

        Returns:
            Policy logits float32 [A], and WDL probabilities float32 [3] for the side to move.

        Raises:
            ValueError: wrong shape, or a backend without a callback.
        """

    def for_thread(self) -> KernelBackend | None:
        """Return a backend with the same results for another thread, None if there is none.

        Both may be used at the same time. Weights are shared, scratch memory is not.
        """

    def thread_bytes(self, points: int) -> int:
        """Return the memory that such a backend takes, bytes.

        Args:
            points: of the board.
        """

class UniformBackend(KernelBackend):
    """Zero logits and a sure draw, as `engine.evaluator.uniform`."""

    def __init__(self) -> None: ...

class HashedBackend(KernelBackend):
    """Deterministic noise, as `engine.evaluator.hashed`."""

    def __init__(self, seed: int) -> None: ...

class LineNetBackend(KernelBackend):
    """A line net. It shares the scratch memory of the net: one thread at a time may use either."""

    def __init__(self, net: LineNet) -> None:
        """Make the backend of a net.

        Raises:
            ValueError: the net was not built.
        """

"""Typed face of evaluators that the search kernel asks without Python between.

Shapes: `C` planes, `H` `W` board, `A` = H * W points.
"""

import numpy as np
import numpy.typing as npt

from engine.evaluator._lines import LineNet

class KernelJudge:
    """A function and its data, for `engine.search._tree.Tree.run`. One thread at a time may ask it."""

    def ask(
        self, planes: npt.NDArray[np.float32], key: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Ask as the kernel does, for tests.

        Args:
            planes: float32 [C, H, W], C-contiguous; only the shape counts for judges that look at none.
            key: hash of the position, 64 bits.

        Returns:
            Policy logits float32 [A] and chances of win, draw and loss float32 [3], for the side to move.

        Raises:
            ValueError: a wrong shape.
        """

class UniformJudge(KernelJudge):
    """Zero logits and a certain draw, as `engine.evaluator.uniform`."""

    def __init__(self) -> None: ...

class HashedJudge(KernelJudge):
    """Deterministic noise, as `engine.evaluator.hashed`."""

    def __init__(self, seed: int) -> None: ...

class LineJudge(KernelJudge):
    """A line net; scratch memory is the net's, so that one thread at a time may use both."""

    def __init__(self, net: LineNet) -> None:
        """Make a judge of a net.

        Raises:
            ValueError: the net was not built.
        """

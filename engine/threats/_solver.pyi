"""Interface of the threat solver."""

from collections.abc import Callable
from typing import final

from engine.rules._board import Board
from engine.threats.solution import Solution

THREAT_FOURS: int
"""Fours of the longest VCF that counts as threatened by a move of a VCT."""

@final
class Solver:
    """Finds forced wins on any board under any rule; proofs are kept in tables of bounded memory.

    One thread uses a solver at a time; only `stop` may be called from another one.
    """

    def __init__(self, table_log2: int = 16) -> None:
        """Create a solver whose tables hold 2 ** table_log2 positions: 16 bytes each, 40 once VCT is used.

        Raises:
            ValueError: table_log2 is not within 4..28.
            MemoryError: the tables do not fit.
        """

    def solve(
        self,
        board: Board,
        kind: str = "vcf",
        attacker: int | None = None,
        nodes: int = 1_000_000,
        stop: Callable[[], bool] | None = None,
    ) -> Solution:
        """Search for a forced win of `attacker`, by default the side to move.

        If the other side is to move, the result is that of the position after a pass, and `defences` is
        filled. The board is restored on return; the GIL is released.

        Args:
            kind: "vcf" (fours only) or "vct" (fours and threes).
            attacker: BLACK or WHITE; None is the side to move.
            nodes: budget in placements of the search for the win; shortening it, its line and the defences
                have budgets of the same order.
            stop: called about every thousand nodes; true ends the call as unknown.

        Raises:
            ValueError: unknown kind or colour, budget below 1, or the game is over.
        """

    def stop(self) -> None:
        """End the running call as unknown, from any thread; a later call starts afresh."""

    def clear(self) -> None:
        """Clear the tables."""

    @property
    def memory_bytes(self) -> int:
        """Size of the tables, bytes."""

def vcf_loop(board: Board, attacker: int, nodes: int, table_log2: int = 16) -> int:
    """Solve VCF from cleared tables until `nodes` placements are done; return their number. For timing."""

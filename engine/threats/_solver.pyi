"""Typed face of the threat solver."""

from collections.abc import Callable
from typing import final

from engine.rules._board import Board
from engine.threats.solution import Solution

THREAT_FOURS: int
"""Fours of the longest VCF that counts as threatened by a move of a VCT."""

@final
class Solver:
    """Solves forced wins; keeps what it proved in a table of bounded memory, for any board and rule.

    One thread uses a solver at a time; only `stop` may be called from another one.
    """

    def __init__(self, table_log2: int = 16) -> None:
        """Make a solver whose tables hold 2 ** table_log2 positions: 16 bytes each, 40 once VCT is used.

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
        """Look for a forced win of `attacker` as if it were his turn (the side to move by default).

        Where the other side is to move, the answer speaks of the position after a pass and names the
        defences. The board is as before on return; the GIL is released.

        Args:
            kind: "vcf" (fours only) or "vct" (fours and threes).
            nodes: budget in placements of the question itself; shortening a win, its line and the defences
                take their own, of the same order.
            stop: asked between slices of the work; true ends it as unknown.

        Raises:
            ValueError: unknown kind or colour, budget below 1, or the game is over.
        """

    def stop(self) -> None:
        """End the running call as unknown, from any thread; a later call starts afresh."""

    def clear(self) -> None:
        """Forget everything that was proven."""

    @property
    def memory_bytes(self) -> int:
        """Size of the tables."""

def vcf_loop(board: Board, attacker: int, nodes: int, table_log2: int = 16) -> int:
    """Solve VCF from a cleared table until `nodes` placements are tried; return their number."""

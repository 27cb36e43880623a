"""The swap2 opening of a game at the terminal: its stages and choices. Pure.

The first player puts three stones (black, white, black). The second then takes white, or takes black, or puts
two more stones (white, black), and the first takes a colour. Until colours are taken the first player
counts as black and the second as white.
"""

from __future__ import annotations

from dataclasses import dataclass

OFFERED, FINAL = 3, 5
"""Stones on the board when a colour can be taken; at FINAL it has to be (protocol)."""


@dataclass(slots=True)
class Swap2:
    """An opening whose colours are not taken yet; `stones` are those on the board."""

    stones: int = 0

    @property
    def chooser(self) -> int:
        """Player that chooses: 0 for the one that counts as black, 1 for the other."""
        return 1 if OFFERED <= self.stones < FINAL else 0

    @property
    def may_choose(self) -> bool:
        """Whether a colour can be taken now."""
        return self.stones in (OFFERED, FINAL)

    def most(self) -> int:
        """Return how many stones may be put at once: 3, 2 or 1 in this stage; 1 takes white with a move."""
        return OFFERED - self.stones if self.stones < OFFERED else 2 if self.stones == OFFERED else 1

    @property
    def question(self) -> str:
        """Prompt of the player that chooses."""
        if self.stones < OFFERED:
            left = OFFERED - self.stones
            return f"put {left} more stone{'s' * (left > 1)} (black, white, black)"
        if self.stones == OFFERED:
            return "take `black` or `white`, or put two stones"
        return "take `black` or `white`"

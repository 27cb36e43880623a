"""Share of the match clock that is used at each move, over many games."""

from __future__ import annotations

from collections.abc import Sequence

LANDMARKS = (5, 10, 15, 20, 25, 30, 35, 40, 50, 60)
"""Own moves at which the used share is reported (derived: a game lasts 10 to 40)."""
BANDS = ((1, 10), (11, 15), (16, 20), (21, 25), (26, 35), (36, 10_000))
"""Games by their number of own moves, first and last."""


class ClockUse:
    """Shares of the match clock that one player used."""

    def __init__(self) -> None:
        self._by_move: dict[int, list[float]] = {}
        self._at_end: list[tuple[int, float]] = []

    def add(self, own_ms: Sequence[float], match_ms: int) -> None:
        """Add a game.

        Args:
            own_ms: what each own move took, in order.
            match_ms: the match clock at the start; 0: none, the game is not counted.
        """
        if not match_ms or not own_ms:
            return
        used_ms = 0.0
        for number, ms in enumerate(own_ms, 1):
            used_ms += ms
            if number in LANDMARKS:
                self._by_move.setdefault(number, []).append(used_ms / match_ms)
        self._at_end.append((len(own_ms), used_ms / match_ms))

    def by_move(self) -> dict[int, tuple[float, int]]:
        """Return own moves -> (mean used share, games that lasted so long)."""
        return {n: (sum(shares) / len(shares), len(shares)) for n, shares in sorted(self._by_move.items())}

    def at_end(self) -> dict[str, tuple[float, int]]:
        """Return own moves of whole games, as `first-last`, -> (mean share used at the end, games)."""
        found = {}
        for first, last in BANDS:
            shares = [share for moves, share in self._at_end if first <= moves <= last]
            if shares:
                name = f"{first}-{last}" if last < 10_000 else f"{first}+"
                found[name] = (sum(shares) / len(shares), len(shares))
        return found

    def lines(self) -> list[str]:
        """Return two lines for people, none without a match clock."""
        if not self._at_end:
            return []
        moves = ", ".join(f"{n}: {share:.0%}" for n, (share, _) in self.by_move().items())
        games = ", ".join(f"{name}: {share:.0%} ({n})" for name, (share, n) in self.at_end().items())
        return [f"clock used after own moves {moves}", f"clock used in games of own moves {games}"]

    def to_json(self) -> dict[str, object]:
        """Return the same as plain data."""
        return {"by_move": self.by_move(), "at_end": self.at_end()}

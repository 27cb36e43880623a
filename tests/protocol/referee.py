"""The referee of the arena with the naive rules of `tests.reference` as arbiter.

    python -m tests.protocol.referee --profile judge --games 200 --turn-ms 100

is `python -m arena.referee`, except that another implementation of the rules says what is legal and who won.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from arena.limits import BrainLimits
from arena.records import GameSetup, PlayedGame
from arena.series import Series, main, play_series
from tests.reference.arbiter import NaiveArbiter


def referee(
    profile: str, players: Sequence[str], games: Sequence[GameSetup], limits: BrainLimits, seed: int = 0
) -> list[PlayedGame]:
    """Play games between two players (brain command or `tactical`), judged by the naive rules."""
    return play_series(Series(profile, (players[0], players[1]), limits, seed, NaiveArbiter), games)


if __name__ == "__main__":
    sys.exit(main(program="tests.protocol.referee", arbiter=NaiveArbiter))

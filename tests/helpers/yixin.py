"""What the tests of Yixin's dialect share: points and commands."""

from __future__ import annotations

from dataclasses import replace

from engine.search.result import MoveStats
from tests.helpers.protocol_fakes import Talk, move

H8, H9, I9, G7, J10 = (row * 15 + column for row, column in ((7, 7), (6, 7), (6, 8), (8, 6), (5, 9)))


def board(size: str = "15 15") -> Talk:
    talk = Talk()
    assert talk.say("info show_detail 0\nyxshowinfo")[0].startswith("MESSAGE INFO MAX_THREAD_NUM ")
    assert talk.say(f"START {size}") == ["OK"]
    return talk


def position(*stones: str, word: str = "board") -> str:
    """Return the lines for stones `row,column`, oldest first."""
    own = len(stones) % 2
    lines = [f"{at},{1 if i % 2 == own else 2}" for i, at in enumerate(stones)]
    return "\n".join(["start 15 15", word, *lines, "done"])


def valued(point: int, q: float) -> MoveStats:
    return replace(move(point, 9), q=q)


def moves(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith(("MESSAGE ", "OK", "FORBID "))]

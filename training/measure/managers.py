"""How four managers start a brain, what they tell it and when its clock runs.

Facts of their sources: Piskvork, the official GomocupJudge, c-gomoku-cli and qpiskvork. What they say before
the first move differs, and whether loading is charged to it; so does the time control that a brain sees.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Manager:
    """One manager's habits.

    Attributes:
        name: what `training.match --manager` calls it.
        line_end: of every line it writes.
        about: whether it sends ABOUT, and when: "" never, "first" before START, "after" START.
        waits: whether it waits for OK before the clock of the first move starts; else the start of the
            process is a part of the first move.
        turn_for_one: whether one stone on the board is told as TURN, not as BOARD.
        stops: whether a brain is stopped (SIGSTOP) while its opponent thinks.
        tolerance_ms: overrun that does not yet lose, unless the match says otherwise.
        keys: INFO keys after START, in its order; a limit that nobody set is left out or told as 0.
        game_type: what it says of its opponent (protocol: 0 person, 1 brain).
        tells_left: whether `time_left` stands in the INFO block too.
    """

    name: str
    line_end: str = "\r\n"
    about: str = ""
    waits: bool = True
    turn_for_one: bool = False
    stops: bool = False
    tolerance_ms: int = 1000
    keys: tuple[str, ...] = (
        "rule", "timeout_match", "max_memory", "game_type", "folder", "timeout_turn", "max_node",
    )  # fmt: skip
    game_type: int = 1
    tells_left: bool = False


PLAIN = Manager("plain")
"""A manager without habits of its own: every limit is told, loading is not charged."""

MANAGERS = {
    manager.name: manager
    for manager in (
        PLAIN,
        Manager(
            "judge", waits=False, stops=True,
            keys=("timeout_turn", "timeout_match", "max_memory", "game_type", "rule", "folder", "max_node"),
        ),
        Manager(
            "piskvork", turn_for_one=True, tells_left=True, game_type=0,
            keys=("max_memory", "timeout_match", "timeout_turn", "game_type", "rule", "folder", "max_node"),
        ),
        Manager(
            "cli", line_end="\n", about="first", tolerance_ms=3000,
            keys=("rule", "timeout_turn", "timeout_match", "max_node", "max_memory", "thread_num"),
        ),
        Manager(
            "qpiskvork", line_end="\n", about="after", waits=False, tells_left=True, game_type=0,
            keys=("timeout_match", "timeout_turn", "max_memory", "game_type", "rule", "max_node"),
        ),
    )
}  # fmt: skip


def manager_named(name: str) -> Manager:
    """Return a manager.

    Raises:
        ValueError: there is none of this name; the message lists them.
    """
    if name not in MANAGERS:
        raise ValueError(f"unknown manager {name!r}; known: {', '.join(MANAGERS)}")
    return MANAGERS[name]

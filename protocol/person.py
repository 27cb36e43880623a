"""What somebody reads who starts the brain by hand.

Every line is a MESSAGE, which no manager takes for an answer.
"""

from __future__ import annotations

from protocol import __version__
from protocol.text import message

WAYS = (("--play", "a game at the terminal"), ("--board", "a board in the browser"))
"""Options by which a person plays, and what they begin."""
HELP_WORDS = frozenset({b"help", b"?"})
QUIT_WORDS = frozenset({b"quit", b"exit", b"q"})


def greeting(program: str) -> list[str]:
    """Return two lines: what this is, and what a person will want instead."""
    ways = "; ".join(f"`{program} {option}` is {what}" for option, what in WAYS)
    return _messages(
        f"Tengen {__version__}, a gomoku brain: it waits for commands of a manager such as Piskvork.",
        f"To play: {ways}. Here `help` and `quit` work.",
    )


def help_lines(program: str) -> list[str]:
    """Return what can be typed."""
    return _messages(
        "START 15 puts up a board, BEGIN lets the brain open, TURN 7,7 plays there (column,row from 0).",
        "INFO timeout_turn 1000 gives it a second a move, INFO rule 4 is renju, ABOUT says who it is.",
        "These are the commands of the Gomocup protocol, https://plastovicka.github.io/protocl2en.htm",
        *(f"{program} {option} begins {what}." for option, what in WAYS),
        f"{program} --help lists the options. quit, END or Ctrl-D leaves.",
    )


def _messages(*texts: str) -> list[str]:
    return [line for line in map(message, texts) if line]

"""What a manager can ask for, as frozen values. Coordinates are as sent: (a, b) is (x, y) in Gomocup."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Start:
    """`START n`, `START w h` and `RECTSTART w,h`: a new game on an empty board of this size."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Restart:
    """`RESTART`: a new game on a board of the same size."""


@dataclass(frozen=True, slots=True)
class Begin:
    """`BEGIN`: think and move."""


@dataclass(frozen=True, slots=True)
class Turn:
    """`TURN a,b`: the opponent moved; think and move."""

    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Play:
    """`PLAY a,b`: put your own stone there and echo it."""

    a: int
    b: int


@dataclass(frozen=True, slots=True)
class TakeBack:
    """`TAKEBACK a,b`: remove the stone there."""

    a: int
    b: int


OWN, OPPONENT, DEAD = 1, 2, 3
"""Third field of a BOARD line (protocol)."""


@dataclass(frozen=True, slots=True)
class Stone:
    """A line of a BOARD block; `owner` is OWN, OPPONENT or DEAD, or None where it could not be read."""

    a: int
    b: int
    owner: int | None


@dataclass(frozen=True, slots=True)
class Board:
    """`BOARD` to `DONE` (answers a move) or `YXBOARD` to `DONE` (answers nothing)."""

    stones: tuple[Stone, ...]
    fault: str | None = None
    """What was wrong with the first unreadable line."""
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Swap2Board:
    """`SWAP2BOARD` to `DONE`: the stones so far, black, white, black, ..."""

    stones: tuple[tuple[int, int], ...]
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Info:
    """`INFO key value`; the key in lower case, the value as sent. Never answered."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class About:
    """`ABOUT`: say who you are."""


@dataclass(frozen=True, slots=True)
class Stop:
    """`STOP` and `YXSTOP`: move now."""


@dataclass(frozen=True, slots=True)
class NBest:
    """`YXNBEST n`: think about the n best moves and play the best."""

    n: int


@dataclass(frozen=True, slots=True)
class ShowForbid:
    """`YXSHOWFORBID`: list the points where black may not play."""


@dataclass(frozen=True, slots=True)
class ShowInfo:
    """`YXSHOWINFO`: say what the engine can be set to. Sent by Yixin-Board before anything else."""


@dataclass(frozen=True, slots=True)
class HashClear:
    """`YXHASHCLEAR`: forget what was searched."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """A command that asks for something this brain lacks and that needs no answer."""

    word: str


@dataclass(frozen=True, slots=True)
class Invalid:
    """A known command (`word`, upper case) that makes no sense; the answer is `ERROR reason`."""

    word: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A line that is no command."""

    text: str


Command = (
    Start | Restart | Begin | Turn | Play | TakeBack | Board | Swap2Board | Info | About | Stop | NBest
    | ShowForbid | ShowInfo | HashClear | Ignored | Invalid | Unknown
)

QUESTIONS = (Begin, Turn, Board, Swap2Board, NBest)
"""Commands that make the brain think before it answers."""

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


Pairs = tuple[tuple[int, int], ...]
"""Coordinates of stones in playing order, black first."""


@dataclass(frozen=True, slots=True)
class Swap2Board:
    """`SWAP2BOARD` to `DONE` and AlphaGomoku's `SWAPBOARD` to `DONE`: the stones so far."""

    stones: Pairs
    fault: str | None = None
    word: str = "SWAP2BOARD"


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
    """`YXNBEST n`: think about the n best moves and play the best; `YXSEARCHDEFEND`: about all (None)."""

    n: int | None


@dataclass(frozen=True, slots=True)
class Balance:
    """`YXBALANCEONE bias`, `YXBALANCETWO bias`, and AlphaGomoku's `BALANCE n` to `DONE`.

    Find `count` stones after which nobody is ahead; `bias` is in Yixin's units of evaluation. AlphaGomoku
    brings a position along.
    """

    count: int
    bias: int = 0
    board: Board | None = None


@dataclass(frozen=True, slots=True)
class YixinSwap2:
    """`YXSWAP2STEP1` to `3`: offer three stones; choose with three stones; choose with five."""

    step: int


@dataclass(frozen=True, slots=True)
class Soosorv:
    """`YXSOOSORVSTEP1`, and steps 2 to 6 with their stones up to `DONE`.

    Attributes:
        number: how many fifth moves are to be offered (steps 4 and 5).
    """

    step: int
    number: int = 0
    stones: Pairs = ()
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Stones up to `DONE` that may not be played: `YXBLOCK` (each of them) and `YXBLOCKPATH` (the last of a
    line that starts with the stones on the board); `undo`: they may again."""

    stones: Pairs
    path: bool
    undo: bool


@dataclass(frozen=True, slots=True)
class BlockReset:
    """`YXBLOCKRESET` and `YXBLOCKPATHRESET`: every point may be played again."""

    path: bool


@dataclass(frozen=True, slots=True)
class Ponder:
    """AlphaGomoku's `PONDER ms`: search without an answer, without a limit if `ms` is None."""

    ms: int | None = None


@dataclass(frozen=True, slots=True)
class ForbidBoard:
    """AlphaGomoku's `SHOWFORBID` to `DONE`: list the points of this position where black may not play."""

    board: Board


@dataclass(frozen=True, slots=True)
class ProtocolVersion:
    """AlphaGomoku's `PROTOCOLVERSION`: say which version of its protocol is spoken."""


@dataclass(frozen=True, slots=True)
class ShowForbid:
    """`YXSHOWFORBID`: list the points where black may not play."""


@dataclass(frozen=True, slots=True)
class ShowInfo:
    """`YXSHOWINFO`: say what the engine can be set to. Sent by Yixin-Board before anything else."""


@dataclass(frozen=True, slots=True)
class HashClear:
    """`YXHASHCLEAR` and AlphaGomoku's `CLEARHASH`: forget what was searched."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """A command that asks for something this brain lacks and that needs no answer.

    Attributes:
        remark: what a person who typed it may read, "" where a program sent it.
    """

    word: str
    remark: str = ""


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
    | Balance | YixinSwap2 | Soosorv | Block | BlockReset | Ponder | ForbidBoard | ProtocolVersion
    | ShowForbid | ShowInfo | HashClear | Ignored | Invalid | Unknown
)

Question = Begin | Turn | Board | Swap2Board | NBest | Balance | YixinSwap2 | Soosorv
QUESTIONS = (Begin, Turn, Board, Swap2Board, NBest, Balance, YixinSwap2, Soosorv)
"""Commands that make the brain think before it answers."""

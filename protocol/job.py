"""What the session asks of the search thread, and what it gets back."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from engine import Rule, SearchLimits
from engine.position import Stones

if TYPE_CHECKING:
    from engine import SearchResult
    from protocol.notation import Notation

Kind = Literal["move", "nbest", "swap2", "ponder"]

Points = tuple[int, ...] | Literal["SWAP"]
"""Points to put, oldest first; SWAP only in the swap2 opening."""


class Form(Protocol):
    """How the answer to a question is written, which depends on who asked it and how."""

    @property
    def awaited(self) -> bool:
        """Whether Yixin-Board does nothing before this answer, so that it must come in any case."""

    @property
    def stands(self) -> bool:
        """Whether the question is about stones of its own, so that it outlives a START of the same size and a
        YXBOARD, which Yixin-Board sends meanwhile to ask for forbidden points."""

    def say(self, job: Job, points: Points, result: SearchResult | None, names: Notation) -> Said:
        """Put an answer into words.

        Args:
            job: what was asked.
            points: the answer; it fits the job.
            result: the search behind it; None where there was none.
            names: what the manager calls a point.
        """


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the engine before it becomes a job."""

    kind: Kind
    form: Form
    stones: Stones
    to_move: int
    opening: tuple[int, ...] = ()
    """Points of the swap2 stones so far."""
    n: int = 1
    """How many best moves the search is to keep."""
    listed: int = 0
    """How many of them are told to the manager."""
    share: float = 1.0
    """How much of the time of a turn it may take, (0, 1]."""
    max_nodes: int | None = None
    """Most simulations; None: as INFO says."""


@dataclass(frozen=True, slots=True)
class Said:
    """What is said to an answer, and what follows."""

    lines: tuple[str, ...] = ()
    placed: tuple[int, ...] = ()
    """Points on which the brain puts stones, that of the side to move first."""
    then: Ask | None = None
    """What has to be asked before the answer is complete."""
    remarks: bool = True
    """Whether the search behind it says something about the answer."""


@dataclass(slots=True)
class Job:
    """A question to the engine. Only `limits` changes while it is worked on."""

    token: int
    kind: Kind
    width: int
    height: int
    rule: Rule
    stones: Stones
    to_move: int
    limits: SearchLimits
    arrival_s: float
    form: Form
    opening: tuple[int, ...] = ()
    n: int = 1
    listed: int = 0
    blocked: frozenset[int] = frozenset()
    """Points that are not to be played."""
    memory_bytes: int | None = None
    """As `Settings.memory`."""
    new_game: bool = False
    clear_tree: bool = False
    wants_info: bool = False
    stop: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set to get the answer now, or to get rid of the job."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to a job, or its failure."""

    token: int
    points: Points | None
    """None when it failed."""
    result: SearchResult | None = None
    remark: str | None = None
    """What a person should know beside the answer."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a search knows so far."""

    token: int
    result: SearchResult = field(repr=False)


class Thinker(Protocol):
    """The search thread as the session sees it. No method waits for the search."""

    def start(self, job: Job) -> None:
        """Work on this job and drop whatever else is being worked on."""

    def cancel(self) -> None:
        """Drop the current job; its outcome is of no interest."""

    def hurry(self) -> None:
        """Make the current job answer now."""

    def relimit(self, limits: SearchLimits) -> None:
        """Change the limits of the current job."""

    def best_so_far(self, job: Job) -> int | None:
        """Return the best move that is known for this job, None if nothing is known yet."""

    def answer_by_s(self, job: Job) -> float:
        """Return when a job should be answered by all means; infinite without a time limit."""

    def now_s(self) -> float:
        """Return the time on the clock of arrivals."""

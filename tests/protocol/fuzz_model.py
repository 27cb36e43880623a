"""What a manager may expect of a brain, line by line: which lines are questions, and what may answer them."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """A line that deserves an answer.

    Attributes:
        allowed: classes of lines that may answer it.
        queued: whether it waits its turn behind other questions that think.
        drops: it makes the brain forget the queued questions before it: "always" or if it is answered "OK".
        optional: it may also stay without an answer.
    """

    allowed: frozenset[str]
    text: bytes
    queued: bool = False
    drops: str = ""
    optional: bool = False


def _question(text: bytes, allowed: str, **more: object) -> Question:
    return Question(frozenset(allowed.split()), text, **more)  # type: ignore[arg-type]


BLOCKS = {
    b"BOARD",
    b"YXBOARD",
    b"SWAP2BOARD",
    b"YXBLOCK",
    b"YXBLOCKUNDO",
    b"YXBLOCKPATH",
    b"YXQUERYDATABASEALL",
}
NEW_COMMANDS = {
    b"START", b"RECTSTART", b"RESTART", b"BEGIN", b"TURN", b"BOARD", b"SWAP2BOARD", b"YXBOARD", b"TAKEBACK",
    b"PLAY",
}  # fmt: skip
"""Commands that cannot be lines of a block; they show that its DONE was lost."""
SILENT = {
    b"INFO", b"STOP", b"YXSTOP", b"YXHASHCLEAR", b"YXSHOWINFO", b"YXBLOCKRESET", b"YXBLOCKPATHRESET",
    b"YXSHOWHASHUSAGE", b"YXSETDATABASE", b"YXSAVEDATABASE",
}  # fmt: skip


PAIR = re.compile(rb"[+-]?\d+\s*,\s*[+-]?\d+")
SIDES = re.compile(rb"([+-]?\d+)(?:(?:\s*,\s*|\s+)([+-]?\d+))?")


def _is_size(word: bytes, rest: bytes) -> bool:
    """Return whether START n, START w h, START w,h or RECTSTART w,h names sides from 5 to 22."""
    match = SIDES.fullmatch(rest)
    if match is None or (word == b"RECTSTART" and match[2] is None):
        return False
    return all(5 <= int(side) <= 22 for side in match.groups() if side is not None)


@dataclass(slots=True)
class Model:
    """What a manager may expect of a brain, line by line.

    `started` is whether START was ever answered OK; a brain without it must be sent no START.
    """

    started: bool
    block: bytes = b""
    gui: bool = False
    """After YXSHOWINFO unknown lines get no answer, since Yixin-Board would read it as a move."""

    def feed(self, line: bytes) -> Question | None:
        """Return the question that a line without its end completes, None if it is to be met with silence."""
        text = line.strip(b" \t\x00")
        word = text.split(None, 1)[0].upper() if text.split() else b""
        if not word:
            return None
        if self.block:
            if word == b"DONE":
                block, self.block = self.block, b""
                return self._closed(block)
            if word not in NEW_COMMANDS and word not in (b"INFO", b"ABOUT", b"STOP", b"YXSTOP"):
                return None
            if word in NEW_COMMANDS:
                self.block = b""
        if word in BLOCKS:
            self.block = word
            return None
        if word == b"YXSHOWINFO":
            self.gui = True
        if word in SILENT:
            return None
        return self._command(word, text)

    def _closed(self, block: bytes) -> Question | None:
        if block not in (b"BOARD", b"YXBOARD", b"SWAP2BOARD"):
            return None
        if block == b"YXBOARD":
            return _question(block, "ERROR", drops="always", optional=True)
        if not self.started:
            return _question(block, "ERROR")
        answers = "MOVE ERROR" if block == b"BOARD" else "MOVE SWAP2 ERROR"
        return _question(block, answers, queued=True, drops="always")

    def _command(self, word: bytes, text: bytes) -> Question | None:
        rest = text[len(word) :].strip()
        if word in (b"START", b"RECTSTART"):
            return _question(text, "OK" if _is_size(word, rest) else "ERROR", drops="always")
        if word == b"ABOUT":
            return _question(text, "ABOUT")
        if word == b"DONE":
            return _question(text, "ERROR UNKNOWN")
        if word == b"RESTART":
            return _question(text, "OK" if self.started else "ERROR", drops="always")
        if word == b"TAKEBACK":
            sane = self.started and PAIR.fullmatch(rest)
            return _question(text, "OK ERROR" if sane else "ERROR", drops="OK")
        if word == b"YXSHOWFORBID":
            return _question(text, "FORBID" if self.started else "ERROR")
        if word in (b"TURN", b"BEGIN", b"PLAY", b"YXNBEST"):
            sane = word == b"BEGIN" or (
                re.fullmatch(rb"\d+", rest) if word == b"YXNBEST" else PAIR.fullmatch(rest)
            )
            answers = "MOVE ERROR" if sane and self.started else "ERROR"
            return _question(text, answers, queued=self.started)
        return None if self.gui else _question(text, "UNKNOWN")


class Matcher:
    """Follows which questions of a batch are answered; keeps all readings of an ambiguous one.

    A state is how many of the questions that need no thought have been answered, and up to which of the
    queued ones the brain has come. One of those may be passed over if something after it surely dropped it.
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = questions
        self._at_once = [i for i, q in enumerate(questions) if not q.queued]
        self._queued = [i for i, q in enumerate(questions) if q.queued]
        drops = [0]
        for question in questions:
            drops.append(drops[-1] + (question.drops == "always"))
        self._drops_before = drops
        self._states = {(0, 0)}

    def answer(self, kind: str) -> bool:
        """Take in an answer; return whether there is a question for it."""
        states = {new for state in self._states for new in self._after(state, kind)}
        self._states = states or self._states
        return bool(states)

    def waiting_for(self) -> list[Question]:
        """Return the questions around the first that is open in some reading."""
        open_ones = [self._at_once[d] for d, _ in self._states if d < len(self._at_once)]
        open_ones += [self._queued[d] for _, d in self._states if d < len(self._queued)]
        first = min(open_ones, default=len(self._questions))
        return list(self._questions[max(0, first - 3) : first + 12])

    def _after(self, state: tuple[int, int], kind: str) -> Iterator[tuple[int, int]]:
        done, queued_done = state
        for n in range(done, len(self._at_once)):
            index = self._at_once[n]
            question = self._questions[index]
            if kind in question.allowed:
                kills = question.drops in ("always", kind)
                yield (
                    n + 1,
                    max(bisect.bisect_left(self._queued, index), queued_done) if kills else queued_done,
                )
            if not question.optional:
                break
        for n in range(queued_done, len(self._queued)):
            index = self._queued[n]
            if n > queued_done and not self._dropped(self._queued[n - 1], index):
                continue
            asked_before = bisect.bisect_left(self._at_once, index)
            skipped = self._at_once[done:asked_before]
            if kind in self._questions[index].allowed and all(self._questions[i].optional for i in skipped):
                yield max(done, asked_before), n + 1

    def _dropped(self, index: int, until: int) -> bool:
        """Return whether something after a question, up to another, surely drops it."""
        return self._drops_before[until + 1] > self._drops_before[index + 1]

    def complete(self, count: int) -> bool:
        """Return whether those of the first `count` questions that must be answered have been."""
        return any(self._complete(state, count) for state in self._states)

    def _complete(self, state: tuple[int, int], count: int) -> bool:
        done, queued_done = state
        asked = bisect.bisect_left(self._at_once, count)
        queued = bisect.bisect_left(self._queued, count)
        return all(self._questions[i].optional for i in self._at_once[done:asked]) and (
            queued_done >= queued or self._dropped(self._queued[queued - 1], count - 1)
        )

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
        owes: if it is dropped, Yixin-Board may still hear one move.
    """

    allowed: frozenset[str]
    text: bytes
    queued: bool = False
    drops: str = ""
    optional: bool = False
    owes: bool = False


def _question(text: bytes, allowed: str, **more: object) -> Question:
    return Question(frozenset(allowed.split()), text, **more)  # type: ignore[arg-type]


SILENT_BLOCKS = {
    b"YXBLOCK", b"YXBLOCKUNDO", b"YXBLOCKPATH", b"YXBLOCKPATHUNDO", b"YXQUERYDATABASEALL",
    b"YXSETBESTMOVEDATABASE", b"YXCLEARBESTMOVEDATABASE",
}  # fmt: skip
REFUSED_BLOCKS = {b"PROBOARD", b"RIFSTEP4", b"RIFSTEP5", b"SOOSYRVSTEP6"}
SOOSORV_BLOCKS = {b"YXSOOSORVSTEP%d" % step for step in range(2, 7)}
BLOCKS = {
    b"BOARD", b"YXBOARD", b"SWAP2BOARD", b"SWAPBOARD", b"SHOWFORBID", b"BALANCE", *SILENT_BLOCKS,
    *REFUSED_BLOCKS, *SOOSORV_BLOCKS,
}  # fmt: skip
TAKE_A_LINE = {b"YXHASHDUMP", b"YXHASHLOAD", b"YXSETDATABASE", b"YXDBTOPOS", b"YXDBTOTXT", b"YXTXTTODB"}
NEW_COMMANDS = {
    b"START", b"RECTSTART", b"RESTART", b"BEGIN", b"TURN", b"BOARD", b"SWAP2BOARD", b"YXBOARD", b"TAKEBACK",
    b"PLAY",
}  # fmt: skip
"""Commands that cannot be lines of a block; they show that its DONE was lost."""
SILENT = {
    b"INFO", b"STOP", b"YXSTOP", b"YXHASHCLEAR", b"YXSHOWINFO", b"YXBLOCKRESET", b"YXBLOCKPATHRESET",
    b"YXSHOWHASHUSAGE", b"YXSAVEDATABASE", b"YXDRAW", b"YXRESIGN", b"YXPRINTFEATURE", b"YXDBFIX",
    b"YXDBCHECK", b"YXFORBID", b"CLEARHASH",
}  # fmt: skip
NUMBER = re.compile(rb"[+-]?\d{1,9}")
POINTS = re.compile(rb"\d{1,3},\d{1,3}(\s+\d{1,3},\d{1,3})*")


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
    rest: bytes = b""
    """What followed the command of the block in its line."""
    line_due: bool = False
    """Whether the next line belongs to the command before it."""
    tail: bool = False
    """Whether a line of points may still belong to the last block."""
    gui: bool = False
    """After YXSHOWINFO unknown lines get no answer, since Yixin-Board would read it as a move."""

    def feed(self, line: bytes) -> Question | None:
        """Return the question that a line without its end completes, None if it is to be met with silence."""
        text = line.strip(b" \t\x00")
        word = text.split(None, 1)[0].upper() if text.split() else b""
        if not word:
            return None
        tail, self.tail = self.tail, False
        if tail and POINTS.fullmatch(text):
            return None
        if self.line_due:
            self.line_due = False
            return None
        if self.block:
            if word == b"DONE" or (self.block == b"RIFSTEP5" and text.upper() == b"PLAY"):
                block, self.block = self.block, b""
                self.tail = block == b"RIFSTEP5"
                return self._closed(block)
            if word not in NEW_COMMANDS and word not in (b"INFO", b"ABOUT", b"STOP", b"YXSTOP"):
                return None
            if word in NEW_COMMANDS:
                self.block = b""
        if word in BLOCKS:
            self.block, self.rest = word, text[len(word) :].strip()
            return None
        if word in TAKE_A_LINE:
            self.line_due = True
            return None
        if word == b"YXSHOWINFO":
            self.gui = True
        if word in SILENT:
            return None
        return self._command(word, text)

    def _closed(self, block: bytes) -> Question | None:
        if block in SILENT_BLOCKS:
            return None
        if block == b"YXBOARD":
            return _question(block, "ERROR", drops="always", optional=True)
        senseless = block == b"BALANCE" and not (NUMBER.fullmatch(self.rest) and 1 <= int(self.rest) <= 2)
        if not self.started or block in REFUSED_BLOCKS or senseless:
            return _question(block, "ERROR")
        if block == b"SHOWFORBID":
            return _question(block, "FORBID ERROR")
        if block in SOOSORV_BLOCKS:  # answered by remarks
            return _question(block, "ERROR", queued=True, drops="always", optional=True)
        if block == b"BOARD":
            return _question(block, "MOVE ERROR", queued=True, drops="always", owes=self.gui)
        return _question(block, "MOVE SWAP2 ERROR", queued=True, drops="always")

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
                NUMBER.fullmatch(rest) if word == b"YXNBEST" else PAIR.fullmatch(rest)
            )
            answers = "MOVE ERROR" if sane and self.started else "ERROR"
            searches = word == b"YXNBEST" and self.gui and bool(sane)
            owes = self.gui and word in (b"TURN", b"BEGIN")
            return _question(text, answers, queued=self.started, optional=searches, owes=owes)
        return self._extension(word, text, rest)

    def _extension(self, word: bytes, text: bytes, rest: bytes) -> Question | None:
        if word == b"PROTOCOLVERSION":
            return None if self.gui else _question(text, "MOVE", queued=self.started)
        if word == b"PONDER":
            sane = not rest or NUMBER.fullmatch(rest)
            return None if sane and self.started else _question(text, "ERROR", queued=self.started)
        if word == b"YXSEARCHDEFEND":
            answers = "MOVE ERROR" if self.started else "ERROR"
            return _question(text, answers, queued=self.started, optional=self.gui and self.started)
        if word in (b"YXBALANCEONE", b"YXBALANCETWO"):
            sane = self.started and (not rest or NUMBER.fullmatch(rest))
            return _question(
                text, "MOVE SWAP2 ERROR" if sane else "ERROR", queued=self.started,
                optional=self.gui and bool(sane),
            )
        if word in (b"YXSWAP2STEP1", b"YXSWAP2STEP2", b"YXSWAP2STEP3", b"YXSOOSORVSTEP1"):
            if not self.started:
                return _question(text, "ERROR")
            owes = self.gui and word[-5:] in (b"STEP2", b"STEP3")
            return _question(text, "ERROR", queued=True, drops="always", optional=True, owes=owes)
        return None if self.gui else _question(text, "UNKNOWN")


class Matcher:
    """Follows which questions of a batch are answered; keeps all readings of an ambiguous one.

    A state is how many of the questions that need no thought have been answered, up to which of the queued
    ones the brain has come, and whether Yixin-Board may still hear a move for one that was dropped. A queued
    one may be passed over if something after it surely dropped it, or if it may stay without an answer.
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = questions
        self._at_once = [i for i, q in enumerate(questions) if not q.queued]
        self._queued = [i for i, q in enumerate(questions) if q.queued]
        drops = [0]
        for question in questions:
            drops.append(drops[-1] + (question.drops == "always"))
        self._drops_before = drops
        self._states = {(0, 0, False)}

    def answer(self, kind: str) -> bool:
        """Take in an answer; return whether there is a question for it."""
        states = {new for state in self._states for new in self._after(state, kind)}
        self._states = states or self._states
        return bool(states)

    def waiting_for(self) -> list[Question]:
        """Return the questions around the first that is open in some reading."""
        open_ones = [self._at_once[d] for d, _, _ in self._states if d < len(self._at_once)]
        open_ones += [self._queued[d] for _, d, _ in self._states if d < len(self._queued)]
        first = min(open_ones, default=len(self._questions))
        return list(self._questions[max(0, first - 3) : first + 12])

    def _after(self, state: tuple[int, int, bool], kind: str) -> Iterator[tuple[int, int, bool]]:
        done, queued_done, owed = state
        if owed and kind == "MOVE":
            yield done, queued_done, False
        for n in range(done, len(self._at_once)):
            index = self._at_once[n]
            question = self._questions[index]
            if kind in question.allowed:
                now_done = queued_done
                if question.drops in ("always", kind):
                    now_done = max(bisect.bisect_left(self._queued, index), queued_done)
                yield n + 1, now_done, owed or self._owes(queued_done, now_done)
            if not question.optional:
                break
        for n in range(queued_done, len(self._queued)):
            index = self._queued[n]
            if not all(self._passed(i, index) for i in self._queued[queued_done:n]):
                continue  # a later one may drop it
            asked_before = bisect.bisect_left(self._at_once, index)
            skipped = self._at_once[done:asked_before]
            if kind in self._questions[index].allowed and all(self._questions[i].optional for i in skipped):
                yield max(done, asked_before), n + 1, owed or self._owes(queued_done, n)

    def _owes(self, begin: int, end: int) -> bool:
        """Return whether one of these queued questions leaves a move that may still be said."""
        return any(self._questions[i].owes for i in self._queued[begin:end])

    def _passed(self, index: int, until: int) -> bool:
        """Return whether a question need not be answered before another that comes later."""
        return self._questions[index].optional or self._dropped(index, until)

    def _dropped(self, index: int, until: int) -> bool:
        """Return whether something after a question, up to another, surely drops it."""
        return self._drops_before[until + 1] > self._drops_before[index + 1]

    def complete(self, count: int) -> bool:
        """Return whether those of the first `count` questions that must be answered have been."""
        return any(self._complete(state, count) for state in self._states)

    def _complete(self, state: tuple[int, int, bool], count: int) -> bool:
        done, queued_done, _ = state
        asked = bisect.bisect_left(self._at_once, count)
        queued = bisect.bisect_left(self._queued, count)
        return all(self._questions[i].optional for i in self._at_once[done:asked]) and all(
            self._passed(i, count - 1) for i in self._queued[queued_done:queued]
        )

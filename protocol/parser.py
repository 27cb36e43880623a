"""Parser: lines to commands. Pure.

`END` is not here: the reader looks for it before anything else, so that nothing can delay it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from protocol.dialects import alphagomoku, gomocup, yixin
from protocol.query import Command

BLOCK_CAP = 2000
"""Lines of a block that are kept (derived: four times the cells of the largest board)."""
_LINES = {**gomocup.LINES, **yixin.LINES, **alphagomoku.LINES}
_BLOCKS = {**gomocup.BLOCKS, **yixin.BLOCKS, **alphagomoku.BLOCKS}
_ENDS_A_BLOCK = frozenset(
    {"START", "RECTSTART", "RESTART", "BEGIN", "TURN", "BOARD", "SWAP2BOARD", "YXBOARD", "TAKEBACK", "PLAY"}
)
"""Commands that show that the DONE of the block before them got lost."""
_INSIDE_A_BLOCK = frozenset({"INFO", "ABOUT", "STOP", "YXSTOP"})
"""Commands that may come between the lines of a block."""
_POINTS = re.compile(r"[0-9]{1,3},[0-9]{1,3}(\s+[0-9]{1,3},[0-9]{1,3})*", re.ASCII)


class Parser:
    """Turns lines into commands; remembers only the block that is being read."""

    def __init__(self) -> None:
        self._block = ""  # the command whose lines are being read
        self._rest = ""  # what followed it in its line
        self._tail = False  # whether a line of points may still belong to the last block
        self._lines: list[str] = []
        self._since_s = 0.0

    def feed(self, line: bytes, arrival_s: float) -> Iterator[tuple[Command, float]]:
        """Yield the commands that a line completes, each with its arrival: that of its first line."""
        text = line.removeprefix(b"\xef\xbb\xbf").decode("ascii", "replace").strip(" \t\0\x0b\x0c")
        word = text.split(None, 1)[0].upper() if text.split() else ""
        tail, self._tail = self._tail, self._tail and not word
        if not word or (tail and _POINTS.fullmatch(text)):
            return
        if self._ends_block(word, text):
            yield self._close_block(), self._since_s
        elif self._block and word not in _ENDS_A_BLOCK and word not in _INSIDE_A_BLOCK:
            if len(self._lines) < BLOCK_CAP:
                self._lines.append(text)
        elif word in _BLOCKS or word in yixin.PATHS:
            self._block, self._lines, self._since_s = word, [], arrival_s
            self._rest = text[len(word) :].strip()
        else:
            if word in _ENDS_A_BLOCK:
                self._block = ""
            yield parse_line(text), arrival_s

    def _ends_block(self, word: str, text: str) -> bool:
        """Return whether a line is the last one of the block."""
        if self._block in yixin.PATHS:
            return True
        return bool(self._block) and (
            word == "DONE" or (text.upper() == "PLAY" and self._block in alphagomoku.TAILS)
        )

    def _close_block(self) -> Command:
        word, self._block = self._block, ""
        self._tail = word in alphagomoku.TAILS
        if word in yixin.PATHS:
            return yixin.ignore(word)
        return _BLOCKS[word](word, self._rest, self._lines)


def parse_line(text: str) -> Command:
    """Return the command that a line outside of a block holds; never raises."""
    word, rest = ([*text.split(None, 1), "", ""])[:2]
    word = word.upper()
    return _LINES[word](word, rest.strip()) if word in _LINES else gomocup.Unknown(text)

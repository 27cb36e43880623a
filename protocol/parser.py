"""From bytes to commands. Pure: what comes out depends on nothing but what went in.

`END` is not here: the loop looks for it before anything else, so that nothing can delay it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from protocol import extensions
from protocol.blocks import LOOSE_PAIR, ONE, PAIR, parse_board, parse_swap2
from protocol.commands import (
    About,
    Begin,
    Command,
    Info,
    Invalid,
    Play,
    Restart,
    Start,
    Stop,
    TakeBack,
    Turn,
    Unknown,
)

LINE_CAP = 4096
"""Bytes of a line that are kept (derived: far longer than any path that a manager sends)."""
BLOCK_CAP = 2000
"""Lines of a block that are kept (derived: four times the cells of the largest board)."""

_PLAIN: dict[str, Callable[[], Command]] = {
    "RESTART": Restart,
    "BEGIN": Begin,
    "ABOUT": About,
    "STOP": Stop,
}
_POINTED: dict[str, Callable[[int, int], Command]] = {"TURN": Turn, "PLAY": Play, "TAKEBACK": TakeBack}
_BLOCKS = frozenset({"BOARD", "SWAP2BOARD", "YXBOARD"})
_ENDS_A_BLOCK = frozenset(
    {"START", "RECTSTART", "RESTART", "BEGIN", "TURN", "BOARD", "SWAP2BOARD", "YXBOARD", "TAKEBACK", "PLAY"}
)
"""Commands that show that the DONE of the block before them got lost."""
_INSIDE_A_BLOCK = frozenset({"INFO", "ABOUT", "STOP", "YXSTOP"})
"""Commands that may come between the lines of a block."""
_POINTS = re.compile(r"[0-9]{1,3},[0-9]{1,3}(\s+[0-9]{1,3},[0-9]{1,3})*", re.ASCII)


class LineSplitter:
    """Cuts a stream of bytes into lines at LF, CR LF or CR, and drops what exceeds LINE_CAP."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk completes, without line ends; blank lines are left out."""
        *lines, rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        self._rest = rest[:LINE_CAP]
        return [line[:LINE_CAP] for line in lines if line.strip()]

    def close(self) -> list[bytes]:
        """Return the line that the end of input cut short, if any."""
        rest, self._rest = self._rest, b""
        return [rest] if rest.strip() else []


def is_end(line: bytes) -> bool:
    """Return whether a line is the command END."""
    return line.strip().upper() == b"END"


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
        if not word:
            return
        tail, self._tail = self._tail, False
        if tail and _POINTS.fullmatch(text):
            return
        if extensions.takes_a_line(self._block):
            yield self._close_block(), self._since_s
            return
        if self._block:
            if word == "DONE" or (text.upper() == "PLAY" and extensions.has_a_tail(self._block)):
                yield self._close_block(), self._since_s
                return
            if word not in _ENDS_A_BLOCK and word not in _INSIDE_A_BLOCK:
                if len(self._lines) < BLOCK_CAP:
                    self._lines.append(text)
                return
            if word in _ENDS_A_BLOCK:
                self._block = ""
        if word in _BLOCKS or extensions.takes_a_block(word) or extensions.takes_a_line(word):
            self._block, self._lines, self._since_s = word, [], arrival_s
            self._rest = text[len(word) :].strip()
        else:
            yield parse_line(text), arrival_s

    def _close_block(self) -> Command:
        word, self._block = self._block, ""
        self._tail = extensions.has_a_tail(word)
        if word == "SWAP2BOARD":
            return parse_swap2(self._lines)
        if word in _BLOCKS:
            return parse_board(self._lines, silent=word == "YXBOARD")
        if extensions.takes_a_line(word):
            return extensions.close_line(word)
        return extensions.close_block(word, self._rest, self._lines)


def parse_line(text: str) -> Command:
    """Return the command that a line outside of a block holds; never raises."""
    word, rest = ([*text.split(None, 1), "", ""])[:2]
    word, rest = word.upper(), rest.strip()
    if word == "INFO":
        key, _, value = rest.replace("\t", " ").partition(" ")
        return Info(key.lower(), value.strip())
    if word in _PLAIN:
        return _PLAIN[word]()
    if word in _POINTED:
        pair = PAIR.match(rest)
        if pair is None:
            return Invalid(word, f"{word} needs x,y")
        return _POINTED[word](int(pair[1]), int(pair[2]))
    if word == "START":
        one, two = ONE.match(rest), LOOSE_PAIR.match(rest)
        if one is not None:
            return Start(int(one[1]), int(one[1]))
        if two is not None:
            return Start(int(two[1]), int(two[2]))
        return Invalid(word, "START needs a board size, such as 20")
    if word == "RECTSTART":
        two = LOOSE_PAIR.match(rest)
        if two is not None:
            return Start(int(two[1]), int(two[2]))
        return Invalid(word, "RECTSTART needs width,height")
    if word == "DONE":
        return Invalid(word, "DONE without BOARD")
    return extensions.parse_extension(word, rest) or Unknown(text)

"""From bytes to commands. Pure: what comes out depends on nothing but what went in.

`END` is not here: the loop looks for it before anything else, so that nothing can delay it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from protocol.commands import (
    About,
    Begin,
    Board,
    Command,
    HashClear,
    Ignored,
    Info,
    Invalid,
    NBest,
    Play,
    Restart,
    ShowForbid,
    ShowInfo,
    Start,
    Stone,
    Stop,
    Swap2Board,
    TakeBack,
    Turn,
    Unknown,
)

LINE_CAP = 4096
"""Bytes of a line that are kept (derived: far longer than any path that a manager sends)."""
BLOCK_CAP = 2000
"""Lines of a block that are kept (derived: four times the cells of the largest board)."""

_NUMBER = r"([+-]?[0-9]{1,9})"
_ONE = re.compile(rf"{_NUMBER}\Z", re.ASCII)
_PAIR = re.compile(rf"{_NUMBER}\s*,\s*{_NUMBER}\Z", re.ASCII)
_LOOSE_PAIR = re.compile(rf"{_NUMBER}(?:\s*,\s*|\s+){_NUMBER}\Z", re.ASCII)
_PAIR_AND_MORE = re.compile(rf"{_NUMBER}\s*,\s*{_NUMBER}(?:\s*,\s*(.*))?\Z", re.ASCII | re.DOTALL)

_PLAIN: dict[str, Callable[[], Command]] = {
    "RESTART": Restart,
    "BEGIN": Begin,
    "ABOUT": About,
    "STOP": Stop,
    "YXSTOP": Stop,
    "YXSHOWFORBID": ShowForbid,
    "YXSHOWINFO": ShowInfo,
    "YXHASHCLEAR": HashClear,
}
_POINTED: dict[str, Callable[[int, int], Command]] = {"TURN": Turn, "PLAY": Play, "TAKEBACK": TakeBack}
_SILENT_BLOCKS = frozenset(
    f"YX{name}"
    for name in (
        "QUERYDATABASEALL", "QUERYDATABASEONE", "QUERYDATABASETEXT", "QUERYDATABASEALLT", "EDITTVDDATABASE",
        "EDITTEXTDATABASE", "EDITLABELDATABASE", "DELETEDATABASEONE", "DELETEDATABASEALL", "BLOCK",
        "BLOCKUNDO", "BLOCKPATH", "BLOCKPATHUNDO",
    )
)
"""Yixin's commands that bring lines up to `done` and expect no answer (protocol)."""
_SILENT_WITH_A_LINE = frozenset({"YXHASHDUMP", "YXHASHLOAD"})
"""Yixin's commands that bring one more line, a path (protocol)."""
_SILENT = frozenset(
    {"YXBLOCKRESET", "YXBLOCKPATHRESET", "YXSHOWHASHUSAGE", "YXSETDATABASE", "YXSAVEDATABASE"}
)
_OPENS_A_BLOCK = frozenset({"BOARD", "SWAP2BOARD", "YXBOARD"}) | _SILENT_BLOCKS | _SILENT_WITH_A_LINE
_ENDS_A_BLOCK = frozenset(
    {"START", "RECTSTART", "RESTART", "BEGIN", "TURN", "BOARD", "SWAP2BOARD", "YXBOARD", "TAKEBACK", "PLAY"}
)
"""Commands that show that the DONE of the block before them got lost."""
_INSIDE_A_BLOCK = frozenset({"INFO", "ABOUT", "STOP", "YXSTOP"})
"""Commands that may come between the lines of a block."""


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
        self._block = ""
        self._lines: list[str] = []
        self._since_s = 0.0

    def feed(self, line: bytes, arrival_s: float) -> Iterator[tuple[Command, float]]:
        """Yield the commands that a line completes, each with its arrival: that of its first line."""
        text = line.removeprefix(b"\xef\xbb\xbf").decode("ascii", "replace").strip(" \t\0\x0b\x0c")
        word = text.split(None, 1)[0].upper() if text.split() else ""
        if not word:
            return
        if self._block in _SILENT_WITH_A_LINE:
            self._block = ""
            return
        if self._block:
            if word == "DONE":
                yield self._close_block(), self._since_s
                return
            if word not in _ENDS_A_BLOCK and word not in _INSIDE_A_BLOCK:
                if len(self._lines) < BLOCK_CAP:
                    self._lines.append(text)
                return
            if word in _ENDS_A_BLOCK:
                self._block = ""
        if word in _OPENS_A_BLOCK:
            self._block, self._lines, self._since_s = word, [], arrival_s
        else:
            yield parse_line(text), arrival_s

    def _close_block(self) -> Command:
        word, self._block = self._block, ""
        if word == "SWAP2BOARD":
            return parse_swap2(self._lines)
        if word in _SILENT_BLOCKS:
            return Ignored(word)
        return parse_board(self._lines, silent=word == "YXBOARD")


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
        pair = _PAIR.match(rest)
        if pair is None:
            return Invalid(word, f"{word} needs x,y")
        return _POINTED[word](int(pair[1]), int(pair[2]))
    if word == "START":
        one, two = _ONE.match(rest), _LOOSE_PAIR.match(rest)
        if one is not None:
            return Start(int(one[1]), int(one[1]))
        if two is not None:
            return Start(int(two[1]), int(two[2]))
        return Invalid(word, "START needs a board size, such as 20")
    if word == "RECTSTART":
        two = _LOOSE_PAIR.match(rest)
        if two is not None:
            return Start(int(two[1]), int(two[2]))
        return Invalid(word, "RECTSTART needs width,height")
    if word == "YXNBEST":
        one = _ONE.match(rest)
        if one is None or int(one[1]) < 1:
            return Invalid(word, "YXNBEST needs a number of moves")
        return NBest(int(one[1]))
    if word == "DONE":
        return Invalid(word, "DONE without BOARD")
    return Ignored(word) if word in _SILENT else Unknown(text)


def parse_board(lines: list[str], *, silent: bool = False) -> Board:
    """Read the lines of a BOARD block. Unreadable lines are left out and the first is named in `fault`."""
    stones, fault = [], None
    for line in lines:
        match = _PAIR_AND_MORE.match(line)
        owner = match[3].strip() if match is not None and match[3] is not None else ""
        if match is not None:
            known = int(owner) if owner in ("1", "2", "3") else None
            stones.append(Stone(int(match[1]), int(match[2]), known))
        if match is None or stones[-1].owner is None:
            fault = fault or f"BOARD lines are x,y,owner, not {line[:40]}"
    return Board(tuple(stones), fault, silent)


def parse_swap2(lines: list[str]) -> Swap2Board:
    """Read the lines of a SWAP2BOARD block. Unreadable ones are left out, the first is named in `fault`."""
    stones, fault = [], None
    for line in lines:
        pair = _PAIR.match(line)
        if pair is None:
            fault = fault or f"SWAP2BOARD lines are x,y, not {line[:40]}"
        else:
            stones.append((int(pair[1]), int(pair[2])))
    return Swap2Board(tuple(stones), fault)

"""The grammar of SGF: text -> properties of nodes and the brackets of variations.

Format: SGF FF[4] (https://www.red-bean.com/sgf/), read as loosely as programs write it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.errors import PositionError

_START = re.compile(r"\(\s*(?:;|[A-Z][A-Za-z]{0,20}\s*\[)", re.ASCII)
_TOKEN = re.compile(r"\s+|([();])|([A-Za-z]+)|\[([^\]\\]*(?:\\.[^\]\\]*)*)(\]?)", re.ASCII | re.DOTALL)
_SWALLOWED = re.compile(r"(?<![A-Za-z])[A-Z]{1,2}\[", re.ASCII)


@dataclass(frozen=True, slots=True)
class Property:
    """One value of a property: `name` such as `PB`, the text in the brackets, the line of the file."""

    name: str
    value: str
    line: int


Event = str | list[Property]
"""`(`, `)`, or the properties of a node."""


def find_sgf(text: str) -> int | None:
    """Return where the first SGF game of a text begins, None where there is none."""
    found = _START.search(text)
    return None if found is None else found.start()


def damage(text: str) -> int:
    """Return how many values of an SGF text look as if they contained other properties.

    Of the encodings that a file may have, the right one is among those with the fewest: a wrong one takes
    bytes of letters for brackets and backslashes, or the other way round.

    Returns:
        A large number for a text that is no SGF at all.
    """
    start = find_sgf(text)
    if start is None:
        return 1 << 30
    try:
        _, events = parse_sgf(text, start)
    except PositionError:
        return 1 << 29
    values = (p.value for event in events if not isinstance(event, str) for p in event)
    return sum(len(_SWALLOWED.findall(value)) for value in values)


def parse_sgf(text: str, start: int) -> tuple[int, list[Event]]:
    """Return where the game that begins at `start` ends, and what it consists of.

    Raises:
        PositionError: the text breaks off before the end of the game, or is no SGF.
    """
    events: list[Event] = []
    node: list[Property] | None = None
    name = ""
    closed = False  # the property has had a value, so that letters begin another
    depth, at, line = 0, start, 1 + text.count("\n", 0, start)
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise PositionError(f"line {line}: unexpected {text[at]!r}", code="line_unread", line=line)
        sign, letters, value, bracket = token.groups()
        if value is not None:
            if not bracket:
                raise PositionError(f"line {line}: a `[` is never closed", code="breaks_off")
            if not name:
                said = f"line {line}: a value without a property"
                raise PositionError(said, code="line_unread", line=line)
            if node is None:  # behind `(` or `)` without `;`
                node = []
                events.append(node)
            node.append(Property(name, _plain(value), line))
            closed = True
        elif letters is not None:
            name = ("" if closed else name) + "".join(c for c in letters if c.isupper())
            closed = False
        elif sign is not None:
            name, closed = "", False
            node = [] if sign == ";" else None
            events.append(sign if node is None else node)
            depth += {"(": 1, ")": -1}.get(sign, 0)
            if depth == 0:
                return token.end(), events
        line += text.count("\n", at, token.end())
        at = token.end()
    raise PositionError(f"line {line}: the game breaks off; its last `)` is missing", code="breaks_off")


def _plain(value: str) -> str:
    """Return what a value says: without the backslashes of SGF and without lines that it only wraps."""
    return re.sub(r"\\(.)", lambda m: "" if m[1] == "\n" else m[1], value, flags=re.DOTALL)

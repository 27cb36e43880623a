"""A library of RenLib, byte by byte."""

from __future__ import annotations

from engine.rules.geometry import parse_move, xy

HEADER = b"\xffRenLib\xff\x03\x04" + b"\xff" * 10
ROOT = b"\x00\x00"
MORE, LAST, OLD, MARK, COMMENT, LABEL, EXTENDED = 0x80, 0x40, 0x20, 0x10, 0x08, 0x02, 0x01


def node(move, flags=0, comment=b"", label=b""):
    """Return one node; rows of `move` count from the top."""
    column, row = (0, 0) if move == "pass" else xy(parse_move(move, 15, 15), 15)
    place = 0 if move == "pass" else 16 * row + column + 1
    flags |= (COMMENT if comment and not flags & OLD else 0) | (EXTENDED if label else 0)
    data = bytes([place, flags]) + (b"\x00\x01" if label else b"")
    for text, end in ((comment, b"" if flags & OLD else b"\x00"), (label, b"\x00")):
        if text:
            data += text + end + b"\x00" * (len(text + end) % 2)
    return data


LIBRARY = (
    HEADER + b"\x00\x08Openings\x00\x00"
    + node("h8", comment=b"centre\x08more on\r\nthe centre")
    + node("i9", MORE)
    + node("g7", MORE | LAST, b"good")
    + node("j10", LAST | MARK)
    + node("h9")
    + node("pass")
    + node("i8", LAST | LABEL, label=b"A")
)  # fmt: skip

"""RenLib's libraries (.lib): trees of renju and gomoku openings on 15x15, read.

Format, as RenLib itself reads it (https://github.com/gomoku/RenLib, `LibraryFile.cpp`, `RenLibDoc.cpp`; up to
version 3.4): twenty bytes of header, which the oldest files lack, then nodes in depth-first order, two bytes
each. The first byte is the point, 16 * row + column with rows from 0 at the top and columns from 1; 0 is the
root, later a pass. The second byte has bits:

    0x80  another child of the same parent follows once the moves behind this one have ended
    0x40  no move comes behind this one
    0x20  an old comment follows: seven bits a letter, the top bit ends it
    0x08  a comment follows: a zero byte ends it, \\b is between its headline and the rest
    0x10  marked
    0x04  start
    0x02  no move, but a label on a point
    0x01  two more bytes follow; the lowest bit of the second says that the text of a label follows

Texts are padded to an even length.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import PositionError
from engine.games.decode import Detector, decode_all
from engine.games.record import PASS, playable_point
from engine.games.tree import MAX_NODES, GameTree, TreeBuilder
from engine.rules._board import EMPTY
from engine.rules.geometry import format_move, xy
from engine.rules.rule import rule_name

SIDE = 15
MAX_TEXT = 1 << 16
"""Bytes of one comment (derived: larger ones are damage)."""

_MAGIC = b"\xffRenLib\xff"
_HEADER = 20
_CENTRE = 0x78  # the first byte of files without a header: h8
_NEWEST = (3, 4)
_MORE, _LAST, _OLD_COMMENT, _MARK = 0x80, 0x40, 0x20, 0x10
_COMMENT, _NO_MOVE, _EXTENDED = 0x08, 0x02, 0x01
_LABEL = 0x01  # of the two extra bytes: 0x0100 of the whole


@dataclass(slots=True)
class _Entry:
    """One node of a file."""

    point: int
    flags: int
    comment: bytes
    label: bytes


def is_renlib(data: bytes) -> bool:
    """Return whether bytes are a library, of any version."""
    if data.startswith(_MAGIC):
        return True
    headless = len(data) >= 4 and len(data) % 2 == 0 and data[0] == _CENTRE and not data[1] & _NO_MOVE
    return headless and any(byte < 9 or byte > 126 for byte in data)


def read_renlib(data: bytes, rule: int, detect: Detector | None = None) -> GameTree:
    """Read a library and check every move.

    Moves that this rule forbids, and what follows them, are left out with a note, since a library may show
    why they lose.

    Args:
        data: content of the file.
        rule: that is played; the file does not say.
        detect: guesses the encoding of comments.

    Raises:
        PositionError: the file is damaged, newer than is known, or larger than `MAX_NODES` moves.
    """
    at = _after_header(data)
    reader = _Reader(TreeBuilder(SIDE, SIDE, rule))
    while at < len(data):
        if reader.ended:
            raise PositionError(f"byte {at}: the library goes on after its end", code="library_damaged")
        begin = at
        entry, at = _entry(data, at)
        reader.take(entry, f"byte {begin}: ")
    return reader.finish(rule, detect)


def _after_header(data: bytes) -> int:
    """Return where the nodes begin.

    Raises:
        PositionError: the header breaks off, or is of a newer version than is known.
    """
    if not data.startswith(_MAGIC):
        return 0
    if len(data) < _HEADER:
        raise PositionError("the library breaks off in its header", code="breaks_off")
    version = (data[8], data[9])
    if version > _NEWEST:
        raise PositionError(f"version {version[0]}.{version[1]} of RenLib is not known, only up to 3.4")
    return _HEADER


class _Reader:
    """Builds a tree from nodes in the order of the file."""

    def __init__(self, builder: TreeBuilder) -> None:
        self.ended = False
        self._builder = builder
        self._stack: list[tuple[int, bool]] = []
        """Parents that get another child, and whether they are left out themselves."""
        self._parent, self._skipped, self._awaited, self._first = 0, False, False, True
        self._comments: dict[int, bytes] = {}
        self._left_out, self._first_left_out, self._marks = 0, "", 0

    def take(self, entry: _Entry, where: str) -> None:
        """Add one node.

        Raises:
            PositionError: it cannot stand here, or the library is too large.
        """
        self._marks += bool(entry.flags & _MARK)
        root = self._first and entry.point == PASS
        self._first = False
        number, out = self._parent, self._skipped
        if root:
            _add(self._comments, 0, entry.comment)
        elif entry.flags & _NO_MOVE:
            if entry.label and not self._skipped:
                _add(self._comments, self._parent, _label(entry))
            if not entry.flags & _LAST:
                raise PositionError(f"{where}moves come after a label", code="library_damaged")
        elif self._skipped:
            self._left_out += 1
        else:
            number, out = self._move(entry, where)
        if self._left_out + len(self._builder.nodes) > 2 * MAX_NODES:
            raise PositionError(f"{where}more than {MAX_NODES} moves", code="library_damaged")
        if entry.flags & _MORE and not root:
            self._stack.append((self._parent, self._skipped))
        self._awaited = bool(entry.flags & _LAST and self._stack)
        if self._awaited:
            self._parent, self._skipped = self._stack.pop()
        elif entry.flags & _LAST:
            self.ended = True
        else:
            self._parent, self._skipped = number, out

    def _move(self, entry: _Entry, where: str) -> tuple[int, bool]:
        """Play a move; return the parent of what follows, and whether that is left out."""
        builder = self._builder
        builder.go_back(self._parent)
        why = _place(builder, entry.point, where)
        if why:
            self._left_out += 1
            self._first_left_out = self._first_left_out or why
            return self._parent, True
        _add(self._comments, builder.at, entry.comment)
        if entry.label:
            _add(self._comments, self._parent, _label(entry))
        return builder.at, False

    def finish(self, rule: int, detect: Detector | None) -> GameTree:
        """Return the tree, with notes of what is not in it.

        Raises:
            PositionError: moves are missing.
        """
        if self._stack or self._awaited:
            raise PositionError("the library breaks off; moves are missing", code="breaks_off")
        builder = self._builder
        _take_comments(builder, self._comments, detect)
        said = f"a library does not say its rule; {rule_name(rule)} is taken"
        builder.note(said, code="rule_unsaid", rule=int(rule))
        if self._left_out:
            left_out = f"{self._left_out} moves that the rule does not allow are left out"
            said = f"{left_out} ({self._first_left_out})"
            builder.note(said, code="moves_left_out", n=self._left_out)
        if self._marks:
            builder.note(f"{self._marks} marks of moves are left out", code="marks_left_out")
        return builder.finish()


def _entry(data: bytes, at: int) -> tuple[_Entry, int]:
    """Return the node at a place, and where the next begins.

    Raises:
        PositionError: it breaks off or is none.
    """
    if at + 2 > len(data):
        raise PositionError(f"byte {at}: the library breaks off", code="breaks_off")
    place, flags = data[at], data[at + 1]
    begin, at = at, at + 2
    extra = 0
    if flags & _EXTENDED:
        if at + 2 > len(data):
            raise PositionError(f"byte {at}: the library breaks off", code="breaks_off")
        extra, at = data[at + 1] | data[at] << 8, at + 2
    if place == 0:
        point = PASS
    elif not 1 <= place % 16 <= SIDE or place // 16 >= SIDE:
        raise PositionError(f"byte {begin}: {place} is no point of a library", code="library_damaged")
    else:
        point = place // 16 * SIDE + place % 16 - 1
    entry = _Entry(point, flags, b"", b"")
    if flags & _OLD_COMMENT:
        entry.comment, at = _old_text(data, at)
    elif flags & _COMMENT:
        entry.comment, at = _text(data, at)
    if extra & _LABEL:
        entry.label, at = _text(data, at)
    return entry, at


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    """Return a text that a zero ends, and where the next node begins."""
    end = data.find(b"\x00", at, at + MAX_TEXT)
    if end < 0:
        raise PositionError(f"byte {at}: a comment never ends", code="library_damaged")
    return data[at:end], end + 1 + (end + 1 - at) % 2


def _old_text(data: bytes, at: int) -> tuple[bytes, int]:
    """Return a text of seven bits a letter, of which the last has its top bit set."""
    for end in range(at, min(len(data), at + MAX_TEXT)):
        if data[end] & 0x80:
            text = bytes(byte & 0x7F for byte in data[at : end + 1])
            swedish = str.maketrans("}{|][\\", "åäöÅÄÖ")  # the letters of ISO 646-SE
            return text.decode("ascii").translate(swedish).encode(), end + 1 + (end + 1 - at) % 2
    raise PositionError(f"byte {at}: a comment never ends", code="library_damaged")


def _label(entry: _Entry) -> bytes:
    where = "pass" if entry.point == PASS else format_move(entry.point, SIDE)
    return where.encode() + b": " + entry.label


def _place(builder: TreeBuilder, point: int, where: str) -> str:
    """Play a move; return why the rule does not allow it, else an empty text.

    Raises:
        PositionError: its point is taken.
    """
    board = builder.board
    if point == PASS:
        builder.skip(where)
        return "" if board.winner == EMPTY else "a pass after the end"
    name = format_move(point, SIDE)
    if board.cell(point) != EMPTY:
        said = f"{where}move {builder.depth + 1}: {name} is taken"
        raise PositionError(said, code="move_taken", n=builder.depth + 1, point=name)
    try:
        playable_point(board, *xy(point, SIDE), f"move {builder.depth + 1}")
    except PositionError as error:
        return str(error)
    builder.play(*xy(point, SIDE), where)
    return ""


def _add(comments: dict[int, bytes], number: int, text: bytes) -> None:
    if text:
        comments[number] = comments[number] + b"\n" + text if number in comments else text


def _take_comments(builder: TreeBuilder, comments: dict[int, bytes], detect: Detector | None) -> None:
    """Give comments to their nodes."""
    texts, notes = decode_all([text.replace(b"\x08", b"\n") for text in comments.values()], detect)
    for note in notes:
        builder.note(note, code=note.code, **note.values)
    for number, text in zip(comments, texts, strict=True):
        builder.nodes[number].comment = text.strip()

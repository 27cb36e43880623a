"""Bytes of files as text, by the encoding that they name, or by the best guess.

Files of this field come from Windows programs of many countries. SGF may name its encoding (CA); it is read
from the bytes, since in Shift-JIS, GBK and Big5 a byte of a letter can be a bracket or a backslash. Without
it, and where the bytes are not UTF-8, a function that the caller passes guesses, so that the engine needs no
library for it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.errors import PositionError
from engine.games.record import Note

Detector = Callable[[bytes], Sequence[str]]
"""Returns the codecs that bytes may be written in, the likeliest first."""
Damage = Callable[[str], int]
"""Returns how damaged a text looks, 0 for not at all; the least damaged guess is taken."""

MAX_GUESSES = 5
"""Guesses that are compared (derived: each costs a reading of the file)."""
SURE = 12
"""Bytes of letters in UTF-8 that other encodings do not hit by chance (derived: four Chinese characters; two
of GBK can be valid UTF-8)."""
MAX_VOTES = 30
"""Texts of a file that are read for a guess (derived: 5 ms each)."""
CA_WITHIN = 8192
"""Bytes from the start that are searched for CA (derived: a root with long comments)."""
NO_DETECTOR = (
    "the text is not UTF-8 and does not say its encoding (CA); with the package charset-normalizer Tengen "
    "guesses it: pip install charset-normalizer"
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"), (b"\x84\x31\x95\x33", "gb18030"),
)  # fmt: skip
_CA = re.compile(rb"(?<![A-Za-z])CA\s*\[\s*([A-Za-z0-9_:.() -]{1,40}?)\s*\]")
_WIDER = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932",
    "euc_kr": "cp949", "iso8859-9": "cp1254",
}  # fmt: skip
"""Codecs by the larger one that Windows programs mean when they write the name."""
_SPELLED = {
    "xsjis": "cp932", "windows31j": "cp932", "ms932": "cp932", "xgbk": "gb18030", "xgb2312": "gb18030",
    "gb": "gb18030", "chinese": "gb18030", "xbig5": "big5", "big5hkscs": "big5hkscs", "xeucjp": "euc_jp",
    "xeuckr": "cp949", "ksc5601": "cp949", "ksc56011987": "cp949", "windows949": "cp949", "korean": "cp949",
    "unicode": "utf-8", "utf8n": "utf-8", "ansi": "cp1252", "windows936": "gb18030", "windows950": "cp950",
    "windows932": "cp932",
}  # fmt: skip
"""Names that programs write and Python does not know, letters and digits only."""
_NO_TEXT = frozenset(
    {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7", "utf-16", "utf-32",
     "mbcs", "oem"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text with its lines ended by \\n, its encoding, and a note where that was guessed."""

    text: str
    encoding: str
    notes: tuple[Note, ...] = ()


def decode(data: bytes, detect: Detector | None = None, damage: Damage = lambda text: 0) -> Decoded:
    """Return the text that bytes hold.

    Args:
        data: of a file.
        detect: guesses the encoding where the bytes neither name it nor are UTF-8; None: no guess.
        damage: tells right guesses from wrong ones.

    Raises:
        PositionError: no encoding fits; the message is one line.
    """
    for bom, marked in _BOMS:
        if data.startswith(bom):
            text = _strictly(data[len(bom) :], marked)
            if text is not None:
                return _decoded(text, marked)
            text = data[len(bom) :].decode(marked, "replace")
            return _decoded(text, marked, _unfit(f"some bytes are not {marked}", marked))
    wide = _utf16_without_bom(data)
    if wide is not None and (text := _strictly(data, wide)) is not None:
        return _decoded(text, wide)
    notes: list[Note] = []
    named = _CA.search(data, 0, CA_WITHIN)
    if named is not None:
        label = named[1].decode("ascii")
        codec = codec_named(label)
        if codec is not None and (text := _strictly(data, codec)) is not None:
            if codec != "utf-8" and (_is_surely_utf8(data) or _is_sounder_utf8(data, text, damage)):
                return _decoded(
                    data.decode("utf-8"), "utf-8", _unfit(f"the text is not {label} (CA) but UTF-8", label)
                )
            return _decoded(text, codec)
        why = f"the encoding {label} (CA) is unknown" if codec is None else f"the text is not {label} (CA)"
        notes.append(_unfit(why, label))
    text = _strictly(data, "utf-8")
    if text is not None and b"\x1b$" not in data:
        return _decoded(text, "utf-8", *notes)
    if text is not None:  # ASCII with escapes: the encodings of Japanese and Korean mail
        guesses: Sequence[str] = ("iso2022_jp_2", "iso2022_kr", "utf-8")
    elif detect is None:
        raise PositionError("; ".join([*notes, NO_DETECTOR]), code="encoding_unknown")
    else:
        guesses = detect(data)
    found = _least_damaged(data, guesses, damage)
    if found is None:
        said = "; ".join([*notes, "no encoding of text fits the bytes of this file"])
        raise PositionError(said, code="encoding_unknown")
    return _decoded(*found, *notes, _guessed(found[1]))


def decode_all(pieces: Sequence[bytes], detect: Detector | None) -> tuple[list[str], list[Note]]:
    """Return the texts of a file that holds many, by authors of several countries perhaps, and notes.

    Args:
        pieces: the bytes of each text.
        detect: as in `decode`; it reads the longest texts, each weighted by its length.

    Raises:
        PositionError: a text is not UTF-8, and `detect` is None.
    """
    foreign = [piece for piece in pieces if _strictly(piece, "utf-8") is None]
    if not foreign:
        return [_lines(piece.decode()) for piece in pieces], []
    if detect is None:
        raise PositionError(NO_DETECTOR, code="encoding_unknown")
    votes: dict[str, int] = {}
    for piece in sorted(foreign, key=len)[-MAX_VOTES:]:
        codec = next((codec for codec in detect(piece) if _strictly(piece, codec) is not None), None)
        if codec is not None:
            votes[codec] = votes.get(codec, 0) + len(piece)
    order = ["utf-8", *sorted(votes, key=lambda codec: -votes[codec]), "cp1252"]
    texts = []
    for piece in pieces:
        fits = (text for codec in order if (text := _strictly(piece, codec)) is not None)
        texts.append(_lines(next(fits, None) or piece.decode("cp1252", "replace")))
    return texts, [_guessed(order[1])]


def codec_named(label: str) -> str | None:
    """Return the codec that a label such as `GBK`, `x-sjis` or `ISO-8859-2` means, None for none."""
    plain = re.sub(r"[^a-z0-9]", "", label.lower())
    codec: str | None = _SPELLED.get(plain)
    if codec is None:
        try:
            codec = codecs.lookup(label.strip()).name
            "".encode(codec)
        except (LookupError, ValueError, UnicodeError):
            return None
        if codec.replace("_", "-") in _NO_TEXT:
            return None
    return _WIDER.get(codec, codec)


def shown(codec: str) -> str:
    """Return what people call a codec."""
    names = {
        "gb18030": "Chinese (GBK)", "big5": "Chinese (Big5)", "cp950": "Chinese (Big5)",
        "cp932": "Japanese (Shift-JIS)", "euc_jp": "Japanese (EUC-JP)", "cp949": "Korean (EUC-KR)",
        "koi8_r": "Cyrillic (KOI8-R)", "cp1251": "Cyrillic (Windows-1251)",
        "cp1250": "Central European (Windows-1250)", "cp1252": "Western (Windows-1252)",
        "iso2022_jp_2": "Japanese (ISO-2022-JP)", "iso2022_kr": "Korean (ISO-2022-KR)",
    }  # fmt: skip
    return names.get(codec, codec)


def _guessed(codec: str) -> Note:
    name = shown(codec)
    short = name.partition("(")[2].rstrip(")") or name
    said = f"names and comments are read as {name}, a guess"
    return Note(said, code="encoding_guessed", encoding=short)


def _unfit(text: str, label: str) -> Note:
    return Note(text, code="encoding_unfit", encoding=label)


def _strictly(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except (UnicodeError, ValueError):
        return None


def _is_surely_utf8(data: bytes) -> bool:
    """Return whether bytes are UTF-8 by more than chance: some programs save it and leave CA as it was."""
    text = _strictly(data, "utf-8") or ""
    return sum(3 if c >= "\u0800" else 1 for c in text if c >= "\x80") >= SURE


def _is_sounder_utf8(data: bytes, text: str, damage: Damage) -> bool:
    """Return whether few bytes of UTF-8 break the game's brackets only where they are read as CA says."""
    wide = _strictly(data, "utf-8")
    return wide is not None and damage(_lines(text)) > damage(_lines(wide))


def _least_damaged(data: bytes, guesses: Sequence[str], damage: Damage) -> tuple[str, str] | None:
    """Return the text that looks least damaged and its codec; of equal ones the first guess."""
    best: tuple[int, str, str] | None = None
    for codec in guesses[:MAX_GUESSES]:
        text = _strictly(data, codec)
        if text is None:
            continue
        faults = damage(_lines(text))
        if best is None or faults < best[0]:
            best = (faults, text, codec)
        if faults == 0:
            break
    return None if best is None else best[1:]


def _utf16_without_bom(data: bytes) -> str | None:
    """Return which UTF-16 this is by the zeros between its letters, None for neither."""
    sample = data[: min(len(data), 400) & ~1]
    if len(sample) < 4 or len(data) % 2:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > 0.6 * half and even < 0.1 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.6 * half and odd < 0.1 * half else None


def _decoded(text: str, codec: str, *notes: Note) -> Decoded:
    return Decoded(_lines(text.removeprefix("\ufeff")), codec, notes)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")

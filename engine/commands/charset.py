"""Guesses the encoding of files, with charset-normalizer where that is installed (extras play and board)."""

from __future__ import annotations

import importlib.util
import re
import unicodedata

from engine.games.decode import Detector

CODECS = ("gb18030", "big5", "cp932", "euc_jp", "cp949", "koi8_r", "cp1251", "cp1250", "cp1252")
"""What game files are written in, besides UTF-8 and UTF-16."""
MAX_SAMPLE = 8192
"""Bytes that are looked at, or one comment (derived: some hundred comments, 10 ms)."""
_PIECE = re.compile(rb"[A-Za-z]*(?:[\x80-\xff][\x20-\x7e]?[A-Za-z]*)+")


def detector() -> Detector | None:
    """Return a function that guesses encodings, None where the library is missing."""
    return detect if importlib.util.find_spec("charset_normalizer") is not None else None


def detect(data: bytes) -> list[str]:
    """Return the codecs that bytes may be written in, the likeliest first.

    The library's measure of how unlikely a text looks is refined by what it cannot know of a few names: that
    Koreans hardly write Chinese characters, and that Chinese names keep to the common ones.
    """
    from charset_normalizer import from_bytes

    sample = _sample(data)
    found = from_bytes(sample, cp_isolation=list(CODECS), threshold=1.0, enable_fallback=False)
    ranked = []
    for match in found:
        text = str(match)
        oddness = round(match.chaos + _unusual(match.encoding, text), 3)
        ranked.append((oddness, -match.coherence, match.encoding))
    likely = [codec for _, _, codec in sorted(ranked, key=lambda entry: entry[:2])]
    return [*likely, *(codec for codec in CODECS[::-1] if codec not in likely)]


def _sample(data: bytes) -> bytes:
    """Return the words of a file that are not ASCII, as many as are looked at."""
    sample = b""
    for piece in _PIECE.finditer(data):
        if sample and len(sample) + len(piece[0]) > MAX_SAMPLE:
            break  # pieces stay whole, or the last letter would be none
        sample += piece[0] + b" "
    return sample or data[:MAX_SAMPLE]


def _unusual(codec: str, text: str) -> float:
    """Return how unusual a text is for the language of a codec, 0 to 1, less than that in doubt."""
    letters = [c for c in text if c.isalpha() and not c.isascii()]
    if not letters:
        return 0.5
    han = sum("\u4e00" <= c <= "\u9fff" or "\uf900" <= c <= "\ufaff" for c in letters) / len(letters)
    if codec == "cp949":
        return 0.5 * sum(not "\uac00" <= c <= "\ud7a3" for c in letters) / len(letters)
    if codec == "cp1250" and any(c in "ĹĺŔŕĂă" for c in letters):
        return 0.02  # rather Å, À, Ã of the west
    if codec in ("gb18030", "big5"):
        narrow = "gb2312" if codec == "gb18030" else "big5"
        rare = sum(not _fits(c, narrow) or not "\u4e00" <= c <= "\u9fff" for c in letters)
        return 0.5 * rare / len(letters)
    if codec in ("cp932", "euc_jp"):
        kana = sum(unicodedata.name(c, "").startswith(("HIRAGANA", "KATAKANA")) for c in letters)
        half_width = sum("\uff61" <= c <= "\uff9f" for c in letters)
        return 0.5 * half_width / len(letters) + (0.0 if kana else 0.04)
    return 0.5 * han


def _fits(character: str, codec: str) -> bool:
    try:
        character.encode(codec)
    except UnicodeError:
        return False
    return True

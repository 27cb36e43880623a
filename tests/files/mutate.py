"""Damage to the bytes of a file, from a generator that is passed in."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

MAX_BYTES = 4 << 20
"""Longest file that is made (derived: four times the largest that ships)."""
_NUMBERS = (
    b"0", b"-1", b"1", b"22", b"23", b"255", b"65536", b"2147483647", b"2147483648", b"-2147483648",
    b"4294967296", b"9223372036854775807", b"99999999999999999999999999", b"1e308", b"1e999", b"nan", b"inf",
    b"0x10", b"", b"9" * 5000,
)  # fmt: skip
_WORDS = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3\x28", b"\r\n", b"\n" * 50, b"[" * 300, b"(" * 300,
    b";" * 300, b"=", b'"', b"'''", b"]", b")", b"../../etc/passwd", b"%s%n", b"\xe2\x80\xae", b"A" * 5000,
    b"\\",
)  # fmt: skip

Change = Callable[[bytearray, random.Random, Sequence[bytes]], None]


def _flip(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _overwrite(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    at = rng.randrange(len(data))
    value = rng.choice((b"\x00", b"\xff", b"\x7f", b"\x80", rng.randbytes(4), b"\xff" * 8))
    data[at : at + len(value)] = value


def _cut(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    del data[rng.randrange(len(data)) :]


def _drop(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 2, 10, 1000))]


def _repeat(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    at = rng.randrange(len(data))
    piece = bytes(data[at : at + rng.choice((1, 4, 40, 400))])
    data[at:at] = piece * rng.choice((1, 2, 50))


def _number(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    places = [i for i, byte in enumerate(data[:100_000]) if 48 <= byte <= 57]
    if places:
        at = end = rng.choice(places)
        while end < len(data) and 48 <= data[end] <= 57:
            end += 1
        data[at:end] = rng.choice(_NUMBERS)


def _word(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice(_WORDS)


def _splice(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    other = rng.choice(others)
    if other:
        at, begin = rng.randrange(len(data)), rng.randrange(len(other))
        data[at:] = other[begin:]


def _noise(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    data[:] = rng.randbytes(rng.choice((0, 1, 16, 1000)))


_CHANGES: tuple[Change, ...] = (
    _flip, _flip, _overwrite, _overwrite, _cut, _drop, _repeat, _number, _number, _word, _word, _splice,
    _noise,
)  # fmt: skip


def mutated(originals: Sequence[bytes], rng: random.Random) -> bytes:
    """Return one of the originals with one to four changes, most of them small."""
    data = bytearray(rng.choice(originals))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not data:
            break
        rng.choice(_CHANGES)(data, rng, originals)
    return bytes(data[:MAX_BYTES])

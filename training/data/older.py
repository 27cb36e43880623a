"""Shards and journals as release 0.1.0 wrote them. They are read; nothing writes them any more.

A shard is 8 bytes b"TNGSHARD", the length of a header (4 bytes, little endian), the header as JSON (format,
feature_version, games, positions, net_ids, raw_bytes), columns compressed with LZMA, and 16 bytes of BLAKE2b
of everything before. A journal is 8 bytes b"TNGJRNL2", then shards of some games, each with its length in
front.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from training.data.columns import Block
from training.files.foreign import is_count, is_list_of, parse_table

SHARD_MAGIC = b"TNGSHARD"
JOURNAL_MAGIC = b"TNGJRNL2"
_FORMAT = 1
_DIGEST = 16
_MAX_NAME = 200  # characters of a net id
_MAX_ENTRY = 1 << 20
_MAX_HEADER = 1 << 20
_LZMA_MEMORY = 64 << 20  # derived: ten times what unpacking of preset 4 takes
_LENGTH = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Header:
    """What is in front of the columns of a shard, as far as it has been checked."""

    feature_version: object
    games: int
    positions: int
    net_ids: list[str]
    raw_bytes: int


def read_header(file: BinaryIO) -> Header:
    """Return the header of a shard from a file that is positioned after the magic, then after the header.

    Raises:
        ValueError: damaged or of another format.
    """
    head = file.read(_LENGTH.size)
    size = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else _MAX_HEADER + 1
    if size > _MAX_HEADER:
        raise ValueError("header damaged")
    try:
        table = parse_table(file.read(size), "the header")
    except ValueError as error:
        raise ValueError("header damaged") from error
    if table.get("format") != _FORMAT:
        raise ValueError(f"shard format {table.get('format')!r} where {_FORMAT} is expected")
    counts, names = [table.get(name) for name in ("games", "positions", "raw_bytes")], table.get("net_ids")
    if not is_list_of(counts, is_count) or not is_list_of(names, _is_name):
        raise ValueError("header damaged")
    assert isinstance(names, list)
    games, positions, raw_bytes = (int(str(count)) for count in counts)
    return Header(table.get("feature_version"), games, positions, names, raw_bytes)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_NAME


def is_whole(data: bytes) -> bool:
    """Return whether the checksum of a shard is right."""
    return hashlib.blake2b(data[:-_DIGEST], digest_size=_DIGEST).digest() == data[-_DIGEST:]


def read_block(data: bytes, header: Header) -> Block:
    """Return the contents of a shard whose checksum and header are good.

    Raises:
        ValueError: they are not what the header says; never more than that is unpacked.
        lzma.LZMAError: damaged, or too much memory wanted.
    """
    start = len(SHARD_MAGIC)
    start += _LENGTH.size + _LENGTH.unpack_from(data, start)[0]
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LZMA_MEMORY)
    raw = stream.decompress(data[start:-_DIGEST], max_length=header.raw_bytes + 1)
    if len(raw) != header.raw_bytes or not stream.eof or stream.unused_data:
        raise ValueError(f"the header says {header.raw_bytes} bytes, the stream holds others")
    return Block(_FORMAT, header.games, header.positions, header.net_ids, raw)


def entries(data: bytes) -> Iterator[bytes]:
    """Yield the shards in a journal; what a kill cut off at its end is left out.

    Raises:
        ValueError: a length is impossible.
    """
    file = io.BytesIO(data[len(JOURNAL_MAGIC) :])
    while len(head := file.read(_LENGTH.size)) == _LENGTH.size:
        (size,) = _LENGTH.unpack(head)
        if size > _MAX_ENTRY:
            raise ValueError("damaged")
        entry = file.read(size)
        if len(entry) < size:
            break
        yield entry

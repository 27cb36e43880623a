"""Shards and journals as release 0.1.0 wrote them."""

import hashlib
import json
import lzma
import struct

from training.data.columns import pack


def older_shard(of, raw: bytes | None = None, **changes: object) -> bytes:
    """A shard of games by one net with a right checksum, around any payload and header."""
    names = sorted({game.net_id for game in of})
    raw = pack(of, names, 1) if raw is None else raw
    header = {"format": 1, "feature_version": 1, "games": len(of), "net_ids": names,
              "positions": sum(game.positions for game in of), "raw_bytes": len(raw)}  # fmt: skip
    text = json.dumps({**header, **changes}).encode()
    body = b"TNGSHARD" + struct.pack("<I", len(text)) + text + lzma.compress(raw, preset=1)
    return body + hashlib.blake2b(body, digest_size=16).digest()


def older_journal(games) -> bytes:
    """A journal with a shard for each game."""
    entries = [older_shard([game]) for game in games]
    return b"TNGJRNL2" + b"".join(struct.pack("<I", len(entry)) + entry for entry in entries)

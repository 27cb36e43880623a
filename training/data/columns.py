"""Games as columns of bytes, packed and unpacked by the table of `training.data.records`.

The columns of format 1 come first, in this order: rule, width, height, opening, winner, end, `plies`,
`searched`, `net`, seed, moves, flags, root_wl, surprise, counts, weights, points. Columns of later formats
(2: values) follow in the order of the table. Each has its length in bytes in front, 4 bytes, little endian;
then come the low bytes of all its values, then the high ones, which are nearly constant and vanish in the
compression.

`plies` and `searched` are the numbers of moves and of recorded positions of each game, `net` its place in a
list of names. Points are stored as differences within a position, which compress to about half a byte each.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.rules.rule import Rule
from training.data.records import COLUMNS, Column, Per, SelfPlayRecord

SIDES = (5, 22)
"""Shortest and longest side of a board, cells (protocol)."""

_DERIVED = {name: Column(Per.GAME, np.uint16) for name in ("plies", "searched", "net")}
_LENGTH = struct.Struct("<I")


@functools.cache
def _layout(form: int) -> dict[str, Column]:
    """Return the columns of a format in the order of a file."""
    table = {name: column for name, column in COLUMNS.items() if column.since <= form}
    order = sorted(table, key=lambda name: table[name].since)
    at = order.index("seed")
    return {name: (_DERIVED | table)[name] for name in [*order[:at], *_DERIVED, *order[at:]]}


def pack(games: Sequence[SelfPlayRecord], net_ids: Sequence[str], form: int) -> bytes:
    """Return the columns of games in a format.

    Args:
        games: at least one.
        net_ids: names of all nets that played.
        form: number of the format.
    """
    place = {name: i for i, name in enumerate(net_ids)}
    derived = {
        "plies": [len(game.moves) for game in games],
        "searched": [game.positions for game in games],
        "net": [place[game.net_id] for game in games],
    }
    parts = []
    for name, column in _layout(form).items():
        if column.per is Per.GAME:
            values = derived.get(name) or [int(getattr(game, name)) for game in games]
            array = np.array(values, column.dtype)
        else:
            array = np.concatenate([getattr(game, name).ravel() for game in games])
        if name == "points":
            array = _differences(array, np.concatenate([game.counts for game in games]))
        raw = np.ascontiguousarray(array.reshape(-1, 1).view(np.uint8).T).tobytes()
        parts += [_LENGTH.pack(len(raw)), raw]
    return b"".join(parts)


def _differences(points: npt.NDArray[np.uint16], counts: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
    wide = points.astype(np.int32)
    delta = np.diff(wide, prepend=0)
    starts = (np.cumsum(counts, dtype=np.int64) - counts)[counts > 0]
    delta[starts] = wide[starts]
    return delta.astype(np.uint16)


def _sums(delta: npt.NDArray[np.uint16], counts: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Return the points whose `_differences` are given; any number may come out."""
    total = np.cumsum(delta, dtype=np.int64)
    used = counts > 0
    starts = (np.cumsum(counts, dtype=np.int64) - counts)[used]
    points: npt.NDArray[np.int64] = total - np.repeat((total - delta)[starts], counts[used])
    return points


@dataclass(frozen=True, slots=True)
class Block:
    """Columns of some games as they are stored, and what their file says of them.

    Attributes:
        form: number of the format.
        games, positions: how many there should be.
        net_ids: that `net` counts in.
        raw: as `pack` returns it.
    """

    form: int
    games: int
    positions: int
    net_ids: list[str]
    raw: bytes


def _pieces(block: Block) -> list[bytes]:
    """Return the bytes of each column.

    Raises:
        ValueError: there are fewer.
        struct.error: a length is missing.
    """
    found, at = [], 0
    for _ in _layout(block.form):
        (size,) = _LENGTH.unpack_from(block.raw, at)
        start, at = at + _LENGTH.size, at + _LENGTH.size + size
        if at > len(block.raw):
            raise ValueError("column behind the end")
        found.append(block.raw[start:at])
    return found


def _array(pieces: Sequence[bytes], dtype: type[np.unsignedinteger[Any]]) -> npt.NDArray[Any]:
    """Return a column of several blocks as one array."""
    width = np.dtype(dtype).itemsize
    if any(len(piece) % width for piece in pieces):
        raise ValueError("half a value in a column")
    parts = [
        piece[i * (len(piece) // width) : (i + 1) * (len(piece) // width)]
        for i in range(width)
        for piece in pieces
    ]
    split = np.frombuffer(b"".join(parts), np.uint8).reshape(width, -1)
    return np.ascontiguousarray(split.T).view(dtype).ravel()


def _nets(blocks: Sequence[Block], nets: npt.NDArray[np.uint16]) -> list[str]:
    """Return the net of each game, from its place in the names of its block."""
    lengths = [len(block.net_ids) for block in blocks]
    games = [block.games for block in blocks]
    if np.any(nets >= np.repeat(lengths, games)):
        raise ValueError("a net has no name")
    names = [name for block in blocks for name in block.net_ids]
    places = nets + np.repeat(np.cumsum(lengths) - lengths, games)
    return [names[place] for place in places.tolist()]


def unpack(blocks: Sequence[Block]) -> list[SelfPlayRecord]:
    """Return the games of blocks, all checked, so that readers of games can rely on them.

    Args:
        blocks: of one format, at least one; fields of later formats get their defaults.

    Raises:
        ValueError: no games can have made these columns.
        struct.error: a column is missing.
    """
    form = blocks[0].form
    if any(block.form != form for block in blocks):
        raise ValueError("blocks of several formats")
    pieces = zip(*(_pieces(block) for block in blocks), strict=True)
    found = {
        name: _array(parts, column.dtype)
        for (name, column), parts in zip(_layout(form).items(), pieces, strict=True)
    }
    said = sum(block.games for block in blocks), sum(block.positions for block in blocks)
    if (len(found["searched"]), int(found["searched"].sum(dtype=np.int64))) != said:
        raise ValueError("the header counts other games")
    plies, searched, counts = (found[name].astype(np.int64) for name in ("plies", "searched", "counts"))
    lengths = {
        Per.GAME: len(plies), Per.MOVE: int(plies.sum()), Per.POSITION: int(searched.sum()),
        Per.ENTRY: int(counts.sum()),
    }  # fmt: skip
    for name, column in (_DERIVED | COLUMNS).items():
        length = lengths[column.per] * column.width
        if name not in found:
            found[name] = np.full(length, column.default, column.dtype)
        values = found[name]
        if len(values) != length:
            raise ValueError(f"column lengths disagree at {name}")
        largest = column.largest
        if (largest is not None and np.any(values > largest)) or np.any(values < column.smallest):
            raise ValueError(f"{name} is impossible")
    points = _sums(found["points"], found["counts"])
    _check(found, plies, searched, counts, points)
    found["points"] = points.astype(np.uint16)
    ends = {
        Per.MOVE: _ends(plies), Per.POSITION: _ends(searched),
        Per.ENTRY: np.concatenate([[0], np.cumsum(counts)])[_ends(searched)],
    }  # fmt: skip
    slices = {per: [slice(a, b) for a, b in pairwise(at.tolist())] for per, at in ends.items()}
    values_of: dict[str, Sequence[Any]] = {"net_id": _nets(blocks, found["net"])}
    for name, column in COLUMNS.items():
        array = found[name]
        if column.per is Per.GAME:
            values_of[name] = [column.make(value) for value in array.tolist()]
        else:
            rows = array.reshape(-1, column.width) if column.width > 1 else array
            values_of[name] = [rows[part] for part in slices[column.per]]
    rows_of = zip(*(values_of[f.name] for f in fields(SelfPlayRecord)), strict=True)
    return [SelfPlayRecord(*row) for row in rows_of]


def _ends(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)])


def _check(
    found: Mapping[str, npt.NDArray[Any]],
    plies: npt.NDArray[np.int64],
    searched: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    points: npt.NDArray[np.int64],
) -> None:
    """Refuse columns that disagree with one another.

    Raises:
        ValueError: what is wrong.
    """
    width, height, opening, moves = (
        found[name].astype(np.int64) for name in ("width", "height", "opening", "moves")
    )
    area = width * height
    numbered = np.repeat(np.arange(len(plies)), plies) << 16 | moves
    wrong = {
        "a rule": ~np.isin(found["rule"], [int(r) for r in Rule]),
        "a board": (np.minimum(width, height) < SIDES[0]) | (np.maximum(width, height) > SIDES[1]),
        "the length of a game": (plies > area) | (opening > plies),
        "the number of positions": (searched < plies - opening) | (searched > plies - opening + 1),
        "a move": moves >= np.repeat(area, plies),
        "the size of a target": counts > np.repeat(area, searched),
        "an entry without weight and value": (found["weights"] == 0) & (found["values"] == 0),
        "a point of a target": (points < 0) | (points >= np.repeat(np.repeat(area, searched), counts)),
    }
    for what, impossible in wrong.items():
        if np.any(impossible):
            raise ValueError(f"{what} is impossible")
    if len(np.unique(numbered)) < len(numbered):
        raise ValueError("two stones on one point")

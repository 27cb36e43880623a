"""Games as encoded positions in arrays: learned from again and again, they are encoded once.

A learner on a GPU takes more positions in a second than a core encodes in that time. So all cores encode
first, and what they make, a kilobyte a position, is on the device while it learns; see
`training.learn.encoded_dataset`.

A folder holds for each board size `15x15.planes.npy` and so on, and at last `set.json`, which says that all
is there. Shapes: `N` positions of a size, `C` planes, `A` = width * height.
"""

from __future__ import annotations

import contextlib
import json
import math
import multiprocessing
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.encoding import FEATURE_VERSION, N_PLANES
from training.data.columns import SIDES
from training.data.records import SAMPLED, SelfPlayRecord
from training.data.replay_buffer import Chunk, Size, assemble, chunks_of
from training.data.shards import RecordError, list_shards, read_counts, read_shards
from training.data.siblings import siblings
from training.files.atomic import replacing, write_atomically
from training.files.foreign import ForeignFileError, is_count, is_list_of, read_table

_TABLE = "set.json"
_FORMAT = 1
_SLAB = 2048  # positions that are dense at a time

COLUMNS = {
    "planes": np.uint8, "policy": np.uint8, "reply": np.uint8, "result": np.uint8, "root": np.uint8,
    "rule": np.uint8,
}  # fmt: skip
"""Arrays of a size and their types; see `Part`. Those of `SAMPLED` are float16."""
NO_RESULT = 3
"""Result of a position that was not played: its searched value is all that is known."""


@dataclass(frozen=True, slots=True)
class Part:
    """Positions of one board size.

    Attributes:
        planes: uint8 [N, ceil(C A / 8)], a bit for each cell of each plane.
        policy, reply: uint8 [N, A] targets relative to the largest one x 255; rows of 0 where there is none.
        result: uint8 [N] 0 win, 1 draw, 2 loss of the side to move; `NO_RESULT` for a sibling position with a
            searched value.
        root: uint8 [N, 3] searched win, draw and loss x 255; as `result` where the value is proven; rows of 0
            for other sibling positions and leaves, where `result` means nothing (`training.data.siblings`).
        rule: uint8 [N].
        sampled: float16 [N] each, columns that sampling weights depend on (`training.data.records.SAMPLED`).
    """

    planes: npt.NDArray[np.uint8]
    policy: npt.NDArray[np.uint8]
    reply: npt.NDArray[np.uint8]
    result: npt.NDArray[np.uint8]
    root: npt.NDArray[np.uint8]
    rule: npt.NDArray[np.uint8]
    sampled: dict[str, npt.NDArray[np.float16]]

    def __len__(self) -> int:
        return len(self.result)


def _relative(target: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    largest = target.max(axis=1, keepdims=True)
    scaled: npt.NDArray[np.uint8] = np.rint(target * (255 / np.maximum(largest, 1e-9))).astype(np.uint8)
    return scaled


def _slabs(chunk: Chunk, size: Size) -> Iterator[Part]:
    for start in range(0, len(chunk), _SLAB):
        rows = range(start, min(start + _SLAB, len(chunk)))
        batch = assemble([(chunk, row) for row in rows], size, np.zeros(len(rows), np.int64))
        yield Part(
            planes=np.packbits(batch.planes.reshape(len(rows), -1) > 0, axis=1),
            policy=_relative(batch.policy),
            reply=_relative(batch.reply),
            result=batch.z.argmax(axis=1).astype(np.uint8),
            root=np.rint(batch.root_wdl * 255).astype(np.uint8),
            rule=batch.rules.astype(np.uint8),
            sampled={
                name: values[rows.start : rows.stop].astype(np.float16)
                for name, values in chunk.sampled.items()
            },
        )


def join(parts: Sequence[Part]) -> Part:
    """Return the positions of parts of one size, one after another."""
    sampled = {name: np.concatenate([part.sampled[name] for part in parts]) for name in SAMPLED}
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    return Part(**arrays, sampled=sampled)


def encode_games(games: Sequence[SelfPlayRecord]) -> dict[Size, Part]:
    """Return the positions of games, for each board size in the order of the games."""
    return {size: join(list(_slabs(chunk, size))) for size, chunk in chunks_of(games).items()}


def bare(planes: npt.NDArray[np.uint8], rules: npt.NDArray[np.uint8], size: Size) -> Part:
    """Return positions of which nothing is known: planes as bits, and rules, as `Part` has them."""
    count, area = len(planes), size[0] * size[1]
    policy = np.zeros((count, area), np.uint8)
    result, root = np.zeros(count, np.uint8), np.zeros((count, 3), np.uint8)
    sampled = {name: np.zeros(count, np.float16) for name in SAMPLED}
    return Part(planes, policy, policy, result, root, rules, sampled)


More = Callable[[Sequence[SelfPlayRecord], int], dict[Size, Part]]
"""Makes positions in addition to those of games, from the games and a seed."""


@dataclass(frozen=True, slots=True)
class Extra:
    """Positions that are encoded in addition to those of games.

    Attributes:
        unlabelled: sibling positions without a target, for each position of the games.
        valued: sibling positions with a searched value, likewise.
        more: makes further positions; it goes to other processes.
    """

    unlabelled: float = 0.0
    valued: float = 0.0
    more: More | None = None


def _encode_shard(path: Path, extra: Extra) -> tuple[str, int, dict[Size, list[Part]]]:
    """Return what is wrong with a shard or "", its games, and positions of them and beyond them."""
    errors: list[RecordError] = []
    for _, games in read_shards([path], errors.append):
        seed = zlib.crc32(path.name.encode())
        found = {size: [part] for size, part in encode_games(games).items()}
        for size, part in encode_games(siblings(games, extra.unlabelled, seed)).items():
            found[size].append(replace(part, root=np.zeros_like(part.root)))
        for size, part in encode_games(siblings(games, extra.valued, seed, valued=True)).items():
            found[size].append(replace(part, result=np.full_like(part.result, NO_RESULT)))
        for size, part in extra.more(games, seed).items() if extra.more else ():
            found[size].append(part)
        return "", len(games), found
    return str(errors[0]), 0, {}


def hold_out(records: Sequence[Path], share: float, folder: Path) -> set[str]:
    """Copy some shards to a folder, to judge by; return their names, which `encode` is to leave out.

    Names decide which, so that the same positions with other targets (`training.reanalyse --before`) are
    divided alike.

    Args:
        records: folders of shards.
        share: of all positions, at least, to the next whole shard; not all shards.
        folder: for the copies, made when missing.

    Raises:
        RecordError: a shard has no good header.
        ValueError: fewer than two shards, two of one name, `folder` is one of `records` or has other shards.
        OSError: disk full or no permission.
    """
    shards = [shard for source in records for shard in list_shards(source)]
    if len(shards) < 2:
        raise ValueError(f"fewer than two shards in {', '.join(map(str, records))}: none can be held out")
    if folder.resolve() in {source.resolve() for source in records}:
        raise ValueError(f"{folder} holds the records themselves")
    sizes = {shard.name: read_counts(shard)[1] for shard in shards}
    if len(sizes) < len(shards):
        raise ValueError("two shards have the same name")
    order = sorted(sizes, key=lambda name: (zlib.crc32(name.encode()), name))
    held: set[str] = set()
    for name in order[:-1]:
        if sum(sizes[one] for one in held) >= share * sum(sizes.values()):
            break
        held.add(name)
    if folder.is_dir() and {shard.name for shard in list_shards(folder)} - held:
        raise ValueError(f"{folder} has shards that would be learned from")
    folder.mkdir(parents=True, exist_ok=True)
    for shard in shards:
        if shard.name in held:
            write_atomically(folder / shard.name, shard.read_bytes())
    return held


def encode(
    records: Sequence[Path],
    folder: Path,
    processes: int,
    report: Callable[[str], None] = print,
    extra: Extra = Extra(),
    held: Collection[str] = (),
) -> int:
    """Encode all shards of folders; return the number of positions.

    Args:
        records: folders of shards.
        folder: of the arrays, made when missing; there must be no encoded positions in it yet.
        processes: that encode side by side; with 1 it is this one.
        report: gets a line for each shard that has to be skipped.
        extra: what else is encoded.
        held: names of shards that are left out.

    Raises:
        ValueError: no positions there, or some in `folder` already.
        OSError: disk full or no permission.
    """
    if (folder / _TABLE).exists():
        raise ValueError(f"{folder} holds encoded positions already")
    shards = [shard for source in records for shard in list_shards(source) if shard.name not in held]
    parts: dict[Size, list[Part]] = {}
    total = 0
    encode_one = partial(_encode_shard, extra=extra)
    with contextlib.ExitStack() as stack:
        done: Iterable[tuple[str, int, dict[Size, list[Part]]]] = map(encode_one, shards)
        if processes > 1:
            context = multiprocessing.get_context("spawn")
            done = stack.enter_context(context.Pool(processes)).imap(encode_one, shards)
        for wrong, count, found in done:
            total += count
            if wrong:
                report(f"skipped: {wrong}")
            for size, some in found.items():
                parts.setdefault(size, []).extend(some)
    if not parts:
        raise ValueError(f"no positions in {', '.join(map(str, records))}")
    folder.mkdir(parents=True, exist_ok=True)
    sizes = []
    for size, some in sorted(parts.items()):
        whole = join(some)
        for name in COLUMNS:
            write_array(folder, size, name, getattr(whole, name))
        for name, values in whole.sampled.items():
            write_array(folder, size, name, values)
        sizes.append([*size, len(whole)])
    table = {"format": _FORMAT, "feature_version": FEATURE_VERSION, "games": total, "sizes": sizes}
    write_atomically(folder / _TABLE, json.dumps(table).encode())
    return sum(n for _, _, n in sizes)


def write_array(folder: Path, size: Size, name: str, array: npt.NDArray[np.generic]) -> None:
    """Write one array of a size."""
    with replacing(folder / f"{size[0]}x{size[1]}.{name}.npy") as path, open(path, "wb") as file:
        np.save(file, array)


def read_array(
    folder: Path, size: Size, name: str, shape: tuple[int, ...], kind: npt.DTypeLike
) -> npt.NDArray[np.generic]:
    """Read one array of a size.

    Raises:
        ValueError: it is not there, damaged, or of another shape or type.
    """
    path = folder / f"{size[0]}x{size[1]}.{name}.npy"
    try:
        there = np.load(path, mmap_mode="r", allow_pickle=False)  # takes no memory yet
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"{path}: cannot be read ({error})") from error
    if there.shape != shape or there.dtype != kind:
        wanted = f"{np.dtype(kind)} {list(shape)}"
        raise ValueError(f"{path}: {there.dtype} {list(there.shape)}, expected {wanted}")
    return np.array(there, order="C", subok=False)


def read_sizes(folder: Path) -> tuple[int, dict[Size, int]]:
    """Return the number of games behind a folder of encoded positions, and its positions by size.

    Raises:
        ValueError: there are none, or they are damaged or of another version.
    """
    path = folder / _TABLE
    try:
        table = read_table(path)
        if (found := (table["format"], table["feature_version"])) != (_FORMAT, FEATURE_VERSION):
            raise ValueError(f"format and feature version {found}, expected {(_FORMAT, FEATURE_VERSION)}")
        if not is_count(table["games"]) or not isinstance(table["sizes"], list):
            raise ValueError("no games or sizes")
        sizes: dict[Size, int] = {}
        for row in table["sizes"]:
            if not is_list_of(row, is_count) or len(row) != 3:
                raise ValueError("a size is three numbers")
            width, height, count = row
            if not all(SIDES[0] <= side <= SIDES[1] for side in (width, height)) or not count:
                raise ValueError("a size out of range")
            sizes[width, height] = count
    except FileNotFoundError:
        raise ValueError(f"{folder} holds no encoded positions, or not all of them") from None
    except (ForeignFileError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}; encode the records again") from error
    return int(table["games"]), sizes


def read_part(folder: Path, size: Size, count: int) -> Part:
    """Read the positions of one size.

    Raises:
        ValueError: one array is not there, damaged, or of another shape or type, or a result is none.
    """
    area = size[0] * size[1]
    shapes: dict[str, tuple[int, ...]] = {
        "planes": (count, math.ceil(N_PLANES * area / 8)), "policy": (count, area), "reply": (count, area),
        "root": (count, 3),
    }  # fmt: skip
    arrays: dict[str, Any] = {
        name: read_array(folder, size, name, shapes.get(name, (count,)), kind)
        for name, kind in COLUMNS.items()
    }
    sampled: dict[str, Any] = {name: read_array(folder, size, name, (count,), np.float16) for name in SAMPLED}
    part = Part(**arrays, sampled=sampled)
    if part.result.max() > NO_RESULT:
        raise ValueError(f"{folder}: a result of {size[0]}x{size[1]} is neither win, draw nor loss")
    return part

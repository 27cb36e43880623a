"""A run in one file, and a run directory from such a file. `training.bundle` is the command.

The file holds settings, counters, standings, log, the newest good checkpoint, the promoted net, a teacher if
one is in the run as `teacher.ckpt`, and the newest records, as many as fit. An untrusted bundle is
data: only names that a run has are taken, each up to its size, everything is read and checked before the
first file is written, and nothing in it is run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from training.data import shards
from training.data.shards import RecordError, list_shards, read_counts
from training.files.atomic import naming, replacing, write_atomically
from training.files.foreign import JSON_LIMIT, ForeignFileError, parse_table
from training.learn import checkpoint
from training.learn.checkpoint import CheckpointError, newest_good, parse_checkpoint
from training.measure.gate import parse_standings, read_standings
from training.run import nets
from training.run.log import LOG_BYTES
from training.run.state import parse_state
from training.settings.resolve import make_config, parse_stored
from training.settings.values import ConfigError

_NEEDED = ("config.json", "state.json")
_PLAIN = (*_NEEDED, "standings.json", "log.jsonl")
TEACHER = "teacher.ckpt"
"""Name of a run's own teacher, whom `learner.teacher` may name by its path."""
_NET_BYTES = 1 << 30  # of a file of a net; the largest so far has 2 MB
_MAX_FILES = 100_000
_MAX_TOTAL = 16 << 30


class BundleError(ValueError):
    """A run or a bundle cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of file that a bundle may hold: what its name matches, its largest size, how it is checked."""

    name: re.Pattern[str]
    limit: int
    check: Callable[[bytes, str], object]


def _check_config(data: bytes, source: str) -> None:
    make_config(parse_stored(data, Path(source), older=True)[1])


def _check_text(data: bytes, source: str) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise ForeignFileError(f"{source} is no text ({error})") from error


def _no_check(data: bytes, source: str) -> None:
    """Accept a net unchecked: the engine checks it when it is loaded."""


_KINDS = (
    _Kind(re.compile(r"config\.json"), JSON_LIMIT, _check_config),
    _Kind(re.compile(r"state\.json"), JSON_LIMIT, lambda d, s: parse_state(parse_table(d, s), s)),
    _Kind(re.compile(r"standings\.json"), JSON_LIMIT, lambda d, s: parse_standings(parse_table(d, s), s)),
    _Kind(re.compile(r"best\.json"), JSON_LIMIT, parse_table),
    _Kind(re.compile(r"log\.jsonl"), LOG_BYTES, _check_text),
    _Kind(re.compile(r"best\.md"), JSON_LIMIT, _check_text),
    _Kind(re.compile(r"best\.(int8\.onnx|fp32\.onnx|pt)"), _NET_BYTES, _no_check),
    _Kind(re.compile(rf"checkpoints/{checkpoint.NAME.pattern}"), checkpoint.MAX_BYTES, parse_checkpoint),
    _Kind(re.compile(re.escape(TEACHER)), checkpoint.MAX_BYTES, parse_checkpoint),
    _Kind(re.compile(rf"records/{shards.NAME.pattern}"), shards.MAX_BYTES, shards.decode),
)


def _kind(name: str) -> _Kind | None:
    """Return what a name of a bundle means, None if no run has such a file."""
    return next((kind for kind in _KINDS if kind.name.fullmatch(name)), None)


def pack(
    run_dir: Path, target: Path, limit_bytes: int, report: Callable[[str], None] = print
) -> dict[str, int]:
    """Write a run that is not being trained just now into one file, atomically.

    Args:
        run_dir: of the run.
        target: file to write.
        limit_bytes: the file gets as many of the newest records as fit.
        report: gets a line for each damaged checkpoint or shard that is passed over, and for a lost best net.

    Returns:
        What is in it: batches, shards, positions, bytes.

    Raises:
        BundleError: no run, no good checkpoint, or the limit is too small for the rest.
        CheckpointError: the teacher is damaged.
        ForeignFileError: the standings are damaged.
        OSError: the file cannot be written; it is named, and an older one stays.
    """
    missing = [name for name in _NEEDED if not (run_dir / name).exists()]
    found = newest_good(run_dir / "checkpoints", report)
    if missing or found is None:
        raise BundleError(
            f"{run_dir} is no run with a good checkpoint (missing: {', '.join(missing) or 'that'})"
        )
    newest, batches = found[0], int(found[1]["batches"])
    files = {name: run_dir / name for name in _PLAIN if (run_dir / name).exists()}
    best = read_standings(run_dir / "standings.json").best
    best_files = nets.best_files(run_dir, best) if best else {}
    if best and not best_files:
        report(f"the best net {best} is neither in {run_dir / 'nets'} nor in best.*: left out")
    files |= {f"best.{suffix}": path for suffix, path in best_files.items()}
    files[f"checkpoints/{newest.name}"] = newest
    if (run_dir / TEACHER).exists():
        checkpoint.read_checkpoint(run_dir / TEACHER)
        files[TEACHER] = run_dir / TEACHER
    packed = positions = 0
    with (
        replacing(target) as part, naming(target), zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as bundle
    ):  # fmt: skip
        for name, path in files.items():
            bundle.write(path, name)
        if best_files:
            bundle.writestr("best.json", json.dumps(nets.pointer(run_dir, best), indent=1))
        assert bundle.fp is not None
        room = limit_bytes - bundle.fp.tell() - 64_000  # derived: the index of a few hundred files
        if room < 0:
            raise BundleError(f"{limit_bytes} bytes are too few for {run_dir} without records")
        for shard in reversed(list_shards(run_dir / "records")):
            name = f"records/{shard.name}"
            try:
                count = read_counts(shard)[1]
                if _kind(name) is None:
                    raise RecordError(f"{shard}: no name for a shard")
            except RecordError as error:
                report(f"left out: {error}")
                continue
            room -= shard.stat().st_size + 200
            if room < 0:
                break
            bundle.write(shard, name, zipfile.ZIP_STORED)
            packed += 1
            positions += count
    return {"batches": batches, "shards": packed, "positions": positions, "bytes": target.stat().st_size}


def is_bundle(path: Path) -> bool:
    """Return whether a path names a bundle, by its suffix."""
    return path.suffix == ".zip" and path.is_file()


def unpack(source: Path, run_dir: Path) -> int:
    """Make a run directory from a bundle; return its batches.

    Raises:
        BundleError: the file is damaged or no bundle, a name or a size in it is none of a run's, or the
            directory exists already. Nothing was written.
        OSError: disk full; it names the file, and no half run is left behind.
    """
    if run_dir.exists() and any(run_dir.iterdir()):
        raise BundleError(f"{run_dir} exists; nothing was changed")
    try:
        with zipfile.ZipFile(source) as bundle:
            members = _members(bundle, source)
            batches = 0
            for member, kind in members:
                found = kind.check(_read(bundle, member, source), f"{source}: {member.filename}")
                if kind.check is parse_checkpoint and member.filename != TEACHER:
                    assert isinstance(found, dict)
                    batches = max(batches, int(found.get("batches", 0)))
            _write(bundle, members, source, run_dir)
    except (ConfigError, CheckpointError, RecordError, ForeignFileError) as error:
        raise BundleError(str(error)) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise BundleError(f"{source}: {error}") from error
    return batches


def _members(bundle: zipfile.ZipFile, source: Path) -> list[tuple[zipfile.ZipInfo, _Kind]]:
    """Return the files of a bundle with their kinds, having looked at names and sizes only."""
    seen: set[str] = set()
    out, total = [], 0
    infos = bundle.infolist()
    if len(infos) > _MAX_FILES:
        raise BundleError(f"{source}: {len(infos)} files; a bundle has {_MAX_FILES} at most")
    for member in infos:
        # orig_filename: the other one is cut at a zero byte and has its separators changed.
        name, kind = member.orig_filename, _kind(member.orig_filename)
        if kind is None or member.filename != name:
            raise BundleError(f"{source}: {name!r:.200} is no file of a run")
        if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
            raise BundleError(f"{source}: {name} is a link or no plain file")
        if name in seen:
            raise BundleError(f"{source}: {name} is there twice")
        if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BundleError(f"{source}: {name} is packed in a way that bundles are not")
        if member.file_size > kind.limit:
            raise BundleError(f"{source}: {name} has {member.file_size} bytes; {kind.limit} are allowed")
        seen.add(name)
        total += member.file_size
        out.append((member, kind))
    if total > _MAX_TOTAL:
        raise BundleError(f"{source}: {total} bytes together; {_MAX_TOTAL} are allowed")
    checkpoints = [name for name in seen if name.startswith("checkpoints/")]
    missing = [name for name in _NEEDED if name not in seen] + ([] if checkpoints else ["a checkpoint"])
    if missing:
        raise BundleError(f"{source}: no bundle of a run (missing: {', '.join(missing)})")
    return out


def _read(bundle: zipfile.ZipFile, member: zipfile.ZipInfo, source: Path) -> bytes:
    """Return a file of a bundle, never more than its index says."""
    with bundle.open(member) as file:
        data = file.read(member.file_size + 1)  # the checksum is looked at when the end is reached
    if len(data) != member.file_size:
        raise BundleError(f"{source}: {member.filename} does not have the size that the index says")
    return data


def _write(
    bundle: zipfile.ZipFile, members: list[tuple[zipfile.ZipInfo, _Kind]], source: Path, run_dir: Path
) -> None:
    """Write the checked files into a folder next to the run directory, then rename it: all or nothing."""
    run_dir.parent.mkdir(parents=True, exist_ok=True)
    part = run_dir.with_name(f".{run_dir.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        for member, _ in members:
            path = part / member.filename
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, _read(bundle, member, source))
        if run_dir.exists():
            run_dir.rmdir()  # empty, as was seen above
        os.replace(part, run_dir)
    finally:
        shutil.rmtree(part, ignore_errors=True)

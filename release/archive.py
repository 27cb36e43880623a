"""Zips that keep executable bits and symbolic links, and folders made from them as `unzip` makes them."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

_UNIX = 3
"""Value of `ZipInfo.create_system` under which the upper half of `external_attr` holds a file mode."""


def write_zip(target: Path, folder: Path, extras: Mapping[str, str | bytes] | None = None) -> None:
    """Put a folder's contents into the root of a zip; the zip appears whole or not at all.

    Args:
        target: the zip; replaced if it exists.
        folder: what goes in, in the order of names.
        extras: name in the zip -> content of further text files.
    """
    unfinished = target.with_name(target.name + ".unfinished")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or path.is_file():
                _add(archive, path, path.relative_to(folder).as_posix())
        for name, content in sorted((extras or {}).items()):
            info = zipfile.ZipInfo(name, _stamp(folder.stat().st_mtime))
            _describe(info, stat.S_IFREG | 0o644)
            archive.writestr(info, content)
    unfinished.replace(target)


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    found = path.lstat()
    info = zipfile.ZipInfo(name, _stamp(found.st_mtime))
    if path.is_symlink():
        _describe(info, stat.S_IFLNK | 0o777)
        archive.writestr(info, os.readlink(path))
        return
    runs = found.st_mode & 0o100 or path.suffix == ".exe"
    _describe(info, stat.S_IFREG | (0o755 if runs else 0o644))
    archive.writestr(info, path.read_bytes())


def _describe(info: zipfile.ZipInfo, mode: int) -> None:
    info.create_system = _UNIX
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = mode << 16


def _stamp(time_s: float) -> tuple[int, int, int, int, int, int]:
    import time

    year, *rest = time.gmtime(max(time_s, 315532800))[:6]  # the format begins in 1980
    return (year, *rest)  # type: ignore[return-value]


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip with its modes and links, as the `unzip` of managers on Linux does.

    Raises:
        ValueError: a name leads out of the folder.
    """
    with zipfile.ZipFile(archive) as content:
        for info in content.infolist():
            parts = PurePosixPath(info.filename)
            if parts.is_absolute() or ".." in parts.parts:
                raise ValueError(f"{archive}: {info.filename} leads out of the folder")
            target = folder / parts
            mode = info.external_attr >> 16
            if info.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if stat.S_ISLNK(mode):
                target.symlink_to(content.read(info).decode())
                continue
            target.write_bytes(content.read(info))
            if os.name == "posix":
                target.chmod(stat.S_IMODE(mode) or 0o644)

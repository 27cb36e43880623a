"""Files that are there whole or not at all, and errors that name the file."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let errors of the system inside name this file: one of a full disk names none by itself.

    Raises:
        OSError: the same error, of the same kind, with the name.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the name of a file to write, which takes the place of `path` at the end, also after a crash.

    Whatever is raised inside leaves `path` as it was and no other file behind.

    Raises:
        OSError: disk full or no permission; it names the file.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with naming(path):
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed process left of files in a folder that it was about to replace.

    To be called where no other process writes there.
    """
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, also after a crash.

    Raises:
        OSError: disk full or no permission; it names the file, and no half file is left behind.
    """
    with replacing(path) as temporary, naming(path):
        temporary.write_bytes(data)


def copy_atomically(source: Path, target: Path) -> None:
    """Copy a file so that the copy is there whole or not at all, also after a crash.

    Raises:
        OSError: disk full or no permission; it names the copy, and no half file is left behind.
    """
    with replacing(target) as temporary, naming(target):
        shutil.copyfile(source, temporary)

"""Zips keep modes and links."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

import pytest

from release.archive import unpack, write_zip


@pytest.mark.posix
def test_modes_and_links_survive(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "run").write_bytes(b"#!/bin/sh\n")
    (source / "run").chmod(0o755)
    (source / "sub" / "library.so.1").write_bytes(os.urandom(1000))
    (source / "sub" / "library.so.1").chmod(0o644)
    (source / "library.so").symlink_to("sub/library.so.1")
    target = tmp_path / "a.zip"
    write_zip(target, source, {"NOTE.txt": "häßlich"})
    assert [p.name for p in tmp_path.glob("a.zip*")] == ["a.zip"]

    unpack(target, tmp_path / "copy")
    copy = tmp_path / "copy"
    assert stat.S_IMODE((copy / "run").stat().st_mode) == 0o755
    assert stat.S_IMODE((copy / "sub" / "library.so.1").stat().st_mode) == 0o644
    assert os.readlink(copy / "library.so") == "sub/library.so.1"
    assert (copy / "library.so").read_bytes() == (source / "sub" / "library.so.1").read_bytes()
    assert (copy / "NOTE.txt").read_text(encoding="utf-8") == "häßlich"


def test_an_executable_of_windows_runs_on_linux_too(tmp_path: Path) -> None:
    """Managers on Linux run it under Wine."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "pbrain-x.exe").write_bytes(b"MZ")
    (source / "pbrain-x.exe").chmod(0o644)
    write_zip(tmp_path / "a.zip", source)
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        (info,) = archive.infolist()
    assert info.filename == "pbrain-x.exe" and info.external_attr >> 16 & 0o111


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil"])
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, "x")
    with pytest.raises(ValueError, match="leads out"):
        unpack(tmp_path / "a.zip", tmp_path / "copy")
    assert not (tmp_path / "evil").exists()

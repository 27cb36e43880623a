"""Files are there whole or not at all."""

import os

import pytest

from training.files.atomic import copy_atomically, replacing, write_atomically


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_the_place_of_the_old_one_at_the_end(tmp_path):
    path = tmp_path / "a"
    write_atomically(path, b"old")
    with replacing(path) as part:
        part.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new" and names(tmp_path) == ["a"]
    copy_atomically(path, tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"new"


@pytest.mark.parametrize("way", ["write", "copy", "body"])
def test_a_failure_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, way):
    path, source = tmp_path / "a", tmp_path / "source"
    path.write_bytes(b"old")
    source.write_bytes(b"new")

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    if way != "body":
        monkeypatch.setattr(os, "fsync", full)
    with pytest.raises((OSError, RuntimeError)) as failed:
        if way == "write":
            write_atomically(path, b"new")
        elif way == "copy":
            copy_atomically(source, path)
        else:
            with replacing(path) as part:
                part.write_bytes(b"half")
                raise RuntimeError("stop")
    assert way == "body" or failed.value.filename == str(path)
    assert path.read_bytes() == b"old" and names(tmp_path) == ["a", "source"]

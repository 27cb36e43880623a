"""Mutated files are read or refused with one clear error; what watches them sees what it must.

TENGEN_LONG=1 reads twice as many; `python -m tests.files.fuzz --files 10000` as many as wanted.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from engine.errors import PositionError
from tests.files.fuzz import fuzz
from tests.files.kinds import KINDS, Kind
from tests.files.mutate import mutated

pytestmark = pytest.mark.posix
LONG = os.environ.get("TENGEN_LONG") == "1"
FILES = {"onnx": 60 if LONG else 30}
MANY = 400 if LONG else 200


@pytest.mark.parametrize("name", KINDS)
def test_mutated_files_are_read_or_refused(name: str) -> None:
    files = FILES.get(name, MANY)
    tally = fuzz(name, files, seed=3)
    assert tally.failures == []
    assert tally.files == tally.read + tally.refused == files
    assert tally.refused > files // 4, "the damage is too small to show anything"


def _reads(path: Path) -> object:
    """Do what the first byte of a file asks for."""
    data = path.read_bytes()
    if data[:1] == b"w":
        path.with_name("written").write_text("x")
    elif data[:1] == b"d":
        path.unlink()
    elif data[:1] == b"m":
        return bytearray(700 << 20)
    elif data[:1] == b"h":
        while True:
            pass
    elif data[:1] == b"k":
        import faulthandler

        faulthandler.disable()  # that of pytest, which the child has by forking: this death is on purpose
        os.abort()
    elif data[:1] == b"v":
        raise ValueError("not on purpose")
    elif data[:1] == b"r":
        raise PositionError(f"{path} is no good")
    elif data[:1] == b"n":
        raise PositionError("no good")
    elif data[:1] == b"l":
        raise PositionError(f"{path} is\nno good")
    return None


@pytest.mark.parametrize(
    ("letter", "failure"),
    [
        ("w", "_Touched: .*writing"),
        ("d", "_Touched: .*remove"),
        ("m", "MemoryError"),
        ("k", "the process died: exit -6"),
        ("h", "the process died: exit -24"),
        ("v", "ValueError: 'not on purpose'"),
        ("n", "the file is not named"),
        ("l", "unclear"),
        ("r", None),
        ("x", None),
    ],
)
def test_what_a_reader_must_not_do_is_seen(letter: str, failure: str | None, monkeypatch, tmp_path) -> None:
    import re

    from tests.files import fuzz as module

    kind = Kind(".bin", lambda _: [b"x"], _reads, (PositionError,))
    monkeypatch.setitem(KINDS, "test", kind)
    monkeypatch.setattr(module, "mutated", lambda originals, rng: letter.encode())
    monkeypatch.setattr(module, "FILE_CPU_S", 0)
    monkeypatch.setattr(module.multiprocessing, "get_context", _forked)
    tally = fuzz("test", 2, keep=tmp_path)
    if failure is None:
        assert tally.failures == [] and tally.files == 2
    else:
        assert len(tally.failures) == 2 and re.search(failure, tally.failures[0])
        assert len(list(tmp_path.iterdir())) == 2


def _forked(method: str) -> object:
    """A child that knows the kind of this test."""
    import multiprocessing.context

    return multiprocessing.context.ForkContext()


def test_the_same_seed_gives_the_same_damage() -> None:
    good = [b"Piskvorky 15x15, 11:11, 0\n8,8,0\n9,9,12\n"]
    once, again, other = (
        [mutated(good, rng) for _ in range(200)]
        for rng in (random.Random(1), random.Random(1), random.Random(2))
    )
    assert once == again != other
    assert len(set(once)) > 150 and sum(data == good[0] for data in once) < 10

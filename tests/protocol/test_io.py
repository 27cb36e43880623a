"""How the reader ends a process whose loop does not: soon after END, later where nobody waits."""

from __future__ import annotations

import os
import queue
import time

import pytest

from protocol import io
from protocol.io import Reader

SHORT_S, LONG_S = 0.01, 0.5


@pytest.fixture
def ends(monkeypatch) -> list[float]:
    """Moments at which the process would have ended; the graces are short."""
    found: list[float] = []

    def end(status: int) -> None:
        found.append(time.monotonic())
        raise SystemExit

    monkeypatch.setattr(io.os, "_exit", end)
    for name, seconds in (("LOADING_S", SHORT_S), ("EXIT_GRACE_S", SHORT_S), ("SCRIPT_GRACE_S", LONG_S)):
        monkeypatch.setattr(io, name, seconds)
    return found


@pytest.mark.parametrize(
    ("said", "patient"),
    [(b"", True), (b"END\n", False), (b"START 15\nEND\n", True)],
    ids=["nothing", "END", "a script"],
)
def test_libraries_that_load_slowly_are_waited_for_where_nobody_waits(ends, said, patient):
    """So that a brain that cannot start has the time to say so."""
    ours, theirs = os.pipe()
    os.write(theirs, said)
    os.close(theirs)
    began_s = time.monotonic()
    with pytest.raises(SystemExit):
        Reader(ours, queue.SimpleQueue())._run()
    os.close(ours)
    assert (ends[0] - began_s >= LONG_S) == patient

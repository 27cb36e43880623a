"""What the brain costs as a process: time to readiness, private memory. Everything else that is timed as a
manager sees it is in `tests/protocol`.

    TENGEN_LONG=1 python -m pytest tests/perf/test_process.py

searches for 60 s in the test of memory.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

import pytest

from arena.records import GameSetup
from arena.series import series_limits
from tests.protocol.process import Brain
from tests.protocol.referee import referee
from tests.protocol.talk import Talk, board_of_moves, brain_command, cells, is_free

pytestmark = pytest.mark.posix

LONG = os.environ.get("TENGEN_LONG") == "1"
READY_TIMES = 4.0
"""How often the time that the interpreter, numpy and onnxruntime take alone a brain may take to be ready
(derived: 2.8 where it was measured; 2 s of a manager's 3 s where these alone take 0.5 s)."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
MEMORY_TOLD = 367_001_600
MEMORY_BYTES = 300 << 20
GROWTH_BYTES = 6 << 20
"""What a process may grow between its 20th and its 100th game (derived: jitter of allocators is ~2 MiB)."""
QUIET = cells("f6o15f15o6k3")
"""Stones far apart, so that nothing is decided and all of the time is used."""


def first_line_s(brain: Brain) -> float:
    """Return how long a process took to its first line; waiting for a core is left out."""
    return brain.chunks[0][0] - brain.started_s - brain.queued_ms() / 1000


def cold_start_s() -> float:
    with Talk(net=None) as talk:
        talk.ok("START 15")
        elapsed_s = first_line_s(talk.brain)
        talk.end()
        return elapsed_s


def libraries_s() -> float:
    """Return how long the same interpreter takes to load what it needs in any case."""
    code = "import numpy, onnxruntime; print('OK', flush=True); input()"
    with Brain([sys.executable, "-c", code], env=ONE_THREAD) as bare:
        assert bare.read_line(60.0) is not None
        return first_line_s(bare)


@pytest.mark.alone
def test_process_start_to_ok() -> None:
    """The median start, against what this machine needs for the libraries at the same time."""
    pairs = [(cold_start_s(), libraries_s()) for _ in range(7)]
    start_s, bare_s = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"start to OK: {start_s:.3f} s, of which the libraries alone {bare_s:.3f} s")
    assert start_s <= READY_TIMES * bare_s, pairs


@pytest.mark.parametrize("net", [None, "uniform"], ids=["default net", "no net"])
def test_private_memory_of_a_long_search(net: str | None) -> None:
    """On 20x20 with what the judge allows. Without a net the tree is soon full; it must not grow any more."""
    turn_ms = 60_000 if LONG else 4_000
    with Talk(net=net) as talk:
        talk.ok("START 20")
        talk.say(f"INFO timeout_turn {turn_ms}", "INFO timeout_match 0", f"INFO max_memory {MEMORY_TOLD}")
        talk.say("INFO time_left 2147483647", *board_of_moves(QUIET))
        largest = 0
        start_s = time.monotonic()
        deadline_s = start_s + turn_ms / 1000 + 5
        while (line := talk.next_line(0.25)) is None:
            largest = max(largest, talk.brain.private_bytes())
            assert time.monotonic() < deadline_s
        largest = max(largest, talk.brain.private_bytes())
        assert "," in line and time.monotonic() - start_s > 0.25 * turn_ms / 1000
    print(
        f"{net or 'default net'}: largest private memory in {turn_ms / 1000:.0f} s: {largest / 2**20:.1f} MiB"
    )
    assert largest <= MEMORY_BYTES, f"{largest / 2**20:.1f} MiB"


@pytest.mark.parametrize("told", [1, 40 << 20, 64 << 20])
def test_little_memory_is_respected_or_survived(told: int) -> None:
    """Interpreter and libraries have their own size; beyond it the tree gets what was told and no more.

    Without a net the tree is full long before the time is over; the search goes on in it.
    """
    with Talk(net="uniform") as talk:
        talk.ok("START 20")
        before = talk.brain.private_bytes()
        talk.say("INFO timeout_turn 2500", f"INFO max_memory {told}")
        assert is_free(talk.move(*board_of_moves(QUIET)), 20, QUIET)
        assert talk.brain.private_bytes() <= max(told, before + (24 << 20))


@pytest.mark.alone  # a busy machine makes small trees at first
def test_no_growth_over_a_hundred_games_in_one_process() -> None:
    """As under c-gomoku-cli: colours, sizes and rules alternate, the process stays."""
    brain = " ".join([*brain_command(), "--set", "seed=1"])
    count = 400 if LONG else 100
    variants = [(15, 0), (20, 1), (9, 4), (15, 9), (12, 8)]
    games = [
        GameSetup(i, size, size, rule)
        for i in range(count)
        for size, rule in [variants[i // 2 % len(variants)]]
    ]
    limits = series_limits(4, tolerance_ms=5000, max_memory=MEMORY_TOLD, start_ms=60_000)
    records = referee("cli", [brain, "tactical"], games, limits)
    assert [i for r in records for i in r.incidents if i.kind not in ("time", "no exit")] == []
    early = max(r.private_bytes for r in records[:20])
    late = max(r.private_bytes for r in records[-20:])
    print(f"private memory: {early / 2**20:.1f} MiB in the first 20 games, {late / 2**20:.1f} in the last 20")
    assert late - early <= GROWTH_BYTES, f"{early / 2**20:.1f} -> {late / 2**20:.1f} MiB"

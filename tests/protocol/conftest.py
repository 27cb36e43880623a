"""A brain that lives through all tests of a file, as under c-gomoku-cli, so that each costs milliseconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from arena.errors import BrainGoneError
from tests.protocol.talk import Talk

FORGET = [
    "INFO timeout_turn 0", "INFO timeout_match 0", "INFO time_left 2147483647", "INFO time_increment 0",
    "INFO max_memory 0", "INFO max_node 0", "INFO max_depth 0", "INFO rule 0", "INFO game_type 1",
    "INFO show_detail 0",
]  # fmt: skip


@pytest.fixture(scope="module")
def _lasting() -> Iterator[list[Talk]]:
    kept: list[Talk] = []
    yield kept
    for talk in kept:
        talk.brain.kill()


@pytest.fixture
def talk(_lasting: list[Talk]) -> Iterator[Talk]:
    """A started brain on 15x15 with all settings as if never told, turn limit 0."""
    if not _lasting:
        _lasting.append(Talk())
    talk = _lasting[0]
    talk.say(*FORGET)
    talk.ok("START 15")
    yield talk
    try:
        talk.quiet()
        talk.unknown("NOTHING_LEFT")
    except (AssertionError, BrainGoneError):
        _lasting.clear()
        talk.brain.kill()
        raise

"""Budgets of processor time: every test has one, and parts that exceed theirs are named."""

import hashlib
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.processor_time import KEY, SHARED, budgets, counted_for, part_of, summary


def test_every_file_of_tests_belongs_to_a_part_with_a_budget() -> None:
    parts = budgets()
    assert len(parts) > 8 and all(seconds > 0 for seconds in parts.values())
    assert [name for name in parts if not (ROOT / name).exists()] == []
    files = [p.relative_to(ROOT).as_posix() for p in (ROOT / "tests").rglob("test_*.py")]
    assert [name for name in files if part_of(name, parts) not in parts] == []


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("tests/engine/search/test_kept.py::test_a[1-2]", "tests/engine/search"),
        ("tests/engine/test_engine.py::test_a", "tests/engine"),
        ("tests/engines/test_engine.py::test_a", "the rest"),
    ],
)
def test_a_test_belongs_to_the_innermost_part(name: str, part: str) -> None:
    assert part_of(name, {"tests/engine": 1, "tests/engine/search": 1}) == part


def test_a_part_that_exceeds_its_budget_is_named() -> None:
    times = {"tests/a/test_x.py::test_1": 6.0, "tests/a/test_y.py::test_2": 5.0, "tests/b/test_z.py::t": 9.0}
    said = summary(times, {"tests/a": 10, "tests/b": 10, "tests/c": 1})
    assert said == ["tests/a: 11 s of processor time, its budget is 10 s"]


def test_what_a_run_shares_counts_for_its_part() -> None:
    config: Any = SimpleNamespace(stash=pytest.Stash())
    config.stash[KEY], config.stash[SHARED] = {"tests/a/test_x.py::test_1": 1.0}, 0.0
    for _ in range(2):
        with counted_for(config, "tests/b"):
            hashlib.pbkdf2_hmac("sha256", b"a", b"b", 200_000)
    assert config.stash[SHARED] > 0
    assert config.stash[KEY] == {"tests/a/test_x.py::test_1": 1.0, "tests/b::shared": config.stash[SHARED]}
    assert summary(config.stash[KEY], {"tests/a": 10, "tests/b": 0})[0].startswith("tests/b: ")

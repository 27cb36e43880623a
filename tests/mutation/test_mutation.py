"""The tables of planted faults fit the sources; what runs them tells a caught one from one that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.paths import ROOT
from tests.mutation.runner import run_all
from tests.mutation.table import (
    Mutation,
    MutationError,
    copy_tree,
    load_set,
    place_of,
    plant,
    set_names,
)  # fmt: skip

CHECK = ("check.py",)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text("secret")
    (root / "sums.py").write_text("def twice(x):\n    return x + x\n\n\ndef thrice(x):\n    return 3 * x\n")
    (root / "check.py").write_text("from sums import *\nassert twice(2) == 4\nprint(thrice(2))\n")
    return root


@pytest.mark.parametrize("name", set_names())
def test_every_fault_fits_the_sources(name: str) -> None:
    chosen = load_set(name)
    assert chosen.mutations and 0 < chosen.share <= 1
    for mutation in chosen.mutations:
        place_of(mutation, ROOT)
        assert mutation.new != mutation.old


def test_faults_are_caught_by_status_output_or_not_at_all(checkout: Path) -> None:
    faults = [
        Mutation("square", "sums.py", "x + x", "x + 1", CHECK),
        Mutation("same at two", "sums.py", "x + x", "x * x", CHECK),
        Mutation("output unseen", "sums.py", "3 * x", "4 * x", CHECK),
        Mutation("output seen", "s*.py", "3 * x", "4 * x", CHECK, by_output=True),
    ]
    outcomes = list(run_all(faults, checkout))
    assert [(o.name, o.caught, o.how) for o in outcomes] == [
        ("square", True, "status 1"),
        ("same at two", False, "not caught"),
        ("output unseen", False, "not caught"),
        ("output seen", True, "output"),
    ]


def test_a_fault_that_is_no_python_is_not_caught(checkout: Path) -> None:
    [outcome] = run_all([Mutation("broken", "sums.py", "    return x + x", "return x", CHECK)], checkout)
    assert not outcome.caught and outcome.how.startswith("is no Python")


def test_the_checkout_stays_as_it_is(checkout: Path) -> None:
    before = {p: p.read_bytes() for p in checkout.rglob("*") if p.is_file()}
    list(run_all([Mutation("square", "sums.py", "x + x", "x + 1", CHECK)], checkout))
    assert {p: p.read_bytes() for p in checkout.rglob("*") if p.is_file()} == before


def test_a_command_that_fails_anyway_catches_nothing(checkout: Path) -> None:
    (checkout / "check.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(MutationError, match=r"status 3"):
        list(run_all([Mutation("square", "sums.py", "x + x", "x + 1", CHECK)], checkout))


@pytest.mark.parametrize(("old", "count"), [("x - x", 0), ("x", 5)])
def test_a_text_must_stand_there_once(checkout: Path, old: str, count: int) -> None:
    with pytest.raises(MutationError, match=f"{count} times"):
        plant(Mutation("fault", "sums.py", old, "y", CHECK), checkout)


def test_a_copy_leaves_out_what_is_not_source(checkout: Path, tmp_path: Path) -> None:
    copy_tree(checkout, tmp_path / "copy")
    assert sorted(p.name for p in (tmp_path / "copy").iterdir()) == ["check.py", "sums.py"]

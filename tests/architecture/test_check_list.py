"""`make check` runs the files in tests/check.txt: each is there, once, and without torch."""

import re
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

FILES = (ROOT / "tests" / "check.txt").read_text(encoding="utf-8").splitlines()
SLOW = re.compile(r"^\s*(?:import|from) torch\b|^pytestmark = .*\b(?:alone|cluster)\b", re.MULTILINE)
AREAS = (
    "engine/rules", "engine/threats", "engine/search", "engine/evaluator", "engine/timing", "engine/games",
    "engine/play", "protocol", "protocol/dialects", "arena", "training/settings", "training/data",
)


def test_the_files_are_there_and_in_order() -> None:
    assert sorted(set(FILES)) == FILES
    assert [name for name in FILES if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("name", FILES)
def test_a_file_needs_neither_torch_nor_the_machine_for_itself(name: str) -> None:
    assert not SLOW.search((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("area", AREAS)
def test_an_area_is_covered(area: str) -> None:
    assert any(Path(name).parent == Path("tests", area) for name in FILES)


def test_make_runs_the_list() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ncheck:")[2].partition("\n\n")[0]
    assert "@tests/check.txt" in recipe

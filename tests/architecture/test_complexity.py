"""Functions are simple by ruff's rules; each exception in pyproject.toml is needed, and none is new."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.helpers.paths import ROOT

RULES = {"C901", "PLR0912", "PLR0915"}
OLD = {
    "training/net/trunk.py": {"PLR0915"},
}
"""Files with functions from before these rules. Take out what is mended; add nothing."""
HUSHED = re.compile(r"#\s*(?:ruff:\s*)?noqa(?!:)|#\s*(?:ruff:\s*)?noqa:[^#]*(?:C901|PLR0912|PLR0915)")


def lint() -> dict[str, object]:
    settings: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    return settings


def test_the_rules_are_on() -> None:
    settings = lint()
    chosen, ignored = settings["select"], settings["ignore"]
    assert isinstance(chosen, list) and isinstance(ignored, list)
    assert {"C901", "PL"} <= set(chosen) and not RULES & set(ignored)
    assert settings["mccabe"] == {"max-complexity": 12}
    assert "pylint" not in settings, "branches and statements keep ruff's limits of 12 and 50"


def test_the_exceptions_only_shrink() -> None:
    exceptions = lint()["per-file-ignores"]
    assert isinstance(exceptions, dict)
    new = {name: set(rules) & RULES - OLD.get(name, set()) for name, rules in exceptions.items()}
    assert {name: rules for name, rules in new.items() if rules} == {}


def test_each_exception_is_needed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", "--isolated", "--output-format", "json",
         "--select", ",".join(sorted(RULES)), "--config", "lint.mccabe.max-complexity = 12", *OLD],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found: dict[str, set[str]] = {}
    for one in json.loads(done.stdout):
        name = Path(one["filename"]).relative_to(ROOT).as_posix()
        found.setdefault(name, set()).add(one["code"])
    assert found == OLD, "take what is mended out of pyproject.toml and of this file"
    exceptions = lint()["per-file-ignores"]
    assert isinstance(exceptions, dict)
    assert {name: set(rules) for name, rules in exceptions.items() if set(rules) & RULES} == OLD


def test_no_comment_turns_the_rules_off() -> None:
    tops = ("engine", "protocol", "board", "arena", "training", "tengen", "release", "tests", "docs")
    files = [p for top in tops for p in (ROOT / top).rglob("*.py")]
    assert len(files) > 200
    here = Path(__file__)
    found = [p for p in files if p != here and HUSHED.search(p.read_text("utf-8"))]
    assert [str(p.relative_to(ROOT)) for p in found] == []

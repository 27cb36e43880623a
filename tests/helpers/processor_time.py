"""Processor time of tests, their child processes included, against the budgets in tests/README.md.

A child counts in the test that waits for its end. What a whole run shares counts for its own part, not in the
test that happens to be the last one of a process (`counted_for`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.paths import ROOT

README = ROOT / "tests" / "README.md"
ROW = re.compile(r"^\| `(tests/[\w/.]+)`[^|]*\| *(\d+) *\|", re.MULTILINE)

KEY = pytest.StashKey[dict[str, float]]()
SHARED = pytest.StashKey[float]()
BEGIN = "start, imports, collection"


def budgets() -> dict[str, int]:
    """Return the seconds that each part may take."""
    return {name: int(seconds) for name, seconds in ROW.findall(README.read_text(encoding="utf-8"))}


def part_of(name: str, parts: dict[str, int]) -> str:
    """Return the part with a budget that a test belongs to: the one with the longest name."""
    file = name.partition("::")[0]
    fits = [part for part in parts if file == part or file.startswith(part + "/")]
    return max(fits, key=len, default="the rest")


def spent() -> float:
    """Return seconds of all cores: this process and children that have ended."""
    return sum(os.times()[:4])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processor-time", metavar="FILE", help="write the processor time of each test as JSON")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[KEY] = {}
    config.stash[SHARED] = 0.0


@contextlib.contextmanager
def counted_for(config: pytest.Config, part: str) -> Iterator[None]:
    """Count the processor time of a block for a part of the tests, not in the test that runs."""
    before = spent()
    try:
        yield
    finally:
        seconds = spent() - before
        config.stash[SHARED] += seconds
        _add(config.stash[KEY], {f"{part}::shared": seconds})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    stash = item.config.stash
    before, shared = spent(), stash[SHARED]
    try:
        return (yield)
    finally:
        stash[KEY][item.nodeid] = spent() - before - (stash[SHARED] - shared)


def _add(times: dict[str, float], more: dict[str, float]) -> None:
    for name, seconds in more.items():
        times[name] = times.get(name, 0.0) + seconds


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    times = session.config.stash[KEY]
    if not hasattr(session.config, "workerinput"):
        return
    output: dict[str, Any] = getattr(session.config, "workeroutput")  # noqa: B009
    output["processor_time"] = {**times, BEGIN: spent() - sum(times.values())}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _add(node.config.stash[KEY], getattr(node, "workeroutput", {}).get("processor_time", {}))


def summary(times: dict[str, float], parts: dict[str, int]) -> list[str]:
    """Return a line for each part that takes longer than it may."""
    sums: dict[str, float] = {}
    for name, seconds in times.items():
        _add(sums, {part_of(name, parts): seconds})
    return [
        f"{part}: {sums[part]:.0f} s of processor time, its budget is {most} s"
        for part, most in parts.items() if sums.get(part, 0.0) > most
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    times = config.stash[KEY]
    file = config.getoption("--processor-time")
    if file:
        Path(file).write_text(json.dumps(times, indent=1), encoding="utf-8")
    for line in summary(times, budgets()):
        terminalreporter.write_line(line)

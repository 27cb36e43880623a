"""Manners of a packed brain: the one in `dist` if there is one, or TENGEN_PACKED (program, folder or zip).

The long version, with figures, is `python -m release.check`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.series import PROFILES, plan_games, series_limits
from release import conformance
from release.archive import unpack
from release.build import DIST, executable_name
from release.check import LEAGUES, MEMORY_BYTES, PARTS, SPOILT
from release.contents import PROGRAM
from tests.protocol.referee import referee

pytestmark = [pytest.mark.posix, pytest.mark.alone]

TRIES = 3
CHOSEN = Path(os.environ.get("TENGEN_PACKED") or DIST / PROGRAM)
if not CHOSEN.exists():
    pytest.skip("no packed brain; `make dist` makes one", allow_module_level=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy in a folder with a blank and letters outside of ASCII, which nobody may write to."""
    home = tmp_path_factory.mktemp("packed") / "Tengen žluťoučký kůň"
    if CHOSEN.suffix == ".zip":
        unpack(CHOSEN, home)
    else:
        source = CHOSEN if CHOSEN.is_dir() else CHOSEN.parent
        shutil.copytree(source, home, symlinks=True)
    with conformance.read_only(home):
        before = conformance.state_of(home)
        yield home
        assert conformance.state_of(home) == before, "something was written beside the program"


@pytest.fixture
def command(folder: Path) -> list[str]:
    return [str(folder / executable_name())]


def incidents_of(
    command: list[str], profile: str, count: int, rules: list[int], sizes: list[int]
) -> list[str]:
    """Play games against the tactical player; a try that a busy machine spoilt is repeated."""
    found: list[str] = []
    for attempt in range(TRIES):
        games = plan_games(
            count, rules, sizes, profile=profile, seed=3 + attempt
        )
        limits = series_limits(100, 120_000, 5000, start_ms=60_000)
        records = referee(profile, [shlex.join(command), "tactical"], games, limits)
        found = [str(i) for r in records for i in r.incidents]
        late = any(i.kind == "time" for r in records for i in r.incidents)
        if not late:
            assert all(r.end in ("five", "draw") for r in records)
            break
    return found


@pytest.mark.parametrize("profile", PROFILES)
def test_games_under_every_manager(command: list[str], profile: str) -> None:
    assert incidents_of(command, profile, 2, [0, 4], [15, 20]) == []


@pytest.mark.parametrize(("league", "size", "rule"), LEAGUES)
def test_a_game_of_every_league(command: list[str], league: str, size: int, rule: int) -> None:
    assert incidents_of(command, "judge", 1, [rule], [size]) == [], league


def test_first_move_from_a_frozen_cold_start_on_one_core(command: list[str], folder: Path) -> None:
    conformance.forget_pages(folder)
    assert conformance.first_move_after_freeze_ms(command) <= conformance.FASTGAME_MS


def test_memory_of_a_tournament(command: list[str]) -> None:
    used = conformance.largest_memory_bytes(command, 5000)
    print(f"largest private memory: {used / 2**20:.0f} MiB")
    assert 20 << 20 < used <= MEMORY_BYTES


def test_league_logic(command: list[str]) -> None:
    assert conformance.wrong_logic(command, 1000) == []


def test_a_kill_leaves_nothing(command: list[str], tmp_path: Path) -> None:
    assert conformance.leftovers_of_a_kill(command, tmp_path) == []


def test_self_check(command: list[str]) -> None:
    status, said = conformance.refusal([*command, "--self-check"])
    bad = [
        line
        for line in said.splitlines()
        if line.startswith("BAD") and line.split()[1] not in ("move", "speed")
    ]
    assert bad == [] and "Verdict: " in said and status in (0, 1)


@pytest.mark.parametrize(
    "arguments", [["--bogus"], ["--net", "/no/such.onnx"], ["--set", "x=1"], ["--config", "/no/such.toml"]]
)
def test_wrong_arguments_are_refused(command: list[str], arguments: list[str]) -> None:
    status, said = conformance.refusal([*command, *arguments])
    assert status == 2 and said.startswith("ERROR ") and "Traceback" not in said


@pytest.mark.parametrize("part", PARTS)
def test_a_copy_without_a_part_says_so(folder: Path, tmp_path: Path, part: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, symlinks=True)
    for path in [copy, *(p for p in copy.rglob("*") if p.is_dir())]:
        path.chmod(0o755)
    shutil.rmtree(copy / part) if (copy / part).is_dir() else (copy / part).unlink()
    before = conformance.state_of(copy)
    status, said = conformance.refusal([str(copy / executable_name())])
    assert status != 0 and said
    assert conformance.state_of(copy) == before


@pytest.mark.parametrize("content", SPOILT, ids=["empty", "text", "bytes"])
def test_a_spoilt_net_is_refused(folder: Path, tmp_path: Path, content: bytes) -> None:
    net = tmp_path / "net.onnx"
    net.write_bytes(content)
    status, said = conformance.refusal([str(folder / executable_name()), "--net", str(net)])
    assert status == 2 and "damaged or no net" in said
    assert net.read_bytes() == content


def test_a_game_at_the_terminal_through_a_pipe(command: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*command, "--play", "--level", "2", "--time", "1"],
        input="h8\nundo\nnonsense\nquit\n",
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Your move" in done.stdout and "Traceback" not in done.stderr

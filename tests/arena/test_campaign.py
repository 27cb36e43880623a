"""Campaigns: plans, blocks, what is kept, how they go on, the page of results."""

from __future__ import annotations

import json
import lzma
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from arena.campaign import Campaign, main
from arena.campaign_page import conversation_name, page
from arena.campaign_plan import LEAGUES, Block, PlanError, blocks_of, read_plan
from tests.helpers.paths import ROOT

pytestmark = pytest.mark.posix
STUB = f"{shlex.quote(sys.executable)} -S -E {shlex.quote(str(ROOT / 'tests' / 'protocol' / 'stub.py'))}"
PLAN = """
seed = 5
[[part]]
name = "short"
games = 8
leagues = ["freestyle 15", "fastgame"]
opponents = ["tactical"]
scale = 100
block = 2
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def run(plan: Path, out: Path, fault: str, *more: str) -> int:
    told = ["--plan", str(plan), "--out", str(out), "--brain", f"{STUB} {fault}".strip(), "--any-core"]
    return main([*told, "--no-lock", *more])


@pytest.mark.parametrize("name", ["gomocup", "wine", "trial"])
def test_plans_that_ship_cover_every_profile_and_league(name: str) -> None:
    parts, brain, seed = read_plan(ROOT / "arena" / "plans" / f"{name}.toml")
    blocks = blocks_of(parts, brain, seed)
    assert sum(block.games for block in blocks) == sum(part.games for part in parts)
    assert [block.first for block in blocks] == [sum(b.games for b in blocks[:i]) for i in range(len(blocks))]
    assert all(block.first % 2 == 0 for block in blocks), "pairs stay together"
    if name == "gomocup":
        games: Counter[str] = Counter()
        for block in blocks:
            games[block.profile] += block.games
        assert sum(games.values()) == 9700 and min(games.values()) >= 2000 and len(games) == 4
        assert {block.league for block in blocks} == set(LEAGUES)
        equal = sum(block.games for block in blocks if block.opponent == "self")
        assert equal >= 0.5 * 9700


def test_the_games_in_the_documentation_are_of_the_plan_that_ships(tmp_path: Path) -> None:
    (tmp_path / "games.jsonl").write_bytes(
        lzma.decompress((ROOT / "docs" / "campaign" / "games.jsonl.xz").read_bytes())
    )
    campaign = Campaign(tmp_path, *read_plan(ROOT / "arena" / "plans" / "gomocup.toml"))
    assert len(campaign.rows) == len((tmp_path / "games.jsonl").read_bytes().splitlines()) > 0
    for row in campaign.rows:
        block = campaign.blocks[row["block"]]
        assert 0 <= row["n"] - block.first < block.games
        assert [row[key] for key in ("part", "profile", "league", "opponent")] == [
            block.part, block.profile, block.league, block.opponent
        ]  # fmt: skip
    assert not any(row["incidents"] for row in campaign.rows)
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    for profile, games in Counter(row["profile"] for row in campaign.rows).items():
        assert re.search(rf"^\| {profile}\b[^|]*\| {games:,} \|", text, re.MULTILINE)
    answers = [ms for row in campaign.rows for ms in row["over_ms"]]
    late = sum(row["starved"] for row in campaign.rows)
    itself = sum(row["opponent"] == "self" for row in campaign.rows)
    assert f"{late} of {len(answers):,} answers were late only" in text and f"| {max(answers)} |" in text
    assert f"{len(campaign.rows):,}, {itself:,} are against itself" in " ".join(text.split())


def test_a_block_says_who_plays_at_which_clock() -> None:
    block = Block(0, "p", 0, 2, "judge", "fastgame", "level:4", 100, 1, 0, False, "/my brain/x")
    assert block.clock == (50, 1200) and block.players == ("/my brain/x", "/my brain/x --set level=4")
    assert block.is_mirror


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x", "is no TOML"),
        ("brain = 'x'", "a plan has"),
        (PLAN.replace("fastgame", "slowgame"), "unknown league 'slowgame'"),
        (PLAN.replace("games = 8", "games = 1"), "from 2"),
        (PLAN.replace("games = 8", "games = 'many'"), "games has the wrong type"),
        (PLAN + "sizes = 3\n", "not 'sizes'"),
        (PLAN, "names no brain"),
    ],
)
def test_a_plan_that_makes_no_sense_is_one_line(text: str, why: str, plan: Path, capsys) -> None:
    plan.write_text(text)
    assert main(["--plan", str(plan), "--out", str(plan.parent / "out")]) == 2
    error = capsys.readouterr().err
    assert why in error and error.count("\n") == 1
    with pytest.raises(PlanError):
        read_plan(plan)


def test_a_campaign_without_incidents(plan: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "out"
    assert run(plan, out, "") == 0
    rows = [json.loads(line) for line in (out / "games.jsonl").read_text().splitlines()]
    assert sorted(row["n"] for row in rows) == list(range(8))
    assert {row["profile"] for row in rows} == {"judge", "piskvork", "cli", "qpiskvork"}
    assert all(row["incidents"] == [] and row["end"] in ("five", "draw") for row in rows)
    text = (out / "results.txt").read_text()
    assert "8 of 8 games, **0 incidents**" in text and "| short | 8 | 8 |" in text and "None." in text
    assert list((out / "incidents").iterdir()) == []
    before = (out / "games.jsonl").read_bytes()
    assert run(plan, out, "") == 0 and (out / "games.jsonl").read_bytes() == before, "nothing is left to play"
    assert run(plan, out, "other") == 2 and "other settings" in capsys.readouterr().err


def test_incidents_keep_their_conversation_and_a_stop_costs_one_block(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(plan, out, "double") == 1
    rows = [json.loads(line) for line in (out / "games.jsonl").read_text().splitlines()]
    assert all(row["incidents"] for row in rows)
    assert all("stray line" in {i["kind"] for i in row["incidents"]} for row in rows)
    for row in rows:
        told = (out / conversation_name(row["n"])).read_text()
        assert "=== player 0" in told and "-> START" in told and "(;" in told
    assert f"`{conversation_name(rows[0]['n'])}`" in (out / "results.txt").read_text()

    lines = (out / "games.jsonl").read_bytes().splitlines(keepends=True)
    (out / "games.jsonl").write_bytes(b"".join(lines[:5]) + lines[5][:20])  # a crash in the third block
    kept = Campaign(out, *read_plan(plan, f"{STUB} double")).rows
    assert len(kept) == 4
    assert run(plan, out, "double") == 1
    assert len((out / "games.jsonl").read_text().splitlines()) == 8
    (out / "games.jsonl").write_bytes(b"[1]\n")
    assert run(plan, out, "double") == 2


def test_it_is_stopped_with_all_its_brains_and_goes_on(plan: Path, tmp_path: Path) -> None:
    """In the background, under the judge, whose brains are stopped between their moves."""
    slow = PLAN.replace("[[part]]", "[[part]]\nprofiles = ['judge']").replace("scale = 100", "scale = 1")
    plan.write_text(slow)
    out = tmp_path / "out"
    brain = f"{STUB} mute"  # gives no move after its second, so that the game waits
    command = ["--plan", str(plan), "--out", str(out), "--brain", brain, "--any-core", "--no-lock"]
    assert main([*command, "--background"]) == 0
    deadline_s = time.monotonic() + 60
    brains: list[psutil.Process] = []
    while not brains:
        assert time.monotonic() < deadline_s, (out / "log.txt").read_text()
        with_process = (out / "process").exists()
        parent = psutil.Process(int((out / "process").read_text())) if with_process else None
        family = parent.children(recursive=True) if parent else []
        brains = [p for p in family if "stub.py" in " ".join(p.cmdline())]
    assert main(["--plan", str(plan), "--out", str(out), "--brain", brain]) == 2, "one at a time"
    assert main([*command, "--stop"]) == 0
    _, alive = psutil.wait_procs([*family, parent], timeout=60)
    assert alive == []
    assert "Traceback" not in (out / "log.txt").read_text()
    assert "stopped; the same command continues" in (out / "log.txt").read_text()


def test_brains_end_with_a_campaign_that_was_killed(plan: Path, tmp_path: Path) -> None:
    plan.write_text(PLAN.replace("scale = 100", "scale = 1"))
    told = ["--plan", str(plan), "--out", str(tmp_path / "out"), "--brain", f"{STUB} mute", "--any-core"]
    process = subprocess.Popen([sys.executable, "-m", "arena.campaign", *told, "--no-lock"], cwd=ROOT)
    try:
        family: list[psutil.Process] = []
        deadline_s = time.monotonic() + 60
        while not any("stub.py" in " ".join(p.cmdline()) for p in family if p.is_running()):
            assert time.monotonic() < deadline_s
            family = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert alive == []


def test_the_page_of_no_games() -> None:
    text = page([], {"short": 8}, {"brain": ""}, "again")
    assert "0 of 8 games, **0 incidents**" in text and "`again`" in text

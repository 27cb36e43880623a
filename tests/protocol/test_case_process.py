"""Conformance cases 12, 13, 15, 18, 21 and 23: process, end, memory, folders, threads; short games."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from arena.errors import BrainGoneError
from arena.records import GameSetup
from arena.series import PROFILES, plan_games, series_limits
from tests.protocol.process import REPOSITORY
from tests.protocol.referee import referee
from tests.protocol.talk import MOVE, Talk, board_of_moves, brain_command, cells, is_free, read_only

pytestmark = pytest.mark.posix

BRAIN = shlex.join(brain_command())
REPLY = re.compile(r"OK|\d+,\d+|(MESSAGE|DEBUG) \S.*")


START_MS = 60_000
"""Patience before the first move: a busy machine may take long to start a brain."""


def end_ms(talk: Talk, *, close: bool) -> float:
    """Send END or close the input, return how long the process still lived; check that it said nothing."""
    before = len(talk.brain.chunks)
    if close:
        talk.brain.close_input()
    else:
        talk.say("END")
    elapsed_s = talk.brain.wait_exit_s(5.0)
    assert elapsed_s is not None, "still alive after 5 s"
    rest = [line.text for line in talk.brain.remaining_lines()]
    assert [x for x in rest if not x.startswith(("MESSAGE ", "DEBUG "))] == [], before
    assert talk.brain.process.returncode == 0, talk.brain.why_gone()
    return elapsed_s * 1000


@pytest.mark.alone
@pytest.mark.parametrize("close", [False, True], ids=["END", "EOF"])
@pytest.mark.parametrize("thinking", [False, True], ids=["idle", "thinking"])
def test_case_12_ends_within_200_ms(thinking: bool, close: bool) -> None:
    times_ms = []
    for _ in range(3):
        with Talk(net=None) as talk:
            talk.start(20, turn_ms=60_000)
            if thinking:
                talk.say("BOARD", "7,7,2", "DONE")
            talk.ask("ABOUT")
            time.sleep(0.2)  # no script asks and gives up after that long
            times_ms.append(end_ms(talk, close=close))
            if times_ms[-1] <= 200:
                return
    raise AssertionError(f"END to exit: {times_ms} ms")


@pytest.mark.parametrize("lines", [[], ["START 15", "BOARD", "7,7,1"], ["INFO"], ["ABOUT"]])
def test_case_12_end_of_input_anywhere(lines: list[str]) -> None:
    with Talk() as talk:
        if lines:
            talk.say(*lines)
        talk.brain.close_input()
        assert talk.brain.wait_exit_s(5.0) is not None
        assert talk.brain.process.returncode == 0


def test_case_12_nothing_is_read_after_end() -> None:
    with Talk() as talk:
        talk.start()
        talk.say("END", "BEGIN", "ABOUT", "NONSENSE")
        assert talk.brain.wait_exit_s(5.0) is not None
        assert talk.brain.remaining_lines() == []


def test_case_12_no_process_is_left() -> None:
    with Talk(net=None) as talk:
        talk.start(turn_ms=100)
        talk.move("BEGIN")
        family = talk.brain.family()
        assert len(family) == 1, "the judge stops and kills only one process"
        talk.end()
        assert not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in family[1:])


def test_case_12_a_closed_pipe_is_no_reason_to_shout() -> None:
    process = subprocess.Popen(
        brain_command("uniform"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=REPOSITORY,
    )
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(b"START 15\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"OK\n"
    process.stdout.close()
    process.stdin.write(b"ABOUT\nINFO timeout_turn 0\nBEGIN\nABOUT\nABOUT\n")
    process.stdin.flush()
    assert process.wait(10.0) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_case_13_stderr_merged_with_stdout() -> None:
    """A whole game with the loudest settings of Python; every line must be a protocol line."""
    with Talk(net=None, merge_stderr=True, env={"PYTHONWARNINGS": "always", "PYTHONDEVMODE": "1"}) as talk:
        talk.start(15, turn_ms=50)
        x, y = talk.move("BEGIN")
        taken = {(x, y)}
        for cell in [(i % 15, i // 15 * 14) for i in range(30)]:
            if cell not in taken:
                taken.add(cell)
                taken.add(talk.move(f"TURN {cell[0]},{cell[1]}"))
        talk.ok("RESTART")
        talk.end()
        text = b"".join(chunk for _, chunk in talk.brain.chunks).decode()
    assert all(REPLY.fullmatch(line) for line in text.splitlines()), text


def test_case_13_each_line_is_one_write() -> None:
    """qpiskvork takes a read for whole lines; so no piece of a line may ever come alone, and no CR."""
    with Talk() as talk:
        talk.start(turn_ms=50)
        talk.move("BEGIN")
        for x in range(10):
            talk.ok("RESTART")
            talk.move(f"TURN {x},{x}")
        talk.ask("ABOUT")
        assert all(chunk.endswith(b"\n") and b"\r" not in chunk for _, chunk in talk.brain.chunks)


@pytest.mark.parametrize("command", ["RESTART", "START 15", "START 20"])
def test_case_15_a_thousand_new_games_take_no_memory(command: str) -> None:
    with Talk() as talk:
        talk.start()
        for count in (200, 1000):
            talk.say(*([command, "BEGIN"] * count))
            answers: list[str] = []
            # a new game drops a move that is still being thought about, so only the last move is sure
            while answers.count("OK") < count or answers[-1] == "OK":
                answers.append(talk.next_line() or "nothing")
            assert all(a == "OK" or MOVE.fullmatch(a) for a in answers)
            talk.ok("RESTART")
            if count == 200:
                before = talk.brain.private_bytes()
        grown = talk.brain.private_bytes() - before
        assert grown < 4 << 20, f"{grown / 2**20:.1f} MiB"


FOLDERS = ["/no/such folder/at all", "C:\\Users\\A B\\AI data", "/tmp/žluťoučký kůň", ".", "", "/proc/1/root"]


def test_case_18_folder_of_any_kind_is_silent(talk: Talk, tmp_path: Path) -> None:
    for folder in [*FOLDERS, str(read_only(tmp_path / "locked"))]:
        talk.say(f"INFO folder {folder}")
        talk.quiet()
        talk.ok("START 15")
        talk.move("BEGIN")


def test_case_18_any_working_directory(tmp_path: Path) -> None:
    for folder in (Path("/"), read_only(tmp_path / "locked dir")):
        with Talk(net=None, cwd=folder) as talk:
            talk.start()
            talk.move("BEGIN")
            talk.end()
    assert list((tmp_path / "locked dir").iterdir()) == []


def test_case_18_the_working_directory_may_vanish(tmp_path: Path) -> None:
    folder = tmp_path / "soon gone"
    folder.mkdir()
    with Talk(cwd=folder) as talk:
        talk.start()
        shutil.rmtree(folder)
        talk.move("BEGIN")
        talk.end()


@pytest.mark.alone
def test_case_21_one_core_is_all_it_uses() -> None:
    """One busy thread; libraries must neither start workers nor spin."""
    with Talk(net=None, env={"OMP_NUM_THREADS": "8"}) as talk:
        talk.start(15, turn_ms=1500)
        talk.move("BOARD", "7,7,2", "DONE")
        process = psutil.Process(talk.brain.process.pid)
        before = {t.id: t.user_time + t.system_time for t in process.threads()}
        start_s = time.monotonic()
        talk.move(*board_of_moves(cells("h8i9j8i7k9i10g7k8")))
        wall_s = time.monotonic() - start_s
        spent = {t.id: t.user_time + t.system_time - before.get(t.id, 0.0) for t in process.threads()}
        assert sum(spent.values()) <= 1.15 * wall_s + 0.05
        assert sum(s > 0.1 for s in spent.values()) <= 1
        idle_before = sum(process.cpu_times()[:2])
        time.sleep(0.5)  # nothing may run between moves
        assert sum(process.cpu_times()[:2]) - idle_before <= 0.05


def test_case_21_affinity_to_one_core() -> None:
    core = min(os.sched_getaffinity(0))
    with Talk(net=None) as talk:
        os.sched_setaffinity(talk.brain.process.pid, {core})
        talk.start(15, turn_ms=200)
        assert is_free(talk.move("BEGIN"), 15, [])
        talk.end()


@pytest.mark.parametrize("profile", PROFILES)
def test_short_games_under_every_manager(profile: str) -> None:
    """Two games with 40 ms a move; what a busy machine may do to the clock is not judged here."""
    games = plan_games(
        3, [4, 1] if profile == "cli" else [0, 9], [9, 15], profile=profile, seed=5
    )
    limits = series_limits(40, 60_000, 2000, start_ms=START_MS)
    records = referee(profile, [BRAIN, "tactical"], games[1:], limits)
    incidents = [i for r in records for i in r.incidents]
    assert [i for i in incidents if i.kind not in ("time", "no exit")] == [], incidents
    assert all(r.end in ("five", "draw") for r in records)
    # the tactical player is weak
    assert sum(r.winner == 0 for r in records) >= 1


def test_case_23_one_process_alternating_colours_sizes_and_rules() -> None:
    games = [
        GameSetup(i, size, size, rule, (size // 2 * size + size // 2,) * (i % 3 == 0))
        for i, (size, rule) in enumerate(
            [(15, 0), (9, 4), (20, 9), (15, 4), (5, 0), (22, 8), (7, 1), (15, 1)]
        )
    ]
    limits = series_limits(20, tolerance_ms=2000, start_ms=START_MS)
    records = referee("cli", [BRAIN, "tactical"], games, limits)
    assert [i for r in records for i in r.incidents if i.kind not in ("time", "no exit")] == []
    assert all(r.end in ("five", "draw") for r in records)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--net", "/no/such/net.onnx"],
        ["--net", "no_such_name"],
        ["--set", "no_such_key=1"],
        ["--set", "threads=many"],
        ["--set", "search.c_puct=nan"],
        ["--set", "search.edge_cap=-1"],
        ["--set", "search.policy_temperature=0"],
        ["--config", "/no/such/file.toml"],
        ["--no-such-option"],
    ],
)
def test_a_brain_that_cannot_start_says_so_once(arguments: list[str]) -> None:
    """One ERROR before any OK, exit status not 0, no traceback."""
    with Talk(*arguments, merge_stderr=True, net="uniform" if arguments[0] != "--net" else None) as talk:
        talk.say("START 15")
        lines = []
        try:
            while line := talk.brain.read_line(10.0):
                lines.append(line.text)
        except BrainGoneError:
            pass
        assert len(lines) == 1 and lines[0].startswith("ERROR "), lines
        assert talk.brain.process.wait(5.0) != 0


def test_a_damaged_net_is_refused(tmp_path: Path) -> None:
    for name, content in (
        ("empty.onnx", b""),
        ("junk.onnx", os.urandom(5000)),
        ("text.onnx", b"hello\n" * 100),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with Talk(net=str(path)) as talk:
            talk.error("START 15")
            assert talk.brain.process.wait(10.0) != 0


def test_a_brain_that_cannot_start_says_so_to_input_that_ends_at_once() -> None:
    done = subprocess.run(
        brain_command("no_such_name"),
        cwd=REPOSITORY, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert done.stdout.startswith("ERROR ") and done.stdout.count("\n") == 1
    assert "no_such_name" in done.stderr

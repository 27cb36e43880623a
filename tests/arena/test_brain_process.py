"""A brain as a child process: how it starts, talks, ends, and what is said where it cannot."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from arena.brain_process import MAX_ERRORS_BYTES, MAX_LINE_BYTES, BrainProcess
from arena.commands import CommandError, split_command, split_words
from arena.errors import BrainFailureError, BrainGoneError

PYTHON = [sys.executable, "-S", "-E", "-c"]
PATIENCE_S = 30.0


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program whose path has a blank."""
    path = tmp_path / "my brain"
    path.write_text(f"#!{sys.executable}\nprint('OK', flush=True)\ninput()\n")
    path.chmod(0o755)
    return path


@pytest.mark.posix
def test_a_path_with_a_blank_is_one_word(program: Path) -> None:
    assert split_command(str(program)) == [str(program)]
    assert split_command(f"{shlex.quote(str(program))} --level 1") == [str(program), "--level", "1"]
    with BrainProcess(str(program)) as brain:
        line = brain.read_line(PATIENCE_S)
        assert line is not None and line.text == "OK"


@pytest.mark.parametrize("backslashes", [True, False])
def test_quoted_words_are_read_back_on_every_system(backslashes: bool) -> None:
    words = [r"C:\Games\My brain\pbrain-x.exe", "--set", "lines=avx2", "it's", 'a "b" c']
    assert split_words(shlex.join(words), backslashes=backslashes) == words
    plain = r"C:\Games\pbrain-x.exe --level 1"
    assert split_words(plain, backslashes=True) == plain.split()
    assert split_words(r'"C:\My games\x.exe" -q', backslashes=True) == [r"C:\My games\x.exe", "-q"]
    with pytest.raises(ValueError, match="quotation"):
        split_words("'open", backslashes=backslashes)


@pytest.mark.posix
def test_why_a_command_is_none_is_one_line(program: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    for text, why in (
        (f"{program} --level 1", f"quote the path: '{program}' --level 1"),
        ("", "empty"),
        ("brain 'open", "No closing quotation"),
        ("no-such-brain --x", "there is no program 'no-such-brain'"),
        (f"{tmp_path} x", "is a folder"),
        (f"{tmp_path / 'plain'} x", "is not executable"),
    ):
        with pytest.raises(CommandError, match=r"^[^\n]+$") as failure:
            split_command(text)
        assert why in str(failure.value)
        with pytest.raises(BrainFailureError, match="cannot start") as start:
            BrainProcess(text)
        assert start.value.kind == "start"


@pytest.mark.posix
def test_a_file_that_the_system_does_not_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pbrain-x.exe"
    path.write_bytes(b"MZ\0\0")
    path.chmod(0o755)
    with pytest.raises(BrainFailureError, match=r"cannot start '.*pbrain-x\.exe': Exec format error"):
        BrainProcess(str(path))


def test_the_end_of_a_process_tells_status_and_stderr() -> None:
    brain = BrainProcess([*PYTHON, "import sys; print('x'); sys.stderr.write('no net\\n'); sys.exit(3)"])
    line = brain.read_line(PATIENCE_S)
    assert line is not None and line.text == "x"
    with pytest.raises(BrainGoneError, match="exit status 3, stderr: no net"):
        brain.read_line(PATIENCE_S)
    assert brain.transcript().splitlines()[0].endswith("<- x") and "stderr    no net" in brain.transcript()
    brain.kill()
    brain.kill()


def test_lines_have_a_largest_length_and_a_missing_end_is_shown() -> None:
    with BrainProcess([*PYTHON, f"print('y' * {4 * MAX_LINE_BYTES}); print('z', end='')"]) as brain:
        line = brain.read_line(PATIENCE_S)
        assert line is not None and set(line.text) == {"y"} and len(line.raw) <= MAX_LINE_BYTES
        texts = [line.text for line in brain.remaining_lines(PATIENCE_S)]
        assert texts[-1] == "z <no line end>"


@pytest.mark.posix
def test_killing_reaches_children_and_whoever_waits() -> None:
    code = "import subprocess,sys; p = subprocess.Popen(['sleep', '600']); print(p.pid, flush=True); p.wait()"
    brain = BrainProcess([*PYTHON, code])
    line = brain.read_line(PATIENCE_S)
    assert line is not None
    child = int(line.text)
    brain.suspend()
    brain.kill()
    deadline_s = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline_s
    assert not os.path.exists(f"/proc/{brain.process.pid}")


def test_the_end_of_a_lot_of_stderr_is_kept_and_blocks_nothing() -> None:
    code = "import sys; print('x' * 3_000_000, 'why', file=sys.stderr, flush=True); print('OK', flush=True)"
    with BrainProcess([*PYTHON, code]) as brain:
        assert brain.read_line(PATIENCE_S) is not None
        brain.kill()
        assert brain.stderr_tail(6) == "x why\n" and len(brain._errors) <= MAX_ERRORS_BYTES


@pytest.mark.posix
def test_a_child_that_keeps_stderr_open_does_not_hold_up_a_kill() -> None:
    code = "import os, time; os.fork() or (os.setsid(), time.sleep(9), os._exit(0)); print('OK', flush=True)"
    brain = BrainProcess([*PYTHON, code])
    assert brain.read_line(PATIENCE_S) is not None
    brain.process.wait(PATIENCE_S)
    start_s = time.monotonic()
    brain.kill()
    assert time.monotonic() - start_s < 5


def test_the_log_holds_both_sides_and_stderr(tmp_path: Path) -> None:
    log = tmp_path / "brain.log"
    code = "import sys; print(input(), flush=True); sys.stderr.write('bye')"
    with BrainProcess([*PYTHON, code], log_path=log) as brain:
        brain.send("START 15")
        assert brain.read_line(PATIENCE_S) is not None
        brain.remaining_lines()
        brain.wait_exit_s(PATIENCE_S)
    words = [" ".join(line.split()[1:]) for line in log.read_text().splitlines()]
    assert words == ["-> START 15", "<- START 15", "bye"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are Linux's")
def test_the_system_gives_no_more_memory_than_told() -> None:
    code = "print(len(bytearray(int(input()) << 20)), flush=True)"
    for mib, fits in ((8, True), (400, False)):
        with BrainProcess([*PYTHON, code], max_data_bytes=200 << 20) as brain:
            brain.send(f"{mib}")
            if fits:
                line = brain.read_line(PATIENCE_S)
                assert line is not None and int(line.text) == mib << 20
            else:
                with pytest.raises(BrainGoneError, match="MemoryError"):
                    brain.read_line(PATIENCE_S)

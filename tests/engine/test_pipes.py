"""Programs whose output nobody reads any more, or that cannot be written, end in silence or with one line."""

import os
import subprocess
import sys

import pytest

from engine.pipes import CLOSED_PIPE_STATUS
from tests.helpers.paths import ROOT

BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
PROGRAMS = pytest.mark.parametrize(
    "arguments",
    [
        ("engine", "--help"),
        ("engine", "solve", "--size", "5", "a1"),
        ("protocol", "--help"),
        ("protocol", "--version"),
        ("protocol", "--play", "--help"),
        ("tengen", "--help"),
        ("board", "--help"),
        ("release.notes", "0.1.0"),
        ("training.report", "--help"),
    ],
)


@pytest.mark.posix
@PROGRAMS
def test_a_closed_pipe_ends_a_program_in_silence(arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", *arguments]
    try:
        process = subprocess.run(
            command, stdout=writer, stderr=subprocess.PIPE, cwd=ROOT, env=BUFFERED, timeout=60, check=False
        )
    finally:
        os.close(writer)
    assert (process.returncode, process.stderr) == (CLOSED_PIPE_STATUS, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
@PROGRAMS
@pytest.mark.parametrize("options", [(), ("-u",)], ids=["buffered", "unbuffered"])
def test_a_full_disk_is_said_in_one_line(arguments: tuple[str, ...], options: tuple[str, ...]) -> None:
    command = [sys.executable, *options, "-m", *arguments]
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, cwd=ROOT, env=BUFFERED, timeout=60, check=False
        )
    assert process.returncode == 1
    assert process.stderr == b"error: the output cannot be written: No space left on device\n"

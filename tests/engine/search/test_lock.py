"""The lock of a tree, compiled for this machine, and for Windows where a compiler and Wine are installed."""

import os
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from engine.cores import usable_cores
from tests.helpers.paths import ROOT

SOURCE = Path(__file__).with_name("lock_threads.c")
WANTED = "800000 later\n"
NATIVE = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[:1]
MINGW = ["x86_64-w64-mingw32-gcc"]


def build(compiler: list[str], out: Path, *options: str) -> Path:
    kernel = ROOT / "engine" / "search" / "kernel"
    subprocess.run(
        [*compiler, "-O2", f"-I{kernel}", *options, str(SOURCE), "-o", str(out)],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return out


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True, env={**os.environ, **environment}
    )
    return done.stdout


@pytest.fixture(scope="module")
def native() -> list[str]:
    if os.name == "nt" or shutil.which(NATIVE[0]) is None:
        pytest.skip("needs a C compiler of the usual kind")
    return NATIVE


def test_threads_add_up(native: list[str], tmp_path: Path) -> None:
    assert run(str(build(native, tmp_path / "threads", "-pthread"))) == WANTED


@pytest.mark.skipif(usable_cores() < 2, reason="on one core threads hardly ever meet")
def test_a_lock_that_is_left_out_is_noticed(native: list[str], tmp_path: Path) -> None:
    program = str(build(native, tmp_path / "threads", "-pthread", "-DTENGEN_NO_LOCK"))
    assert any(run(program) != WANTED for _ in range(20))


@pytest.mark.skipif(
    shutil.which(MINGW[0]) is None or shutil.which("wine") is None, reason="needs MinGW-w64 and Wine"
)
def test_threads_add_up_on_windows(tmp_path: Path) -> None:
    program = build(MINGW, tmp_path / "threads.exe", "-static")
    prefix = {"WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
    assert run("wine", str(program), **prefix).replace("\r\n", "\n") == WANTED

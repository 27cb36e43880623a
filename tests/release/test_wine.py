"""What the build under Wine refuses before it begins."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from release.contents import PACKAGES
from release.wine import COPIED, header_folders
from tests.protocol.process import REPOSITORY

WINE = [sys.executable, "-m", "release.wine", "--keep"]


@pytest.mark.posix
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_into_a_file_is_refused_at_once(tmp_path: Path, stream: str) -> None:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (tmp_path / "log").open("wb") as log:
        done = subprocess.run(
            WINE, cwd=REPOSITORY, check=False, timeout=60, env={**os.environ, "PATH": ""},
            **(streams | {stream: log}),
        )  # fmt: skip
    said = (done.stderr or b"") + (tmp_path / "log").read_bytes()
    assert done.returncode and b"is a file" in said and b"| tee" in said


@pytest.mark.posix
def test_pipes_are_welcome(tmp_path: Path) -> None:
    done = subprocess.run(
        WINE, cwd=REPOSITORY, check=False, timeout=60, env={**os.environ, "PATH": ""}, capture_output=True
    )
    assert b"wine is missing" in done.stderr


def test_the_compiler_sees_every_header_that_setup_names() -> None:
    setup = ast.parse((REPOSITORY / "setup.py").read_text())
    keywords = [node for node in ast.walk(setup) if isinstance(node, ast.keyword)]
    (named,) = [ast.literal_eval(node.value) for node in keywords if node.arg == "include_dirs"]
    assert {REPOSITORY / folder for folder in named} <= set(header_folders())


def test_what_packed_packages_import_of_ours_is_copied() -> None:
    ours = {path.parent.name for path in REPOSITORY.glob("*/__init__.py")}
    files = [path for package in PACKAGES for path in (REPOSITORY / package).rglob("*.py")]
    imports = [node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    names = {node.module for node in imports if isinstance(node, ast.ImportFrom) and node.module}
    names |= {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
    used = {name.partition(".")[0] for name in names} & ours
    assert {"engine", "arena"} <= used <= set(COPIED)

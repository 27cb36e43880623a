"""What is packed and what is not, without packing anything."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from protocol import __main__ as program
from release import contents, notices
from tests.protocol.process import REPOSITORY


def modules_of_setup() -> set[str]:
    """Read the list of compiled modules from setup.py without running it."""
    tree = ast.parse((REPOSITORY / "setup.py").read_text(encoding="utf-8"))
    lists = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "MODULES"
    ]  # fmt: skip
    return set(ast.literal_eval(lists[0]))


def test_every_compiled_module_of_the_engine_is_packed() -> None:
    ours = {name for name in modules_of_setup() if name.split(".")[0] in contents.PACKAGES}
    assert "engine.search._tree" in ours
    assert set(contents.kernel_modules()) == ours
    assert ours <= set(contents.hidden_modules())


@pytest.mark.parametrize("path", sorted((REPOSITORY / "release").glob("*.py")), ids=lambda path: path.stem)
def test_what_packs_and_checks_finds_all_that_it_imports(path: Path) -> None:
    importlib.import_module(f"release.{path.stem}")


def test_a_module_that_is_not_compiled_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "_new.pyx").write_text("")
    with pytest.raises(SystemExit, match=r"engine\._new is not compiled"):
        contents.hidden_modules(tmp_path)


def test_modules_that_are_imported_late_are_packed() -> None:
    packed = contents.hidden_modules()
    names = ["engine.commands.selfcheck", "engine.evaluator.onnx", "engine.play.cli", "protocol.conversation"]
    assert "arena.play" in contents.PLAY_MODULES and not any(name.startswith("arena") for name in packed)
    for name in names:
        assert name in packed
    assert not any(name.split(".")[0] in ("training", "tests", "release") for name in packed)


BLOCKED = """
import importlib.abc, sys
left_out = set({left_out!r}) - {{"release", "tests"}}

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in left_out or any(name.startswith(x + ".") for x in left_out):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

for name in [m for m in sys.modules if m in left_out or m.split(".")[0] in left_out]:
    del sys.modules[name]
sys.meta_path.insert(0, Absent())
{work}
"""
THINK = """
from engine.config import EngineConfig
from engine.engine import Engine
from engine.timing.budget import SearchLimits
import protocol.conversation, protocol.worker
engine = Engine(EngineConfig(seed=1))
engine.warm_up()
engine.play(112)
print(engine.think(SearchLimits(turn_ms=1000, max_nodes=30), engine.clock.now_s()).point)
slow = {"rich", "charset_normalizer", "board", "asyncio", "ssl", "http", "uvicorn", "starlette"}
slow = (slow | {"websockets"}) & set(sys.modules)
assert not slow, f"{slow}: the programs for people slow the start of the brain"
"""
DRAW = """
import io, contextlib
from arena.play import main
sys.stdin = io.StringIO("h8\\nhint\\nundo\\nquit\\n")
sys.exit(main(["--level", "2", "--time", "1"]))
"""
SERVE = """
import asyncio, base64, os, socket, threading
import board.worker, board.thinking
from board.engine_pool import EnginePool
from board.launch import DEFAULT_PORT, bind, serve

def look(port, token):
    request = (
        f"GET /socket?token={token} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nOrigin: http://127.0.0.1:{port}\\r\\n"
        "Upgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\n"
        f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\\r\\n\\r\\n"
    )
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(request.encode())
        got = b""
        while b'"welcome"' not in got:
            got += s.recv(4096) or sys.exit(f"no welcome: {got!r}")
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(f"GET /main.js HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n".encode())
        print(s.recv(15), flush=True)
    os._exit(0)

import builtins
real = builtins.print
def heard(*words, **more):
    real(*words, **more)
    if words and "http://" in str(words[0]):
        port, rest = str(words[0]).rsplit(":", 1)[1].split("/")
        token = rest.removeprefix("#token=").split()[0]
        threading.Thread(target=look, args=(int(port), token), daemon=True).start()
builtins.print = heard
serve("127.0.0.1", 0, EnginePool(1, ["net=uniform"]), browser=False, version="1")
"""


@pytest.mark.parametrize("work", [THINK, DRAW, SERVE], ids=["brain", "game at the terminal", "board"])
def test_nothing_that_is_left_out_is_missed(
    work: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # of the board's token
    code = BLOCKED.format(left_out=contents.EXCLUDED_MODULES, work=work)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_net_that_plays_is_packed_and_its_card_exists() -> None:
    files = [Path(file).name for file, _ in contents.net_files()]
    assert files[0] == "default.txt" and files[1].endswith(".onnx")
    assert contents.net_card(contents.default_net()).is_file()
    assert contents.net_card(Path("a.int8.onnx")) == Path("a.md")


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("onnxruntime\\capi\\onnxruntime.dll", False),
        ("onnxruntime/capi/libonnxruntime.so.1.31.1", False),
        ("onnxruntime\\capi\\onnxruntime_pybind11_state.pyd", True),
        ("onnxruntime/capi/onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so", True),
        ("onnxruntime/capi/libonnxruntime_providers_shared.so", True),
        ("numpy.libs/libscipy_openblas64_-32a4b2a6.so", True),
    ],
)
def test_second_copies_stay_out(path: str, kept: bool) -> None:
    assert contents.keep(path) is kept


def test_links_stay_out_but_for_the_one_by_which_a_mac_starts() -> None:
    library = ("Python.framework/Versions/3.11/Python", "/there/Python", "BINARY")
    links = [
        ("Python", library[0], "SYMLINK"), ("Python.framework/Python", "Versions/Current/Python", "SYMLINK"),
    ]  # fmt: skip
    assert contents.without_links([library, *links]) == [library, ("Python", "/there/Python", "BINARY")]
    assert contents.without_links([("libx.so.1", "libx.so", "SYMLINK")]) == []


def test_libraries_of_visual_c_are_looked_for_in_turn(tmp_path: Path) -> None:
    best, rest = tmp_path / "best", tmp_path / "rest"
    for folder, names in ((best, contents.VC_RUNTIME[:1]), (rest, contents.VC_RUNTIME)):
        folder.mkdir()
        for name in names:
            (folder / name).touch()
    there = contents.VC_RUNTIME[1]
    found = contents.vc_runtime([best, rest], lambda name: name == there)
    assert [Path(file) for file, _ in found] == [
        best / contents.VC_RUNTIME[0], rest / contents.VC_RUNTIME[2], rest / contents.VC_RUNTIME[3]
    ]  # fmt: skip
    with pytest.raises(SystemExit, match=contents.VC_RUNTIME[1]):
        contents.vc_runtime([best], lambda name: False)


def test_the_zip_names_the_licences_of_what_is_inside() -> None:
    texts = notices.texts("1.2.3")
    assert {"README.txt", "LICENSE", "NET.md", "LICENSES/Python.txt"} <= set(texts)
    for name in notices.PACKED:
        assert any(title.startswith(f"LICENSES/{name}/") for title in texts), name
    readme = str(texts["README.txt"])
    assert "Tengen 1.2.3" in readme and "@" not in readme
    assert max(len(line) for line in readme.splitlines()) <= 80
    assert "[linux]" not in readme and "\n\n\n" not in readme


@pytest.mark.parametrize(
    ("system", "engine"),
    [("linux", "engine there"), ("darwin", "engine there"), ("win32", "engine.exe there")],
)
def test_the_readme_leads_to_every_program(monkeypatch: pytest.MonkeyPatch, system: str, engine: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    readme = notices.readme("1.2.3")
    for words in ("a folder of its own", "Players > Settings", "Game > Options", "Game > New game", engine):
        assert words in readme
    assert ("chmod +x" in readme) == (system != "win32")
    (starts,) = [name for name in contents.launchers() if name in readme and not name.endswith(".desktop")]
    ours = {"linux": "tengen-board.sh", "darwin": "Tengen board.command", "win32": "Tengen board.bat"}
    assert starts == ours[system]
    assert ("\r\n" in readme) == (system == "win32")


def test_the_readme_names_options_that_exist() -> None:
    assert program.BOARD in contents.launchers().popitem()[1] or not contents.is_windows()
    for option in ("--self-check", "--log=x"):
        program.parse_arguments([option])
    assert program.parse_arguments(["--play"]) == program.Options()


@pytest.mark.posix
def test_the_runtime_of_nets_reports_nothing_to_its_maker(tmp_path: Path) -> None:
    """It would put a file for later sending into the home folder, and a name for this machine."""
    env = {name: value for name, value in os.environ.items() if name not in ("CI", "ORT_DISABLE_TELEMETRY")}
    env |= {name: str(tmp_path) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [sys.executable, "-m", "protocol"],
        cwd=REPOSITORY, input="START 15\nINFO timeout_turn 200\nBOARD\n7,7,2\nDONE\n", env=env,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "," in done.stdout
    assert list(tmp_path.rglob("*")) == []


def test_every_file_of_the_page_is_packed_and_installed_where_the_board_looks_for_it() -> None:
    board = REPOSITORY / "board"
    folders = [board / "static", board / "third_party"]
    served = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    packed = {(Path(source), folder) for source, folder in contents.page_files()}
    assert packed == {(path, path.parent.relative_to(REPOSITORY).as_posix()) for path in served}
    data = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = data["tool"]["setuptools"]["package-data"]["board"]
    assert served == {path for pattern in patterns for path in board.glob(pattern) if path.is_file()}
    assert "LICENSES/gifenc/LICENSE.md" in notices.texts("1.2.3")

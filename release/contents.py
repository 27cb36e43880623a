"""What goes into the packed brain and what stays out. Used by `build.spec`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path, PurePath

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = "pbrain-tengen"
"""Name of the executable (protocol: managers want the prefix pbrain-)."""
PACKAGES = ("engine", "protocol", "board")

EXCLUDED_MODULES = (
    # ours, for developers
    "training", "tests", "release",
    # the tools of training and testing
    "torch", "onnx", "pytest", "_pytest", "hypothesis", "psutil", "Cython", "setuptools", "pkg_resources",
    "pip",
    # parts of numpy that are imported on first use; nothing here uses them
    "numpy.ctypeslib", "numpy.distutils", "numpy.f2py", "numpy.fft", "numpy.ma", "numpy.matlib",
    "numpy.polynomial", "numpy.testing", "numpy.tests", "numpy._core.tests", "numpy._pyinstaller",
    # tools around the runtime of nets
    "onnxruntime.backend", "onnxruntime.datasets", "onnxruntime.quantization", "onnxruntime.tools",
    "onnxruntime.transformers", "google",
    # rich colours source code and markdown with these; the board needs neither
    "IPython", "attr", "ipywidgets", "markdown_it", "mdurl", "pygments", "rich.markdown", "rich.progress",
    "rich.syntax", "rich.traceback",
    # what the server of the board would use for other services than ours
    "uvloop", "httptools", "wsproto", "watchfiles", "dotenv", "yaml", "a2wsgi", "trio", "jinja2",
    "itsdangerous", "python_multipart", "httpx", "starlette.testclient", "anyio.pytest_plugin",
    "websockets.asyncio", "websockets.legacy", "websockets.sync", "websockets.trio", "websockets.cli",
    # the standard library: windows, tests, tools
    "_hashlib", "_tkinter", "tkinter", "turtle", "unittest", "doctest", "pdb", "pydoc",
    "pydoc_data", "lib2to3", "ensurepip", "idlelib", "distutils", "sqlite3", "_sqlite3", "xmlrpc", "ftplib",
    "smtplib", "curses", "_curses", "dbm", "_dbm", "_gdbm", "bz2", "_bz2", "lzma", "_lzma",
    "_pydecimal", "getopt", "gzip", "py_compile", "tarfile",
    "urllib.error", "urllib.request", "urllib.response",
    # line editing in a terminal; its licence (GPL) would bind the whole package
    "readline",
)  # fmt: skip
"""Modules that the program never imports; a test plays games with what is left."""

LATE_MODULES = ("numpy.random", "secrets")
"""Imported by compiled code only, where PyInstaller does not look."""
PLAY_MODULES = (
    "arena.play", "rich.console", "rich.control", "rich.segment", "rich.text", "charset_normalizer",
)  # fmt: skip
"""What the game at the terminal needs beyond the engine; never imported by the brain. The board and commands
need the last one too."""
BOARD_MODULES = (
    "uvicorn.lifespan.off", "uvicorn.loops.asyncio", "uvicorn.protocols.http.h11_impl",
    "uvicorn.protocols.websockets.websockets_sansio_impl", "uvicorn.logging", "webbrowser",
)  # fmt: skip
"""What the board in the browser names in texts only; never imported by the brain."""

_UNUSED_LIBRARIES = re.compile(
    r"onnxruntime\.(dll|lib)|libonnxruntime\.so(\.[\d.]+)?|libonnxruntime(\.[\d.]+)?\.dylib"
)
"""The runtime of nets for C programs: the Python module has the whole of it inside of itself."""

VC_RUNTIME = ("vcruntime140.dll", "vcruntime140_1.dll", "msvcp140.dll", "msvcp140_1.dll")
"""Libraries of the Visual C++ runtime that a clean Windows may lack. onnxruntime needs all of them."""


def modules_of(package: str, root: Path = ROOT) -> list[str]:
    """Return the modules of a package in source form, compiled ones included, by dotted name."""
    found = {
        p.relative_to(root).with_suffix("")
        for kind in ("*.py", "*.pyx")
        for p in (root / package).rglob(kind)
    }
    names = (".".join(p.parts).removesuffix(".__init__") for p in found)
    return sorted(names)


def kernel_modules(root: Path = ROOT) -> list[str]:
    """Return the compiled modules of the packed packages by dotted name."""
    paths = (p.relative_to(root).with_suffix("") for name in PACKAGES for p in (root / name).rglob("*.pyx"))
    return sorted(".".join(p.parts) for p in paths)


def hidden_modules(root: Path = ROOT) -> list[str]:
    """Return every module of ours: many are imported late, or by compiled code, where no tool sees it.

    Raises:
        SystemExit: a kernel module has not been compiled for this Python.
    """
    for name in kernel_modules(root):
        stem = root.joinpath(*name.split("."))
        if not any(stem.with_name(stem.name + suffix).is_file() for suffix in EXTENSION_SUFFIXES):
            raise SystemExit(f"{name} is not compiled for this Python; run `make brain` first")
    return [name for package in PACKAGES for name in modules_of(package, root)]


def net_files(root: Path = ROOT) -> list[tuple[str, str]]:
    """Return (file, folder in the package) of the default net and of the note that names it.

    Raises:
        SystemExit: one of them is missing.
    """
    nets = root / "engine" / "nets"
    files = [nets / "default.txt", default_net(root)]
    for file in files:
        if not file.is_file():
            raise SystemExit(f"{file} is missing")
    return [(str(file), "engine/nets") for file in files]


def page_files(root: Path = ROOT) -> list[tuple[str, str]]:
    """Return (file, folder in the package) of the files of the board's page.

    Raises:
        SystemExit: there is no page.
    """
    static = root / "board" / "static"
    if not (static / "index.html").is_file():
        raise SystemExit("board/static has no index.html")
    folders = (static, root / "board" / "third_party")
    files = sorted(file for folder in folders for file in folder.rglob("*") if file.is_file())
    return [(str(file), file.parent.relative_to(root).as_posix()) for file in files]


def launchers() -> dict[str, str]:
    """Return file name in the zip -> content of what a person double-clicks to open the board."""
    if is_windows():
        return {"Tengen board.bat": f'@echo off\r\ntitle Tengen\r\n"%~dp0{PROGRAM}.exe" --board\r\n'
                "if errorlevel 1 pause\r\n"}  # fmt: skip
    if sys.platform == "darwin":
        return {"Tengen board.command": f'#!/bin/sh\nexec "$(dirname "$0")/{PROGRAM}" --board "$@"\n'}
    script = f'#!/bin/sh\n# Opens the board in the browser.\nexec "$(dirname "$0")/{PROGRAM}" --board "$@"\n'
    quote, dollar = r'\\"', r"\\$"  # inside of quotes, inside of a value
    desktop = (
        "[Desktop Entry]\nType=Application\nName=Tengen board\nComment=Gomoku in the browser\nTerminal=true\n"
        f'Exec=sh -c "exec {quote}{dollar}(dirname {quote}{dollar}1{quote})/tengen-board.sh{quote}" sh %k\n'
    )
    return {"tengen-board.sh": script, "tengen-board.desktop": desktop}


def default_net(root: Path = ROOT) -> Path:
    """Return the file of the default net."""
    nets = root / "engine" / "nets"
    return nets / (nets / "default.txt").read_text(encoding="utf-8").strip()


def net_card(net: Path) -> Path:
    """Return the card of a net: `name.md` for `name.int8.onnx`, `name.fp32.onnx` and `name.onnx`."""
    return net.with_name(re.sub(r"(\.int8|\.fp32)?\.onnx$", ".md", net.name))


def keep(destination: str) -> bool:
    """Return whether a library belongs into the package, by the path that it would get there."""
    name = PurePath(destination.replace("\\", "/")).name
    return not _UNUSED_LIBRARIES.fullmatch(name)


def without_links(entries: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return PyInstaller's entries (destination, source, kind) without symbolic links.

    One link becomes the file that it leads to: `Python` of a macOS framework, by which the program loads it.
    """
    entries = list(entries)
    files = {destination: (source, kind) for destination, source, kind in entries if kind != "SYMLINK"}
    found = []
    for destination, source, kind in entries:
        if kind != "SYMLINK":
            found.append((destination, source, kind))
        elif destination == "Python" and source in files:
            found.append((destination, *files[source]))
    return found


def vc_runtime(folders: Iterable[Path], is_there: Callable[[str], bool]) -> list[tuple[str, str]]:
    """Return (file, folder in the package) of the Visual C++ libraries that the package still lacks.

    Args:
        folders: where to look, best first.
        is_there: whether a library of this name has been found already.

    Raises:
        SystemExit: one is nowhere.
    """
    searched = list(folders)
    missing = []
    for name in VC_RUNTIME:
        if is_there(name):
            continue
        homes = [folder / name for folder in searched if (folder / name).is_file()]
        if not homes:
            raise SystemExit(f"{name} is in none of {', '.join(map(str, searched))}")
        missing.append((str(homes[0]), "."))
    return missing


def is_windows() -> bool:
    """Return whether the package is for Windows."""
    return sys.platform == "win32"

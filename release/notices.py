"""The texts that go into the zip next to the program: readme, net card, licences of what is inside."""

from __future__ import annotations

import re
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

from release.contents import PROGRAM, ROOT, default_net, net_card

PACKED = (
    "numpy", "onnxruntime", "rich", "charset-normalizer", "starlette", "uvicorn", "websockets", "anyio",
    "idna", "h11", "click", "typing_extensions", "pyinstaller",
)  # fmt: skip
"""Distributions of which parts are packed; PyInstaller gives the start program."""
_LICENCE = re.compile(r"(licen[cs]e|copying|notice|thirdpartynotices)[^/]*", re.IGNORECASE)


def texts(version: str) -> dict[str, str | bytes]:
    """Return name in the zip -> content.

    Raises:
        SystemExit: the licence of a packed program is not found.
    """
    found: dict[str, str | bytes] = {
        "README.txt": readme(version),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        "NET.md": net_card(default_net()).read_bytes(),
        "LICENSES/Python.txt": python_licence().read_bytes(),
    }
    for name in PACKED:
        for title, path in licence_files(name).items():
            found[f"LICENSES/{name}/{title}"] = path.read_bytes()
    for path in sorted((ROOT / "board" / "third_party").glob("*/LICENSE*")):
        found[f"LICENSES/{path.parent.name}/{path.name}"] = path.read_bytes()
    apache = licence_files("packaging")["LICENSE.APACHE"]  # the same text; OpenSSL comes with Python
    found["LICENSES/OpenSSL.txt"] = b"OpenSSL is under the Apache License 2.0.\n\n" + apache.read_bytes()
    return found


def readme(version: str) -> str:
    """Return the readme for players, with the names that the platform uses and its line ends.

    Lines that begin with `[linux]` are for other systems than Windows only.
    """
    windows = sys.platform == "win32"
    text = (Path(__file__).parent / "README.txt").read_text(encoding="utf-8")
    text = re.sub(r"^\[linux\](.*\n)", "" if windows else r"\1", text, flags=re.MULTILINE)
    suffix = ".exe" if windows else ""
    run = PROGRAM + suffix if windows else f"./{PROGRAM}"
    board = "Run ./tengen-board.sh, or double-click tengen-board.desktop."
    if windows:
        board = 'Double-click "Tengen board.bat".'
    elif sys.platform == "darwin":
        board = 'Double-click "Tengen board.command".'
    names = {
        "BOARD": board, "VERSION": version, "EXE": PROGRAM + suffix, "RUN": run, "ENGINE": f"engine{suffix}",
    }  # fmt: skip
    for mark, value in names.items():
        text = text.replace(f"@{mark}@", value)
    return text.replace("\n", "\r\n") if windows else text


def licence_files(name: str) -> dict[str, Path]:
    """Return title -> file of the licences of an installed distribution, at its top or in its metadata.

    Raises:
        SystemExit: it has none.
    """
    found = {}
    for file in metadata.distribution(name).files or ():
        inside = file.parts[1:]
        at_top = len(inside) == 1 or ".dist-info" in file.parts[0]
        if at_top and _LICENCE.fullmatch(file.name):
            title = "-".join(part for part in inside if part.lower() != "licenses")
            found[title] = Path(str(file.locate()))
    if not found:
        raise SystemExit(f"no licence of {name} found")
    return found


def python_licence() -> Path:
    """Return the licence of the running Python.

    Raises:
        SystemExit: it is not where installations of Python keep it.
    """
    homes = (Path(sys.base_prefix), Path(sysconfig.get_path("stdlib")))
    for path in (home / "LICENSE.txt" for home in homes):
        if path.is_file():
            return path
    raise SystemExit(f"no LICENSE.txt of Python in {' or '.join(map(str, homes))}")

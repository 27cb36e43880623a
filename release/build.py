"""Build the packed brain, play a game with it, write the zip that players download.

    python -m release.build

leaves dist/pbrain-tengen/ and dist/tengen-VERSION-PLATFORM.zip. `make dist` sets up what it needs.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.pipes import run_piped
from protocol import __version__
from release.archive import write_zip
from release.board import play_a_move
from release.contents import PROGRAM, ROOT, launchers
from release.notices import texts

DIST = ROOT / "dist"
BOARD_PORT = 18765
"""Where the packed board is tried; not its own port, where one may run."""
LARGEST_BYTES = 60_000_000
"""The zip may not be larger (derived: a download of seconds; Gomocup once took 8 MB, now 256)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m release.build", description=__doc__.partition("\n")[0])
    parser.add_argument("--no-game", action="store_true", help="skip the game against the referee")
    options = parser.parse_args(arguments)
    folder = freeze()
    if not options.no_game:
        play_a_game(folder / executable_name())
        point = play_a_move([str(folder / executable_name())], BOARD_PORT)
        print(f"the board serves its page and plays point {point}")
    target = DIST / f"tengen-{__version__}-{platform_name()}.zip"
    write_zip(target, folder, texts(__version__))
    size = target.stat().st_size
    print(f"{target.relative_to(ROOT).as_posix()}: {size / 1e6:.1f} MB")
    if size > LARGEST_BYTES:
        print(f"error: more than {LARGEST_BYTES / 1e6:.0f} MB", file=sys.stderr)
        return 1
    return 0


def freeze() -> Path:
    """Run PyInstaller; return the folder of the program."""
    work = ROOT / "build" / "pyinstaller"
    subprocess.run(
        [
            sys.executable, "-m", "PyInstaller", "--noconfirm", "--clean", "--log-level", "WARN",
            "--distpath", str(DIST), "--workpath", str(work), str(ROOT / "build.spec"),
        ],
        cwd=ROOT, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    folder = DIST / PROGRAM
    if sys.platform == "linux" and (strip := shutil.which("strip")):
        files = unstripped(folder)
        subprocess.run([strip, "--strip-debug", *map(str, files)], check=True)
    for name, content in launchers().items():
        (folder / name).write_text(content, encoding="utf-8", newline="")
        (folder / name).chmod(0o755)
    return folder


def unstripped(folder: Path) -> list[Path]:
    """Return the libraries that may carry debug information: the kernel's and Python's.

    Those of numpy were edited after they had been linked; `strip` breaks them.
    """
    inside = folder / "_internal"
    found = [*inside.glob("libpython*"), *inside.glob("python3*/lib-dynload/*.so")]
    return sorted([*found, *(inside / "engine").rglob("*.so")])


def executable_name() -> str:
    """Return the file name of the executable on this platform."""
    return f"{PROGRAM}.exe" if sys.platform == "win32" else PROGRAM


def platform_name() -> str:
    """Return what the zip is for, such as linux-x86_64 or windows-x86_64."""
    machine = platform.machine().lower().replace("amd64", "x86_64")
    system = {"win32": "windows", "darwin": "macos"}.get(sys.platform, sys.platform)
    return f"{system}-{machine}"


def play_a_game(program: Path) -> None:
    """Let the packed brain play a whole game under the strictest manager.

    Raises:
        SystemExit: there was an incident.
    """
    command = [
        sys.executable, "-m", "arena.referee", "--profile", "piskvork", "--games", "1",
        "--turn-ms", "300", "--tolerance-ms", "5000", "--rules", "0", "--brain", f'"{program.as_posix()}"',
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if "incidents" not in done.stdout:
        raise SystemExit(f"the referee did not finish:\n{done.stdout}{done.stderr}")
    print("\n".join(line for line in done.stdout.splitlines() if line.startswith(("moves", "ends", "inci"))))
    if done.returncode:
        raise SystemExit(f"the packed brain does not play:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(run_piped(main))

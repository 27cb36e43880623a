"""Put the torch of constraints.txt into this environment: the build for processors, unless CUDA is asked for.

    python setup_torch.py [--kind cpu|cuda|BACKEND] [--index URL]

`make train` runs it, `make test` too. On Linux, plain pip takes a build with CUDA's libraries, fourteen
times as large; elsewhere pip's own choice is the build for processors. A build for processors is looked for
in this order:

1. at the index that was named (`--index`, `make test TORCH_INDEX=URL`),
2. where pip looks anyway: a folder of wheels or a mirror that has it,
3. at torch's own index for processors, which the installer uv knows,
4. failing all of these the large build is taken, after a word about its size.

Whatever is there already in the pinned version stays, unless the other kind is asked for by name.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent
CONSTRAINTS = ROOT / "constraints.txt"
PAGE = "https://pytorch.org/get-started/locally/"
LARGE = "2.7 GB to download and 4.8 GB on disk"
"""Measured 2026-11-22: torch 2.13.0 for Linux on x86-64 with what it requires; for processors 0.2, 0.7 GB."""

_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile")
_UV = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to get torch.

    Attributes:
        words: said before it is tried.
        commands: run one after the other; the attempt fails with the first that does.
    """

    words: str
    commands: tuple[tuple[str, ...], ...]


def pinned(constraints: str) -> str:
    """Return the version of torch in the text of a constraints file.

    Raises:
        ValueError: there is none.
    """
    found = re.search(r"^torch==(\S+)$", constraints, re.MULTILINE)
    if found is None:
        raise ValueError("no line torch==VERSION")
    return found[1]


def attempts(kind: str, index: str, version: str, system: str) -> list[Attempt]:
    """Return the ways to get a build, best first. What torch requires is installed later, with all the rest.

    Args:
        kind: `cpu`, `cuda`, or a backend that uv knows, such as `cu126`.
        index: address of a wheel index; empty: the usual ways.
        version: of torch, without a local part.
        system: as `platform.system()` has it.
    """
    from_pip = (*_PIP, "--force-reinstall", "--no-deps")
    if index:
        return [Attempt(f"from {index}", ((*from_pip, "--index-url", index, f"torch=={version}"),))]
    if kind == "cpu" and system != "Linux":
        return [Attempt("pip's own choice has no CUDA here", ((*from_pip, f"torch=={version}"),))]
    if kind == "cuda" and system == "Linux":
        # === keeps builds with a local part, such as +cpu, out.
        return [Attempt(f"with CUDA: {LARGE}", ((*from_pip, f"torch==={version}"),))]
    backend = "auto" if kind == "cuda" else kind
    by_uv = Attempt(
        f"from torch's own index for {backend!r}, which uv knows",
        (
            (*_PIP, "-c", str(CONSTRAINTS), "uv"),
            (*_UV, "--reinstall", "--no-deps", f"--torch-backend={backend}", f"torch=={version}"),
        ),
    )
    if kind != "cpu":
        return [by_uv]
    return [
        Attempt("the build for processors, where pip looks anyway", ((*from_pip, f"torch=={version}+cpu"),)),
        by_uv,
        Attempt(
            f"no build for processors can be reached, so pip's own choice is taken: with CUDA {LARGE}. "
            f"To name an index instead, stop this and give TORCH_INDEX=URL with an address from {PAGE}",
            ((*from_pip, f"torch=={version}"),),
        ),
    ]


def installed() -> tuple[str, bool] | None:
    """Return version and whether it is built for CUDA, of the torch that is there; None without one."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None
    folder = importlib.metadata.distribution("torch").locate_file("torch")
    spec = importlib.util.spec_from_file_location("torch_version", str(Path(str(folder)) / "version.py"))
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except OSError:
        return None
    return version, getattr(module, "cuda", None) is not None


def fits(found: tuple[str, bool] | None, kind: str, version: str) -> bool:
    """Return whether an installed torch is what is asked for; without a kind any build of the version is."""
    if found is None or found[0].partition("+")[0] != version:
        return False
    return {"": True, "cpu": not found[1], "cuda": found[1]}.get(kind, found[0].endswith(f"+{kind}"))


def install(ways: Sequence[Attempt], run: Callable[[Sequence[str]], int], say: Callable[[str], None]) -> bool:
    """Try ways until one succeeds; return whether one did."""
    for way in ways:
        say(f"torch: {way.words}")
        if all(run(command) == 0 for command in way.commands):
            return True
    return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 without a torch."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", default="", help="cpu, cuda or a backend of uv such as cu126 (cpu)")
    parser.add_argument("--index", default="", metavar="URL", help="take it from this wheel index")
    args = parser.parse_args(arguments)
    version = pinned(CONSTRAINTS.read_text(encoding="utf-8"))

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def run(command: Sequence[str]) -> int:
        done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            lines = (done.stderr.strip() or done.stdout.strip() or "no word why").splitlines()
            say(f"torch: not that way ({lines[-1].strip()})")
        return done.returncode

    if not args.index and fits(installed(), args.kind, version):
        return 0
    if not install(attempts(args.kind or "cpu", args.index, version, platform.system()), run, say):
        say(f"error: torch {version} could not be installed; {PAGE} lists the builds and their indexes")
        return 1
    found = installed()
    if found:
        say(f"torch: {found[0]} is installed, {'with' if found[1] else 'without'} CUDA")
    return 0


if __name__ == "__main__":
    sys.exit(main())

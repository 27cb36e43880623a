"""Mutated files of every kind that is read from others: refused with one clear error, or read, nothing else.

    python -m tests.files.fuzz --files 10000 --seed 1            # all kinds
    python -m tests.files.fuzz --files 10000 --kind onnx --kind sgf

Files are read in child processes that may open nothing for writing, take 500 MB more than the reader needs
for good files, and 10 s of processor time a file. A crash, a hang, another exception, a message of more than
one line or without the file's name, and a file that was written, removed or renamed are failures; --keep
keeps the file.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.files.kinds import KINDS, Kind
from tests.files.mutate import mutated

MORE_BYTES = 500 << 20
"""Memory that reading a file may take."""
FILE_CPU_S = 10
"""Processor time that reading a file may take (derived: a hundred times what the slowest good one takes)."""
CHILD_FILES = 200
"""Files a child reads before it is replaced (derived: a crash loses few, a start costs little)."""
MAX_MESSAGE = 600
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_TOUCHING = {
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.symlink",
    "os.truncate", "shutil.rmtree", "shutil.move", "subprocess.Popen", "os.system", "os.exec",
    "os.posix_spawn", "socket.connect",
}  # fmt: skip


@dataclass(slots=True)
class Tally:
    """What came of the files of one kind."""

    files: int = 0
    read: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list)
    messages: Counter[str] = field(default_factory=Counter)


class _Touched(Exception):
    """A reader did more than read."""


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse everything that could change a file or start a program (an audit hook of the interpreter)."""
    if event == "open":
        path, mode, flags = arguments
        by_flags = isinstance(flags, int) and flags & _WRITES
        by_mode = isinstance(mode, str) and set(mode) & set("wax+")
        if (by_flags or by_mode) and path != os.devnull:
            raise _Touched(f"open {path!r} for writing")
    elif event in _TOUCHING:
        raise _Touched(event)


def _attempt(kind: Kind, path: Path) -> tuple[str, str]:
    """Read a file; return "read", "refused" or "failed", and the message."""
    try:
        kind.read(path)
    except kind.refusals as refusal:
        text = str(refusal)
        if "\n" in text or not text.strip() or len(text) > MAX_MESSAGE:
            return "failed", f"unclear: {text[:300]!r}"
        if kind.names_file and path.name not in text:
            return "failed", f"the file is not named: {text[:300]!r}"
        return "refused", text
    except BaseException as error:  # anything else is what is looked for
        return "failed", f"{type(error).__name__}: {str(error)[:300]!r}"
    return "read", ""


def _child(name: str, folder: str, first: int, last: int, report: str) -> None:
    """Read files `first` to `last` of a folder and write a line for each, before and after."""
    import resource

    sys.dont_write_bytecode = True      # a module that a reader imports late is no file of the reader's
    kind = KINDS[name]
    good = sorted(Path(folder).glob(f"good-*{kind.suffix}"))
    for path in good:
        kind.read(path)  # what the reader needs itself, libraries included
    out = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MORE_BYTES, size + MORE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.addaudithook(_watch)
    for index in range(first, last):
        used_s = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        limit_s = int(used_s) + 1 + FILE_CPU_S
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, resource.RLIM_INFINITY))
        os.write(out, (json.dumps([index, "begun", ""]) + "\n").encode())
        what, text = _attempt(kind, Path(folder) / f"{index:06d}{kind.suffix}")
        os.write(out, (json.dumps([index, what, text]) + "\n").encode())


def fuzz(name: str, files: int, seed: int = 1, keep: Path | None = None) -> Tally:
    """Read mutated files of a kind.

    Args:
        name: of the kind.
        files: how many.
        seed: of the damage.
        keep: folder for files that failed.
    """
    kind = KINDS[name]
    tally = Tally()
    rng = random.Random(f"{seed} {name}")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        here = Path(folder)
        originals = kind.examples(here)
        for number, data in enumerate(originals):
            (here / f"good-{number}{kind.suffix}").write_bytes(data)
        for first in range(0, files, CHILD_FILES):
            last = min(files, first + CHILD_FILES)
            for index in range(first, last):
                (here / f"{index:06d}{kind.suffix}").write_bytes(mutated(originals, rng))
            for index, what, text in _outcomes(name, here, first, last):
                _count(tally, index, what, text)
                path = here / f"{index:06d}{kind.suffix}"
                if what == "failed" and keep:
                    keep.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, keep / f"{name}-{path.name}")
                path.unlink()
    return tally


def _outcomes(name: str, folder: Path, first: int, last: int) -> Iterator[tuple[int, str, str]]:
    """Read files in children; one that dies is replaced behind the file that it died of."""
    report = folder / "report"
    context = multiprocessing.get_context("spawn")
    while first < last:
        report.unlink(missing_ok=True)
        child = context.Process(target=_child, args=(name, str(folder), first, last, str(report)))
        child.start()
        child.join()
        lines = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
        done = {index: (what, text) for index, what, text in lines if what != "begun"}
        for index in range(first, first + len(done)):
            yield index, *done[index]
        first += len(done)
        if child.exitcode == 0:
            continue
        if not lines:
            raise RuntimeError(f"the reader of {name} files fails on good ones: exit {child.exitcode}")
        if first < last:
            yield first, "failed", f"the process died: exit {child.exitcode}"
            first += 1


def _count(tally: Tally, index: int, what: str, text: str) -> None:
    tally.files += 1
    tally.read += what == "read"
    tally.refused += what == "refused"
    if what == "failed":
        tally.failures.append(f"{index}: {text}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0 when nothing failed, 1 otherwise."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.files.fuzz", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--files", type=int, default=10_000, help="of each kind (10000)")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only these; repeatable (all)")
    parser.add_argument("--seed", type=int, default=1, help="of the damage (1)")
    parser.add_argument("--keep", type=Path, help="folder for files that failed")
    args = parser.parse_args(argv)
    failed = False
    for name in args.kind or KINDS:
        tally = fuzz(name, args.files, args.seed, args.keep)
        failed |= bool(tally.failures)
        print(
            f"{name}: {tally.files} files, {tally.read} read, {tally.refused} refused, "
            f"{len(tally.failures)} failed",
            flush=True,
        )
        for failure in tally.failures[:10]:
            print(f"    {failure}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

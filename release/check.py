"""Put a packed brain through everything that a tournament and a careless user do to it, and print figures.

    python -m release.check --zip dist/tengen-VERSION-PLATFORM.zip --games 20

unpacks the zip into a folder with a blank and letters outside of ASCII, takes the right to write away from
it, and ends with status 1 if anything is not as it should be. Times mean something on an idle machine only.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from arena.records import PlayedGame
from arena.series import PROFILES, Series, plan_games, play_series, series_limits
from engine.pipes import run_piped
from release import conformance
from release.archive import unpack
from release.build import LARGEST_BYTES, executable_name

WARM_S = 0.4
"""Start to first move with the files in memory (derived: small on every league's clock)."""
MEMORY_BYTES = 300 << 20
"""Of a process told 350 MiB: managers count differently."""
LEAGUES = (
    ("freestyle 20", 20, 0), ("freestyle 15", 15, 0), ("fastgame", 20, 0), ("standard", 15, 1),
    ("renju", 15, 4), ("caro", 15, 9),
)  # fmt: skip
"""(name, size, rule) of the leagues of Gomocup."""
PARTS = (
    "_internal", "_internal/numpy", "_internal/numpy.libs", "_internal/onnxruntime", "_internal/engine",
    "_internal/engine/nets", "_internal/engine/nets/default.txt", "_internal/base_library.zip",
)  # fmt: skip
"""What a damaged copy may lack."""
SPOILT = (b"", b"hello\n" * 100, bytes(range(256)) * 20)
"""Contents of files that are no nets."""


class Report:
    """Prints findings and remembers whether one was bad."""

    def __init__(self) -> None:
        self.bad: list[str] = []

    def __call__(self, name: str, text: object, good: bool = True) -> None:
        """Print one finding."""
        print(f"{'ok ' if good else 'BAD'}  {name:<34} {text}", flush=True)
        if not good:
            self.bad.append(name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m release.check", description=__doc__.partition("\n")[0])
    parser.add_argument("--zip", type=Path, required=True, help="the zip to check")
    parser.add_argument("--games", type=int, default=2, help="a league and a profile (default 2)")
    parser.add_argument("--turn-ms", type=int, default=200, help="of these games (default 200)")
    parser.add_argument(
        "--warm-s", type=float, default=WARM_S, help=f"longest warm start allowed (default {WARM_S})"
    )
    parser.add_argument(
        "--memory-ms", type=int, default=10_000, help="length of the move whose memory is taken"
    )
    options = parser.parse_args(arguments)
    report = Report()
    size = options.zip.stat().st_size
    largest = f"at most {LARGEST_BYTES / 1e6:.1f}"
    report("size of the zip", f"{size / 1e6:.1f} MB, {largest}", size <= LARGEST_BYTES)
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "Tengen žluťoučký kůň"
        unpack(options.zip, folder)
        command = [str(folder / executable_name())]
        before = conformance.state_of(folder)
        with conformance.read_only(folder):
            times(command, folder, options.warm_s, report)
            tournament(command, options, report)
            play_leagues(command, options, report)
            endings(command, Path(home), report)
        report("nothing in its folder changed", "compared", conformance.state_of(folder) == before)
        damages(folder, Path(home) / "damaged copy", report)
    print(
        f"Verdict: {len(report.bad)} bad: {', '.join(report.bad)}" if report.bad else "Verdict: all is well."
    )
    return 1 if report.bad else 0


def times(command: Sequence[str], folder: Path, limit_s: float, report: Report) -> None:
    """Measure starts: after the system dropped the files, and with them in memory."""
    conformance.start(command)
    conformance.forget_pages(folder)
    cold = conformance.start(command)
    report("cold start", f"OK after {cold.ready_s:.2f} s, first move after {cold.moved_s:.2f} s")
    warm = [conformance.start(command) for _ in range(7)]
    ready_s = statistics.median(s.ready_s for s in warm)
    moved_s = statistics.median(s.moved_s for s in warm)
    text = f"OK after {ready_s:.2f} s, first move after {moved_s:.2f} s, at most {limit_s:g}"
    report("warm start", f"{text} (median of {len(warm)})", moved_s <= limit_s)
    conformance.forget_pages(folder)
    elapsed_ms = conformance.first_move_after_freeze_ms(command)
    report("first move, cold, frozen, one core", f"{elapsed_ms:.0f} ms, at most {conformance.FASTGAME_MS}",
           elapsed_ms <= conformance.FASTGAME_MS)  # fmt: skip


def tournament(command: Sequence[str], options: argparse.Namespace, report: Report) -> None:
    """Measure memory; ask the league logic positions; run the brain's own check."""
    used = conformance.largest_memory_bytes(command, options.memory_ms)
    report("largest private memory, 20x20", f"{used / 2**20:.0f} MiB, at most {MEMORY_BYTES / 2**20:.0f}",
           used <= MEMORY_BYTES)  # fmt: skip
    wrong = conformance.wrong_logic(command, 1000)
    report("league logic", "; ".join(wrong) or f"{len(conformance.LOGIC)} positions right", not wrong)
    status, said = conformance.refusal([*command, "--self-check"])
    report("self-check", said.splitlines()[-1] if said else "silent", status == 0)


def play_leagues(command: Sequence[str], options: argparse.Namespace, report: Report) -> None:
    """Play under every manager, then in every league under the official judge."""
    for profile in PROFILES:
        _play(profile, f"games as under {profile}", [0, 1, 4, 9], [15, 20], command, options, report)
    for name, size, rule in LEAGUES:
        _play("judge", f"games of the league {name}", [rule], [size], command, options, report)


def _play(
    profile: str,
    name: str,
    rules: list[int],
    sizes: list[int],
    command: Sequence[str],
    options: argparse.Namespace,
    report: Report,
) -> None:
    games = plan_games(
        options.games, rules, sizes, profile=profile, seed=7
    )
    limits = series_limits(options.turn_ms, 120_000)
    records = play_series(Series(profile, (shlex.join(command), "tactical"), limits, seed=7), games)
    incidents = [str(i) for r in records for i in r.incidents]
    report(name, incidents[0] if incidents else _summary(records), not incidents)


def _summary(records: Sequence[PlayedGame]) -> str:
    moves = sum(len(r.times) for r in records)
    won = sum(r.winner == 0 for r in records)
    slowest_ms = max((t.overshoot_ms for r in records for t in r.times if not t.cold), default=0.0)
    return f"{len(records)} games, {won} won, {moves} moves, {-slowest_ms:.0f} ms to spare at least"


def endings(command: Sequence[str], home: Path, report: Report) -> None:
    """Kill it, and start it with arguments that make no sense."""
    scratch = home / "scratch"
    scratch.mkdir()
    left = conformance.leftovers_of_a_kill(command, scratch)
    report("kill leaves nothing", "; ".join(left) or "no process, no file", not left)
    for arguments in (
        ["--bogus"],
        ["--net", "/no/such.onnx"],
        ["--set", "x=1"],
        ["--config", "/no/such.toml"],
    ):
        _refuses(f"refuses {' '.join(arguments)}", [*command, *arguments], report)


def damages(folder: Path, copy: Path, report: Report) -> None:
    """Damage copies; each has to say so, with an exit status that is not 0, and to leave the rest alone."""

    def damaged(name: str, spoil: Callable[[Path], None]) -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy, symlinks=True)
        spoil(copy)
        before = conformance.state_of(copy)
        _refuses(name, [str(copy / executable_name())], report)
        if conformance.state_of(copy) != before:
            report(name, "something was overwritten", False)

    for part in PARTS:
        if (folder / part).exists():
            damaged(f"without {part}", lambda root, part=part: _remove(root / part))
    for content in SPOILT:
        damaged(
            f"with a net of {len(content)} wrong bytes",
            lambda root, content=content: next(root.rglob("*.onnx")).write_bytes(content),
        )
    shutil.rmtree(copy, ignore_errors=True)


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else os.unlink(path)


def _refuses(name: str, command: Sequence[str], report: Report) -> None:
    status, said = conformance.refusal(command)
    report(
        name,
        f"status {status}: {said.splitlines()[0][:150] if said else 'silent'}",
        status != 0 and bool(said),
    )


if __name__ == "__main__":
    sys.exit(run_piped(main))

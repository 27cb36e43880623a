"""Play thousands of games in every league under every manager, and keep everything that went wrong.

    python -m arena.campaign --plan arena/plans/gomocup.toml --out campaigns/linux --background
    python -m arena.campaign --plan arena/plans/trial.toml --out campaigns/trial   # three dozen short games

A plan (see `arena.campaign_plan`) has parts: profiles of managers, leagues with real or scaled clocks, kinds
of opponents, memory, a busy core. The folder --out holds

    campaign.json     what is played         games.jsonl    a line for each game
    results.txt       the page of results    incidents/     the conversation of each game with an incident

and the same command continues where it was stopped, however that happened; games of blocks in flight are
played again. --background leaves the terminal at once, --stop ends such a campaign, --page only writes the
page anew. The timing lock of the machine is held (--no-lock: not). The status is 1 if the brain had an
incident.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from arena.brain_process import BrainProcess
from arena.campaign_page import Row, conversation_name, page
from arena.campaign_plan import LEAGUES, Block, Part, PlanError, blocks_of, read_plan
from arena.commands import CommandError, split_command
from arena.errors import BrainFailureError
from arena.journal import write_whole
from arena.players import KINDS, kind_of
from arena.pool import as_done, executor, one_core_each, worker_cores
from arena.records import PlayedGame
from arena.series import Series, plan_games, play_series, require_psutil, series_limits
from arena.timing_lock import holding
from engine.games.sgf import to_sgf
from engine.pipes import run_piped
from engine.rules.geometry import format_moves

VERSION = 1
_BUSY = [sys.executable, "-S", "-E", "-c", "while True: pass"]
_PAGE_S = 20.0
"""Seconds between two versions of the page."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 with incidents or when it was stopped, 2 for a usage error."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    options = _parser().parse_args(arguments)
    try:
        if options.stop:
            return _stop(options.out)
        campaign = Campaign(options.out, *read_plan(options.plan, options.brain, options.share))
        campaign.require_programs()
        if options.background:
            return _in_background(arguments, options.out)
        if options.page:
            campaign.write_page(_command(arguments))
            return 0
        with _signals(), _only_one(options.out):
            return campaign.run(options, _command(arguments))
    except KeyboardInterrupt:
        print("stopped; the same command continues", file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise  # the output has no reader: no failure of the campaign
    except (PlanError, CommandError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m arena.campaign", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--plan", type=Path, required=True, help="TOML file")
    parser.add_argument("--out", type=Path, required=True, help="folder of the campaign")
    parser.add_argument("--brain", default="", help="command of the tested brain, in place of the plan's")
    parser.add_argument("--share", type=float, default=1.0, help="of the games of each part, for a trial (1)")
    parser.add_argument("--concurrency", type=int, default=1, help="games at a time (1)")
    parser.add_argument("--any-core", action="store_true", help="do not keep each game on a core of its own")
    parser.add_argument("--no-lock", action="store_true", help="do not hold the timing lock")
    parser.add_argument("--background", action="store_true", help="leave the terminal; see OUT/log.txt")
    parser.add_argument("--stop", action="store_true", help="end the campaign that runs in this folder")
    parser.add_argument("--page", action="store_true", help="only write the page")
    return parser


class Campaign:
    """A campaign in its folder."""

    def __init__(self, folder: Path, parts: list[Part], brain: str, seed: int) -> None:
        """Open the folder, or begin it.

        Raises:
            ValueError: it holds another campaign, or is damaged.
        """
        self.folder, self.parts, self.brain = folder, parts, brain
        self.blocks = blocks_of(parts, brain, seed)
        self.seed = seed
        self.settings = {
            "version": VERSION, "brain": brain, "seed": seed, "parts": [asdict(part) for part in parts],
        }  # fmt: skip
        (folder / "incidents").mkdir(parents=True, exist_ok=True)
        settings = json.loads(json.dumps(self.settings))
        path = folder / "campaign.json"
        if not path.exists():
            write_whole(path, json.dumps(settings, indent=1).encode())
        elif json.loads(path.read_text()) != settings:
            raise ValueError(f"{folder} holds a campaign with other settings; name another folder")
        self.rows = self._read()

    def _read(self) -> list[Row]:
        """Return the finished games; what a crash cut off at the end is dropped."""
        path = self.folder / "games.jsonl"
        data = path.read_bytes() if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            write_whole(path, whole)
        try:
            rows = [json.loads(line) for line in whole.splitlines()]
            finished = {number for number, games in _counted(rows).items() if games == self._games(number)}
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise ValueError(f"{path} is damaged: {error}") from error
        kept = [row for row in rows if row["block"] in finished]
        if len(kept) != len(rows):
            write_whole(path, b"".join(_line(row) for row in kept))
        return kept

    def _games(self, number: int) -> int:
        return self.blocks[number].games

    def require_programs(self) -> None:
        """Refuse a brain or an opponent that is no program.

        Raises:
            CommandError: one is none.
            ValueError: psutil is missing.
        """
        for spec in sorted({spec for block in self.blocks for spec in block.players}):
            if kind_of(spec) not in KINDS:
                split_command(spec)
        require_psutil()

    def run(self, options: argparse.Namespace, command: str) -> int:
        """Play what is missing; return 1 if the brain had an incident."""
        done = {row["block"] for row in self.rows}
        todo = ((block, self.seed, self.folder) for block in self.blocks if block.number not in done)
        cores = () if options.any_core else one_core_each(options.concurrency)
        total, shown_s = sum(part.games for part in self.parts), 0.0
        lock = contextlib.nullcontext() if options.no_lock else holding(f"campaign {self.folder}", _say)
        with lock, executor(options.concurrency, processes=True, cores=cores) as pool:
            for rows in as_done(pool, options.concurrency, play_block, todo):
                with (self.folder / "games.jsonl").open("ab") as file:
                    file.write(b"".join(map(_line, rows)))
                self.rows += rows
                if time.monotonic() - shown_s > _PAGE_S or len(self.rows) == total:
                    shown_s = time.monotonic()
                    self.write_page(command)
                print(f"{len(self.rows)}/{total} games, {self.incidents()} incidents", flush=True)
        self.write_page(command)
        return 1 if self.incidents() else 0

    def incidents(self) -> int:
        """Return how many incidents the tested brain had."""
        return sum(incident["ours"] for row in self.rows for incident in row["incidents"])

    def write_page(self, command: str) -> None:
        """Write the page of results."""
        planned = {part.name: part.games for part in self.parts}
        rows = sorted(self.rows, key=lambda row: int(row["n"]))
        write_whole(self.folder / "results.txt", page(rows, planned, self.settings, command).encode())


def play_block(block: Block, seed: int, folder: Path) -> list[Row]:
    """Play a block, keep the conversations of its incidents, and return its games."""
    league, (turn_ms, match_ms) = LEAGUES[block.league], block.clock
    limits = series_limits(turn_ms, match_ms, max_memory=block.max_memory)
    limits = replace(limits, max_data_bytes=block.max_data_bytes)
    setups = [
        replace(setup, number=block.first + setup.number)
        for setup in plan_games(
            block.games, [league.rule], [league.size], profile=block.profile, seed=seed + block.number
        )
    ]
    series = Series(block.profile, block.players, limits, seed + block.number)
    with _busy_core() if block.busy else contextlib.nullcontext():
        played = play_series(series, setups)
    rows = [_row(block, game) for game in played]
    for game, row in zip(played, rows, strict=True):
        if row["incidents"]:
            write_whole(folder / conversation_name(row["n"]), _conversation(block, game).encode())
    return rows


@contextlib.contextmanager
def _busy_core() -> Iterator[None]:
    """Let another process run on the core of this worker's games."""
    try:
        with BrainProcess(_BUSY, cores=worker_cores()):
            yield
    except BrainFailureError as error:
        raise ValueError(f"cannot load the core: {error}") from error


def _row(block: Block, game: PlayedGame) -> Row:
    times = [t for t in game.times if t.player == 0 or block.is_mirror]
    warm = [t for t in times if not t.cold and t.limit_ms is not None]
    return {
        "n": game.setup.number, "block": block.number, "part": block.part, "profile": block.profile,
        "league": block.league, "opponent": block.opponent, "black": game.black, "winner": game.winner,
        "end": game.end, "plies": len(game.points),
        "moves": format_moves(game.points, game.setup.width),
        "share": [round(100 * t.elapsed_ms / t.limit_ms, 1) for t in warm if t.limit_ms],
        "over_ms": [round(t.overshoot_ms - t.queued_ms, 1) for t in warm],
        "cold_ms": [round(t.elapsed_ms - t.queued_ms, 1) for t in times if t.cold],
        "exit_ms": [round(ms, 1) for ms in game.exit_ms], "mib": round(game.private_bytes / 2**20, 1),
        "starved": game.starved,
        "incidents": [
            {"kind": i.kind, "ply": i.ply, "detail": i.detail, "ours": i.player == 0 or block.is_mirror}
            for i in game.incidents
        ],
    }  # fmt: skip


def _conversation(block: Block, game: PlayedGame) -> str:
    head = [f"game {game.setup.number}, {block.profile}, {block.league}, {block.part}, ends by {game.end}"]
    head += [f"{i.kind} of player {i.player} at ply {i.ply}: {i.detail}" for i in game.incidents]
    talks = [
        f"\n=== player {player}: {block.players[player]}\n{text}"
        for player, text in sorted(game.conversations.items())
    ]
    return "\n".join([*head, "", to_sgf(game.to_record(("brain", "opponent"))), *talks])


def _counted(rows: Sequence[Row]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for row in rows:
        counts[row["block"]] = counts.get(row["block"], 0) + 1
    return counts


def _line(row: Row) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


# --- running ------------------------------------------------------------------------------------------------


def _command(arguments: Sequence[str]) -> str:
    kept = [word for word in arguments if word not in ("--background", "--page")]
    return f"python -m arena.campaign {shlex.join(kept)}"


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Turn SIGTERM into KeyboardInterrupt, so that no brain is left stopped."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Leave the number of this process in the folder while it works on it.

    Raises:
        ValueError: another one does.
    """
    path, other = folder / "process", _running(folder)
    if other is not None and other != os.getpid():
        raise ValueError(f"process {other} works on {folder}; --stop ends it")
    write_whole(path, f"{os.getpid()}\n".encode())  # others read it while it is written
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _running(folder: Path) -> int | None:
    """Return the process that works on a folder, if one does."""
    import psutil

    try:
        number = int((folder / "process").read_text())
        alive = "arena.campaign" in " ".join(psutil.Process(number).cmdline())
    except (OSError, ValueError, psutil.Error):
        return None
    return number if alive else None


def _stop(folder: Path) -> int:
    number = _running(folder)
    if number is None:
        print(f"nothing runs in {folder}", file=sys.stderr)
        return 2
    # Workers are of the same group where it was started in the background; else they end with their parent.
    in_group = sys.platform != "win32" and os.getpgid(number) == number
    if in_group:
        os.killpg(number, signal.SIGINT)
    else:
        os.kill(number, signal.SIGINT if sys.platform != "win32" else signal.SIGTERM)
    print(f"asked process {number} to stop")
    return 0


def _in_background(arguments: Sequence[str], folder: Path) -> int:
    kept = [word for word in arguments if word != "--background"]
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "arena.campaign", *kept], stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, start_new_session=True,
        )  # fmt: skip
    print(f"process {process.pid} plays; {folder}/log.txt and {folder}/results.txt say how it goes")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(run_piped(main))

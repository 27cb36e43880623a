"""A self-play worker: groups of games a board size, in a process of its own that obeys the loop.

Finished games are appended to a journal at once and moved into one shard at the end of each order, so that
killing a worker loses only the games in flight. Orders come through a pipe; a closed pipe ends the worker.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import random
import signal
import struct
import time
import traceback
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from engine.evaluator.base import Evaluator
from engine.evaluator.onnx import OnnxEvaluator
from engine.threats._solver import Solver
from training.batch import Batch
from training.evaluators import load_evaluator
from training.game import Counters, PlayConfig, SelfPlayGame
from training.openings import opening_planes
from training.records import SUFFIX, GameRecord, write_shard

REPORT_S = 1.0  # seconds between progress reports
SOLVER_TABLE_LOG2 = 16  # 2.5 MB a group of games; enough for the budgets of `PlayConfig`


@dataclass(frozen=True, slots=True)
class Mix:
    """What is played: weights of (width, height) and of rules."""

    sizes: tuple[tuple[int, int, float], ...]
    rules: tuple[tuple[int, float], ...]


class Group:
    """Games of one board size that share batches."""

    def __init__(
        self,
        config: PlayConfig,
        size: tuple[int, int],
        games: int,
        rules: Sequence[tuple[int, float]],
        seed: int,
        on_record: Callable[[GameRecord], None],
        net_id: Callable[[], str],
    ) -> None:
        self.counters = Counters()
        rng = np.random.Generator(np.random.PCG64(seed))
        chances = np.array([weight for _, weight in rules], float)
        chances /= chances.sum()
        codes = np.array([rule for rule, _ in rules])

        def next_game() -> tuple[int, int]:
            return int(rng.integers(2**63)), int(rng.choice(codes, p=chances))

        solver = Solver(SOLVER_TABLE_LOG2)
        self.games = [
            SelfPlayGame(config, size, next_game, on_record, solver, self.counters, net_id)
            for _ in range(games)
        ]
        self._batch = Batch(games, *size)

    def step(self, evaluator: Evaluator) -> None:
        """Do one simulation (at least) in every game."""
        self.counters.evaluations += self._batch.step(self.games, evaluator)


class SelfPlay:
    """Groups of several sizes; their shares of positions follow the weights of the mix."""

    def __init__(self, config: PlayConfig, games: int, seed: int) -> None:
        """Make a worker without games.

        Args:
            config: of search and openings.
            games: in each group.
            seed: of everything random here.
        """
        self._config, self._games, self._seed = config, games, seed
        self._groups: dict[tuple[tuple[int, int], tuple[tuple[int, float], ...]], Group] = {}
        self._generation = 0
        self.finished: list[GameRecord] = []
        self.on_record: Callable[[GameRecord], None] = self.finished.append
        self._evaluator: Evaluator | None = None

    def use(self, evaluator: Evaluator) -> None:
        """Change the net; games in flight go on with it."""
        self._evaluator = evaluator

    def play(self, mix: Mix, positions: int, stop: Callable[[], bool]) -> Counters:
        """Play until so many positions were searched, or `stop`; return what was done.

        Games that are not over stay for the next call.
        """
        assert self._evaluator
        groups = [self._group((w, h), mix.rules) for w, h, _ in mix.sizes]
        weights = [weight for _, _, weight in mix.sizes]
        before = [dataclasses.replace(group.counters) for group in groups]

        def moves(i: int) -> int:
            return groups[i].counters.moves - before[i].moves

        while sum(moves(i) for i in range(len(groups))) < positions and not stop():
            group = groups[min(range(len(groups)), key=lambda i: moves(i) / weights[i])]
            # A few rounds in a row keep the group's planes and trees in the cache.
            for _ in range(8):
                group.step(self._evaluator)
        done = Counters()
        for group, old in zip(groups, before, strict=True):
            done.add(group.counters)
            done.add(old, -1)
        return done

    def _group(self, size: tuple[int, int], rules: tuple[tuple[int, float], ...]) -> Group:
        key = (size, rules)
        if key not in self._groups:
            self._generation += 1
            seed = int(np.random.SeedSequence([self._seed, self._generation]).generate_state(1, np.uint64)[0])
            self._groups[key] = Group(
                self._config,
                size,
                self._games,
                rules,
                seed,
                lambda record: self.on_record(record),  # noqa: PLW0108  (on_record changes)
                self._net_id,
            )
        return self._groups[key]

    def _net_id(self) -> str:
        assert self._evaluator
        return self._evaluator.name


class Journal:
    """Finished games that are not in a shard yet, in an append-only file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open(path, "ab")  # noqa: SIM115

    def add(self, game: GameRecord) -> None:
        """Append a game; it survives the process from here on."""
        data = pickle.dumps(game, protocol=pickle.HIGHEST_PROTOCOL)
        self._file.write(struct.pack("<II", len(data), zlib.crc32(data)) + data)
        self._file.flush()

    def clear(self) -> None:
        """Forget the games, which stand in a shard now."""
        self._file.truncate(0)
        self._file.seek(0)

    def close(self) -> None:
        """Close and remove the file."""
        self._file.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def read_journal(path: Path) -> list[GameRecord]:
    """Return the whole games of a journal; what a kill cut off at its end is left out."""
    data, games, at = path.read_bytes(), [], 0
    while at + 8 <= len(data):
        size, checksum = struct.unpack_from("<II", data, at)
        body = data[at + 8 : at + 8 + size]
        if len(body) < size or zlib.crc32(body) != checksum:
            break
        games.append(pickle.loads(body))
        at += 8 + size
    return games


def recover_journals(records: Path) -> int:
    """Turn journals that a killed run left behind into shards; return the number of games saved."""
    return sum(len(recover_journal(path)) for path in sorted(records.glob("*.journal")))


def recover_journal(path: Path) -> list[GameRecord]:
    """Turn the journal of a killed worker into a shard and return the games saved."""
    # A kill between writing the shard and removing the journal leaves both.
    games = [] if path.with_suffix(SUFFIX).exists() else read_journal(path)
    if games:
        write_shard(path.with_name(f"{path.stem}-recovered{SUFFIX}"), games)
    path.unlink()
    return games


def shard_stem(cycle: int, index: int, life: int) -> str:
    """Return the name, without its suffix, of the shard and the journal of a worker in one of its lives."""
    return f"{cycle:06d}-{index:02d}" + (f"-{life}" if life else "")


def _raw_speed(
    net: str, size: tuple[int, int], rows: int, seconds: float, session: bool, device: str
) -> tuple[float, float]:
    """Return evaluations a second, and a CPU second, of a net on random openings without any search.

    Args:
        net: as for `load_evaluator`, with `device`.
        size: width and height of the boards.
        rows: positions of a batch.
        seconds: that it takes.
        session: let onnxruntime compute also what the kernel would.
        device: "cpu" or a CUDA device.
    """
    evaluator: Evaluator = OnnxEvaluator(net) if session else load_evaluator(net, device)
    planes = opening_planes(random.Random(1), rows, *size)
    keys = np.zeros(rows, np.uint64)
    for _ in range(3):
        evaluator.evaluate(planes, keys)
    started_s, started_cpu_s, done = time.monotonic(), time.process_time(), 0
    while time.monotonic() - started_s < seconds:
        evaluator.evaluate(planes, keys)
        done += rows
    return done / (time.monotonic() - started_s), done / (time.process_time() - started_cpu_s)


def worker_main(connection: Connection, run_dir: Path, options: dict[str, Any]) -> None:
    """Obey orders until told to stop or the pipe closes.

    Orders are ("play", cycle, net, mix, positions), ("arena", spec), ("stop",) and ("raw", net, size, rows,
    seconds, session). Answers are ("progress", games, positions), ("done", counters, elapsed_s, cpu_s),
    ("arena", result), ("raw", evaluations a second, and a CPU second) and ("error", text).

    Args:
        connection: this end of the pipe.
        run_dir: of the run.
        options: index, life, seed, device, play (`PlayConfig`), games.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        _Worker(connection, run_dir, options).obey()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except Exception:
        with contextlib.suppress(OSError):
            connection.send(("error", traceback.format_exc()))


class _Worker:
    def __init__(self, connection: Connection, run_dir: Path, options: dict[str, Any]) -> None:
        self._connection, self._run_dir, self._options = connection, run_dir, options
        self._play = SelfPlay(options["play"], options["games"], options["seed"])
        self._net = ""
        self._next_report_s = 0.0
        self._stopped = False

    def obey(self) -> None:
        while not self._stopped:
            order = self._connection.recv()
            if order[0] == "stop":
                return
            if order[0] == "play":
                self._self_play(*order[1:])
            elif order[0] == "raw":
                self._connection.send(("raw", *_raw_speed(*order[1:], self._options["device"])))
            elif order[0] == "arena":
                from training.arena import play_arena

                result = play_arena(order[1], self._options["device"], self._interrupted)
                self._connection.send(("arena", result))

    def _interrupted(self) -> bool:
        """Look for a stop order; called between batches."""
        if not self._stopped and self._connection.poll():
            self._stopped = self._connection.recv()[0] == "stop"
        return self._stopped

    def _self_play(self, cycle: int, net: str, mix: Mix, positions: int) -> None:
        if net != self._net:
            self._play.use(load_evaluator(net, self._options["device"]))
            self._net = net
        started_s, started_cpu_s = time.monotonic(), time.process_time()
        records = self._run_dir / "records"
        name = shard_stem(cycle, self._options["index"], self._options["life"])
        journal, games = Journal(records / f"{name}.journal"), []
        positions_done = 0

        def keep(game: GameRecord) -> None:
            nonlocal positions_done
            journal.add(game)
            games.append(game)
            positions_done += game.positions

        def stop() -> bool:
            now_s = time.monotonic()
            if now_s >= self._next_report_s:
                self._next_report_s = now_s + REPORT_S
                self._connection.send(("progress", len(games), positions_done))
                return self._interrupted()
            return self._stopped

        self._play.on_record = keep
        counters = self._play.play(mix, positions, stop)
        if games:
            write_shard(records / f"{name}{SUFFIX}", games)
        journal.close()
        elapsed_s, cpu_s = time.monotonic() - started_s, time.process_time() - started_cpu_s
        self._connection.send(("done", counters, elapsed_s, cpu_s))

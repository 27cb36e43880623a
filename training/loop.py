"""The training loop: self-play, learning, export, measurement, promotion, again and again.

Stages meet only in the run directory:

    config.json      resolved settings         state.json       counters, standings, current net
    records/         shards and journals       checkpoints/     of the learner
    nets/            exports of the cycles     best.json        the promoted net (its files: best.*)
    log.jsonl        one line an event

A cycle is: play so many positions, take the batches that bounded reuse allows, save, export, and, when it
is time, measure. Workers are a cycle ahead of that (`ahead_cycles`): while the run learns they play the next
one, with the net that there is. Their games in flight stay from cycle to cycle. Everything is written
atomically, the checkpoint before the state, so a kill costs the games in flight and the batches of one cycle.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from arena.timing_lock import is_timed, pause_while_timed
from training.data.imports import count_games
from training.data.journal import recover_journals
from training.data.replay_buffer import ReplayBuffer
from training.export.card import Origin
from training.export.export import ExportError
from training.files.atomic import remove_unfinished, write_atomically
from training.files.naming import shown_name
from training.learn.checkpoint import CheckpointError, list_checkpoints
from training.learn.learner import DivergedError, Learner
from training.measure import gate
from training.net.network import choose_device
from training.play.evaluators import UNIFORM, save_weights
from training.run import nets
from training.run.display import Display
from training.run.log import RunLog
from training.run.needs import NO_BEST, NO_RECORDS, check_needs
from training.run.orders import Orders
from training.run.state import resume_state
from training.settings.schema import RunConfig
from training.workers.cores import learner_threads, worker_count
from training.workers.interface import Backend, CycleOrder, PoolConfig, WorkerPool
from training.workers.local import LocalBackend

_PROMOTED_FROM = 0.5  # score against the best net (not tuned)
_CHUNK = 8  # batches between two looks at the stop flag
_PRETRAIN_SAVE = 40 * _CHUNK  # batches between two checkpoints of pretraining


class Run:
    """One training run in its directory."""

    def __init__(
        self,
        config: RunConfig,
        run_dir: Path,
        stopped: Callable[[], bool],
        display: Display,
        weights: Mapping[Path, float] | None = None,
        backend: Backend | None = None,
        records: bool = False,
    ) -> None:
        """Open or continue a run. A run that is refused has changed nothing in its directory.

        Args:
            config: settings, stored by the caller when this returns.
            run_dir: made when missing.
            stopped: asked often; when true the run saves and returns.
            display: progress for people.
            weights: checkpoints that a new run begins with, and their shares; see `Learner.adopt`.
            backend: where games are played; this machine without one.
            records: whether games of other runs will be in `records` when `run` is called.

        Raises:
            ValueError: a GPU was asked for by name and there is none, or the settings ask for records or a
                promoted net that the run does not have.
            CheckpointError: the checkpoints cannot be read or do not fit the settings.
            ForeignFileError: the state or the standings hold what no run has written.
        """
        self.config, self.run_dir, self._stopped, self._display = config, run_dir, stopped, display
        self.device = choose_device(config.device).type
        self._backend = backend or LocalBackend()
        self.play_device = self._backend.device(self.device)
        self.workers = worker_count(config, self.device)
        threads = learner_threads(config, self.device, self.workers)
        learner_config = dataclasses.replace(config.learner, threads=threads)
        self.state = resume_state(run_dir)
        self.standings = gate.read_standings(run_dir / "standings.json")
        self.learner = Learner(learner_config, run_dir, self.device, self._say)
        assert isinstance(self.learner.dataset, ReplayBuffer)  # what a learner has that is given no other
        self.buffer = self.learner.dataset
        if self.learner.load():
            self._say(
                f"continuing at cycle {self.state.cycle}, after {self.state.games:,} games, "
                f"{self.state.elapsed_s / 60:.1f} minutes and {self.learner.batches:,} batches of learning"
            )
        elif list_checkpoints(self.learner.checkpoints_dir):
            raise CheckpointError(
                f"no checkpoint in {self.learner.checkpoints_dir} can be read; "
                "move them away to train a new net from the records of this run"
            )
        elif weights:
            self.learner.adopt(weights)
        # A checkpoint of no batch holds adopted weights: the run was stopped before it used them.
        self._adopted = bool(weights) or (
            bool(list_checkpoints(self.learner.checkpoints_dir))
            and not self.learner.batches
            and not self.state.cycle
        )
        check_needs(config, self.state, run_dir, bool(weights), records, bool(self.standings.best))
        for name in ("records", "nets"):
            (run_dir / name).mkdir(parents=True, exist_ok=True)
        self.log = RunLog(run_dir)
        self._restore_best()
        self._mended = False
        if self.state.spoilt:
            self._say(
                f"learning had spoilt the weights: {self.state.spoilt}. Nothing of that was saved; going on "
                f"from batch {self.learner.batches} with learner.lr={config.learner.lr:g}"
            )
            self._mended = True
            self.state.spoilt = ""
        self._started_s = time.monotonic() - self.state.elapsed_s
        self._metrics: dict[str, float] = {}
        self._mean_rate = 0.0
        self._orders = Orders(config)

    # --- the loop

    def run(self) -> None:
        """Train until the time is over or `stopped`.

        Raises:
            DivergedError: learning has spoilt the weights; they are not saved, other settings can continue.
            ValueError: the net that self-play is to use is missing.
        """
        pool = None
        self.log.event("start", workers=self.workers, device=self.device, cycle=self.state.cycle)
        if self._mended:
            self.log.event("mended", cycle=self.state.cycle, batches=self.learner.batches)
        for name in ("", "records", "checkpoints", "nets"):
            remove_unfinished(self.run_dir / name)
        if recovered := recover_journals(self.run_dir / "records", self._say):
            self._say(f"recovered {recovered} games that a killed run had finished")
        own, _ = count_games(self.run_dir / "records")
        if own.games > self.state.games:  # a kill came before they were counted
            self.state.games, self.state.positions = own.games, max(self.state.positions, own.positions)
        self.buffer.refresh()
        self.learner.forget_lost()
        try:
            if (self._adopted or self.config.pretrain_samples) and not self.state.pretrained:
                self._pretrain()
            if self.state.net != UNIFORM and not self._has_its_net():
                self._export(self.state.cycle)  # a run that came without its exports, or from another device
            seed = self.config.seed * 1_000_003 + self.state.cycle
            config = PoolConfig(self.run_dir, self.config, seed, self.play_device, self.workers, self._say)
            pool = self._backend.open(config)
            if self.config.self_play_net == "best" and not self.state.cycle:
                self._measure(pool)  # a run that begins with weights
            while not self._over():
                self._cycle(pool)
            if not self._stopped():
                self._measure(pool)
        except DivergedError as error:
            self.state.spoilt = str(error)
            raise DivergedError(
                f"{error}. Nothing of this was saved: the same command with a smaller --set learner.lr goes "
                "on from the last checkpoint"
            ) from error
        finally:
            if pool is not None:
                late = pool.close()
                self.state.games += late.games
                self.state.positions += late.moves
            self._save()
            self.log.event("stop", cycle=self.state.cycle)
            self.log.close()

    def _pretrain(self) -> None:
        """Learn from the records that were there before the first game, then export (to calibrate int8 nets
        records are needed in any case)."""
        learner, samples = self.learner, self.config.pretrain_samples
        if not self.buffer.seen:
            raise ValueError(NO_RECORDS)
        self._stage = "pretraining"
        while learner.samples < samples and not self._stopped():
            self._started_s += pause_while_timed(self._say, self._stopped)
            learner.progress = learner.samples / samples
            self._metrics = learner.step(_CHUNK)
            self._show(f"sample {learner.samples}/{samples}")
            if learner.batches % _PRETRAIN_SAVE == 0:
                self.log.event("learn", cycle=0, **self._metrics)
                learner.save()
        if not self._stopped():
            learner.settle()
            self.state.pretrained = True
            self._export(0)
        learner.save()  # also without a batch: adopted weights are nowhere else in this run
        self._save_state()

    def elapsed_s(self) -> float:
        """Return seconds of training, resumed parts together."""
        return time.monotonic() - self._started_s

    def progress(self) -> float:
        """Return the share of the run that is done, 0 to 1; 0 for a run without an end."""
        if total := self.config.total_positions:
            return min(1.0, self.state.positions / total)
        return min(1.0, self.elapsed_s() / (60 * self.config.minutes)) if self.config.minutes else 0.0

    def _over(self) -> bool:
        return self._orders.over(self.state, self.elapsed_s()) or self._stopped()

    def _cycle(self, pool: WorkerPool) -> None:
        state = self.state
        state.cycle += 1
        for cycle in self._orders.due(state, self.elapsed_s()):
            pool.plan(self._order(cycle))
        self._stage = "self-play"
        self._looked_s = time.monotonic()
        order = self._order(state.cycle)
        counters, seconds, cpu_s = pool.play(order, self._show_play, self._stopped_meanwhile)
        self._orders.played(state.cycle)
        state.games += counters.games
        state.positions += counters.moves
        rates = counters.rates(seconds) | pool.metrics()
        self._mean_rate = rates["positions_per_s"]
        self.log.event("play", cycle=state.cycle, seconds=seconds, cpu_seconds=cpu_s, **rates)
        self.buffer.refresh(state.cycle)
        new = not self.learner.batches and not self.state.pretrained
        if new and not self.state.measured and self.buffer.seen:
            self._measure_untrained(pool)
        self._learn(pool)
        self._save()
        if self.learner.batches and not self._stopped():
            self._export(self.state.cycle)
            if self.elapsed_s() - state.measured_s >= 60 * self.config.evaluation.every_minutes:
                self._measure(pool)
        self._save_state()

    def _stopped_meanwhile(self) -> bool:
        """As `_stopped`; meanwhile the clock of the run stands while its workers pause for what is timed."""
        now_s = time.monotonic()
        if self._backend.pauses and is_timed():
            self._started_s += now_s - self._looked_s
        self._looked_s = now_s
        return self._stopped()

    def _order(self, cycle: int) -> CycleOrder:
        """Return what a cycle is to play, as things stand."""
        return CycleOrder(cycle, self._play_net(), self.config.mix(), self._orders.positions(cycle))

    def _learn(self, pool: WorkerPool) -> None:
        learner = self.learner
        if self.buffer.seen < self.config.learner.window_min:
            return
        self._stage = "learning"  # a backlog from before the window was large enough takes several cycles
        usual = self.config.learner.reuse * self.config.cycle_positions / self.config.learner.batch
        budget, started_s = min(learner.allowance(), int(1.5 * usual) + 1), time.monotonic()
        total: dict[str, float] = {}
        done = 0
        while done < budget and not self._stopped():
            self._started_s += pause_while_timed(self._say, self._stopped)
            learner.progress = self.progress()
            n = min(_CHUNK, budget - done)
            for name, value in learner.step(n).items():
                total[name] = total.get(name, 0.0) + n * value
            done += n
            pool.poll()
            self._show(f"batch {done}/{budget}")
        if done:
            self._metrics = {name: value / done for name, value in total.items()}
            self._metrics |= {"batches": float(learner.batches), "samples": float(learner.samples)}
            rate = done * self.config.learner.batch / max(1e-9, time.monotonic() - started_s)
            self.log.event("learn", cycle=self.state.cycle, samples_per_s=rate, **self._metrics)

    def _measure_untrained(self, pool: WorkerPool) -> None:
        """Put the net that knows nothing on the scale, as the point where everything starts."""
        self._export(0)
        self._measure(pool)
        self.state.net = UNIFORM

    def _export(self, cycle: int) -> None:
        """Export the averaged net; a refused export leaves the old one in use."""
        name = f"c{cycle:06d}"
        origin = Origin(
            training_steps=self.learner.batches,
            games=self.buffer.games_seen,
            positions=self.buffer.seen,
            description=f"Cycle {cycle} of the run {shown_name(self.run_dir)}",
            data=f"{self.buffer.games_seen:,} games of self-play, {self.state.games:,} in this run.",
            sizes=self.config.side_range(),
            rules=tuple(rule for rule, _ in self.config.mix().rules),
        )
        started_s = time.monotonic()
        try:
            exported = self.learner.export(self.run_dir / "nets", name, origin)
        except ExportError as error:
            self._say(f"cycle {cycle}: {error}")
            self.log.event("refused", cycle=cycle, reason=str(error))
            return
        if self.play_device == "cuda":
            net = self.run_dir / "nets" / f"{name}.pt"
            save_weights(self.learner.averaged, net, exported.net_id)
        else:
            net = exported.fastest if self.config.precision == "int8" else exported.fp32
        self.state.net = net.name
        self.log.event(
            "export", cycle=cycle, net=net.name, net_id=exported.net_id,
            seconds=time.monotonic() - started_s, **exported.differences,
        )  # fmt: skip
        nets.tidy(self.run_dir, {*self.state.measured, self.standings.best})

    def _measure(self, pool: WorkerPool) -> None:
        """Play the current net against its yardsticks and the best net; promote it when it is good enough."""
        if self.state.net == UNIFORM or self._stopped():
            return
        self._stage, self._looked_s = "measuring", time.monotonic()
        name = self.state.net.partition(".")[0]
        if name in self.state.measured:
            return
        found = {n: self._file(n) for n in [*self.state.measured, name]}
        files = {n: str(path) for n, path in found.items() if path is not None}
        seed = self.config.seed * 7919 + self.state.cycle
        promote = not self.standings.best
        for planned in gate.plan(self.config.evaluation, self.standings, name, files, seed):
            self._show(f"{name} against {planned.spec.b.name} on {planned.spec.width}")
            result = pool.play_match(planned.spec, self._stopped_meanwhile)
            if self._stopped():
                return
            line = gate.record(self.standings, planned, result)
            self.log.event("match", cycle=self.state.cycle, **line)
            self._say(
                f"{name} against {line['b']} on {line['size']}x{line['size']}: {line['score']:.3f} "
                f"[{line['low']:.3f}, {line['high']:.3f}] in {line['games']} games"
            )
            if planned.decides:
                promote = line["score"] >= _PROMOTED_FROM
        self.state.measured.append(name)
        self.state.measured_s = self.elapsed_s()
        if promote:
            self._promote(name)
        ratings = self.standings.ratings()
        self.log.event(
            "ratings", cycle=self.state.cycle, net=name, promoted=promote, best=self.standings.best,
            elo={n: [round(e, 1), round(h, 1)] for n, (e, h) in ratings.items()},
        )  # fmt: skip
        data = json.dumps(dataclasses.asdict(self.standings), indent=1).encode()
        write_atomically(self.run_dir / "standings.json", data)

    def _promote(self, name: str) -> None:
        """Make a net the best one."""
        self.standings.best = name
        elo = self.standings.ratings().get(name, (0.0, 0.0))
        about = {
            "elo": elo[0], "elo_half_width": elo[1], "cycle": self.state.cycle,
            "games": self.state.games, "positions": self.state.positions, "batches": self.learner.batches,
        }  # fmt: skip
        nets.promote(self.run_dir, name, about)
        self._say(f"promoted {name}, Elo {elo[0]:+.0f} +- {elo[1]:.0f}")

    # --- files

    def _has_its_net(self) -> bool:
        """Return whether the newest export has a file for the device that plays; it is the net then."""
        name, _, suffix = self.state.net.partition(".")
        if (suffix == nets.WEIGHTS) != (self.play_device == "cuda"):
            path = nets.find_kind(self.run_dir, name, weights=self.play_device == "cuda")
            if path is None:
                return False
            self.state.net = path.name
        return (self.run_dir / "nets" / self.state.net).exists()

    def _file(self, name: str) -> Path | None:
        """Return the file to play an export with, of the kind that self-play uses if it is there."""
        return nets.find(self.run_dir, name, self.state.net.partition(".")[2])

    def _play_net(self) -> str:
        """Return the evaluator that self-play uses now; a run from nothing begins without a net.

        Raises:
            ValueError: there is none of the kind that the settings ask for.
        """
        name = self.state.net.partition(".")[0]
        if self.state.net == UNIFORM:
            return UNIFORM
        if self.config.self_play_net == "best":
            name = self.standings.best
            if not name:
                raise ValueError(NO_BEST)
        path = self._file(name)
        if path is None:
            raise ValueError(f"self-play has no net: {self.run_dir / 'nets' / name}.* is missing")
        return str(path)

    def _restore_best(self) -> None:
        """Find the promoted net; a run whose best net is lost promotes the next that it measures."""
        name = self.standings.best
        if name and not nets.restore_best(self.run_dir, name):
            self._say(f"the best net {name} is not here any more: the next one measured takes its place")
            self.standings.best = ""

    def _save(self) -> None:
        if self.learner.batches and not self.state.spoilt:
            self.learner.save()
        self._save_state()

    def _save_state(self) -> None:
        self.state.elapsed_s = self.elapsed_s()
        data = json.dumps(dataclasses.asdict(self.state), indent=1).encode()
        write_atomically(self.run_dir / "state.json", data)

    _stage = ""

    def _say(self, text: str) -> None:
        self._display.say(text)

    def _show_play(self, games: int, positions: int) -> None:
        self._show(f"{games} games, {positions} positions")

    def _show(self, detail: str) -> None:
        left_s = max(0.0, 60 * self.config.minutes - self.elapsed_s()) if self.config.minutes else None
        elo = self.standings.ratings().get(self.standings.best) if self.standings.best else None
        self._display.status(
            stage=self._stage, detail=detail, cycle=self.state.cycle, games=self.state.games,
            positions=self.state.positions, rate=self._mean_rate, metrics=self._metrics,
            elo=elo[0] if elo else None, left_s=left_s,
        )  # fmt: skip

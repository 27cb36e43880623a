"""Speed of self-play, positions and evaluations a second against the net alone, and of the learner."""

from __future__ import annotations

import dataclasses
import random
import tempfile
import time
from pathlib import Path

from training.play.evaluators import load_evaluator, save_weights
from training.play.planes import opening_planes
from training.settings.schema import LearnerConfig, NetConfig, RunConfig
from training.workers.cores import worker_count
from training.workers.interface import CycleOrder
from training.workers.local import LocalPool

SHAPES = (NetConfig(blocks=2, channels=32), NetConfig(blocks=4, channels=64))


def untrained_net(folder: Path, config: NetConfig, device: str) -> str:
    """Export a net with random weights, calibrated on random openings; return its file."""
    import torch

    from training.export.export import Tolerances, export_net
    from training.net.network import Network

    torch.manual_seed(1)
    network = Network(config).eval()
    name = f"{config.kind}-{config.blocks}x{config.channels}"
    if device != "cpu":
        save_weights(network, folder / f"{name}.pt", name)
        return str(folder / f"{name}.pt")
    rng = random.Random(1)
    batches = [opening_planes(rng, 32, 15, 15) for _ in range(4)]
    anything = Tolerances(*[1e9] * len(dataclasses.fields(Tolerances)))
    return str(export_net(network, folder, name, calibration=batches, tolerances=anything).fastest)


def in_kernel(file: str) -> bool:
    """Return whether the kernel computes the net of a file, and onnxruntime could."""
    return file.endswith(".onnx") and load_evaluator(file).backend is not None


def learner_speed(config: LearnerConfig, run_dir: Path, device: str, seconds: float) -> str:
    """Learn from the records of a folder, forget it, and return how fast that was as a line of text."""
    import torch

    from training.data.replay_buffer import ReplayBuffer
    from training.learn.learner import Learner

    buffer = ReplayBuffer(run_dir / "records", config, lambda line: None, torch.device(device))
    buffer.refresh()
    learner = Learner(config, run_dir, device, dataset=buffer)
    learner.step(2)  # the first batches find their memory
    began, start_s, cpu_s = learner.samples, time.perf_counter(), time.process_time()
    while time.perf_counter() - start_s < seconds:
        learner.step()
    took_s, used_s = time.perf_counter() - start_s, time.process_time() - cpu_s
    samples, net = learner.samples - began, config.net
    return (
        f"learner of {net.kind}-{net.blocks}x{net.channels}: {samples / took_s:.0f} samples/s in batches of "
        f"{config.batch} ({samples / used_s:.0f} a CPU second, {took_s:.0f} s)"
    )


def bench(config: RunConfig, nets: list[str], seconds: float) -> int:
    """Measure self-play with each net on 15x15 freestyle, and learning from it, and print it; return 0.

    Args:
        config: its workers, games and search settings are used; every move gets a full search.
        nets: files; none: untrained nets of `SHAPES` and of the shape that the settings name.
        seconds: of each measurement.
    """
    from training.net.network import choose_device

    device = choose_device(config.device).type
    workers = worker_count(config, device)
    play = dataclasses.replace(config.play, full_share=1.0)
    mix = dataclasses.replace(config, sizes=("15",), rules=("0",)).mix()
    print(
        f"{workers} workers on {device}, {config.games} games each, {play.simulations} simulations a move, "
        "15x15 freestyle"
    )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "records").mkdir()
        shapes = dict.fromkeys((*SHAPES, config.learner.net))
        files = nets or [untrained_net(root, shape, device) for shape in shapes]
        for file in files:
            pool = LocalPool(workers, root, play, config.games, config.seed, device)
            try:
                raw = pool.measure_nets(file, (15, 15), config.games, seconds / 4)
                order = CycleOrder(0, file, mix, 400 * workers)
                _, warm_s, _ = pool.play(order, lambda *_: None, lambda: False)
                count = max(400.0, 400 * seconds / max(warm_s, 1e-3)) * workers
                order = CycleOrder(1, file, mix, int(count))
                done, took_s, cpu_s = pool.play(order, lambda *_: None, lambda: False)
                raw += pool.measure_nets(file, (15, 15), config.games, seconds / 4)
                session = (
                    pool.measure_nets(file, (15, 15), config.games, seconds / 4, session=True)
                    if in_kernel(file) else []
                )  # fmt: skip
            finally:
                pool.close()
            speed = done.evaluations / took_s
            raw_speed = max(sum(a[0] for a in part) for part in (raw[:workers], raw[workers:]))
            raw_cpu = max(a[1] for a in raw)
            print(
                f"{Path(file).name}: {done.moves / took_s:.0f} positions/s, {speed:.0f} evaluations/s = "
                f"{100 * speed / raw_speed:.0f} % of {raw_speed:.0f} without search "
                f"({100 * done.evaluations / cpu_s / raw_cpu:.0f} % a CPU second), "
                f"{done.simulations / took_s:.0f} simulations/s, "
                f"{done.evaluations / max(1, done.moves):.1f} evaluations a position ({took_s:.0f} s)"
                + (f"; onnxruntime alone: {sum(a[0] for a in session):.0f} evaluations/s" if session else ""),
                flush=True,
            )
        print(learner_speed(config.learner, root, device, seconds), flush=True)
    return 0

"""Self-play by local workers and by a cluster of Ray with as many one-core nodes, on this machine, in turns.

    python -m tests.perf.cluster_speed --net runs/mine/best.fp32.onnx

Prints positions a second of both, their ratio, bytes a position, and the share of processor time that is not
self-play: what Ray's processes and this one take.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
import time
from pathlib import Path

import psutil

from training.settings.play import Mix
from training.settings.recipes import preset
from training.settings.resolve import make_config
from training.workers.interface import CycleOrder, PoolConfig, WorkerPool
from training.workers.local import LocalBackend


def family_cpu_s() -> float:
    """Return the processor time of this process and all that it has started."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def measure(
    players: WorkerPool, cycle: int, net: str, mix: Mix, positions: int
) -> tuple[float, float, float]:
    """Return positions a second, and processor seconds of self-play and of everything."""
    order = CycleOrder(cycle, net, mix, positions)
    before_s, cpu_s = time.monotonic(), family_cpu_s()
    counters, _, own_s = players.play(order, lambda *_: None, lambda: False)
    return counters.moves / (time.monotonic() - before_s), own_s, family_cpu_s() - cpu_s


def main() -> int:
    """Measure in turns and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--net", required=True, help="net file, or uniform")
    parser.add_argument("--nodes", type=int, default=2, help="one-core nodes, and local workers (2)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each turn (20)")
    parser.add_argument("--turns", type=int, default=3, help="of each (3)")
    args = parser.parse_args()
    from ray.cluster_utils import Cluster as LocalCluster  # an extra: --help does without

    from training.cluster.pool import Cluster

    config = make_config(preset("laptop").settings)
    config = dataclasses.replace(config, ahead_cycles=0.0, sizes=("15",), rules=("0",))
    mix = config.mix()
    cluster = LocalCluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(args.nodes):
        cluster.add_node(num_cpus=1)
    backend = Cluster(cluster.address)
    with tempfile.TemporaryDirectory() as folder:
        teams: dict[str, WorkerPool] = {}
        for name, where in (("local", LocalBackend()), ("ray", backend)):
            (Path(folder) / name / "records").mkdir(parents=True)
            pool = PoolConfig(Path(folder) / name, config, 1, "cpu", args.nodes, print)
            teams[name] = where.open(pool)
        rates: dict[str, list[float]] = {name: [] for name in teams}
        count = 0
        for turn in range(args.turns + 2):  # the first two: everything starts, then how long a turn is
            for name, players in teams.items():
                rate, own_s, all_s = measure(players, turn + 1, args.net, mix, count or 200)
                if turn == 1 and name == "local":
                    count = int(rate * args.seconds)
                if turn >= 2:
                    rates[name].append(rate)
                    share = f"{100 * (1 - own_s / all_s):.1f} % of the processor time is not self-play"
                    print(f"{name}: {rate:.1f} positions/s, {share}", flush=True)
            if turn == 0:
                count = 1000
        mean = {name: sum(found) / len(found) for name, found in rates.items()}
        figures = teams["ray"].metrics()
        for players in teams.values():
            players.close()
        wire = f"{figures['bytes_a_position']:.1f} bytes a position, a net of {figures['net_bytes']:.0f}"
        print(f"ray / local: {mean['ray'] / mean['local']:.3f}; {wire}")
    backend.close()
    cluster.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())

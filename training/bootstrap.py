"""A first net without any self-play by a net: it learns from games of a hand-made tactical player.

    python -m training.bootstrap --run-dir runs/bootstrap --name first-4x64

The player knows fives, fours, open threes and forks from the kernel's line tables, counts the windows of five
that are still open, and lets the solver end a game that fours alone decide. The net that comes out sees these
shapes and roughly knows who wins; it is a place to start from, and something to measure speed with. The same
arguments make the same games.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from training.export.card import Origin
from training.learn.learner import Learner
from training.play.bootstrap import play_shards
from training.settings.schema import LearnerConfig, LossConfig, NetConfig


def main(arguments: Sequence[str] | None = None) -> int:
    """Make games, train on them, export. See the module."""
    parser = argparse.ArgumentParser(prog="python -m training.bootstrap", description=__doc__.split("\n")[0])
    parser.add_argument("--run-dir", type=Path, default=Path("runs/bootstrap"))
    parser.add_argument("--name", default="first-4x64", help="of the exported files (default %(default)s)")
    parser.add_argument("--out", type=Path, help="folder of the exported files (default: the run directory)")
    parser.add_argument("--games", type=int, default=4000, help="(default %(default)s)")
    parser.add_argument("--batches", type=int, default=800, help="of 256 positions (default %(default)s)")
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument(
        "--solver-nodes", type=int, default=2000, help="VCF budget of the player a move; 0: none"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    a = parser.parse_args(arguments)
    started = time.monotonic()
    config = LearnerConfig(
        net=NetConfig(blocks=a.blocks, channels=a.channels),
        loss=LossConfig(root_mix=0.0),  # the player has no opinion about who wins
        total_batches=a.batches,
        window_share=1.0,
        surprise=0.0,
        ema=0.995,
        warmup=30,
        lr=3e-3,
        seed=a.seed,
    )
    learner = Learner(config, a.run_dir, a.device)
    play_shards(learner.records_dir, a.games, a.seed, a.solver_nodes)
    resumed = learner.load()
    learner.refresh()
    window = learner.window
    print(
        f"{window.games_seen} games, {len(window)} positions, {time.monotonic() - started:.0f} s", flush=True
    )
    if resumed:
        print(f"continuing at batch {learner.batches}")
    while learner.batches < a.batches:
        m = learner.step(min(50, a.batches - learner.batches))
        print(
            f"{learner.batches:6} batches {time.monotonic() - started:6.0f} s  policy KL {m['policy_kl']:.3f}"
            f"  top1 {m['top1']:.3f}  value {m['value']:.3f}  explained {m['explained_variance']:.3f}",
            flush=True,
        )
        learner.save()
    origin = Origin(
        training_steps=learner.batches,
        games=window.games_seen,
        positions=window.seen,
        description="A first, weak net, taught by a hand-made tactical player, not by self-play.",
        data="Games of a hand-made player (line tables, open windows, "
        + (f"VCF with {a.solver_nodes} nodes" if a.solver_nodes else "no solver")
        + ") against itself from random openings, under all rules, on square boards of 9 to 20. Made by "
        f"`python -m training.bootstrap --games {a.games} --batches {a.batches} "
        f"--solver-nodes {a.solver_nodes} --seed {a.seed}`.",
        strength="Not measured in games. On its last batches it puts the player's best point first in "
        f"{m['top1']:.0%} of positions and explains {m['explained_variance']:.0%} of the results' variance.",
        limits="It copies a shallow player and has never searched. It is there until a net trained by "
        "self-play replaces it.",
        sizes=(9, 20),
    )
    exported = learner.export(a.out or a.run_dir, a.name, origin)
    print(f"{exported.fastest} ({exported.net_id}): {exported.differences}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

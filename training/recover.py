"""Recover the games of all bundles that the history of a repository holds, each game once.

    python -m training.recover runs/history
    python -m training.offline encode --records runs/history --positions runs/set

A bundle holds the newest positions of its run only; git holds every version of every bundle. Needs a clone
with its whole history. The same command continues where it was stopped. The table says how many games and
positions there are of each net, rule and size.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from engine.rules.rule import Rule
from training.files import console
from training.run.history import HistoryError, Inventory, recover


@console.command(HistoryError, OSError)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 when it was stopped (it continues), 2 for an error."""
    parser = console.parser("training.recover", __doc__)
    parser.add_argument("out", type=Path, help="folder of the shards; made when missing")
    parser.add_argument("--repository", type=Path, default=Path("."), help="a clone with its history (.)")
    parser.add_argument(
        "--folder", default="training/checkpoints", help="of the bundles (training/checkpoints)"
    )
    args = parser.parse_args(arguments)
    found = recover(args.repository, args.folder, args.out)
    print("\n".join(table(found)))
    return 0


def table(found: Inventory) -> list[str]:
    """Return a summary as lines: by rule and board, by net, in all."""
    by_board: Counter[tuple[int, int, int]] = Counter()
    games_of: Counter[tuple[int, int, int]] = Counter()
    by_net: Counter[str] = Counter()
    for (net, rule, width, height), positions in found.positions.items():
        by_board[rule, width, height] += positions
        games_of[rule, width, height] += found.games[net, rule, width, height]
        by_net[net.partition(":")[0]] += positions
    lines = [f"{'rule':<20} {'board':<7} {'games':>9} {'positions':>11}"]
    for key in sorted(by_board):
        rule, width, height = key
        name, board = Rule(rule).name.lower(), f"{width}x{height}"
        lines.append(f"{name:<20} {board:<7} {games_of[key]:>9,} {by_board[key]:>11,}")
    lines += ["", f"{'net':<40} {'positions':>11}"]
    lines += [f"{net:<40} {positions:>11,}" for net, positions in sorted(by_net.items())]
    total, games = sum(found.positions.values()), sum(found.games.values())
    lines += [
        "",
        f"{found.shards:,} shards, {games:,} games, {total:,} positions; {found.repeated_games:,} games "
        f"were there twice, {found.damaged} files are damaged",
    ]
    return lines


if __name__ == "__main__":
    sys.exit(console.run(main))

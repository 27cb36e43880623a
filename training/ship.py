"""Make the net of a run the one that ships: export it with a card.

    python -m training.ship runs/mine --name mine-4x32 --strength "..." --limits "..." --default
    python -m training.ship runs/mine --export c000012 --name mine-4x32 --strength "..." --default

The averaged weights of the run's newest checkpoint are exported and compared with torch once more; a net that
does not compute the same is refused. The newest records calibrate it. With `--export` a file that the run
exported before, the one that was measured, gets its name and card instead; its weights stay what they are.
A run that continued from another one's weights knows only its own boards: `--sizes` names those of both.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.rules._board import MAX_SIDE, MIN_SIDE
from training.export.card import Origin
from training.export.export import ExportError
from training.files import console
from training.files.atomic import write_atomically
from training.run.ship import NETS, Sizes, ship, ship_export


def _sizes(text: str) -> Sizes:
    low, _, high = text.partition("-")
    if not (low.isdecimal() and high.isdecimal() and MIN_SIDE <= int(low) <= int(high) <= MAX_SIDE):
        raise argparse.ArgumentTypeError(f"{text!r} is not LOW-HIGH, sides from {MIN_SIDE} to {MAX_SIDE}")
    return int(low), int(high)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 when nothing was exported."""
    parser = console.parser("training.ship", __doc__)
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("--name", required=True, help="of the files")
    parser.add_argument("--export", help="an export in the run's nets, instead of the newest checkpoint")
    parser.add_argument("--out", type=Path, default=NETS, help="folder of the files (engine/nets)")
    for field in dataclasses.fields(Origin):
        if field.name in ("strength", "limits"):
            parser.add_argument(f"--{field.name}", default=field.default, help="for the card")
    parser.add_argument(
        "--sizes", type=_sizes, metavar="LOW-HIGH", help="sides of the boards it learned on (the run's)"
    )
    parser.add_argument("--default", action="store_true", help="make it the net that the brain plays with")
    args = parser.parse_args(arguments)
    try:
        if args.export:
            file = ship_export(
                args.run, args.export, args.out, args.name, args.strength, args.limits, args.sizes
            )
            said = str(file)
        else:
            exported = ship(args.run, args.out, args.name, args.strength, args.limits, args.sizes)
            file, said = exported.fastest, f"{exported.fastest} ({exported.net_id}): {exported.differences}"
        if args.default:
            write_atomically(args.out / "default.txt", f"{file.name}\n".encode())
    except (ValueError, ExportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(said)
    return 0


if __name__ == "__main__":
    sys.exit(console.run(main))

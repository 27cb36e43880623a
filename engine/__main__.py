"""Developer commands: python -m engine COMMAND [--help]."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from engine.cores import ONE_THREAD
from engine.errors import EngineError
from engine.pipes import run_piped

COMMANDS = {
    "bench": ("engine.commands.bench", "search fixed positions and print one signature of all trees"),
    "speed": ("engine.commands.speed", "measure net, search, rules and solver"),
    "analyse": ("engine.commands.analyse", "show the best moves of a position"),
    "play": ("engine.play.cli", "play a game at the terminal"),
    "solve": ("engine.commands.solve", "search for a forced win by fours, or by fours and threes"),
    "tactics": ("engine.commands.tactics", "count the tactical positions that the engine gets right"),
    "describe-net": ("engine.commands.describe", "show the metadata of a net file, and check it"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 done, 1 refused, 2 wrong usage."""
    parser = argparse.ArgumentParser(
        prog="python -m engine", description="Developer commands of the Tengen engine."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, summary) in COMMANDS.items():
        implementation = importlib.import_module(module)
        command = commands.add_parser(name, help=summary, description=implementation.__doc__)
        implementation.add_arguments(command)
        command.set_defaults(run=implementation.run)
    args = parser.parse_args(arguments)
    try:
        return int(args.run(args))
    except EngineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    os.environ.update(ONE_THREAD)  # before numpy is loaded; searches start their own threads
    sys.exit(run_piped(main))

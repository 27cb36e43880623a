"""Run one of Tengen's programs: `tengen COMMAND [OPTIONS]`, or `python -m tengen`.

Each command hands its options to the program that does the work; `tengen COMMAND --help` is its help.
Programs are loaded when they are chosen, so that `tengen --help` needs nothing but Python.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.pipes import run_piped
from tengen.completion import SHELLS, script

DISTRIBUTION = "tengen-gomoku"
"""Name of the distribution, for the commands that install what is missing."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program behind `tengen NAME`.

    Attributes:
        summary: what it does, for the list of commands.
        module: that has its function `main`.
        before: arguments in front of those that the user gives.
        extra: of the distribution, that it needs beyond the run time of the brain; "" for none.
    """

    summary: str
    module: str
    before: tuple[str, ...] = ()
    extra: str = ""


COMMANDS = {
    "play": Command("play a game at the terminal", "arena.play", extra="play"),
    "board": Command("open the board in the browser", "board.cli", extra="board"),
    "analyse": Command("best moves of a position", "engine.__main__", ("analyse",)),
    "review": Command("a saved game move by move: review FILE", "engine.__main__", ("analyse", "--game")),
    "solve": Command("look for a forced win", "engine.__main__", ("solve",)),
    "brain": Command("the Gomocup brain on stdin and stdout", "protocol.__main__"),
    "self-check": Command("does it work here, and how fast", "protocol.__main__", ("--self-check",)),
    "match": Command("play brains against each other", "arena.match"),
    "train": Command("learn a net by self-play", "training.selfplay", extra="training"),
    "report": Command("a page about a training run", "training.report", extra="training"),
    "net": Command("what a net file says about itself", "engine.__main__", ("describe-net",)),
}


def usage() -> str:
    """Return the help; it fits a screen of 24 lines and 80 columns."""
    rows = [f"  {name:<12}{command.summary}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: tengen COMMAND [OPTIONS]",
            "",
            "A gomoku brain for Piskvork and Gomocup, and the training of its nets.",
            "",
            *rows,
            f"  {'completion':<12}print what a shell needs to complete these: {' or '.join(SHELLS)}",
            "",
            "tengen COMMAND --help explains a command; tengen --version",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status, 2 for wrong usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if given else 2
    name, rest = given[0], given[1:]
    if name == "--version":
        from protocol import __version__

        print(f"tengen {__version__}")
        return 0
    if name == "completion":
        return _complete(rest)
    if name not in COMMANDS:
        print(f"error: there is no command {name[:60]!r}; tengen --help lists them", file=sys.stderr)
        return 2
    return _run(name, COMMANDS[name], rest)


def _run(name: str, command: Command, rest: list[str]) -> int:
    before = list(command.before)
    if name == "review" and (not rest or rest[0] in ("-h", "--help")):
        before = before[:1]
        rest = ["--help"]
    try:
        run: Callable[..., int] = importlib.import_module(command.module).main
        if command.module == "board.cli":
            from protocol import __version__

            return run([*before, *rest], __version__)
        return run([*before, *rest])
    except ModuleNotFoundError as error:
        if not command.extra or (error.name or "").split(".")[0] in _OWN:
            raise
        print(
            f"error: tengen {name} needs {error.name}: pip install '{DISTRIBUTION}[{command.extra}]'",
            file=sys.stderr,
        )
        return 1


_OWN = ("engine", "protocol", "board", "arena", "training", "tengen")


def _complete(rest: list[str]) -> int:
    if len(rest) != 1 or rest[0] not in SHELLS:
        print(f"error: tengen completion {'|'.join(SHELLS)}", file=sys.stderr)
        return 2
    print(script(rest[0], sorted([*COMMANDS, "completion"])))
    return 0


def brain() -> int:
    """Run the brain: the console script `pbrain-tengen`."""
    from protocol.__main__ import main as run

    return run(sys.argv[1:])


def console() -> int:
    """Run `tengen` as a console script: a closed pipe ends it in silence."""
    return run_piped(main)


if __name__ == "__main__":
    sys.exit(console())
